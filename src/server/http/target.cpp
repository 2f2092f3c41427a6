#include "server/http/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/utf8.h"

namespace carillon::server {

namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// What a target may contain as it was sent.
bool is_target_character(char c) { return c > 0x20 && c < 0x7f && c != '#'; }

// The value of a hexadecimal digit, or -1.
int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The target without "http://host".
Result<std::string_view> without_authority(std::string_view target) {
  if (target.starts_with('/') || target == "*") return target;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    const std::size_t end = target.find_first_of("/?", scheme.size());
    if (std::min(end, target.size()) == scheme.size()) break;  // no host
    if (end == std::string_view::npos) return std::string_view("/");
    if (target[end] == '/') return target.substr(end);
    break;
  }
  return invalid_request(fmt::format("target {}: expected a path that begins with \"/\"", quoted(target)));
}

Result<std::vector<std::string>> split_path(std::string_view path) {
  std::vector<std::string> segments;
  if (path == "/" || path == "*") return segments;
  std::string_view rest = path.substr(1);
  while (true) {
    const std::size_t slash = rest.find('/');
    TRY_ASSIGN(std::string segment, percent_decoded("path", rest.substr(0, slash), Plus::is_itself));
    segments.push_back(std::move(segment));
    if (slash == std::string_view::npos) return segments;
    rest.remove_prefix(slash + 1);
  }
}

}  // namespace

Result<std::string> percent_decoded(std::string_view what, std::string_view text, Plus plus) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return invalid_request(fmt::format(
            "{} {}: \"%\" must be followed by two hexadecimal digits (\"%25\" is a \"%\")", what, quoted(text)));
      }
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus == Plus::is_space) {
      c = ' ';
    }
    if (is_control(c)) {
      return invalid_request(fmt::format("{} {}: control characters are not allowed", what, quoted(text)));
    }
    decoded.push_back(c);
  }
  if (!is_utf8(decoded)) return invalid_request(fmt::format("{} {}: not UTF-8 when decoded", what, quoted(text)));
  return decoded;
}

Result<std::vector<QueryItem>> parse_query(std::string_view query) {
  std::vector<QueryItem> items;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view item = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (item.empty()) continue;
    if (items.size() == kQueryItemsMax) {
      return invalid_request(fmt::format("query: more than {} parameters", kQueryItemsMax));
    }
    const std::size_t equals = std::min(item.find('='), item.size());
    TRY_ASSIGN(std::string name, percent_decoded("query", item.substr(0, equals), Plus::is_space));
    TRY_ASSIGN(std::string value,
               percent_decoded("query", item.substr(std::min(equals + 1, item.size())), Plus::is_space));
    items.push_back({.name = std::move(name), .value = std::move(value)});
  }
  return items;
}

Result<Target> parse_target(std::string_view target) {
  if (target.empty() || !std::ranges::all_of(target, is_target_character)) {
    return invalid_request(fmt::format(
        "target {}: only printable ASCII without \"#\" is allowed; encode the rest as %XX", quoted(target)));
  }
  TRY_ASSIGN(const std::string_view local, without_authority(target));
  const std::size_t question = std::min(local.find('?'), local.size());
  const std::string_view path = local.substr(0, question);
  TRY_ASSIGN(std::vector<std::string> segments, split_path(path));
  TRY_ASSIGN(std::vector<QueryItem> query, parse_query(local.substr(std::min(question + 1, local.size()))));
  return Target{.path = std::string(path), .segments = std::move(segments), .query = std::move(query)};
}

}  // namespace carillon::server
