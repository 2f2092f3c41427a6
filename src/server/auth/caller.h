// Who asks, and what he may.
//
// A caller is made anew for each call, from the key as it stands. Nothing that outlasts the call keeps one: it keeps
// the key's id.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/auth/tenant_set.h"

namespace carillon::server {

// What a key is for. Each route says which it takes.
enum class Scope : std::uint8_t {
  read,    // looks
  worker,  // looks, and runs jobs
  tenant,  // all of its tenants
  admin,   // everything
};

std::string_view to_string(Scope scope);
std::optional<Scope> scope_from(std::string_view name);

struct Caller {
  std::string id;  // of the key, for the audit trail
  Scope scope = Scope::read;
  TenantSet tenants;
  std::string session;  // its id, if it is somebody at the page; else none

  bool by_session() const { return !session.empty(); }
  bool may_see(std::string_view tenant) const { return tenants.has(tenant); }
  std::string actor() const { return "key:" + id; }
  friend bool operator==(const Caller&, const Caller&) = default;
};

}  // namespace carillon::server
