#include "server/api/tenants.h"

#include <utility>

namespace carillon::server {

bool Tenants::has(std::string_view tenant) const {
  const std::scoped_lock lock(mutex_);
  return names_.contains(tenant);
}

void Tenants::add(std::string tenant) {
  const std::scoped_lock lock(mutex_);
  names_.insert(std::move(tenant));
}

void Tenants::remove(std::string_view tenant) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = names_.find(tenant); found != names_.end()) names_.erase(found);
}

std::vector<std::string> Tenants::all() const {
  const std::scoped_lock lock(mutex_);
  return {names_.begin(), names_.end()};
}

}  // namespace carillon::server
