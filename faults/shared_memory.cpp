#include "faults/shared_memory.h"

#include <sqlite3.h>

#include "base/check.h"

namespace carillon {

namespace {

unsigned mask_of(SharedMemory::Slots slots) {
  CHECK(slots.count >= 1 && slots.first + slots.count <= SQLITE_SHM_NLOCK);
  return ((1U << slots.count) - 1U) << slots.first;
}

}  // namespace

volatile void* SharedMemory::map(const void* owner, Region region, IfAbsent if_absent) {
  owners_.try_emplace(owner);
  if (region.index >= regions_.size()) {
    if (if_absent == IfAbsent::leave) return nullptr;
    // Moving the outer vector leaves the regions where SQLite points to.
    while (regions_.size() <= region.index) regions_.emplace_back(region.bytes);
  }
  CHECK(regions_[region.index].size() == region.bytes);
  return regions_[region.index].data();
}

bool SharedMemory::lock_shared(const void* owner, Slots slots) {
  const unsigned mask = mask_of(slots);
  if ((held_by_others(owner).exclusive & mask) != 0) return false;
  owners_[owner].shared |= mask;
  return true;
}

bool SharedMemory::lock_exclusive(const void* owner, Slots slots) {
  const unsigned mask = mask_of(slots);
  const Held others = held_by_others(owner);
  if (((others.shared | others.exclusive) & mask) != 0) return false;
  owners_[owner].exclusive |= mask;
  return true;
}

void SharedMemory::unlock(const void* owner, Slots slots) {
  const auto found = owners_.find(owner);
  if (found == owners_.end()) return;
  found->second.shared &= ~mask_of(slots);
  found->second.exclusive &= ~mask_of(slots);
}

void SharedMemory::detach(const void* owner) {
  owners_.erase(owner);
  if (owners_.empty()) regions_.clear();
}

SharedMemory::Held SharedMemory::held_by_others(const void* owner) const {
  Held others;
  for (const auto& [other, held] : owners_) {
    if (other == owner) continue;
    others.shared |= held.shared;
    others.exclusive |= held.exclusive;
  }
  return others;
}

}  // namespace carillon
