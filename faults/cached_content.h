// One file under a disk cache: what was synced is safe, what was written since may or may not be on the disk.
//
//   CachedContent file;
//   file.write(0, "old");  file.sync();
//   file.write(0, "new");                                       // a read gives "new" from here on
//   file.after_power_failure(Survivors::random, random);        // "old" or "new"
//
// The model: sectors of 512 bytes reach the disk whole, at any time and in any order. After a power failure each sector
// holds what it held at some moment since the last sync, and the file has the length it had at some such moment, each
// of them chosen on its own: so a page of eight sectors can be torn, a later write can be there without an earlier one,
// and a file that grew can read as zeros. Bytes that nobody wrote to do not change, which is what SQLite's "powersafe
// overwrite" asks of a disk. A file system keeps two orders, and so does this one: what was cut off does not come back
// when the file grows again, and what was written where a cut had made room is not there unless the cut is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "faults/seeded_random.h"

namespace carillon {

inline constexpr std::size_t kSectorBytes = 512;

// What is left of changes that were not synced.
enum class Survivors : std::uint8_t {
  random,  // for each file by chance: none, all, a prefix that ends in a torn write, or sector by sector
  none,    // the worst: the cache was never written out
  all,     // as if only the program had been killed
};

class CachedContent {
 public:
  CachedContent() = default;
  explicit CachedContent(std::vector<char> durable) : newest_(std::move(durable)) {}

  std::size_t size() const { return newest_.size(); }
  bool has_unsynced() const { return !unsynced_.empty(); }

  // Fills `into` from the newest content. The number of bytes that there were; fewer only at the end of the file.
  std::size_t read(std::size_t offset, std::span<char> into) const;

  void write(std::size_t offset, std::span<const char> bytes);
  // Cuts the file, or lengthens it with zeros.
  void truncate(std::size_t size);
  void sync();

  std::vector<char> after_power_failure(Survivors survivors, SeededRandom& random) const;

 private:
  struct Change {
    enum class Kind : std::uint8_t { write, truncate };
    Kind kind;
    std::size_t offset;       // of a truncation: the new size
    std::vector<char> bytes;  // of a write
    std::size_t size_before;
    std::vector<char> before;  // what it wrote over, or cut off

    std::size_t end() const { return offset + bytes.size(); }
    std::size_t size_after(std::size_t size) const;
  };

  // How many of the unsynced changes have reached each sector, and the length of the file.
  struct Progress {
    std::vector<std::size_t> of_sector;
    std::size_t of_size;
  };

  void apply(Change change);
  // What was synced. It is seldom asked for: a sync, which is frequent, has nothing to copy.
  std::vector<char> durable() const;
  std::size_t durable_size() const { return unsynced_.empty() ? newest_.size() : unsynced_.front().size_before; }
  // The greatest length that the file has had since the last sync.
  std::size_t extent() const;
  Progress progress(Survivors survivors, SeededRandom& random) const;
  std::vector<char> content_at(const Progress& progress) const;

  std::vector<Change> unsynced_;  // in order
  std::vector<char> newest_;      // what was synced, with all of unsynced_
};

}  // namespace carillon
