// The configuration file: whatever stands there is loaded or refused in one line, and what was loaded can be shown.
#include "base/check.h"
#include "base/json_check.h"
#include "daemon/config.h"
#include "expect.h"

using namespace carillon;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  const auto loaded =
      daemon::load_config({}, {}, daemon::ConfigFile{.path = "carillon.toml", .text = std::string(text)});
  if (!loaded) {
    fuzz::expect_readable(loaded.error(), text);
    return 0;
  }
  CHECK(check_json(daemon::config_json(*loaded)));
  CHECK(loaded->config.listen.is_loopback() || loaded->config.behind_proxy);
  return 0;
}
