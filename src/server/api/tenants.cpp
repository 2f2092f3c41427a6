#include "server/api/tenants.h"

#include <thread>
#include <utility>

namespace carillon::server {

namespace {

// Between two looks at those who still write.
constexpr std::chrono::milliseconds kLookAgain(1);

template <typename Names>
std::vector<std::string> listed(const Names& names) {
  std::vector<std::string> list;
  for (const auto& [name, writers] : names) list.push_back(name);
  return list;
}

}  // namespace

bool Tenants::has(std::string_view tenant) const {
  const std::scoped_lock lock(mutex_);
  return names_.contains(tenant);
}

void Tenants::add(std::string tenant) {
  const std::scoped_lock lock(mutex_);
  if (being_deleted_.contains(tenant) || names_.contains(tenant)) return;
  // Who makes it writes under it, as others may who came at the same time.
  auto known = absent_.extract(tenant);
  names_.emplace(std::move(tenant), known ? std::move(known.mapped()) : std::make_shared<Writers>(0));
}

std::vector<std::string> Tenants::all() const {
  const std::scoped_lock lock(mutex_);
  return listed(names_);
}

Tenants::Entered Tenants::enter(std::string_view tenant) {
  const std::scoped_lock lock(mutex_);
  Entered entered;
  auto found = names_.find(tenant);
  if (found == names_.end()) {
    if (being_deleted_.contains(tenant)) return {.fate = Fate::being_deleted, .held = {}};
    entered.fate = Fate::absent;
    std::erase_if(absent_, [](const auto& one) { return one.second->load(std::memory_order_acquire) == 0; });
    found = absent_.try_emplace(std::string(tenant), std::make_shared<Writers>(0)).first;
  }
  found->second->fetch_add(1, std::memory_order_relaxed);
  // It ends without the lock: that may be on the driver's thread.
  entered.held = std::shared_ptr<void>(
      nullptr, [writers = found->second](void*) { writers->fetch_sub(1, std::memory_order_release); });
  return entered;
}

bool Tenants::is_being_deleted(std::string_view tenant) const {
  const std::scoped_lock lock(mutex_);
  return being_deleted_.contains(tenant);
}

std::vector<std::string> Tenants::being_deleted() const {
  const std::scoped_lock lock(mutex_);
  return listed(being_deleted_);
}

bool Tenants::begin_deleting(std::string_view tenant) {
  const std::scoped_lock lock(mutex_);
  if (being_deleted_.contains(tenant)) return false;
  const auto found = names_.find(tenant);
  auto writers = found == names_.end() ? std::make_shared<Writers>(0) : std::move(found->second);
  if (found != names_.end()) names_.erase(found);
  being_deleted_.emplace(tenant, std::move(writers));
  return true;
}

bool Tenants::wait_for_writers(std::string_view tenant, std::chrono::milliseconds longest) const {
  std::shared_ptr<Writers> writers;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = being_deleted_.find(tenant);
    if (found == being_deleted_.end()) return true;
    writers = found->second;
  }
  const auto until = std::chrono::steady_clock::now() + longest;
  while (writers->load(std::memory_order_acquire) > 0) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(kLookAgain);
  }
  return true;
}

void Tenants::keep(std::string_view tenant) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = being_deleted_.find(tenant); found != being_deleted_.end()) {
    names_.insert(being_deleted_.extract(found));
  }
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
