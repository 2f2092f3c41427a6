#include "server/http/message.h"

#include <algorithm>

#include "base/check.h"

namespace carillon::server {

std::string_view to_string(Method method) {
  switch (method) {
    case Method::get: return "GET";
    case Method::head: return "HEAD";
    case Method::post: return "POST";
    case Method::put: return "PUT";
    case Method::patch: return "PATCH";
    case Method::remove: return "DELETE";
    case Method::options: return "OPTIONS";
  }
  UNREACHABLE();
}

const std::string* find_header(const std::vector<HttpHeader>& headers, std::string_view name) {
  const auto found = std::ranges::find(headers, name, &HttpHeader::name);
  return found == headers.end() ? nullptr : &found->value;
}

}  // namespace carillon::server
