#include "server/auth/own_page.h"

#include <fmt/format.h>

#include <algorithm>

namespace carillon::server {

std::string session_cookie(std::uint16_t port) { return fmt::format("carillon_session_{}", port); }

std::optional<std::string_view> cookie_of(const std::vector<HttpHeader>& headers, std::string_view name) {
  const std::string* const header = find_header(headers, "cookie");
  if (header == nullptr) return std::nullopt;
  std::string_view left = *header;
  while (!left.empty()) {
    const std::size_t end = std::min(left.find(';'), left.size());
    std::string_view one = left.substr(0, end);
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (one.size() > name.size() && one.starts_with(name) && one[name.size()] == '=')
      return one.substr(name.size() + 1);
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return std::nullopt;
}

bool is_from_own_page(const std::vector<HttpHeader>& headers) {
  const std::string* const origin = find_header(headers, "origin");
  const std::string* const host = find_header(headers, "host");
  if (origin == nullptr || host == nullptr) return false;
  return *origin == "http://" + *host || *origin == "https://" + *host;
}

bool is_json(const std::vector<HttpHeader>& headers) {
  const std::string* const type = find_header(headers, "content-type");
  if (type == nullptr) return false;
  std::string name(std::string_view(*type).substr(0, type->find(';')));
  while (name.ends_with(' ')) name.pop_back();
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return name == "application/json";
}

}  // namespace carillon::server
