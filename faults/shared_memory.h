// SQLite's shared memory of a database in WAL mode (xShmMap, xShmLock), between the connections of one process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace carillon {

// The regions and the eight locks that go with one database file. An owner is any address that stands for one open
// handle. The regions live as long as an owner is attached; the next one to come finds zeros, and SQLite rebuilds.
class SharedMemory {
 public:
  struct Region {
    std::size_t index;
    std::size_t bytes;  // the same for every region
  };
  enum class IfAbsent : std::uint8_t { create, leave };
  // Attaches the owner. The region, zeros at first; null if there is none yet and it is to be left at that.
  volatile void* map(const void* owner, Region region, IfAbsent if_absent);

  // Slots first … first + count - 1 of 0 … 7, all or none.
  struct Slots {
    unsigned first;
    unsigned count;
  };
  bool lock_shared(const void* owner, Slots slots);
  bool lock_exclusive(const void* owner, Slots slots);
  void unlock(const void* owner, Slots slots);

  // Gives up the owner's locks and its hold on the regions.
  void detach(const void* owner);

 private:
  struct Held {
    unsigned shared = 0;  // bit by slot
    unsigned exclusive = 0;
  };
  Held held_by_others(const void* owner) const;

  std::vector<std::vector<char>> regions_;
  std::map<const void*, Held> owners_;
};

}  // namespace carillon
