// The layer below FaultVfs: the real file system or one in memory. Codes are SQLite's; the calls mean what those of the
// same name mean in sqlite3_vfs and sqlite3_io_methods.
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>

namespace carillon {

// One open handle. `close` is the last call, and is always made.
class DiskFile {
 public:
  virtual ~DiskFile() = default;

  // False: the power has failed since it was opened. Only unlocking and closing still work.
  virtual bool is_usable() const = 0;
  virtual int close() = 0;

  // SQLITE_IOERR_SHORT_READ, with zeros for what is missing, at the end of the file.
  virtual int read(std::span<char> into, std::int64_t offset) = 0;
  virtual int write(std::span<const char> bytes, std::int64_t offset) = 0;
  virtual int truncate(std::int64_t size) = 0;
  virtual int sync(int flags) = 0;
  virtual int file_size(std::int64_t& size) = 0;

  virtual int lock(int level) = 0;
  virtual int unlock(int level) = 0;
  virtual int check_reserved_lock(int& reserved) = 0;

  virtual int file_control(int operation, void* argument) = 0;
  virtual int sector_size() = 0;
  virtual int device_characteristics() = 0;

  struct ShmRegion {
    int index;
    int bytes;
    int extend;  // whether to create it
  };
  virtual int shm_map(ShmRegion region, volatile void** address) = 0;
  struct ShmLock {
    int first;
    int count;
    int flags;
  };
  virtual int shm_lock(ShmLock lock) = 0;
  virtual void shm_barrier() = 0;
  virtual int shm_unmap(int delete_flag) = 0;
};

class Disk {
 public:
  virtual ~Disk() = default;

  // False while the power is off.
  virtual bool is_usable() const = 0;

  struct OpenRequest {
    const char* name;  // null: a temporary file
    int flags;
    int* flags_out;  // may be null
  };
  virtual std::expected<std::unique_ptr<DiskFile>, int> open(OpenRequest request) = 0;

  enum class SyncDirectory : std::uint8_t { no, yes };
  virtual int remove(const char* name, SyncDirectory sync_directory) = 0;
  virtual int access(const char* name, int flags, int& result) = 0;
  virtual int full_pathname(const char* name, std::span<char> out) = 0;
};

// The disk of this machine, through `real`, SQLite's own VFS.
std::unique_ptr<Disk> real_disk(sqlite3_vfs& real);

}  // namespace carillon
