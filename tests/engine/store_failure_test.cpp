// A store that fails for a while: nothing is lost, nothing is done twice, and callers are told.
#include "engine/support/hand_node.h"

namespace carillon::test {
namespace {

class StoreFailures : public ::testing::Test {
 protected:
  StoreFailures() {
    node.handlers["work"] = [this](JobContext& context) {
      ++calls[context.job().id];
      return done();
    };
    node.run_due();
  }
  int total() const {
    int sum = 0;
    for (const auto& [id, count] : calls) sum += count;
    return sum;
  }
  void fail_all(CommitFault fault) {
    node.commits().decide_by([fault] { return fault; });
  }
  void heal() {
    node.commits().decide_by([] { return CommitFault::none; });
  }

 public:
  HandNode node;
  std::map<JobId, int> calls;
};

TEST_F(StoreFailures, ACallGetsTheErrorAndNothingIsStored) {  // invariant 4
  for (const auto& [fault, code] : {std::pair(CommitFault::unavailable, ErrorCode::unavailable),
                                    std::pair(CommitFault::full, ErrorCode::store_full)}) {
    node.commits().next(fault);
    const Error error = error_of(node.client().enqueue({.type = "work"}));
    EXPECT_EQ(error.code, code);
    expect_one_line(error);
  }
  node.pass(1min);
  EXPECT_EQ(node.run_due(), 0U);
  EXPECT_TRUE(value_of(node.client().jobs({}, {}, 10)).jobs.empty());
  EXPECT_GE(node.heard.of<StoreFailed>().size(), 2U);
}

TEST_F(StoreFailures, FailuresInARowAreCountedUntilTheStoreTakesWritesAgain) {
  fail_all(CommitFault::full);
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(node.client().enqueue({.type = "work"}).has_value());
    node.clock.advance(1s);
  }
  heal();
  node.enqueue({.type = "work"});
  const auto failed = node.heard.of<StoreFailed>();
  ASSERT_EQ(failed.size(), 4U);
  EXPECT_EQ(failed.front().in_a_row, 1U);
  EXPECT_EQ(failed.back().in_a_row, 4U);
  EXPECT_EQ(failed.back().code, ErrorCode::store_full);
  const auto well = node.heard.of<StoreRecovered>();
  ASSERT_EQ(well.size(), 1U);
  EXPECT_EQ(well.front().failures, 4U);
  EXPECT_EQ(well.front().after, 4s);
}

TEST_F(StoreFailures, AClaimThatFailedIsTriedAgain) {  // invariants 5, 8
  const JobId id = node.enqueue({.type = "work"});
  fail_all(CommitFault::unavailable);
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(node.take());
    node.clock.advance(1s);
  }
  heal();
  EXPECT_EQ(node.run_due(), 1U);
  EXPECT_EQ(node.job(id).state, JobState::done);
  EXPECT_EQ(node.job(id).attempt, 1U);
  EXPECT_EQ(calls[id], 1);
}

TEST_F(StoreFailures, ClaimsWhoseAnswerWasLostAreFoundAndRunWithinTheirLease) {  // invariant 8
  std::vector<JobId> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(node.enqueue({.type = "work"}));
  node.commits().next(CommitFault::answer_lost);
  node.node().step();
  EXPECT_TRUE(node.runner.waiting.empty());
  EXPECT_EQ(node.run_due(), 5U);
  for (const JobId id : ids) {
    EXPECT_EQ(node.job(id).state, JobState::done);
    EXPECT_EQ(calls[id], 1);
    EXPECT_EQ(node.job(id).attempt, 1U);
  }
}

TEST_F(StoreFailures, ASuccessIsKeptUntilItIsWritten) {  // invariants 2, 4
  const JobId id = node.enqueue({.type = "work", .timeout = 10min});
  const RunPtr run = node.take();
  node.begin(run);
  fail_all(CommitFault::unavailable);
  node.finish(run, done());
  for (int i = 0; i < 20; ++i) {
    node.clock.advance(1s);
    node.settle_down();
  }
  EXPECT_EQ(node.job(id).state, JobState::processing);
  heal();
  node.clock.advance(1s);
  node.settle_down();
  EXPECT_EQ(node.job(id).state, JobState::done);
  EXPECT_EQ(node.node().counters().succeeded, 1U);
  EXPECT_EQ(node.heard.of<JobStopped>().size(), 1U);
}

TEST_F(StoreFailures, ASuccessWhoseAnswerWasLostCountsOnce) {  // invariants 2, 10, 34
  const JobId id = node.enqueue({.type = "work"});
  const RunPtr run = node.take();
  node.begin(run);
  node.commits().next(CommitFault::answer_lost);
  node.finish(run, done().then({.type = "other"}));
  node.clock.advance(1s);
  node.settle_down();
  EXPECT_EQ(node.job(id).state, JobState::done);
  EXPECT_EQ(node.node().counters().succeeded, 1U);
  EXPECT_EQ(node.node().counters().late, 0U);
  EXPECT_EQ(value_of(node.client().jobs({.type = "other"}, {}, 10)).jobs.size(), 1U);
}

TEST_F(StoreFailures, WhatNeverHappenedIsNotTold) {  // invariant 34
  ASSERT_TRUE(
      node.client().schedule_recurring({.name = "s", .type = "work", .every = 1h, .misfire = "skip"}).has_value());
  const JobId id = node.enqueue({.type = "work", .run_at = in(10min), .deadline = node.clock.now() + 5min});
  const auto stopped = node.heard.of<TickStopped>().size();
  const auto changed = node.heard.of<JobChanged>().size();
  node.clock.advance(3h + 30min);
  fail_all(CommitFault::unavailable);
  for (int i = 0; i < 5; ++i) {
    node.clock.advance(1s);
    node.settle_down();
  }
  EXPECT_EQ(node.node().counters().missed, 0U);
  EXPECT_EQ(node.node().counters().finalized, 0U);
  EXPECT_EQ(node.heard.of<Missed>().size(), 0U);
  EXPECT_EQ(node.heard.of<TickStopped>().size(), stopped);
  EXPECT_EQ(node.heard.of<JobChanged>().size(), changed);
  heal();
  node.clock.advance(1s);
  node.settle_down();
  EXPECT_EQ(node.node().counters().missed, 3U);
  EXPECT_EQ(node.heard.of<Missed>().size(), 1U);
  EXPECT_EQ(node.heard.of<JobChanged>().size(), changed + 1);
  EXPECT_EQ(node.job(id).state, JobState::cutoff_reached);
}

TEST_F(StoreFailures, AnOccurrenceIsPlannedOnceAfterTheStoreIsBack) {  // invariants 1, 3, 19
  ASSERT_TRUE(node.client().schedule_recurring({.name = "s", .type = "work", .every = 1h}).has_value());
  node.clock.advance(1h);
  fail_all(CommitFault::unavailable);
  for (int i = 0; i < 5; ++i) {
    node.settle_down();
    node.clock.advance(1s);
  }
  EXPECT_TRUE(calls.empty());
  heal();
  EXPECT_EQ(node.run_due(), 1U);
  node.pass(1h);
  EXPECT_EQ(node.run_due() + 1, 2U);
  EXPECT_EQ(calls.size(), 2U);
  EXPECT_EQ(node.node().counters().missed, 0U);
}

TEST_F(StoreFailures, OverRandomFailuresEveryAcknowledgedJobIsDoneAndCountersAgree) {  // invariants 4, 5, 8, 34
  std::uint64_t seed = 99;
  const auto random = [&](std::uint64_t below) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (seed >> 33U) % below;
  };
  node.commits().decide_by([&] {
    switch (random(6)) {
      case 0: return CommitFault::unavailable;
      case 1: return CommitFault::answer_lost;
      case 2: return CommitFault::full;
      default: return CommitFault::none;
    }
  });
  std::vector<JobId> acknowledged;
  for (int i = 0; i < 300; ++i) {
    if (const auto made = node.client().enqueue({.type = "work", .retry = RetryFixed{.delay = 1s}})) {
      acknowledged.push_back(made->id);
    }
    node.run_due();
    node.clock.advance(100ms);
  }
  heal();
  for (int i = 0; i < 100; ++i) {
    node.run_due();
    node.clock.advance(1s);
  }
  EXPECT_GT(acknowledged.size(), 100U);
  for (const JobId id : acknowledged) {
    EXPECT_EQ(node.job(id).state, JobState::done);
    EXPECT_EQ(calls[id], 1) << "no lease ran out, so none had to run twice";
  }
  const Counters counters = node.node().counters();
  EXPECT_EQ(counters.succeeded, calls.size());
  EXPECT_EQ(counters.succeeded, static_cast<std::uint64_t>(total()));
  EXPECT_EQ(counters.picked, static_cast<std::uint64_t>(total()));
  EXPECT_EQ(counters.store_failures, node.heard.of<StoreFailed>().size());
  EXPECT_TRUE(node.node().runs().empty());
  EXPECT_EQ(node.node().dispatcher().ready().running(), 0U);
}

TEST_F(StoreFailures, SettingsThatWereNotStoredDoNotHold) {  // invariant 4
  node.commits().next(CommitFault::unavailable);
  EXPECT_FALSE(node.client().put_maintenance("default", "{}").has_value());
  const JobId id = node.enqueue({.type = "work"});
  EXPECT_EQ(node.run_due(), 1U);
  EXPECT_EQ(node.job(id).state, JobState::done);
}

TEST_F(StoreFailures, LoadingGoesOnWhenTheStoreIsBack) {  // invariant 5
  HandNode fresh;
  int runs = 0;
  fresh.handlers["work"] = [&](JobContext&) {
    ++runs;
    return done();
  };
  for (int i = 0; i < 20; ++i) fresh.enqueue({.type = "work"});
  for (int i = 0; i < 7; ++i) fresh.commits().next(CommitFault::unavailable);
  for (int i = 0; i < 10; ++i) {
    fresh.run_due();
    fresh.clock.advance(1s);
  }
  EXPECT_TRUE(fresh.node().is_loaded());
  EXPECT_EQ(runs, 20);
  EXPECT_EQ(fresh.node().counters().succeeded, 20U);
}

}  // namespace
}  // namespace carillon::test
