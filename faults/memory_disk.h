// A disk in memory that forgets what was not synced when its power fails.
//
// Contents follow CachedContent. Names are cached too: a file that was created or removed may be back as it was, unless
// the file itself was synced (as ext4 and xfs do it, its name is then safe as well) or its directory was. As in
// SQLite's unix VFS, the first sync of a journal or log opened with CREATE syncs the directory too: without it the
// journal of an earlier transaction could come back and undo what the log holds.
//
// Locks and shared memory work between the connections of this process.
//
// Not thread safe: the caller holds one lock around every call to the disk and to its files.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "faults/cached_content.h"
#include "faults/disk.h"
#include "faults/file_locks.h"
#include "faults/seeded_random.h"
#include "faults/shared_memory.h"

namespace carillon {

class MemoryDisk final : public Disk {
 public:
  struct Options {
    std::uint64_t seed = 1;
    bool lies_about_sync = false;  // a sync succeeds, and nothing becomes durable
  };
  explicit MemoryDisk(Options options) : options_(options), random_(options.seed) {}

  // Decides what survives. Handles that are open stay unusable for good. Does nothing while the power is off.
  void power_off(Survivors survivors);
  void power_on() { powered_ = true; }

  bool is_usable() const override { return powered_; }
  std::expected<std::unique_ptr<DiskFile>, int> open(OpenRequest request) override;
  int remove(const char* name, SyncDirectory sync_directory) override;
  int access(const char* name, int flags, int& result) override;
  int full_pathname(const char* name, std::span<char> out) override;

 private:
  friend class MemoryFile;

  struct Node {
    std::string name;  // as it was opened; the file may have been removed since. Empty: temporary
    CachedContent content;
    FileLocks locks;
    SharedMemory shared_memory;
  };
  using Names = std::map<std::string, std::shared_ptr<Node>>;

  void sync(const std::shared_ptr<Node>& node);
  void sync_directory_of(const std::string& name);
  std::shared_ptr<Node> surviving_entry(const std::string& name, Survivors survivors);

  Options options_;
  SeededRandom random_;
  bool powered_ = true;
  std::uint64_t power_failures_ = 0;
  Names names_;          // what programs see
  Names durable_names_;  // what is on the disk for certain
};

}  // namespace carillon
