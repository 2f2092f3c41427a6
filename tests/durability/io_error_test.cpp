// Every call that a fixed load makes to the file system fails once, one run for each: the store answers with an error
// or succeeds, goes on by itself when the fault is gone, and everything acknowledged is there.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "durability/loaded_file.h"

namespace carillon::test {
namespace {

using testing::AnyOf;
using testing::IsEmpty;

constexpr int kSteps = 40;

constexpr IoKinds kAllKinds = {IoKind::open, IoKind::read,    IoKind::write,     IoKind::truncate,
                               IoKind::sync, IoKind::remove,  IoKind::file_size, IoKind::access,
                               IoKind::lock, IoKind::shm_map, IoKind::shm_lock};

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
    LoadedFile file(campaign.disk);
    EXPECT_TRUE(file.open());
    file.vfs().reset_counts();
    EXPECT_TRUE(file.work(kSteps).all_good());
    calls = file.vfs().counts().of(kAllKinds);
  }
  EXPECT_GT(calls, 500U);
  Tally tally;
  for (std::uint64_t nth = 1; nth <= calls; nth += campaign.step) {
    const std::string when = fmt::format("call {} fails {}", nth, name_of(campaign.lasts));
    SCOPED_TRACE(when);
    LoadedFile file(campaign.disk);
    const Result<void> opened = file.open();
    if (!opened) {
      ADD_FAILURE() << opened.error().message;
      break;
    }
    file.vfs().fail({.kinds = kAllKinds, .nth = nth, .lasts = campaign.lasts});
    const LoadedFile::Answers answers = file.work(kSteps);
    ++tally.runs;
    tally.answered += !answers.all_good();
    for (const auto& [code, count] : answers.reads)
      EXPECT_THAT(code, AnyOf(ErrorCode::unavailable, ErrorCode::database_error));

    // The fault is gone: the same store works, at once and without being opened again.
    file.vfs().clear_faults();
    EXPECT_TRUE(file.work(5, kLoadSeed + 1).all_good());
    tally.note(when + ", store still open", file.violations());
    EXPECT_EQ(file.jobs_shown(), file.ledger().acknowledged().size());
    file.close();
    tally.note(when + ", closed", file.violations());
    EXPECT_TRUE(file.open());
    tally.note(when + ", opened again", file.violations());
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

// What the writer remembers of the file between transactions must outlive one that could not begin.
TEST(IoError, ATransactionThatCannotBeginDoesNotForgetWhoWaits) {  // invariant 31
  LoadedFile file(DiskModel::in_memory);
  ASSERT_TRUE(file.open());
  JobStore& jobs = file.store().jobs();
  std::array pair{NewJob{.id = jobs.new_job_id(), .type = "parent"}, NewJob{.id = jobs.new_job_id(), .type = "child"}};
  pair[1].depends_on = {pair[0].id};
  ASSERT_TRUE(jobs.enqueue_all(pair));

  file.vfs().fail({.kinds = {IoKind::shm_lock}, .lasts = FaultLasts::until_cleared});
  EXPECT_EQ(error_of(jobs.load_live({}, file.clock().wall(), 10)).code, ErrorCode::unavailable);
  file.vfs().clear_faults();

  const auto leased = value_of(jobs.claim({.worker = "ada", .jobs = {&pair[0].id, 1}})).jobs;
  ASSERT_EQ(leased.size(), 1U);
  const Settlement done{.job = pair[0].id, .token = leased.front().token};
  EXPECT_EQ(value_of(jobs.settle({&done, 1}).front()).ready.size(), 1U);
  EXPECT_EQ(value_of(file.store().reader().job("default", pair[1].id)).state, JobState::queued);
}

// Opening fails with an error, or succeeds; opening again works, and all is there as it was.
Tally fail_each_call_of_opening(DiskModel disk, bool exists, std::uint64_t step) {
  const auto prepare = [&](LoadedFile& file) {
    if (!exists) return;
    EXPECT_TRUE(file.open());
    EXPECT_TRUE(file.work(kSteps).all_good());
    file.close();
  };
  std::uint64_t calls = 0;
  {
    LoadedFile file(disk);
    prepare(file);
    file.vfs().reset_counts();
    EXPECT_TRUE(file.open());
    calls = file.vfs().counts().of(kAllKinds);
  }
  Tally tally;
  for (std::uint64_t nth = 1; nth <= calls; nth += step) {
    const std::string when = fmt::format("call {} of opening fails", nth);
    SCOPED_TRACE(when);
    LoadedFile file(disk);
    prepare(file);
    file.vfs().fail({.kinds = kAllKinds, .nth = nth});
    const Result<void> opened = file.open();
    ++tally.runs;
    tally.answered += !opened;
    file.vfs().clear_faults();
    if (!opened) {
      EXPECT_THAT(opened.error().message, testing::StartsWith("cannot open store"));
      EXPECT_TRUE(file.open());
    }
    if (testing::Test::HasFailure()) break;
    // Whether it opened at once or later: what it knows is what the file holds.
    EXPECT_EQ(file.jobs_shown(), file.ledger().acknowledged().size());
    EXPECT_TRUE(file.work(10, kLoadSeed + 2).all_good());
    for (const auto& [id, facts] : file.ledger().acknowledged()) EXPECT_LT(id, file.store().jobs().new_job_id());
    tally.note(when, file.violations());
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
    const Tally tally = fail_each_call_of_opening(disk, true, is_full_run() ? 1 : 3);
    EXPECT_THAT(tally.examples, IsEmpty());
    EXPECT_GT(tally.answered, 0);
  }
}

}  // namespace
}  // namespace carillon::test
