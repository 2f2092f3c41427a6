// Leases: who has a job, for how long, and what a word is worth that comes too late.
#include "engine/support/hand_node.h"

namespace carillon::test {
namespace {

class EngineLeases : public ::testing::Test {
 protected:
  RunPtr begun(const JobRequest& request) {
    id = node.enqueue(request);
    RunPtr run = node.take();
    EXPECT_TRUE(run && node.begin(run));
    return run;
  }
  JobInfo job() { return node.job(id); }

 public:
  HandNode node;
  JobId id;
};

TEST_F(EngineLeases, AHandlerLongerThanItsLeaseKeepsItByHeartbeats) {  // invariants 9, 13
  const RunPtr run = begun({.type = "work", .timeout = 10min, .lease = 30s});
  for (int i = 0; i < 9; ++i) {
    node.pass(1min);
    EXPECT_EQ(job().state, JobState::processing);
    EXPECT_GT(job().lease_until, node.clock.now());
  }
  node.finish(run, done());
  EXPECT_EQ(job().state, JobState::done);
  EXPECT_EQ(job().attempt, 1U);
  EXPECT_EQ(node.node().counters().stalled, 0U);
  EXPECT_EQ(node.node().counters().late, 0U);
}

TEST_F(EngineLeases, ProgressIsSeenWhileItRuns) {
  const RunPtr run = begun({.type = "work", .lease = 30s});
  run->set_progress(R"({"done":40})");
  node.pass(30s);
  EXPECT_EQ(job().progress, R"({"done":40})");
  node.finish(run, done());
  EXPECT_EQ(job().state, JobState::done);
}

TEST_F(EngineLeases, ProgressWhoseCommitFailedIsWrittenByTheNextHeartbeat) {
  const RunPtr run = begun({.type = "work", .lease = 30s});
  run->set_progress(R"({"done":40})");
  node.clock.advance(11s);
  node.commits().next(CommitFault::unavailable);
  node.node().step();
  EXPECT_TRUE(job().progress.empty());
  node.pass(30s);
  EXPECT_EQ(job().progress, R"({"done":40})");
}

TEST_F(EngineLeases, ProgressThatIsNoJsonHarmsNothing) {
  const RunPtr run = begun({.type = "work", .lease = 30s});
  run->set_progress("forty \xff");
  node.pass(2min);
  EXPECT_EQ(job().state, JobState::processing);
  node.finish(run, done());
  EXPECT_EQ(job().state, JobState::done);
}

TEST_F(EngineLeases, APauseLongerThanTheLeaseIsNoLossIfNobodyHasFoundIt) {  // invariants 8, 10, 11
  const RunPtr run = begun({.type = "work", .lease = 30s});
  node.clock.advance(31s);  // the process slept
  node.settle_down();
  EXPECT_EQ(job().state, JobState::processing);
  node.finish(run, done());
  EXPECT_EQ(job().state, JobState::done);
  EXPECT_EQ(node.node().counters().stalled, 0U);
  EXPECT_EQ(node.node().counters().late, 0U);
}

TEST_F(EngineLeases, AHandlerSeesThatItsLeaseRanOut) {  // invariant 11
  bool before = true;
  bool after = false;
  node.handlers["work"] = [&](JobContext& context) {
    before = context.cancelled();
    node.clock.advance(31s);
    after = context.cancelled();
    return done();
  };
  node.enqueue({.type = "work", .lease = 30s});
  node.execute_next();
  EXPECT_FALSE(before);
  EXPECT_TRUE(after);
}

// What another one who looks after the same store does when it finds a lease that ran out.
class EngineLostLeases : public EngineLeases {
 protected:
  void lose() {
    node.clock.advance(31s);
    EXPECT_EQ(value_of(node.store().jobs().reap(10)).size(), 1U);
    node.settle_down();
  }
};

TEST_F(EngineLostLeases, AHandlerWhoseLeaseWasLostIsAskedToStopAndItsSuccessIsLate) {  // invariants 9, 10
  const RunPtr run = begun({.type = "work", .lease = 30s});
  lose();
  EXPECT_TRUE(run->stop_requested);
  EXPECT_EQ(job().state, JobState::queued);
  ASSERT_EQ(job().attempts.size(), 1U);
  EXPECT_EQ(job().attempts.front().result, AttemptResult::lease_lost);
  node.finish(run, done());
  EXPECT_EQ(job().state, JobState::queued);
  EXPECT_EQ(node.heard.count("late_success"), 1U);
  EXPECT_EQ(node.node().counters().late, 1U);
  EXPECT_EQ(node.node().counters().succeeded, 0U);
  EXPECT_TRUE(node.node().runs().empty());
}

TEST_F(EngineLostLeases, ALateFailureIsAStaleAck) {  // invariant 10
  const RunPtr run = begun({.type = "work", .lease = 30s});
  lose();
  node.finish(run, fail("no"));
  EXPECT_EQ(node.heard.count("stale_ack"), 1U);
  EXPECT_EQ(node.heard.count("late_success"), 0U);
  EXPECT_EQ(node.node().counters().failed, 0U);
}

TEST_F(EngineLostLeases, OneThatWaitedForAThreadIsTakenBack) {  // invariants 6, 11
  id = node.enqueue({.type = "work", .lease = 30s});
  const RunPtr run = node.take();
  lose();
  EXPECT_FALSE(node.begin(run));
  EXPECT_TRUE(node.node().runs().empty());
  EXPECT_EQ(node.node().dispatcher().ready().running(), 0U);
}

TEST_F(EngineLeases, NothingStartsAfterItsLeaseRanOutWhileItWaitedForAThread) {  // invariant 11
  int calls = 0;
  node.handlers["work"] = [&](JobContext&) {
    ++calls;
    return done();
  };
  id = node.enqueue({.type = "work", .lease = 30s});
  node.settle_down();
  node.clock.advance(31s);  // nobody came to renew it
  const RunPtr run = node.runner.waiting.front();
  ASSERT_TRUE(run->begin(node.node().slots()->take().value()));
  const Finished finished = execute(run, node.handlers, *node.node().port());
  EXPECT_EQ(finished.how, Finished::How::not_started);
  EXPECT_EQ(calls, 0);
}

TEST_F(EngineLeases, OneThatWaitsForAThreadKeepsItsLeaseAndItsTimeoutBeginsOnlyWithItsHandler) {  // invariant 13
  id = node.enqueue({.type = "work", .timeout = 1min, .lease = 30s});
  const RunPtr run = node.take();
  ASSERT_TRUE(run);
  node.pass(10min);
  EXPECT_EQ(job().state, JobState::processing);
  ASSERT_TRUE(node.begin(run));
  node.pass(55s);
  EXPECT_EQ(job().state, JobState::processing);
  node.finish(run, done());
  EXPECT_EQ(job().state, JobState::done);
  EXPECT_EQ(node.heard.of<LeaseLost>().size(), 0U);
}

TEST_F(EngineLeases, AtItsTimeoutAnAttemptEndsAndItsJobGoesOnWhileTheHandlerDoesNotReturn) {  // invariant 13
  const RunPtr run = begun({.type = "work", .retry = RetryExponential{.base = 30s}, .timeout = 2min, .lease = 30s});
  node.pass(2min - 1us);
  EXPECT_EQ(job().state, JobState::processing);
  node.pass(1us);
  EXPECT_EQ(job().state, JobState::queued);
  ASSERT_EQ(job().attempts.size(), 1U);
  EXPECT_EQ(job().attempts.front().result, AttemptResult::timeout);
  EXPECT_TRUE(run->stop_requested);
  EXPECT_EQ(node.heard.of<HandlerAbandoned>().size(), 1U);
  EXPECT_EQ(node.heard.of<LeaseLost>().size(), 0U);
  EXPECT_EQ(node.node().counters().failed, 1U);

  node.pass(31s);
  const RunPtr second = node.take();
  ASSERT_TRUE(second);
  node.begin(second);
  node.finish(second, done());
  EXPECT_EQ(job().state, JobState::done);
  node.finish(run, done());  // at last
  EXPECT_EQ(job().attempts.size(), 2U);
  EXPECT_EQ(node.heard.count("late_success"), 1U);
  EXPECT_TRUE(node.node().runs().empty());
}

TEST_F(EngineLeases, AnAbandonedHandlerKeepsItsSlotUntilItReturns) {  // invariants 6, 13
  HandNode one({.max_concurrency = 1});
  one.enqueue({.type = "work", .max_attempts = 1, .timeout = 1min});
  const RunPtr stuck = one.take();
  one.begin(stuck);
  one.pass(1min);
  EXPECT_EQ(one.heard.of<HandlerAbandoned>().size(), 1U);
  const JobId other = one.enqueue({.type = "work"});
  one.pass(1min);
  EXPECT_FALSE(one.take());
  one.finish(stuck, done());
  const RunPtr run = one.take();
  ASSERT_TRUE(run);
  EXPECT_EQ(run->job.id, other);
}

TEST_F(EngineLeases, AnAbandonedHandlerDoesNotKeepItsOwnJobFromRunningBesideIt) {  // invariant 13
  const RunPtr first = begun({.type = "work", .retry = RetryExponential{.base = 1s}, .timeout = 1min});
  node.pass(62s);
  const RunPtr second = node.take();
  ASSERT_TRUE(second);
  node.begin(second);
  // The slot of the first is still taken: two threads are busy.
  EXPECT_EQ(node.node().runs().size(), 2U);
  node.finish(first, done());
  EXPECT_EQ(job().state, JobState::processing);
  node.pass(50s);
  EXPECT_EQ(job().state, JobState::processing);  // the second is still renewed
  node.finish(second, done());
  EXPECT_EQ(job().state, JobState::done);
  EXPECT_TRUE(node.node().runs().empty());
}

TEST_F(EngineLeases, AHandlerThatReturnsAtTheVeryMomentOfItsTimeoutIsCountedOnce) {  // invariants 13, 34
  const RunPtr run = begun({.type = "work", .max_attempts = 1, .timeout = 1min, .lease = 2min});
  node.clock.advance(1min);
  node.finish(run, done());
  EXPECT_EQ(node.heard.of<JobStopped>().size(), 1U);
  EXPECT_EQ(node.heard.of<HandlerAbandoned>().size(), 0U);
  EXPECT_EQ(job().attempts.size(), 1U);
  EXPECT_TRUE(node.node().runs().empty());
  const auto counters = node.node().counters();
  EXPECT_EQ(counters.succeeded + counters.failed, 1U);
  EXPECT_EQ(counters.late, 0U);
}

TEST_F(EngineLeases, TheTenthReleaseOfAStartedAttemptCostsOne) {  // invariant 16
  id = node.enqueue({.type = "work", .max_attempts = 1});
  for (int i = 1; i <= 10; ++i) {
    const RunPtr run = node.take();
    ASSERT_TRUE(run) << i;
    node.begin(run);
    node.node().release_all();
    node.finish(run, done());
  }
  EXPECT_EQ(job().state, JobState::dlq);
  EXPECT_EQ(job().attempt, 1U);
  EXPECT_FALSE(node.take());
}

TEST_F(EngineLeases, AtTheDrainThoseThatWaitForAThreadAreHandedBackWithoutAnAttempt) {
  id = node.enqueue({.type = "work"});
  const RunPtr run = node.take();
  node.node().begin_drain();
  node.settle_down();
  EXPECT_FALSE(node.begin(run));
  EXPECT_EQ(job().state, JobState::queued);
  EXPECT_EQ(job().attempt, 0U);
  EXPECT_TRUE(node.node().is_idle());
  EXPECT_FALSE(node.take());  // none starts any more
}

TEST_F(EngineLeases, AStepOfTheWallClockLeavesLeasesAlone) {  // invariant 11
  const RunPtr run = begun({.type = "work", .lease = 30s});
  node.clock.step(24h);
  node.settle_down();
  EXPECT_EQ(job().state, JobState::processing);
  node.clock.step(-48h);
  node.settle_down();
  EXPECT_EQ(job().state, JobState::processing);
  EXPECT_FALSE(run->stop_requested);
  node.finish(run, done());
  EXPECT_EQ(job().state, JobState::done);
}

TEST_F(EngineLeases, ADeadlineThatPassesWhileItRunsEndsItAndItsSuccessIsLate) {  // invariants 3, 23
  const RunPtr run = begun({.type = "work", .deadline = node.clock.now() + 1min, .timeout = 10min});
  node.pass(2min);
  EXPECT_EQ(job().state, JobState::cutoff_reached);
  EXPECT_TRUE(run->stop_requested);
  node.finish(run, done());
  EXPECT_EQ(job().state, JobState::cutoff_reached);
  EXPECT_EQ(node.heard.count("late_success"), 1U);
  EXPECT_TRUE(node.node().runs().empty());
}

}  // namespace
}  // namespace carillon::test
