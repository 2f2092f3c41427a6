// Which tenants there are. One exists from the first write under it by an admin key (interfaces: HTTP), until it is
// deleted: from then on, and until nothing of it is left, nothing is written under its name.
#pragma once

#include <chrono>
#include <condition_variable>
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

  // Any thread. One that is being deleted is not there any more.
  bool has(std::string_view tenant) const;
  void add(std::string tenant);
  std::vector<std::string> all() const;

  bool is_being_deleted(std::string_view tenant) const;
  std::vector<std::string> being_deleted() const;
  // False if it is already.
  bool begin_deleting(std::string_view tenant);
  // It could not begin: it is there as before.
  void keep(std::string_view tenant);
  // Nothing of it is left.
  void deleted(std::string_view tenant);
  // Whether it was over within that time.
  bool wait_until_deleted(std::string_view tenant, std::chrono::milliseconds longest) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::set<std::string, std::less<>> names_{std::string(kDefaultTenant)};
  std::set<std::string, std::less<>> being_deleted_;
};

}  // namespace carillon::server
