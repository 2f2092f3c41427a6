#include "server/api/tenants.h"

#include <utility>

namespace carillon::server {

bool Tenants::has(std::string_view tenant) const {
  const std::scoped_lock lock(mutex_);
  return names_.contains(tenant);
}

void Tenants::add(std::string tenant) {
  const std::scoped_lock lock(mutex_);
  if (!being_deleted_.contains(tenant)) names_.insert(std::move(tenant));
}

std::vector<std::string> Tenants::all() const {
  const std::scoped_lock lock(mutex_);
  return {names_.begin(), names_.end()};
}

bool Tenants::is_being_deleted(std::string_view tenant) const {
  const std::scoped_lock lock(mutex_);
  return being_deleted_.contains(tenant);
}

std::vector<std::string> Tenants::being_deleted() const {
  const std::scoped_lock lock(mutex_);
  return {being_deleted_.begin(), being_deleted_.end()};
}

bool Tenants::begin_deleting(std::string_view tenant) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = names_.find(tenant); found != names_.end()) names_.erase(found);
  return being_deleted_.emplace(tenant).second;
}

void Tenants::keep(std::string_view tenant) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = being_deleted_.find(tenant); found != being_deleted_.end()) being_deleted_.erase(found);
  names_.emplace(tenant);
  changed_.notify_all();
}

void Tenants::deleted(std::string_view tenant) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = being_deleted_.find(tenant); found != being_deleted_.end()) being_deleted_.erase(found);
  changed_.notify_all();
}

bool Tenants::wait_until_deleted(std::string_view tenant, std::chrono::milliseconds longest) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, longest, [&] { return !being_deleted_.contains(tenant); });
}

}  // namespace carillon::server
