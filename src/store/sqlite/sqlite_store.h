// The store in a SQLite file: every user's default.
//
// One connection writes, with a full fsync at each commit; readers have connections of their own. One process may have
// the file open. The log (FILE-wal) is emptied as it grows; if a foreign reader prevents that, writes are refused
// before it fills the disk.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "store/backend.h"
#include "store/store.h"

namespace carillon {

struct SqliteOptions {
  std::string path;
  std::string vfs;  // for tests: the name of a VFS that was registered; then no lock is taken
  // With `normal` a commit that was acknowledged can be lost in a power failure: only to show that a test sees it.
  enum class Synchronous : std::uint8_t { full, normal };
  Synchronous synchronous = Synchronous::full;
  bool upkeep_thread = true;                           // empties the log also when nothing is written
  std::int64_t log_bytes_max = std::int64_t{1} << 30;  // above it writes answer store_full
};

// Makes the file if it does not exist, and brings its schema up to date. The clock must outlive the store.
Result<std::unique_ptr<Store>> open_sqlite(const SqliteOptions& options,
                                           const StoreClock& clock = system_store_clock());
Result<std::unique_ptr<Backend>> open_sqlite_backend(const SqliteOptions& options, const StoreClock& clock);

}  // namespace carillon
