#include "faults/fault_vfs.h"

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

#include "faults/workload.h"

namespace carillon {
namespace {

using namespace test;

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

}  // namespace
}  // namespace carillon
