// SQLite's file locks (xLock, xUnlock) between the connections of one process.
#pragma once

#include <map>

namespace carillon {

// The locks on one file. Levels are SQLite's SQLITE_LOCK_NONE … SQLITE_LOCK_EXCLUSIVE. An owner is any address that
// stands for one open handle.
class FileLocks {
 public:
  // Raises the owner's lock to `level`. False: another one prevents it. A refused wish for an exclusive lock may
  // leave the owner pending, so that no new reader comes in; SQLite's readers then run out.
  bool lock(const void* owner, int level);
  // Lowers it to `level`.
  void unlock(const void* owner, int level);
  // Whether anybody, the owner included, is about to write.
  bool is_reserved() const;

 private:
  int highest_of_others(const void* owner) const;

  std::map<const void*, int> levels_;  // above SQLITE_LOCK_NONE
};

}  // namespace carillon
