// Who asks, and what he may.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  std::vector<std::string> tenants;  // empty: all

  bool may_see(std::string_view tenant) const {
    return tenants.empty() || std::ranges::find(tenants, tenant) != tenants.end();
  }
  std::string actor() const { return "key:" + id; }
};

}  // namespace carillon::server
