// Which call of a file system fails, and how. Pure bookkeeping: FaultVfs asks before each call, and acts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

namespace carillon {

enum class IoKind : std::uint8_t {
  open,
  read,
  write,
  truncate,
  sync,
  remove,  // xDelete
  file_size,
  access,    // xAccess: does a file exist?
  lock,      // xLock and xCheckReservedLock; never xUnlock
  shm_map,   // xShmMap
  shm_lock,  // xShmLock when it takes a lock, never when it releases one
};

inline constexpr std::size_t kIoKindCount = 11;

std::string_view to_string(IoKind kind);

// The code that SQLite's own unix VFS gives when a call of this kind fails.
int usual_error(IoKind kind);

class IoKinds {
 public:
  // Not explicit: {IoKind::write, IoKind::sync} is how a set is written.
  constexpr IoKinds(std::initializer_list<IoKind> kinds) {
    for (const IoKind kind : kinds) bits_ |= bit(kind);
  }

  constexpr bool contains(IoKind kind) const { return (bits_ & bit(kind)) != 0; }

 private:
  static constexpr std::uint32_t bit(IoKind kind) { return std::uint32_t{1} << static_cast<unsigned>(kind); }

  std::uint32_t bits_ = 0;
};

// What touches the disk.
inline constexpr IoKinds kDiskKinds = {IoKind::open, IoKind::read,   IoKind::write,    IoKind::truncate,
                                       IoKind::sync, IoKind::remove, IoKind::file_size};
// What changes what is on it.
inline constexpr IoKinds kMutatingKinds = {IoKind::write, IoKind::truncate, IoKind::sync, IoKind::remove};

struct IoCounts {
  std::array<std::uint64_t, kIoKindCount> calls{};  // by IoKind, those that failed included
  std::uint64_t failed = 0;                         // of all calls, those that were made to fail
  std::uint64_t bytes_written = 0;

  std::uint64_t of(IoKind kind) const { return calls[static_cast<std::size_t>(kind)]; }
  std::uint64_t of(IoKinds kinds) const;
};

enum class FaultLasts : std::uint8_t { once, until_cleared };

// The `nth` call from now among those of `kinds` fails with `code`, without effect.
struct Fault {
  IoKinds kinds = kDiskKinds;
  std::uint64_t nth = 1;
  std::optional<int> code = std::nullopt;  // an SQLite result code; absent: usual_error of the call
  FaultLasts lasts = FaultLasts::once;
};

struct IoDecision {
  int code = 0;              // SQLITE_OK, or with what the call fails
  bool takes_effect = true;  // whether anything happens before it fails
  std::uint64_t bytes = 0;   // of a write: how many of its bytes are written
  bool power_fails = false;  // during the call
};

class FaultPlan {
 public:
  void add(const Fault& fault);
  void clear_faults() { faults_.clear(); }

  // From now on `bytes` more can be written; nothing: as many as one likes.
  void limit_space(std::optional<std::uint64_t> bytes) { space_left_ = bytes; }

  // The power fails during the `nth` call from now among kMutatingKinds; nothing: it stays on.
  void power_off_at(std::optional<std::uint64_t> nth);

  // Counts the call. `bytes` is what a write wants to write.
  IoDecision next(IoKind kind, std::uint64_t bytes);

  const IoCounts& counts() const { return counts_; }
  void reset_counts() { counts_ = {}; }

 private:
  IoDecision decide(IoKind kind, std::uint64_t bytes);
  // The code of the fault that is due, SQLITE_OK if none is. Every armed fault sees the call.
  int due_fault(IoKind kind);

  std::vector<Fault> faults_;  // `nth` counts down to 0: due
  std::optional<std::uint64_t> space_left_;
  std::optional<std::uint64_t> power_off_in_;
  IoCounts counts_;
};

}  // namespace carillon
