// A place in a JSON document, as RFC 6901 writes it: "/orders/0/id". The empty text is the whole document.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace carillon {

class JsonPointer {
 public:
  // Refuses what neither is empty nor begins with a slash, and a tilde before anything but 0 and 1.
  static Result<JsonPointer> parse(std::string_view text);

  // Null if there is nothing there.
  const Json* find(const Json& root) const;

 private:
  std::vector<std::string> steps_;
};

}  // namespace carillon
