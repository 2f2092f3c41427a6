#include "faults/file_locks.h"

#include <sqlite3.h>

#include <algorithm>

#include "base/check.h"

namespace carillon {

bool FileLocks::lock(const void* owner, int level) {
  int& held = levels_[owner];
  if (held >= level) return true;
  const int others = highest_of_others(owner);
  switch (level) {
    case SQLITE_LOCK_SHARED:
      if (others >= SQLITE_LOCK_PENDING) {
        levels_.erase(owner);
        return false;
      }
      break;
    case SQLITE_LOCK_RESERVED:
      if (others >= SQLITE_LOCK_RESERVED) return false;
      break;
    case SQLITE_LOCK_EXCLUSIVE:
      if (others >= SQLITE_LOCK_RESERVED) return false;
      if (others == SQLITE_LOCK_SHARED) {
        held = SQLITE_LOCK_PENDING;
        return false;
      }
      break;
    default: UNREACHABLE();
  }
  held = level;
  return true;
}

void FileLocks::unlock(const void* owner, int level) {
  const auto found = levels_.find(owner);
  if (found == levels_.end()) return;
  if (level == SQLITE_LOCK_NONE) {
    levels_.erase(found);
  } else {
    found->second = std::min(found->second, level);
  }
}

bool FileLocks::is_reserved() const {
  return std::ranges::any_of(levels_, [](const auto& entry) { return entry.second >= SQLITE_LOCK_RESERVED; });
}

int FileLocks::highest_of_others(const void* owner) const {
  int highest = SQLITE_LOCK_NONE;
  for (const auto& [other, level] : levels_) {
    if (other != owner) highest = std::max(highest, level);
  }
  return highest;
}

}  // namespace carillon
