// Which tenants there are. One exists from the first write under it by an admin key, until it is
// deleted: from then on, and until nothing of it is left, nothing is written under its name.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/round/node.h"

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

  // Somebody writes under it, until nobody holds `held` any more. Who is there when its deletion begins is waited for,
  // and nobody comes in after that: so what a call has begun to write is erased with the rest, in memory too. Of one
  // that is not there yet the first write may make it.
  enum class Fate : std::uint8_t { there, absent, being_deleted };
  struct Entered {
    Fate fate = Fate::there;
    std::shared_ptr<void> held;  // null if it is being deleted
  };
  Entered enter(std::string_view tenant);

  bool is_being_deleted(std::string_view tenant) const;
  std::vector<std::string> being_deleted() const;
  // False if it is already.
  bool begin_deleting(std::string_view tenant);
  // Of one whose deletion has begun: whether all who wrote under it were done within that time.
  bool wait_for_writers(std::string_view tenant, std::chrono::milliseconds longest) const;
  // It could not begin: it is there as before.
  void keep(std::string_view tenant);
  // Nothing of it is left.
  void deleted(std::string_view tenant);
  // Whether it was over within that time.
  bool wait_until_deleted(std::string_view tenant, std::chrono::milliseconds longest) const;

 private:
  using Writers = std::atomic<std::uint64_t>;  // how many
  using Names = std::map<std::string, std::shared_ptr<Writers>, std::less<>>;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Names names_{{std::string(kDefaultTenant), std::make_shared<Writers>(0)}};
  Names being_deleted_;
  Names absent_;  // only those under which somebody writes
};

}  // namespace carillon::server
