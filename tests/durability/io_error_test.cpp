// Every call that a fixed load makes to the file system fails once, one run for each: the store answers with an error
// or succeeds, goes on by itself when the fault is gone, and everything acknowledged is there.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "durability/campaign.h"
#include "durability/load.h"
#include "durability/rows_on_disk.h"
#include "faults/fault_vfs.h"
#include "store/sqlite/sqlite_store.h"
#include "support/results.h"

namespace carillon::test {
namespace {

using testing::IsEmpty;

constexpr std::uint64_t kSeed = 20260329;
constexpr int kSteps = 40;
constexpr std::int64_t kLogBytes = 150'000;

constexpr IoKinds kAllKinds = {IoKind::open, IoKind::read,    IoKind::write,     IoKind::truncate,
                               IoKind::sync, IoKind::remove,  IoKind::file_size, IoKind::access,
                               IoKind::lock, IoKind::shm_map, IoKind::shm_lock};

// One fresh disk and the store on it.
class Bench {
 public:
  explicit Bench(DiskModel disk) : vfs_({.name = "io", .disk = disk, .seed = kSeed}) {
    path_ = disk == DiskModel::in_memory ? "/data/jobs.db" : folder_.file("jobs.db");
  }

  FaultVfs& vfs() { return vfs_; }
  Store& store() { return *store_; }
  Ledger& ledger() { return ledger_; }

  Result<void> open() {
    store_.reset();
    auto opened =
        open_sqlite({.path = path_, .vfs = vfs_.name(), .upkeep_thread = false, .log_bytes_max = kLogBytes}, clock_);
    if (!opened) return std::unexpected(std::move(opened).error());
    store_ = *std::move(opened);
    return {};
  }
  void close() { store_.reset(); }

  // A load, with a read between any two writes. How many of its calls were answered with an error.
  int work(int steps, std::uint64_t seed = kSeed) {
    Load load(store().jobs(), straight_to(store()), ledger_,
              {.seed = seed, .name = fmt::format("ada-{}", ++loads_), .errors_change_nothing = true});
    int errors = 0;
    for (int i = 0; i < steps; ++i) {
      clock_.advance(1ms);
      errors += !load.step();
      errors += !check(store().reader().jobs({}, {}, 20));
      errors += !check(store().jobs().load_live({}, clock_.wall(), 50));
    }
    return errors;
  }

  std::vector<std::string> violations() { return ledger_.violations(rows_on_disk(path_, vfs_.name())); }

  // What the store itself shows, page by page.
  std::size_t jobs_shown() {
    std::size_t count = 0;
    JobId before;
    do {
      const JobPage page = value_of(store().reader().jobs({}, before, 100));
      count += page.jobs.size();
      before = page.next_before;
    } while (before);
    return count;
  }

 private:
  template <typename T>
  bool check(const Result<T>& answer) {
    if (answer) return true;
    const ErrorCode code = answer.error().code;
    if (code != ErrorCode::unavailable && code != ErrorCode::store_full && code != ErrorCode::database_error) {
      ledger_.surprise(fmt::format("a read: {}: {}", to_string(code), answer.error().message));
    }
    return false;
  }

  ScratchFolder folder_;
  std::string path_;
  FaultVfs vfs_;
  FixedClock clock_;
  Ledger ledger_;
  int loads_ = 0;
  std::unique_ptr<Store> store_;
};

struct Tally {
  int runs = 0;
  int answered = 0;  // runs in which at least one call was answered with an error
  std::vector<std::string> examples;

  void note(std::string_view when, const std::vector<std::string>& violations) {
    if (violations.empty() || examples.size() > 3) return;
    examples.push_back(fmt::format("{}: {}", when, fmt::join(violations, "\n  ")));
  }
};

const char* name_of(DiskModel disk) { return disk == DiskModel::in_memory ? "in memory" : "real files"; }
const char* name_of(FaultLasts lasts) { return lasts == FaultLasts::once ? "once" : "until cleared"; }

struct Campaign {
  DiskModel disk = DiskModel::in_memory;
  FaultLasts lasts = FaultLasts::once;
  std::uint64_t step = 1;  // every how many-th call
};

Tally fail_each_call_of_the_load(const Campaign& campaign) {
  std::uint64_t calls = 0;
  {
    Bench bench(campaign.disk);
    EXPECT_TRUE(bench.open());
    bench.vfs().reset_counts();
    EXPECT_EQ(bench.work(kSteps), 0);
    calls = bench.vfs().counts().of(kAllKinds);
  }
  EXPECT_GT(calls, 500U);
  Tally tally;
  for (std::uint64_t nth = 1; nth <= calls; nth += campaign.step) {
    const std::string when = fmt::format("call {} fails {}", nth, name_of(campaign.lasts));
    SCOPED_TRACE(when);
    Bench bench(campaign.disk);
    const Result<void> opened = bench.open();
    if (!opened) {
      ADD_FAILURE() << opened.error().message;
      break;
    }
    bench.vfs().fail({.kinds = kAllKinds, .nth = nth, .lasts = campaign.lasts});
    const int errors = bench.work(kSteps);
    ++tally.runs;
    tally.answered += errors > 0;

    // The fault is gone: the same store works, at once and without being opened again.
    bench.vfs().clear_faults();
    EXPECT_EQ(bench.work(5, kSeed + 1), 0);
    tally.note(when + ", store still open", bench.violations());
    EXPECT_EQ(bench.jobs_shown(), bench.ledger().acknowledged().size());
    bench.close();
    tally.note(when + ", closed", bench.violations());
    EXPECT_TRUE(bench.open());
    tally.note(when + ", opened again", bench.violations());
    if (testing::Test::HasFailure()) break;
  }
  std::printf(
      "REPORT I/O errors, %s, %s: %d of %zu calls failed, one run each; %d runs had an error as an answer, "
      "%zu violations\n",
      name_of(campaign.disk), name_of(campaign.lasts), tally.runs, static_cast<std::size_t>(calls), tally.answered,
      tally.examples.size());
  return tally;
}

TEST(IoError, EachCallFailsOnceOnADiskInMemory) {
  const Tally tally = fail_each_call_of_the_load({.step = is_full_run() ? 1U : 37U});
  EXPECT_THAT(tally.examples, IsEmpty());
  EXPECT_GT(tally.answered, 0);
}

TEST(IoError, EachCallFailsAndAllAfterItOnADiskInMemory) {
  const Tally tally =
      fail_each_call_of_the_load({.lasts = FaultLasts::until_cleared, .step = is_full_run() ? 1U : 53U});
  EXPECT_THAT(tally.examples, IsEmpty());
  EXPECT_GT(tally.answered, 0);
}

TEST(IoError, EachCallFailsOnceOnRealFiles) {
  const Tally tally = fail_each_call_of_the_load({.disk = DiskModel::real_files, .step = is_full_run() ? 1U : 61U});
  EXPECT_THAT(tally.examples, IsEmpty());
  EXPECT_GT(tally.answered, 0);
}

// Opening fails with an error, or succeeds; opening again works, and all is there as it was.
Tally fail_each_call_of_opening(DiskModel disk, bool exists, std::uint64_t step) {
  const auto prepare = [&](Bench& bench) {
    if (!exists) return;
    EXPECT_TRUE(bench.open());
    EXPECT_EQ(bench.work(kSteps), 0);
    bench.close();
  };
  std::uint64_t calls = 0;
  {
    Bench bench(disk);
    prepare(bench);
    bench.vfs().reset_counts();
    EXPECT_TRUE(bench.open());
    calls = bench.vfs().counts().of(kAllKinds);
  }
  Tally tally;
  for (std::uint64_t nth = 1; nth <= calls; nth += step) {
    const std::string when = fmt::format("call {} of opening fails", nth);
    SCOPED_TRACE(when);
    Bench bench(disk);
    prepare(bench);
    bench.vfs().fail({.kinds = kAllKinds, .nth = nth});
    const Result<void> opened = bench.open();
    ++tally.runs;
    tally.answered += !opened;
    bench.vfs().clear_faults();
    if (!opened) {
      EXPECT_THAT(opened.error().message, testing::StartsWith("cannot open store"));
      EXPECT_TRUE(bench.open());
    }
    if (testing::Test::HasFailure()) break;
    // Whether it opened at once or later: what it knows is what the file holds.
    EXPECT_EQ(bench.jobs_shown(), bench.ledger().acknowledged().size());
    EXPECT_EQ(bench.work(10, kSeed + 2), 0);
    for (const auto& [id, facts] : bench.ledger().acknowledged()) EXPECT_LT(id, bench.store().jobs().new_job_id());
    tally.note(when, bench.violations());
    if (testing::Test::HasFailure()) break;
  }
  std::printf("REPORT I/O errors, %s, opening %s: %d of %zu calls failed, %d refused to open, %zu violations\n",
              name_of(disk), exists ? "a file with jobs" : "a new file", tally.runs, static_cast<std::size_t>(calls),
              tally.answered, tally.examples.size());
  return tally;
}

TEST(IoError, OpeningANewFileFailsAndWorksTheNextTime) {
  for (const DiskModel disk : {DiskModel::in_memory, DiskModel::real_files}) {
    const Tally tally = fail_each_call_of_opening(disk, false, is_full_run() ? 1 : 5);
    EXPECT_THAT(tally.examples, IsEmpty());
    EXPECT_GT(tally.answered, 0);
  }
}

TEST(IoError, OpeningAFileWithJobsFailsAndWorksTheNextTime) {
  for (const DiskModel disk : {DiskModel::in_memory, DiskModel::real_files}) {
    const Tally tally = fail_each_call_of_opening(disk, true, 1);
    EXPECT_THAT(tally.examples, IsEmpty());
    EXPECT_GT(tally.answered, 0);
  }
}

}  // namespace
}  // namespace carillon::test
