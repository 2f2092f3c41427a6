#include "faults/fault_vfs.h"

#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <new>
#include <span>
#include <utility>

#include "base/check.h"
#include "faults/disk.h"
#include "faults/memory_disk.h"

namespace carillon {

namespace {

sqlite3_vfs& unix_vfs() {
  sqlite3_vfs* const found = sqlite3_vfs_find("unix");
  CHECK(found != nullptr);
  return *found;
}

}  // namespace

// The x… functions are what SQLite calls; each is one line of plumbing around `call` or `uncounted`.
struct FaultVfs::Implementation {
  explicit Implementation(const FaultVfsOptions& options);

  // What SQLite holds of an open file.
  struct Handle : sqlite3_file {
    Implementation* vfs;
    DiskFile* file;  // owned; from xOpen to xClose
  };
  static Handle& handle_of(sqlite3_file* file) { return *static_cast<Handle*>(file); }
  static Implementation& of(sqlite3_vfs* vfs) { return *static_cast<Implementation*>(vfs->pAppData); }

  // A real disk takes care of its own threads, and one that is slow must not hold up the others.
  std::unique_lock<std::mutex> lock_for_disk() {
    std::unique_lock lock(mutex, std::defer_lock);
    if (memory_disk != nullptr) lock.lock();
    return lock;
  }

  // Counts the call and lets the plan decide; `act` is what the call does if it does anything.
  template <typename Target, typename Act>
  int call(IoKind kind, const Target& target, Act act, std::uint64_t bytes = 0) {
    std::unique_lock lock(mutex);
    if (!target.is_usable()) return usual_error(kind);
    const IoDecision decision = plan.next(kind, bytes);
    if (!decision.takes_effect) {
      errno = EIO;  // SQLite asks for it
      return decision.code;
    }
    if (memory_disk == nullptr) lock.unlock();
    const int code = act(decision);
    if (memory_disk != nullptr && decision.power_fails) memory_disk->power_off(Survivors::random);
    return decision.code != SQLITE_OK ? decision.code : code;
  }

  // What never fails on purpose.
  template <typename Act>
  static int uncounted(sqlite3_file* file, Act act) {
    const auto lock = handle_of(file).vfs->lock_for_disk();
    return act(*handle_of(file).file);
  }

  template <typename Act>
  static int call_on(sqlite3_file* file, IoKind kind, Act act, std::uint64_t bytes = 0) {
    DiskFile& target = *handle_of(file).file;
    return handle_of(file).vfs->call(
        kind, target, [&](const IoDecision& decision) { return act(target, decision); }, bytes);
  }

  void run_sync_hook() {
    std::function<void()> hook;
    {
      const std::scoped_lock lock(mutex);
      hook = sync_hook;
    }
    if (hook) hook();
  }

  // ---- sqlite3_vfs ----
  static int x_open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* flags_out) noexcept {
    Implementation& self = of(vfs);
    auto* const handle = new (file) Handle{};  // without methods: SQLite does not close it
    return self.call(IoKind::open, *self.disk, [&](const IoDecision&) {
      auto opened = self.disk->open({.name = name, .flags = flags, .flags_out = flags_out});
      if (!opened) return opened.error();
      handle->vfs = &self;
      handle->file = opened->release();
      handle->pMethods = &kMethods;
      ++self.open_files;
      return SQLITE_OK;
    });
  }
  static int x_delete(sqlite3_vfs* vfs, const char* name, int sync_directory) noexcept {
    Disk& disk = *of(vfs).disk;
    return of(vfs).call(IoKind::remove, disk, [&](const IoDecision& decision) {
      const bool synced = sync_directory != 0 && !decision.power_fails;
      return disk.remove(name, synced ? Disk::SyncDirectory::yes : Disk::SyncDirectory::no);
    });
  }
  static int x_access(sqlite3_vfs* vfs, const char* name, int flags, int* result) noexcept {
    Disk& disk = *of(vfs).disk;
    return of(vfs).call(IoKind::access, disk, [&](const IoDecision&) { return disk.access(name, flags, *result); });
  }
  static int x_full_pathname(sqlite3_vfs* vfs, const char* name, int out_bytes, char* out) noexcept {
    const auto lock = of(vfs).lock_for_disk();
    return of(vfs).disk->full_pathname(name, {out, static_cast<std::size_t>(out_bytes)});
  }

  // Not about files: SQLite's own.
  static void* x_dl_open(sqlite3_vfs*, const char* name) noexcept { return unix_vfs().xDlOpen(&unix_vfs(), name); }
  static void x_dl_error(sqlite3_vfs*, int bytes, char* message) noexcept {
    unix_vfs().xDlError(&unix_vfs(), bytes, message);
  }
  using Symbol = void (*)();
  static Symbol x_dl_sym(sqlite3_vfs*, void* library, const char* symbol) noexcept {
    return unix_vfs().xDlSym(&unix_vfs(), library, symbol);
  }
  static void x_dl_close(sqlite3_vfs*, void* library) noexcept { unix_vfs().xDlClose(&unix_vfs(), library); }
  static int x_randomness(sqlite3_vfs*, int bytes, char* out) noexcept {
    return unix_vfs().xRandomness(&unix_vfs(), bytes, out);
  }
  static int x_sleep(sqlite3_vfs*, int microseconds) noexcept { return unix_vfs().xSleep(&unix_vfs(), microseconds); }
  static int x_current_time(sqlite3_vfs*, double* days) noexcept { return unix_vfs().xCurrentTime(&unix_vfs(), days); }
  static int x_current_time_int64(sqlite3_vfs*, sqlite3_int64* milliseconds) noexcept {
    return unix_vfs().xCurrentTimeInt64(&unix_vfs(), milliseconds);
  }
  static int x_get_last_error(sqlite3_vfs*, int bytes, char* message) noexcept {
    return unix_vfs().xGetLastError(&unix_vfs(), bytes, message);
  }

  // ---- sqlite3_io_methods ----
  static int x_close(sqlite3_file* file) noexcept {
    Handle& handle = handle_of(file);
    const auto lock = handle.vfs->lock_for_disk();
    const std::unique_ptr<DiskFile> owned(std::exchange(handle.file, nullptr));
    --handle.vfs->open_files;
    return owned->close();
  }
  static int x_read(sqlite3_file* file, void* into, int bytes, sqlite3_int64 offset) noexcept {
    const std::span<char> span(static_cast<char*>(into), static_cast<std::size_t>(bytes));
    return call_on(file, IoKind::read, [&](DiskFile& target, const IoDecision&) { return target.read(span, offset); });
  }
  static int x_write(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 offset) noexcept {
    const std::span<const char> span(static_cast<const char*>(from), static_cast<std::size_t>(bytes));
    return call_on(
        file, IoKind::write,
        [&](DiskFile& target, const IoDecision& decision) { return target.write(span.first(decision.bytes), offset); },
        span.size());
  }
  static int x_truncate(sqlite3_file* file, sqlite3_int64 size) noexcept {
    return call_on(file, IoKind::truncate, [&](DiskFile& target, const IoDecision&) { return target.truncate(size); });
  }
  static int x_sync(sqlite3_file* file, int flags) noexcept {
    handle_of(file).vfs->run_sync_hook();
    return call_on(file, IoKind::sync, [&](DiskFile& target, const IoDecision& decision) {
      return decision.power_fails ? SQLITE_IOERR_FSYNC : target.sync(flags);
    });
  }
  static int x_file_size(sqlite3_file* file, sqlite3_int64* size) noexcept {
    return call_on(file, IoKind::file_size, [&](DiskFile& target, const IoDecision&) {
      std::int64_t found = 0;
      const int code = target.file_size(found);
      *size = found;
      return code;
    });
  }
  static int x_lock(sqlite3_file* file, int level) noexcept {
    return call_on(file, IoKind::lock, [&](DiskFile& target, const IoDecision&) { return target.lock(level); });
  }
  static int x_unlock(sqlite3_file* file, int level) noexcept {
    return uncounted(file, [&](DiskFile& target) { return target.unlock(level); });
  }
  static int x_check_reserved_lock(sqlite3_file* file, int* reserved) noexcept {
    return call_on(file, IoKind::lock,
                   [&](DiskFile& target, const IoDecision&) { return target.check_reserved_lock(*reserved); });
  }
  static int x_file_control(sqlite3_file* file, int operation, void* argument) noexcept {
    return uncounted(file, [&](DiskFile& target) { return target.file_control(operation, argument); });
  }
  static int x_sector_size(sqlite3_file* file) noexcept {
    return uncounted(file, [](DiskFile& target) { return target.sector_size(); });
  }
  static int x_device_characteristics(sqlite3_file* file) noexcept {
    return uncounted(file, [](DiskFile& target) { return target.device_characteristics(); });
  }
  static int x_shm_map(sqlite3_file* file, int index, int bytes, int extend, volatile void** address) noexcept {
    *address = nullptr;
    return call_on(file, IoKind::shm_map, [&](DiskFile& target, const IoDecision&) {
      return target.shm_map({.index = index, .bytes = bytes, .extend = extend}, address);
    });
  }
  static int x_shm_lock(sqlite3_file* file, int first, int count, int flags) noexcept {
    const auto act = [&](DiskFile& target) {
      return target.shm_lock({.first = first, .count = count, .flags = flags});
    };
    if ((flags & SQLITE_SHM_UNLOCK) != 0) return uncounted(file, act);
    return call_on(file, IoKind::shm_lock, [&](DiskFile& target, const IoDecision&) { return act(target); });
  }
  static void x_shm_barrier(sqlite3_file* file) noexcept {
    uncounted(file, [](DiskFile& target) {
      target.shm_barrier();
      return SQLITE_OK;
    });
  }
  static int x_shm_unmap(sqlite3_file* file, int delete_flag) noexcept {
    return uncounted(file, [&](DiskFile& target) { return target.shm_unmap(delete_flag); });
  }

  // Version 2: shared memory, but no mapped pages (xFetch), whose reads and writes nobody would see.
  static constexpr sqlite3_io_methods kMethods = {
      .iVersion = 2,
      .xClose = x_close,
      .xRead = x_read,
      .xWrite = x_write,
      .xTruncate = x_truncate,
      .xSync = x_sync,
      .xFileSize = x_file_size,
      .xLock = x_lock,
      .xUnlock = x_unlock,
      .xCheckReservedLock = x_check_reserved_lock,
      .xFileControl = x_file_control,
      .xSectorSize = x_sector_size,
      .xDeviceCharacteristics = x_device_characteristics,
      .xShmMap = x_shm_map,
      .xShmLock = x_shm_lock,
      .xShmBarrier = x_shm_barrier,
      .xShmUnmap = x_shm_unmap,
  };

  // Constant after construction.
  const std::string name;
  std::unique_ptr<Disk> disk;
  MemoryDisk* memory_disk = nullptr;  // the same disk, if it is in memory
  sqlite3_vfs vfs{};

  std::atomic<int> open_files = 0;

  mutable std::mutex mutex;  // guards the following, and all that memory_disk holds
  FaultPlan plan;
  std::function<void()> sync_hook;
};

FaultVfs::Implementation::Implementation(const FaultVfsOptions& options) : name(options.name) {
  if (options.disk == DiskModel::in_memory) {
    auto made = std::make_unique<MemoryDisk>(
        MemoryDisk::Options{.seed = options.seed, .lies_about_sync = options.lie_about_sync});
    memory_disk = made.get();
    disk = std::move(made);
  } else {
    disk = real_disk(unix_vfs());
  }
  vfs = {
      .iVersion = 2,
      .szOsFile = sizeof(Handle),
      .mxPathname = unix_vfs().mxPathname,
      .zName = name.c_str(),
      .pAppData = this,
      .xOpen = x_open,
      .xDelete = x_delete,
      .xAccess = x_access,
      .xFullPathname = x_full_pathname,
      .xDlOpen = x_dl_open,
      .xDlError = x_dl_error,
      .xDlSym = x_dl_sym,
      .xDlClose = x_dl_close,
      .xRandomness = x_randomness,
      .xSleep = x_sleep,
      .xCurrentTime = x_current_time,
      .xGetLastError = x_get_last_error,
      .xCurrentTimeInt64 = x_current_time_int64,
  };
}

FaultVfs::FaultVfs(const FaultVfsOptions& options) : implementation_(std::make_unique<Implementation>(options)) {
  CHECK(!options.name.empty() && sqlite3_vfs_find(options.name.c_str()) == nullptr);
  CHECK(sqlite3_vfs_register(&implementation_->vfs, 0) == SQLITE_OK);
}

FaultVfs::~FaultVfs() {
  CHECK(implementation_->open_files == 0);
  sqlite3_vfs_unregister(&implementation_->vfs);
}

const std::string& FaultVfs::name() const { return implementation_->name; }

IoCounts FaultVfs::counts() const {
  const std::scoped_lock lock(implementation_->mutex);
  return implementation_->plan.counts();
}

void FaultVfs::reset_counts() {
  const std::scoped_lock lock(implementation_->mutex);
  implementation_->plan.reset_counts();
}

void FaultVfs::fail(const Fault& fault) {
  const std::scoped_lock lock(implementation_->mutex);
  implementation_->plan.add(fault);
}

void FaultVfs::clear_faults() {
  const std::scoped_lock lock(implementation_->mutex);
  implementation_->plan.clear_faults();
}

void FaultVfs::fill_disk_after(std::uint64_t bytes) {
  const std::scoped_lock lock(implementation_->mutex);
  implementation_->plan.limit_space(bytes);
}

void FaultVfs::empty_disk() {
  const std::scoped_lock lock(implementation_->mutex);
  implementation_->plan.limit_space(std::nullopt);
}

void FaultVfs::before_sync(std::function<void()> hook) {
  const std::scoped_lock lock(implementation_->mutex);
  implementation_->sync_hook = std::move(hook);
}

void FaultVfs::power_off(Survivors survivors) {
  CHECK(implementation_->memory_disk != nullptr);
  const std::scoped_lock lock(implementation_->mutex);
  implementation_->memory_disk->power_off(survivors);
}

void FaultVfs::power_off_at(std::uint64_t nth) {
  CHECK(implementation_->memory_disk != nullptr);
  const std::scoped_lock lock(implementation_->mutex);
  implementation_->plan.power_off_at(nth);
}

void FaultVfs::power_on() {
  CHECK(implementation_->memory_disk != nullptr);
  const std::scoped_lock lock(implementation_->mutex);
  implementation_->plan.power_off_at(std::nullopt);
  implementation_->memory_disk->power_on();
}

bool FaultVfs::is_powered() const {
  CHECK(implementation_->memory_disk != nullptr);
  const std::scoped_lock lock(implementation_->mutex);
  return implementation_->memory_disk->is_usable();
}

}  // namespace carillon
