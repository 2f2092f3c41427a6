#include <cstddef>
#include <vector>

#include "base/check.h"
#include "faults/disk.h"

namespace carillon {

namespace {

// A handle of the real VFS. SQLite leaves the memory for it to us.
class RealFile final : public DiskFile {
 public:
  explicit RealFile(sqlite3_vfs& real)
      : memory_((static_cast<std::size_t>(real.szOsFile) + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t)) {}

  int open(sqlite3_vfs& real, const Disk::OpenRequest& request) {
    const int code = real.xOpen(&real, request.name, file(), request.flags, request.flags_out);
    if (code != SQLITE_OK && file()->pMethods != nullptr) file()->pMethods->xClose(file());
    if (code == SQLITE_OK) CHECK(methods().iVersion >= 2);
    return code;
  }

  bool is_usable() const override { return true; }
  int close() override { return methods().xClose(file()); }

  int read(std::span<char> into, std::int64_t offset) override {
    return methods().xRead(file(), into.data(), static_cast<int>(into.size()), offset);
  }
  int write(std::span<const char> bytes, std::int64_t offset) override {
    return methods().xWrite(file(), bytes.data(), static_cast<int>(bytes.size()), offset);
  }
  int truncate(std::int64_t size) override { return methods().xTruncate(file(), size); }
  int sync(int flags) override { return methods().xSync(file(), flags); }
  int file_size(std::int64_t& size) override {
    sqlite3_int64 found = 0;
    const int code = methods().xFileSize(file(), &found);
    size = found;
    return code;
  }

  int lock(int level) override { return methods().xLock(file(), level); }
  int unlock(int level) override { return methods().xUnlock(file(), level); }
  int check_reserved_lock(int& reserved) override { return methods().xCheckReservedLock(file(), &reserved); }

  int file_control(int operation, void* argument) override {
    // Pages are not mapped through us, so the file beneath must not map them either.
    if (operation == SQLITE_FCNTL_MMAP_SIZE) return SQLITE_NOTFOUND;
    return methods().xFileControl(file(), operation, argument);
  }
  int sector_size() override { return methods().xSectorSize(file()); }
  int device_characteristics() override { return methods().xDeviceCharacteristics(file()); }

  int shm_map(ShmRegion region, volatile void** address) override {
    return methods().xShmMap(file(), region.index, region.bytes, region.extend, address);
  }
  int shm_lock(ShmLock lock) override { return methods().xShmLock(file(), lock.first, lock.count, lock.flags); }
  void shm_barrier() override { methods().xShmBarrier(file()); }
  int shm_unmap(int delete_flag) override { return methods().xShmUnmap(file(), delete_flag); }

 private:
  sqlite3_file* file() { return reinterpret_cast<sqlite3_file*>(memory_.data()); }
  const sqlite3_io_methods& methods() { return *file()->pMethods; }

  std::vector<std::max_align_t> memory_;
};

class RealDisk final : public Disk {
 public:
  explicit RealDisk(sqlite3_vfs& real) : real_(&real) {}

  bool is_usable() const override { return true; }

  std::expected<std::unique_ptr<DiskFile>, int> open(OpenRequest request) override {
    auto file = std::make_unique<RealFile>(*real_);
    if (const int code = file->open(*real_, request); code != SQLITE_OK) return std::unexpected(code);
    return file;
  }

  int remove(const char* name, SyncDirectory sync_directory) override {
    return real_->xDelete(real_, name, sync_directory == SyncDirectory::yes ? 1 : 0);
  }
  int access(const char* name, int flags, int& result) override { return real_->xAccess(real_, name, flags, &result); }
  int full_pathname(const char* name, std::span<char> out) override {
    return real_->xFullPathname(real_, name, static_cast<int>(out.size()), out.data());
  }

 private:
  sqlite3_vfs* real_;
};

}  // namespace

std::unique_ptr<Disk> real_disk(sqlite3_vfs& real) { return std::make_unique<RealDisk>(real); }

}  // namespace carillon
