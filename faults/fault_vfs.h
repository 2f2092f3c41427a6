// A file system for SQLite that fails on request: for tests of what uses SQLite.
//
//   FaultVfs vfs({.name = "flaky", .disk = DiskModel::in_memory, .seed = 7});
//   sqlite3_open_v2("/jobs.db", &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs.name().c_str());
//   vfs.power_off_at(100);            // during the 100th write, truncation, sync or removal from now
//   ...                               // until SQLite gives an error
//   sqlite3_close(database);          // the handles are dead, but have to be closed
//   vfs.power_on();                   // the database can be opened again, with what has survived
//
// There are two models of a disk. `real_files` passes every call on to SQLite's unix VFS. `in_memory` is a file system
// of its own, as fast as memory, whose power can fail: what was not synced then survives in part, down to torn pages
// (cached_content.h says how a disk may behave, memory_disk.h what happens to names). Both of them
//
//   - count the calls by kind;
//   - fail the nth call, once or until cleared:    vfs.fail({.kinds = {IoKind::sync}, .nth = 3});
//   - run full after some bytes:                   vfs.fill_disk_after(10'000);  ...  vfs.empty_disk();
//   - have slow syncs:                             vfs.before_sync([] { std::this_thread::sleep_for(5ms); });
//
// Decisions depend on nothing but the seed and the order of the calls: one thread, or threads in a fixed order, give
// the same survivors every time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "faults/cached_content.h"
#include "faults/fault_plan.h"

namespace carillon {

enum class DiskModel : std::uint8_t { real_files, in_memory };

struct FaultVfsOptions {
  std::string name;  // for sqlite3_open_v2 or ?vfs=; unused by any other VFS
  DiskModel disk = DiskModel::real_files;

  // Of the disk in memory only:
  std::uint64_t seed = 1;
  bool lie_about_sync = false;  // syncs succeed and make nothing durable; a control, for tests that must notice
};

// Registered with SQLite from construction to destruction. Every connection that uses it must be closed before.
// All functions may be called from any thread.
class FaultVfs {
 public:
  explicit FaultVfs(const FaultVfsOptions& options);
  ~FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;

  const std::string& name() const;

  // Calls since the last reset; those that found the power off are not counted.
  IoCounts counts() const;
  void reset_counts();

  // Several faults may be armed at once; each counts for itself from when it was given.
  void fail(const Fault& fault);
  void clear_faults();

  // After `bytes` more, every write fails with SQLITE_FULL; the one that does not fit is cut short. Overwriting counts
  // like growing.
  void fill_disk_after(std::uint64_t bytes);
  void empty_disk();

  // Called at the start of every sync, without a lock, by the thread that syncs. Null: no more.
  void before_sync(std::function<void()> hook);

  // ---- Of the disk in memory only ----

  // Cuts the power now. Every call on an open handle fails from then on, except unlocking and closing, and opening
  // fails until power_on. Without effect while the power is off.
  void power_off(Survivors survivors = Survivors::random);
  // Cuts it during the `nth` call from now among kMutatingKinds: the call fails, and survives in part or as a whole
  // like anything else that was not synced; a sync that is cut off has made nothing certain.
  void power_off_at(std::uint64_t nth);
  // Also disarms power_off_at. Handles from before stay dead.
  void power_on();
  bool is_powered() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace carillon
