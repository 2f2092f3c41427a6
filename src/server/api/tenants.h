// Which tenants there are. One exists from the first write under it by an admin key. (interfaces: HTTP)
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/node.h"

namespace carillon::server {

inline constexpr std::string_view kTenantKind = "tenant";
inline constexpr std::string_view kDefaultTenant = "default";

class Tenants {
 public:
  Tenants() = default;
  Tenants(const Tenants&) = delete;
  Tenants& operator=(const Tenants&) = delete;
  ~Tenants() = default;

  // Any thread.
  bool has(std::string_view tenant) const;
  void add(std::string tenant);
  void remove(std::string_view tenant);
  std::vector<std::string> all() const;

 private:
  mutable std::mutex mutex_;
  std::set<std::string, std::less<>> names_{std::string(kDefaultTenant)};
};

}  // namespace carillon::server
