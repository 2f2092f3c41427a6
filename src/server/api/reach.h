// What one call may touch: a tenant, all tenants of its key, or what is the whole server's. Decided in one place, by
// the route that matched and the key that asks, and handed to the route's handler, which knows nothing else of either.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/check.h"
#include "server/auth/tenant_set.h"

namespace carillon::server {

// What a route is about. Each says so in its definition.
enum class About : std::uint8_t {
  one_tenant,   // the one that its path names: it begins with /v1/tenants/{tenant}
  key_tenants,  // all tenants of the key that asks
  server,       // what belongs to no tenant: only for keys of all tenants
  nothing,      // nobody's: the reference, a preview, the page
};

class Reach {
 public:
  // Nothing.
  Reach() = default;
  static Reach one(std::string tenant) {
    Reach reach(TenantSet::of({tenant}));
    reach.tenant_ = tenant;
    reach.owner_ = std::move(tenant);
    return reach;
  }
  static Reach several(TenantSet tenants) { return Reach(std::move(tenants)); }
  static Reach server() { return Reach(TenantSet::all()); }
  // As a path was read once, for Hole::raw_path alone: of the tenant, and yet for all.
  static Reach misread(std::string tenant, TenantSet tenants) {
    Reach reach(std::move(tenants));
    reach.tenant_ = std::move(tenant);
    return reach;
  }

  // Of routes about one tenant; others have none.
  const std::string& tenant() const {
    CHECK(!tenant_.empty());
    return tenant_;
  }
  // Whose documents it reads and writes: the tenant's, else those that are for all (which stand under "").
  const std::string& owner() const { return owner_; }
  // Whose jobs it may name.
  const TenantSet& tenants() const { return tenants_; }

 private:
  explicit Reach(TenantSet tenants) : tenants_(std::move(tenants)) {}

  std::string tenant_;
  std::string owner_;
  TenantSet tenants_;
};

}  // namespace carillon::server
