#include "net/curl_ready.h"

#include <curl/curl.h>

#include "base/check.h"

namespace carillon {

void prepare_curl() {
  static const bool ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  CHECK(ready);
}

}  // namespace carillon
