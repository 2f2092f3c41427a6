#include "faults/memory_disk.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace carillon {

namespace {

// What SQLite's unix VFS answers.
constexpr int kSectorSizeReported = 4096;

constexpr int kJournalTypes = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL;

std::size_t to_size(std::int64_t value) {
  CHECK(value >= 0);
  return static_cast<std::size_t>(value);
}

std::string_view directory_of(std::string_view name) { return name.substr(0, name.rfind('/') + 1); }

}  // namespace

class MemoryFile final : public DiskFile {
 public:
  enum class FirstSync : std::uint8_t { file_only, directory_too };
  MemoryFile(MemoryDisk& disk, std::shared_ptr<MemoryDisk::Node> node, FirstSync first_sync = FirstSync::file_only)
      : disk_(&disk),
        node_(std::move(node)),
        power_failures_(disk.power_failures_),
        syncs_directory_(first_sync == FirstSync::directory_too) {}

  bool is_usable() const override { return power_failures_ == disk_->power_failures_; }

  int close() override {
    node_->locks.unlock(this, SQLITE_LOCK_NONE);
    node_->shared_memory.detach(this);
    return SQLITE_OK;
  }

  int read(std::span<char> into, std::int64_t offset) override {
    const std::size_t count = node_->content.read(to_size(offset), into);
    if (count == into.size()) return SQLITE_OK;
    std::ranges::fill(into.subspan(count), '\0');
    return SQLITE_IOERR_SHORT_READ;
  }
  int write(std::span<const char> bytes, std::int64_t offset) override {
    node_->content.write(to_size(offset), bytes);
    return SQLITE_OK;
  }
  int truncate(std::int64_t size) override {
    node_->content.truncate(to_size(size));
    return SQLITE_OK;
  }
  int sync(int) override {
    disk_->sync(node_);
    if (std::exchange(syncs_directory_, false)) disk_->sync_directory_of(node_->name);
    return SQLITE_OK;
  }
  int file_size(std::int64_t& size) override {
    size = static_cast<std::int64_t>(node_->content.size());
    return SQLITE_OK;
  }

  int lock(int level) override { return node_->locks.lock(this, level) ? SQLITE_OK : SQLITE_BUSY; }
  int unlock(int level) override {
    node_->locks.unlock(this, level);
    return SQLITE_OK;
  }
  int check_reserved_lock(int& reserved) override {
    reserved = node_->locks.is_reserved() ? 1 : 0;
    return SQLITE_OK;
  }

  int file_control(int operation, void* argument) override {
    if (operation != SQLITE_FCNTL_PERSIST_WAL) return SQLITE_NOTFOUND;
    // Negative: a question.
    int& persist = *static_cast<int*>(argument);
    if (persist >= 0) persist_wal_ = persist != 0;
    persist = persist_wal_ ? 1 : 0;
    return SQLITE_OK;
  }
  int sector_size() override { return kSectorSizeReported; }
  int device_characteristics() override { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

  int shm_map(ShmRegion region, volatile void** address) override {
    const auto if_absent = region.extend != 0 ? SharedMemory::IfAbsent::create : SharedMemory::IfAbsent::leave;
    *address =
        node_->shared_memory.map(this, {.index = to_size(region.index), .bytes = to_size(region.bytes)}, if_absent);
    return SQLITE_OK;
  }
  int shm_lock(ShmLock lock) override {
    const SharedMemory::Slots slots = {.first = static_cast<unsigned>(lock.first),
                                       .count = static_cast<unsigned>(lock.count)};
    if ((lock.flags & SQLITE_SHM_UNLOCK) != 0) {
      node_->shared_memory.unlock(this, slots);
      return SQLITE_OK;
    }
    const bool taken = (lock.flags & SQLITE_SHM_EXCLUSIVE) != 0 ? node_->shared_memory.lock_exclusive(this, slots)
                                                                : node_->shared_memory.lock_shared(this, slots);
    return taken ? SQLITE_OK : SQLITE_BUSY;
  }
  // The lock that the caller holds around this is the barrier.
  void shm_barrier() override {}
  int shm_unmap(int) override {
    node_->shared_memory.detach(this);
    return SQLITE_OK;
  }

 private:
  MemoryDisk* disk_;
  std::shared_ptr<MemoryDisk::Node> node_;
  std::uint64_t power_failures_;  // of the disk, when this was opened
  bool syncs_directory_;
  bool persist_wal_ = false;
};

std::expected<std::unique_ptr<DiskFile>, int> MemoryDisk::open(OpenRequest request) {
  if (request.flags_out != nullptr) *request.flags_out = request.flags;
  // The unix VFS removes a temporary file as soon as it is open, so that nobody ever sees its name.
  if (request.name == nullptr || (request.flags & SQLITE_OPEN_DELETEONCLOSE) != 0) {
    return std::make_unique<MemoryFile>(*this, std::make_shared<Node>());
  }
  const bool creates = (request.flags & SQLITE_OPEN_CREATE) != 0;
  auto found = names_.find(request.name);
  if (found == names_.end()) {
    if (!creates) return std::unexpected(SQLITE_CANTOPEN);
    found = names_.emplace(request.name, std::make_shared<Node>()).first;
    found->second->name = request.name;
  } else if ((request.flags & SQLITE_OPEN_EXCLUSIVE) != 0) {
    return std::unexpected(SQLITE_CANTOPEN);
  }
  const bool may_be_new_journal = creates && (request.flags & kJournalTypes) != 0;
  const auto first_sync = may_be_new_journal ? MemoryFile::FirstSync::directory_too : MemoryFile::FirstSync::file_only;
  return std::make_unique<MemoryFile>(*this, found->second, first_sync);
}

int MemoryDisk::remove(const char* name, SyncDirectory sync_directory) {
  if (names_.erase(name) == 0) return SQLITE_IOERR_DELETE_NOENT;
  if (sync_directory == SyncDirectory::yes) sync_directory_of(name);
  return SQLITE_OK;
}

int MemoryDisk::access(const char* name, int flags, int& result) {
  const auto found = names_.find(name);
  const bool exists = found != names_.end();
  // To the unix VFS a file without content does not exist, which matters to hot journals.
  result = exists && (flags != SQLITE_ACCESS_EXISTS || found->second->content.size() > 0) ? 1 : 0;
  return SQLITE_OK;
}

int MemoryDisk::full_pathname(const char* name, std::span<char> out) {
  const std::string full = (std::filesystem::path("/") / name).lexically_normal().string();
  if (full.size() >= out.size()) return SQLITE_CANTOPEN;
  std::ranges::copy(full, out.begin());
  out[full.size()] = '\0';
  return SQLITE_OK;
}

void MemoryDisk::sync(const std::shared_ptr<Node>& node) {
  if (options_.lies_about_sync) return;
  node->content.sync();
  const auto found = names_.find(node->name);
  if (found != names_.end() && found->second == node) durable_names_[node->name] = node;
}

void MemoryDisk::sync_directory_of(const std::string& name) {
  if (options_.lies_about_sync) return;
  const auto inside = [directory = directory_of(name)](const auto& entry) {
    return directory_of(entry.first) == directory;
  };
  std::erase_if(durable_names_, inside);
  std::ranges::copy_if(names_, std::inserter(durable_names_, durable_names_.end()), inside);
}

void MemoryDisk::power_off(Survivors survivors) {
  if (!powered_) return;
  powered_ = false;
  ++power_failures_;

  std::set<std::string> all_names;
  for (const Names* names : {&names_, &durable_names_}) {
    for (const auto& [name, node] : *names) all_names.insert(name);
  }
  Names left;
  for (const std::string& name : all_names) {
    const std::shared_ptr<Node> entry = surviving_entry(name, survivors);
    if (entry == nullptr) continue;
    // A new node: the locks and the shared memory of the old one are gone, though old handles may still look at them.
    auto node = std::make_shared<Node>();
    node->name = name;
    node->content = CachedContent(entry->content.after_power_failure(survivors, random_));
    left.emplace(name, std::move(node));
  }
  names_ = left;
  durable_names_ = std::move(left);
}

std::shared_ptr<MemoryDisk::Node> MemoryDisk::surviving_entry(const std::string& name, Survivors survivors) {
  const auto entry_in = [&](const Names& names) {
    const auto found = names.find(name);
    return found == names.end() ? nullptr : found->second;
  };
  std::shared_ptr<Node> newest = entry_in(names_);
  std::shared_ptr<Node> durable = entry_in(durable_names_);
  if (newest == durable || survivors == Survivors::all) return newest;
  if (survivors == Survivors::none) return durable;
  return random_.coin() ? newest : durable;
}

}  // namespace carillon
