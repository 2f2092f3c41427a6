#include "server/api/router.h"

#include <algorithm>

namespace carillon::server {

std::vector<std::string_view> segments_of(std::string_view path) {
  std::vector<std::string_view> segments;
  if (path == "/") return segments;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::size_t end = std::min(path.find('/'), path.size());
    segments.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return segments;
}

namespace {

// What can stand for a parameter. Dots are not followed anywhere, so that they name nothing.
bool is_name(std::string_view segment) { return !segment.empty() && segment != "." && segment != ".."; }

}  // namespace

Router::Router(const RouteTable& table) {
  for (const Route& route : table) {
    Entry entry{.route = &route, .segments = segments_of(route.path)};
    by_length_[entry.segments.size()].push_back(std::move(entry));
  }
}

bool Router::fits(const Entry& entry, const std::vector<std::string>& segments) {
  return std::ranges::equal(entry.segments, segments, [](std::string_view wanted, const std::string& given) {
    return wanted.starts_with('{') ? is_name(given) : wanted == given;
  });
}

Router::Match Router::match(const HttpRequest& request) const {
  Match match;
  const auto entries = by_length_.find(request.segments.size());
  if (entries == by_length_.end()) return match;
  const Method method = request.method == Method::head ? Method::get : request.method;
  for (const Entry& entry : entries->second) {
    if (!fits(entry, request.segments)) continue;
    if (entry.route->method != method) {
      const std::string_view allowed = to_string(entry.route->method);
      if (match.allowed.find(allowed) != std::string::npos) continue;
      if (!match.allowed.empty()) match.allowed += ", ";
      match.allowed += allowed;
      continue;
    }
    match.route = entry.route;
    for (std::size_t i = 0; i < entry.segments.size(); ++i) {
      if (entry.segments[i].starts_with('{')) match.params.push_back(request.segments[i]);
    }
    return match;
  }
  return match;
}

}  // namespace carillon::server
