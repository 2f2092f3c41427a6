#include "store/sqlite/sqlite_store.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "store/sqlite/file_lock.h"
#include "store/sqlite/migrations.h"
#include "store/sqlite/sqlite_reader.h"
#include "store/sqlite/sqlite_transaction.h"
#include "store/transactional_store.h"

namespace carillon {

namespace {

constexpr int kPageBytes = 8192;
// Written back after this many pages of the log: 32 MiB.
constexpr int kCheckpointPages = 4096;
// The log is cut to this size when it begins anew, and emptied by upkeep above it.
constexpr std::int64_t kLogBytesKept = std::int64_t{64} << 20;
constexpr std::chrono::seconds kUpkeepEvery{1};
// No read takes longer than kReadMax, but threads may be slow.
constexpr std::chrono::seconds kPauseMax{2};
constexpr int kRoundsAfterVainPause = 3;

// The writer, and the log that it writes. Everything here is done with `writing_` held.
class SqliteBackend final : public Backend {
 public:
  SqliteBackend(const SqliteOptions& options, const StoreClock& clock, std::unique_ptr<FileLock> lock,
                std::unique_ptr<Connection> connection)
      : options_(options),
        lock_(std::move(lock)),
        connection_(std::move(connection)),
        transaction_(*connection_),
        reader_({.path = options.path, .vfs = options.vfs, .read_only = true}, clock) {
    sqlite3_wal_hook(connection_->handle(), on_commit, this);
  }
  SqliteBackend(const SqliteBackend&) = delete;
  SqliteBackend& operator=(const SqliteBackend&) = delete;

  ~SqliteBackend() override {
    if (upkeep_.joinable()) {
      {
        const std::scoped_lock lock(writing_);
        stopping_ = true;
      }
      stop_.notify_all();
      upkeep_.join();
    }
  }

  Result<void> prepare(const StoreClock& clock) {
    // All in the transaction, so that nothing that could not be read goes unnoticed.
    transaction_.begin();
    transaction_.load();
    highest_id_ = transaction_.highest_id();
    transaction_.cut_leases(clock.boot());
    TRY(transaction_.commit());
    if (options_.upkeep_thread) upkeep_ = std::thread([this] { keep_up(); });
    return {};
  }

  Transaction& begin() override {
    writing_.lock();
    if (log_pages_ * kPageBytes > options_.log_bytes_max) empty_log();
    transaction_.begin();
    changes_at_begin_ = sqlite3_total_changes64(connection_->handle());
    return transaction_;
  }

  Result<void> commit() override {
    const bool wrote = sqlite3_total_changes64(connection_->handle()) != changes_at_begin_;
    if (wrote && log_pages_ * kPageBytes > options_.log_bytes_max) {
      transaction_.fail({.code = ErrorCode::store_full,
                         .message = fmt::format("the log of {} has grown to {} MiB because a reader from outside keeps "
                                                "it from being emptied",
                                                carillon::quoted(options_.path), log_pages_ * kPageBytes >> 20)});
    }
    auto committed = transaction_.commit();
    writing_.unlock();
    return committed;
  }

  void roll_back() override {
    transaction_.roll_back();
    writing_.unlock();
  }

  JobId highest_id() override { return highest_id_; }
  StoreReader& reader() override { return reader_; }

 private:
  // Called by SQLite after each commit with the number of pages in the log.
  static int on_commit(void* self, sqlite3* handle, const char* /*schema*/, int pages) {
    auto& backend = *static_cast<SqliteBackend*>(self);
    backend.log_pages_ = pages;
    // A failure to write back loses nothing, and is tried again at the next commit.
    if (pages >= kCheckpointPages)
      sqlite3_wal_checkpoint_v2(handle, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    return SQLITE_OK;
  }

  // Needs that nobody reads from the log; if someone does, it is tried again later.
  void empty_log() {
    sqlite3* const handle = connection_->handle();
    sqlite3_busy_timeout(handle, 0);
    const int code = sqlite3_wal_checkpoint_v2(handle, nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
    sqlite3_busy_timeout(handle, kLockedMillisecondsMax);
    if (code == SQLITE_OK) log_pages_ = 0;
  }

  bool log_is_long() const { return log_pages_ * kPageBytes > kLogBytesKept; }

  void keep_up() {
    std::unique_lock lock(writing_);
    int rounds_to_wait = 0;
    while (!stop_.wait_for(lock, kUpkeepEvery, [&] { return stopping_; })) {
      if (log_is_long()) empty_log();
      if (!log_is_long() || --rounds_to_wait > 0) continue;
      // Our own readers may follow each other without a gap. The next ones wait until the last of these has ended; the
      // writer does not.
      lock.unlock();
      reader_.pause(kPauseMax);
      lock.lock();
      empty_log();
      reader_.resume();
      // If that was not it, a reader from outside is: ours are not to suffer for it.
      rounds_to_wait = log_is_long() ? kRoundsAfterVainPause : 0;
    }
  }

  const SqliteOptions options_;
  const std::unique_ptr<FileLock> lock_;

  std::mutex writing_;  // guards all below but the reader
  const std::unique_ptr<Connection> connection_;
  SqliteTransaction transaction_;
  JobId highest_id_;  // when it was opened
  std::int64_t log_pages_ = 0;
  std::int64_t changes_at_begin_ = 0;
  bool stopping_ = false;

  SqliteReader reader_;
  std::condition_variable stop_;
  std::thread upkeep_;
};

Result<void> check_folder(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const std::string name = folder.empty() ? "." : folder.string();
  std::error_code error;
  if (!std::filesystem::is_directory(name, error)) {
    return failed(ErrorCode::not_found, fmt::format("the folder {} does not exist", carillon::quoted(name)));
  }
  if (access(name.c_str(), W_OK) != 0) {
    return failed(ErrorCode::unavailable, fmt::format("the folder {} is not writable", carillon::quoted(name)));
  }
  return {};
}

// Through links: by another name it is the same file, and SQLite's log lies beside the real one.
std::string real_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  return error ? path : real.string();
}

Result<void> configure(Connection& connection, SqliteOptions::Synchronous synchronous) {
  connection.execute(fmt::format("PRAGMA page_size = {}", kPageBytes).c_str());
  const auto mode = connection.text("PRAGMA journal_mode = WAL");
  connection.execute(synchronous == SqliteOptions::Synchronous::full ? "PRAGMA synchronous = FULL"
                                                                     : "PRAGMA synchronous = NORMAL");
  connection.execute("PRAGMA cache_size = -65536");
  connection.execute("PRAGMA temp_store = MEMORY");
  connection.execute(fmt::format("PRAGMA journal_size_limit = {}", kLogBytesKept).c_str());
  if (connection.failed()) return std::unexpected(*connection.failure());
  if (mode != "wal") return failed(ErrorCode::unavailable, "the file system does not allow a write-ahead log");
  return {};
}

Result<std::unique_ptr<Backend>> open_file(const SqliteOptions& options, const StoreClock& clock) {
  std::unique_ptr<FileLock> lock;
  if (options.vfs.empty()) {
    TRY(check_folder(options.path));
    TRY_ASSIGN(lock, FileLock::take(real_path(options.path)));
  }
  TRY_ASSIGN(std::unique_ptr<Connection> connection, Connection::open({.path = options.path, .vfs = options.vfs}));
  TRY(check_owner(*connection));  // before anything is written
  TRY(configure(*connection, options.synchronous));
  TRY(migrate(*connection, clock.wall()));
  auto backend = std::make_unique<SqliteBackend>(options, clock, std::move(lock), std::move(connection));
  TRY(backend->prepare(clock));
  return backend;
}

}  // namespace

Result<std::unique_ptr<Backend>> open_sqlite_backend(const SqliteOptions& options, const StoreClock& clock) {
  auto backend = open_file(options, clock);
  if (!backend) {
    return std::unexpected(with_context(fmt::format("cannot open store {}", carillon::quoted("sqlite:" + options.path)),
                                        std::move(backend).error()));
  }
  return backend;
}

Result<std::unique_ptr<Store>> open_sqlite(const SqliteOptions& options, const StoreClock& clock) {
  TRY_ASSIGN(std::unique_ptr<Backend> backend, open_sqlite_backend(options, clock));
  return make_store(std::move(backend), clock);
}

}  // namespace carillon
