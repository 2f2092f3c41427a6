#include "faults/fault_vfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <latch>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "faults/seeded_random.h"

namespace carillon {
namespace {

constexpr const char* kPath = "/data/jobs.db";
constexpr int kRows = 25;

// A connection; every error is a code.
class Database {
 public:
  Database(const FaultVfs& vfs, const std::string& path) {
    code_ = sqlite3_open_v2(path.c_str(), &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs.name().c_str());
    sqlite3_extended_result_codes(handle_, 1);
    sqlite3_busy_timeout(handle_, 5000);
  }
  ~Database() { sqlite3_close_v2(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  int open_code() const { return code_; }
  sqlite3* handle() const { return handle_; }

  int run(const std::string& sql) {
    if (code_ != SQLITE_OK) return code_;
    return sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  }

  // The first column of the first row, or the error in words.
  std::string answer(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    std::string text;
    if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
      const unsigned char* const column = sqlite3_column_text(statement, 0);
      text = column == nullptr ? "null" : reinterpret_cast<const char*>(column);
    } else {
      text = sqlite3_errmsg(handle_);
    }
    sqlite3_finalize(statement);
    return text;
  }

 private:
  sqlite3* handle_ = nullptr;
  int code_ = SQLITE_OK;
};

struct Modes {
  std::string journal = "WAL";
  std::string synchronous = "FULL";
};

// A few pages a commit, and a checkpoint every few commits.
int prepare(Database& database, const Modes& modes) {
  if (const int code = database.run("PRAGMA journal_mode=" + modes.journal); code != SQLITE_OK) return code;
  return database.run("PRAGMA synchronous=" + modes.synchronous +
                      "; PRAGMA wal_autocheckpoint=12; PRAGMA cache_size=5;"
                      "CREATE TABLE IF NOT EXISTS job(id INTEGER PRIMARY KEY, name TEXT UNIQUE, body BLOB)");
}

int insert(Database& database, int id) {
  const std::string number = std::to_string(id);
  return database.run("BEGIN IMMEDIATE; INSERT INTO job VALUES(" + number + ", 'job " + number +
                      "', randomblob(2000)); UPDATE job SET body = randomblob(1500) WHERE id = " + number +
                      " / 2; COMMIT");
}

// Inserts rows 1, 2, … until an error. The last one that was acknowledged.
int insert_rows(const FaultVfs& vfs, const Modes& modes) {
  Database database(vfs, kPath);
  if (prepare(database, modes) != SQLITE_OK) return 0;
  int acknowledged = 0;
  while (acknowledged < kRows && insert(database, acknowledged + 1) == SQLITE_OK) ++acknowledged;
  return acknowledged;
}

struct Aftermath {
  int acknowledged = 0;
  std::string integrity;
  int present = 0;  // rows 1 … present are there, and none else
};

Aftermath inspect(const FaultVfs& vfs, const Modes& modes, int acknowledged) {
  Database database(vfs, kPath);
  EXPECT_EQ(prepare(database, modes), SQLITE_OK) << sqlite3_errmsg(database.handle());
  Aftermath aftermath = {.acknowledged = acknowledged, .integrity = database.answer("PRAGMA integrity_check")};
  aftermath.present = std::atoi(database.answer("SELECT count(*) FROM job").c_str());
  EXPECT_EQ(std::atoi(database.answer("SELECT ifnull(max(id), 0) FROM job").c_str()), aftermath.present);
  return aftermath;
}

std::uint64_t mutating_calls(const Modes& modes) {
  const FaultVfs vfs({.name = "count", .disk = DiskModel::in_memory});
  EXPECT_EQ(insert_rows(vfs, modes), kRows);
  return vfs.counts().of(kMutatingKinds);
}

// Runs the workload until the power fails during its nth mutating call, cuts the power again while what is left is
// being recovered, and looks at the rest.
Aftermath after_power_off_at(std::uint64_t nth, const Modes& modes, std::uint64_t seed) {
  FaultVfs vfs({.name = "power", .disk = DiskModel::in_memory, .seed = seed});
  vfs.power_off_at(nth);
  const int acknowledged = insert_rows(vfs, modes);
  EXPECT_FALSE(vfs.is_powered());
  vfs.power_on();
  vfs.power_off_at(1 + SeededRandom(seed).below(40));
  {
    Database database(vfs, kPath);
    prepare(database, modes);
    database.run("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  vfs.power_off();
  vfs.power_on();
  return inspect(vfs, modes, acknowledged);
}

// Of how many power failures, one for every `step`th mutating call, acknowledged rows were lost. The database must be
// consistent after all of them. With CARILLON_FULL set each call gets more seeds.
int losses(const Modes& modes, std::uint64_t step) {
  const bool full = std::getenv("CARILLON_FULL") != nullptr;  // NOLINT(concurrency-mt-unsafe)
  const std::uint64_t seeds_per_call = full ? 20 : 1;
  const std::uint64_t calls = mutating_calls(modes);
  EXPECT_GT(calls, 150U);
  int losses = 0;
  for (std::uint64_t nth = 1; nth <= calls; nth += step) {
    for (std::uint64_t seed = nth * 1000; seed < nth * 1000 + seeds_per_call; ++seed) {
      SCOPED_TRACE("power off at call " + std::to_string(nth) + ", seed " + std::to_string(seed));
      const Aftermath aftermath = after_power_off_at(nth, modes, seed);
      EXPECT_EQ(aftermath.integrity, "ok");
      // One more than acknowledged: a commit may be on the disk before its answer is given.
      EXPECT_LE(aftermath.present, aftermath.acknowledged + 1);
      if (aftermath.present < aftermath.acknowledged) ++losses;
    }
  }
  return losses;
}

// ---- Power failures ----------------------------------------------------------------------------------------------

TEST(FaultVfsPower, AcknowledgedCommitsSurviveInWalModeWithFullSync) {
  EXPECT_EQ(losses({.journal = "WAL", .synchronous = "FULL"}, 1), 0);
}

TEST(FaultVfsPower, AcknowledgedCommitsSurviveWithARollbackJournalWithExtraSync) {
  EXPECT_EQ(losses({.journal = "DELETE", .synchronous = "EXTRA"}, 5), 0);
}

TEST(FaultVfsPower, NormalSyncLosesCommitsInWalModeButNotConsistency) {
  EXPECT_GT(losses({.journal = "WAL", .synchronous = "NORMAL"}, 5), 0);
}

TEST(FaultVfsPower, FullSyncLosesCommitsWhenTheRemovedRollbackJournalComesBack) {
  EXPECT_GT(losses({.journal = "DELETE", .synchronous = "FULL"}, 11), 0);
}

TEST(FaultVfsPower, ADiskThatLiesAboutSyncLosesCommits) {
  int losses = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    FaultVfs vfs({.name = "liar", .disk = DiskModel::in_memory, .seed = seed, .lie_about_sync = true});
    const int acknowledged = insert_rows(vfs, {});
    EXPECT_EQ(acknowledged, kRows);
    vfs.power_off();
    vfs.power_on();
    Database database(vfs, kPath);
    if (database.answer("SELECT count(*) FROM job") != std::to_string(kRows)) ++losses;
  }
  EXPECT_GT(losses, 0);
}

TEST(FaultVfsPower, OneSeedGivesTheSameSurvivorsEveryTime) {
  const auto rows_left = [](std::uint64_t seed) {
    FaultVfs vfs({.name = "same", .disk = DiskModel::in_memory, .seed = seed});
    vfs.power_off_at(50 + seed);
    const int acknowledged = insert_rows(vfs, {.synchronous = "NORMAL"});
    vfs.power_on();
    return inspect(vfs, {}, acknowledged).present;
  };
  for (std::uint64_t seed = 1; seed <= 20; ++seed) EXPECT_EQ(rows_left(seed), rows_left(seed));
}

TEST(FaultVfsPower, AKilledProgramLosesNothingEvenWithoutSync) {
  FaultVfs vfs({.name = "killed", .disk = DiskModel::in_memory});
  {
    Database database(vfs, kPath);
    ASSERT_EQ(prepare(database, {.synchronous = "OFF"}), SQLITE_OK);
    for (int id = 1; id <= kRows; ++id) ASSERT_EQ(insert(database, id), SQLITE_OK);
    vfs.power_off(Survivors::all);
  }
  vfs.power_on();

  const Aftermath aftermath = inspect(vfs, {}, kRows);
  EXPECT_EQ(aftermath.integrity, "ok");
  EXPECT_EQ(aftermath.present, kRows);
}

TEST(FaultVfsPower, HandlesFromBeforeStayDeadAndNewOnesWork) {
  FaultVfs vfs({.name = "dead", .disk = DiskModel::in_memory});
  Database before(vfs, kPath);
  ASSERT_EQ(prepare(before, {}), SQLITE_OK);
  ASSERT_EQ(insert(before, 1), SQLITE_OK);
  ASSERT_EQ(before.run("BEGIN IMMEDIATE; INSERT INTO job(name) VALUES('never')"), SQLITE_OK);

  vfs.power_off();
  EXPECT_FALSE(vfs.is_powered());
  EXPECT_EQ(before.run("COMMIT") & 0xFF, SQLITE_IOERR);
  EXPECT_EQ(Database(vfs, kPath).open_code() & 0xFF, SQLITE_CANTOPEN);

  vfs.power_on();
  EXPECT_EQ(before.run("SELECT count(*) FROM job") & 0xFF, SQLITE_IOERR);
  // The lock of the dead writer is gone with it.
  Database after(vfs, kPath);
  EXPECT_EQ(after.answer("SELECT count(*) FROM job"), "1");
  EXPECT_EQ(insert(after, 2), SQLITE_OK);
  EXPECT_EQ(before.run("SELECT count(*) FROM job") & 0xFF, SQLITE_IOERR);
}

TEST(FaultVfsPower, CallsWhileThePowerIsOffAreNotCounted) {
  FaultVfs vfs({.name = "uncounted", .disk = DiskModel::in_memory});
  Database database(vfs, kPath);
  ASSERT_EQ(prepare(database, {}), SQLITE_OK);
  vfs.power_off();
  vfs.reset_counts();
  EXPECT_NE(insert(database, 1), SQLITE_OK);

  EXPECT_EQ(vfs.counts().of(kDiskKinds), 0U);
}

// ---- Names -------------------------------------------------------------------------------------------------------

// A file opened through the VFS itself, without a database.
class RawFile {
 public:
  RawFile(const FaultVfs& vfs, const char* name) : memory_(std::make_unique<std::max_align_t[]>(64)) {
    sqlite3_vfs* const found = sqlite3_vfs_find(vfs.name().c_str());
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MAIN_DB;
    EXPECT_EQ(found->xOpen(found, name, file(), flags, nullptr), SQLITE_OK);
  }
  ~RawFile() { file()->pMethods->xClose(file()); }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  sqlite3_file* file() { return reinterpret_cast<sqlite3_file*>(memory_.get()); }
  void write(std::string_view text) {
    EXPECT_EQ(file()->pMethods->xWrite(file(), text.data(), static_cast<int>(text.size()), 0), SQLITE_OK);
  }
  void sync() { EXPECT_EQ(file()->pMethods->xSync(file(), SQLITE_SYNC_NORMAL), SQLITE_OK); }
  int lock(int level) { return file()->pMethods->xLock(file(), level); }
  int unlock(int level) { return file()->pMethods->xUnlock(file(), level); }
  int shm_lock(int slot, int flags) { return file()->pMethods->xShmLock(file(), slot, 1, flags); }

 private:
  std::unique_ptr<std::max_align_t[]> memory_;
};

bool exists(const FaultVfs& vfs, const char* name) {
  sqlite3_vfs* const found = sqlite3_vfs_find(vfs.name().c_str());
  int result = 0;
  EXPECT_EQ(found->xAccess(found, name, SQLITE_ACCESS_EXISTS, &result), SQLITE_OK);
  return result != 0;
}

int remove(const FaultVfs& vfs, const char* name, int sync_directory) {
  sqlite3_vfs* const found = sqlite3_vfs_find(vfs.name().c_str());
  return found->xDelete(found, name, sync_directory);
}

// Whether the file is there after a power failure, over 30 seeds: 0 = never, 30 = always.
template <typename Steps>
int times_there(const char* name, Steps steps) {
  int times = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    FaultVfs vfs({.name = "names", .disk = DiskModel::in_memory, .seed = seed});
    steps(vfs);
    vfs.power_off();
    vfs.power_on();
    times += exists(vfs, name) ? 1 : 0;
  }
  return times;
}

TEST(FaultVfsNames, AFileThatWasSyncedKeepsItsName) {
  EXPECT_EQ(times_there("/a",
                        [](const FaultVfs& vfs) {
                          RawFile file(vfs, "/a");
                          file.write("x");
                          file.sync();
                        }),
            30);
}

TEST(FaultVfsNames, AFileThatWasNotSyncedMayVanish) {
  const int times = times_there("/a", [](const FaultVfs& vfs) { RawFile(vfs, "/a").write("x"); });
  EXPECT_GT(times, 0);
  EXPECT_LT(times, 30);
}

TEST(FaultVfsNames, ARemovedFileMayComeBackUnlessItsDirectoryIsSynced) {
  const auto create_and_remove = [](int sync_directory) {
    return [=](const FaultVfs& vfs) {
      {
        RawFile file(vfs, "/d/a");
        file.write("x");
        file.sync();
      }
      EXPECT_EQ(remove(vfs, "/d/a", sync_directory), SQLITE_OK);
      EXPECT_FALSE(exists(vfs, "/d/a"));
    };
  };
  const int times = times_there("/d/a", create_and_remove(0));
  EXPECT_GT(times, 0);
  EXPECT_LT(times, 30);
  EXPECT_EQ(times_there("/d/a", create_and_remove(1)), 0);
}

TEST(FaultVfsNames, RemovingWhatIsNotThereSaysSo) {
  const FaultVfs vfs({.name = "absent", .disk = DiskModel::in_memory});
  EXPECT_EQ(remove(vfs, "/a", 0), SQLITE_IOERR_DELETE_NOENT);
}

TEST(FaultVfsNames, SeveralFileSystemsLiveSideBySide) {
  const FaultVfs one({.name = "one", .disk = DiskModel::in_memory});
  const FaultVfs two({.name = "two", .disk = DiskModel::in_memory});
  EXPECT_EQ(insert_rows(one, {}), kRows);

  EXPECT_TRUE(exists(one, kPath));
  EXPECT_FALSE(exists(two, kPath));
}

TEST(FaultVfsNames, IsRegisteredOnlyWhileItLives) {
  {
    const FaultVfs vfs({.name = "mortal"});
  }
  EXPECT_EQ(sqlite3_vfs_find("mortal"), nullptr);
}

// ---- Locks in memory ---------------------------------------------------------------------------------------------

TEST(FaultVfsLocks, ReadersShareAndAWriterWaitsForThem) {
  const FaultVfs vfs({.name = "locks", .disk = DiskModel::in_memory});
  RawFile writer(vfs, "/a");
  RawFile reader(vfs, "/a");
  RawFile late(vfs, "/a");
  EXPECT_EQ(writer.lock(SQLITE_LOCK_SHARED), SQLITE_OK);
  EXPECT_EQ(reader.lock(SQLITE_LOCK_SHARED), SQLITE_OK);
  EXPECT_EQ(writer.lock(SQLITE_LOCK_RESERVED), SQLITE_OK);
  EXPECT_EQ(reader.lock(SQLITE_LOCK_RESERVED), SQLITE_BUSY);

  EXPECT_EQ(writer.lock(SQLITE_LOCK_EXCLUSIVE), SQLITE_BUSY);
  EXPECT_EQ(late.lock(SQLITE_LOCK_SHARED), SQLITE_BUSY);  // the writer is pending
  EXPECT_EQ(reader.unlock(SQLITE_LOCK_NONE), SQLITE_OK);
  EXPECT_EQ(writer.lock(SQLITE_LOCK_EXCLUSIVE), SQLITE_OK);
  EXPECT_EQ(late.lock(SQLITE_LOCK_SHARED), SQLITE_BUSY);

  EXPECT_EQ(writer.unlock(SQLITE_LOCK_SHARED), SQLITE_OK);
  EXPECT_EQ(late.lock(SQLITE_LOCK_SHARED), SQLITE_OK);
}

TEST(FaultVfsLocks, SlotsOfSharedMemoryAreSharedOrExclusive) {
  const FaultVfs vfs({.name = "slots", .disk = DiskModel::in_memory});
  RawFile one(vfs, "/a");
  RawFile two(vfs, "/a");
  constexpr int kShare = SQLITE_SHM_LOCK | SQLITE_SHM_SHARED;
  constexpr int kTake = SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE;
  EXPECT_EQ(one.shm_lock(3, kShare), SQLITE_OK);
  EXPECT_EQ(two.shm_lock(3, kShare), SQLITE_OK);
  EXPECT_EQ(two.shm_lock(4, kTake), SQLITE_OK);
  EXPECT_EQ(one.shm_lock(4, kShare), SQLITE_BUSY);
  EXPECT_EQ(two.shm_lock(3, SQLITE_SHM_UNLOCK | SQLITE_SHM_SHARED), SQLITE_OK);
  EXPECT_EQ(two.shm_lock(3, kTake), SQLITE_BUSY);
  EXPECT_EQ(one.shm_lock(3, SQLITE_SHM_UNLOCK | SQLITE_SHM_SHARED), SQLITE_OK);
  EXPECT_EQ(two.shm_lock(3, kTake), SQLITE_OK);
}

TEST(FaultVfsLocks, ASecondWriterIsBusy) {
  const FaultVfs vfs({.name = "busy", .disk = DiskModel::in_memory});
  for (const char* const journal : {"WAL", "DELETE"}) {
    Database one(vfs, std::string("/") + journal);
    Database two(vfs, std::string("/") + journal);
    ASSERT_EQ(prepare(one, {.journal = journal}), SQLITE_OK);
    ASSERT_EQ(prepare(two, {.journal = journal}), SQLITE_OK);
    sqlite3_busy_timeout(two.handle(), 0);
    ASSERT_EQ(one.run("BEGIN IMMEDIATE"), SQLITE_OK);
    EXPECT_EQ(two.run("BEGIN IMMEDIATE"), SQLITE_BUSY);
    EXPECT_EQ(two.answer("SELECT count(*) FROM job"), "0");
    ASSERT_EQ(one.run("COMMIT"), SQLITE_OK);
    EXPECT_EQ(two.run("BEGIN IMMEDIATE; COMMIT"), SQLITE_OK);
  }
}

// ---- Faults, on real files and in memory -------------------------------------------------------------------------

class FaultVfsFaults : public testing::TestWithParam<DiskModel> {
 protected:
  FaultVfsFaults() {
    // Real files, but where syncs are quick.
    const std::filesystem::path shm = "/dev/shm";
    const std::filesystem::path root = exists(shm) ? shm : std::filesystem::temp_directory_path();
    std::string pattern = (root / "fault_vfs_XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  ~FaultVfsFaults() override { std::filesystem::remove_all(directory_); }

  std::string fresh_path() { return directory_ + "/" + std::to_string(++paths_) + ".db"; }

  std::string directory_;
  int paths_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Disks, FaultVfsFaults, testing::Values(DiskModel::real_files, DiskModel::in_memory),
                         [](const auto& tested) {
                           return tested.param == DiskModel::real_files ? "RealFiles" : "InMemory";
                         });

// Commits, a transaction that spills the cache, a rollback, a temporary file, checkpoints. The first error.
int fixed_workload(Database& database) {
  int first_error = prepare(database, {});
  const auto step = [&](int code) {
    if (first_error == SQLITE_OK) first_error = code;
  };
  for (int id = 1; id <= 4; ++id) step(insert(database, id));
  step(database.run("BEGIN; INSERT INTO job SELECT id + 100, name || '+', randomblob(9000) FROM job; ROLLBACK"));
  step(database.run(
      "PRAGMA temp_store=FILE; CREATE TEMP TABLE t AS SELECT id, randomblob(9000) FROM job; DROP TABLE t"));
  step(database.run("DELETE FROM job WHERE id = 2"));
  step(database.run("PRAGMA wal_checkpoint(TRUNCATE)"));
  step(insert(database, 2));
  return first_error;
}

TEST_P(FaultVfsFaults, EveryCallMayFailOnceAndTheDatabaseGoesOn) {
  FaultVfs vfs({.name = "once", .disk = GetParam()});
  std::uint64_t nth = 0;
  int errors = 0;
  for (std::uint64_t failed = 1; failed != 0; failed = vfs.counts().failed) {
    ++nth;
    SCOPED_TRACE("call " + std::to_string(nth));
    vfs.reset_counts();
    const std::string path = fresh_path();
    vfs.fail({.nth = nth});
    {
      Database database(vfs, path);
      if (fixed_workload(database) != SQLITE_OK) ++errors;
    }
    vfs.clear_faults();

    Database database(vfs, path);
    ASSERT_EQ(prepare(database, {}), SQLITE_OK) << sqlite3_errmsg(database.handle());
    EXPECT_EQ(insert(database, 1000), SQLITE_OK) << sqlite3_errmsg(database.handle());
    EXPECT_EQ(database.answer("PRAGMA integrity_check"), "ok");
  }
  EXPECT_GT(nth, 80U);
  EXPECT_GT(errors, 50);
}

TEST_P(FaultVfsFaults, AfterALastingFaultIsClearedTheSameConnectionWorks) {
  FaultVfs vfs({.name = "lasting", .disk = GetParam()});
  for (const IoKind kind : {IoKind::read, IoKind::write, IoKind::sync, IoKind::truncate}) {
    SCOPED_TRACE(std::string(to_string(kind)));
    Database database(vfs, fresh_path());
    ASSERT_EQ(fixed_workload(database), SQLITE_OK);
    vfs.fail({.kinds = {kind}, .lasts = FaultLasts::until_cleared});
    int code = SQLITE_OK;
    for (int id = 10; id < 30 && code == SQLITE_OK; ++id) code = insert(database, id);
    if (code == SQLITE_OK) code = database.run("PRAGMA wal_checkpoint(TRUNCATE)");
    EXPECT_EQ(code, usual_error(kind));
    database.run("ROLLBACK");

    vfs.clear_faults();
    EXPECT_EQ(insert(database, 1000), SQLITE_OK) << sqlite3_errmsg(database.handle());
    EXPECT_EQ(database.answer("PRAGMA integrity_check"), "ok");
  }
}

TEST_P(FaultVfsFaults, AFaultGivesTheCodeThatWasChosen) {
  FaultVfs vfs({.name = "code", .disk = GetParam()});
  Database database(vfs, fresh_path());
  ASSERT_EQ(prepare(database, {}), SQLITE_OK);
  vfs.fail({.kinds = {IoKind::write}, .nth = 2, .code = SQLITE_FULL});
  EXPECT_EQ(insert(database, 1), SQLITE_FULL);
  database.run("ROLLBACK");
  vfs.fail({.kinds = {IoKind::shm_lock}, .code = SQLITE_IOERR_SHMLOCK});
  EXPECT_EQ(insert(database, 1), SQLITE_IOERR_SHMLOCK);
  EXPECT_EQ(insert(database, 1), SQLITE_OK);
}

TEST_P(FaultVfsFaults, AFailedOpenIsReported) {
  FaultVfs vfs({.name = "open", .disk = GetParam()});
  vfs.fail({.kinds = {IoKind::open}, .lasts = FaultLasts::until_cleared});
  Database refused(vfs, fresh_path());
  EXPECT_EQ(refused.open_code() & 0xFF, SQLITE_CANTOPEN);
  vfs.clear_faults();
  Database opened(vfs, fresh_path());
  EXPECT_EQ(prepare(opened, {}), SQLITE_OK);
}

TEST_P(FaultVfsFaults, AFullDiskHeals) {
  FaultVfs vfs({.name = "full", .disk = GetParam()});
  for (std::uint64_t space = 0; space < 60'000; space += 1500) {
    SCOPED_TRACE("space " + std::to_string(space));
    Database database(vfs, fresh_path());
    ASSERT_EQ(prepare(database, {}), SQLITE_OK);
    vfs.fill_disk_after(space);
    int acknowledged = 0;
    int code = SQLITE_OK;
    while (acknowledged < kRows && (code = insert(database, acknowledged + 1)) == SQLITE_OK) ++acknowledged;
    EXPECT_EQ(code, SQLITE_FULL);
    database.run("ROLLBACK");
    EXPECT_EQ(database.answer("SELECT count(*) FROM job"), std::to_string(acknowledged));

    vfs.empty_disk();
    EXPECT_EQ(insert(database, acknowledged + 1), SQLITE_OK);
    EXPECT_EQ(database.answer("SELECT count(*) FROM job"), std::to_string(acknowledged + 1));
    EXPECT_EQ(database.answer("PRAGMA integrity_check"), "ok");
  }
}

TEST_P(FaultVfsFaults, CallsAreCountedByKind) {
  FaultVfs vfs({.name = "counts", .disk = GetParam()});
  Database database(vfs, fresh_path());
  ASSERT_EQ(prepare(database, {}), SQLITE_OK);
  vfs.reset_counts();
  ASSERT_EQ(database.run("INSERT INTO job(name) VALUES('small')"), SQLITE_OK);

  const IoCounts counts = vfs.counts();
  EXPECT_EQ(counts.of(IoKind::sync), 1U);  // one commit, one sync of the log
  EXPECT_GT(counts.of(IoKind::write), 0U);
  EXPECT_GT(counts.of(IoKind::shm_lock), 0U);
  EXPECT_GT(counts.bytes_written, 4096U);
  EXPECT_EQ(counts.of(IoKind::open), 0U);
  EXPECT_EQ(counts.failed, 0U);
  EXPECT_EQ(counts.of(kMutatingKinds), counts.of(IoKind::write) + counts.of(IoKind::sync));
}

TEST_P(FaultVfsFaults, TheHookRunsBeforeEverySync) {
  FaultVfs vfs({.name = "hook", .disk = GetParam()});
  Database database(vfs, fresh_path());
  std::uint64_t calls = 0;
  vfs.before_sync([&] {
    EXPECT_EQ(vfs.counts().of(IoKind::sync), calls);  // no lock is held, and this sync is not counted yet
    ++calls;
  });
  ASSERT_EQ(prepare(database, {}), SQLITE_OK);
  for (int id = 1; id <= 5; ++id) ASSERT_EQ(insert(database, id), SQLITE_OK);
  EXPECT_EQ(calls, vfs.counts().of(IoKind::sync));
  EXPECT_GE(calls, 5U);

  vfs.before_sync(nullptr);
  ASSERT_EQ(insert(database, 6), SQLITE_OK);
  EXPECT_GT(vfs.counts().of(IoKind::sync), calls);
}

TEST_P(FaultVfsFaults, OneWriterAndTwoReadersOnTheirOwnThreads) {
  FaultVfs vfs({.name = "threads", .disk = GetParam()});
  const std::string path = fresh_path();
  Database writer(vfs, path);
  ASSERT_EQ(prepare(writer, {}), SQLITE_OK);
  std::atomic<int> acknowledged = 0;
  std::atomic<int> refused = 0;
  std::latch started(3);

  const auto read = [&] {
    Database reader(vfs, path);
    started.arrive_and_wait();
    while (acknowledged < kRows) {
      const int at_least = acknowledged;
      const std::string count = reader.answer("SELECT count(*) FROM job WHERE length(body) > 1000");
      if (std::atoi(count.c_str()) < at_least) ++refused;
    }
  };
  std::thread one(read);
  std::thread two(read);
  started.arrive_and_wait();
  for (int id = 1; id <= kRows; ++id) {
    EXPECT_EQ(insert(writer, id), SQLITE_OK);
    acknowledged = id;
  }
  acknowledged = kRows;
  one.join();
  two.join();

  EXPECT_EQ(refused, 0);
  EXPECT_EQ(writer.answer("PRAGMA integrity_check"), "ok");
}

TEST(FaultVfsThreads, ThePowerFailsWhileOthersRead) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    FaultVfs vfs({.name = "threads", .disk = DiskModel::in_memory, .seed = seed});
    {
      Database database(vfs, kPath);
      ASSERT_EQ(prepare(database, {}), SQLITE_OK);
    }
    vfs.power_off_at(20 * seed);
    std::thread reader([&] {
      Database database(vfs, kPath);
      while (database.run("SELECT sum(length(body)) FROM job") == SQLITE_OK) std::this_thread::yield();
    });
    const int acknowledged = insert_rows(vfs, {});
    vfs.power_off();
    reader.join();
    vfs.power_on();

    const Aftermath aftermath = inspect(vfs, {}, acknowledged);
    EXPECT_EQ(aftermath.integrity, "ok");
    EXPECT_GE(aftermath.present, acknowledged);
  }
}

}  // namespace
}  // namespace carillon
