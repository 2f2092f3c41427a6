// What SQLite keeps over a power failure of FaultVfs' disk in memory, and what it does not keep when asked for less.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "faults/fault_vfs.h"
#include "faults/seeded_random.h"
#include "faults/workload.h"

namespace carillon {
namespace {

using namespace test;

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

TEST(FaultVfsPower, ThePowerFailsWhileOthersRead) {
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
