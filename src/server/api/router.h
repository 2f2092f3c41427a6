// Which route a request means.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/api/route.h"

namespace carillon::server {

class Router {
 public:
  // The table must outlive it.
  explicit Router(const RouteTable& table);
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;
  ~Router() = default;

  struct Match {
    const Route* route = nullptr;     // null: there is none
    std::vector<std::string> params;  // of the route
    std::string allowed;              // if only the method is wrong: those that there are, "GET, PUT"
  };
  Match match(const HttpRequest& request) const;

 private:
  struct Entry {
    const Route* route;
    std::vector<std::string_view> segments;  // "{" begins a parameter
  };
  static bool fits(const Entry& entry, const std::vector<std::string>& segments);

  std::map<std::size_t, std::vector<Entry>> by_length_;
};

// "/v1/jobs/{id}" as "v1", "jobs", "{id}".
std::vector<std::string_view> segments_of(std::string_view path);

}  // namespace carillon::server
