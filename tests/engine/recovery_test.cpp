// What the simulation found: memory follows what is stored, also when an answer is lost or the clock is set back.
#include "engine/support/hand_node.h"

namespace carillon::test {
namespace {

class Recovery : public ::testing::Test {
 protected:
  Recovery() {
    node.handlers["work"] = [](JobContext&) { return done(); };
    node.run_due();
  }

 public:
  HandNode node;
};

TEST_F(Recovery, ARoundWhoseCommitFailedTellsNothingButThat) {  // invariant 34
  value_of(node.client().schedule_recurring({.name = "hourly", .type = "work", .every = 1h}));
  node.clock.advance(1h);
  node.commits().next(CommitFault::unavailable);
  node.node().step();
  EXPECT_TRUE(node.heard.of<JobChanged>().empty());
  EXPECT_EQ(node.heard.of<StoreFailed>().size(), 1U);
  node.run_due();
  EXPECT_EQ(node.heard.of<Finalized>().size(), 1U);
  EXPECT_EQ(node.node().counters().finalized, 1U);
}

TEST_F(Recovery, AScheduleWhoseAnswerWasLostIsPlannedAllTheSame) {  // invariant 3
  node.commits().next(CommitFault::answer_lost);
  EXPECT_FALSE(node.client().schedule_recurring({.name = "hourly", .type = "work", .every = 1h}));
  node.pass(1h);
  EXPECT_EQ(node.run_due(), 1U);
}

TEST_F(Recovery, ASubjectWhoseEnablingGotNoAnswerGoesOn) {  // invariant 5
  node.handlers["work"] = [](JobContext&) { return fail("not yet"); };
  value_of(node.client().put_schedule(
      "default", R"({"name":"s","trigger":{"kind":"delivery","due":"14:00"},"job":{"type":"work"}})"));
  for (const char* const subject : {"ada", "bob"}) value_of(node.client().put_subject("default", "s", subject, "{}"));
  node.pass(61min);
  EXPECT_EQ(node.run_due(), 2U);
  for (const char* const subject : {"ada", "bob"}) {
    value_of(node.client().put_subject("default", "s", subject, R"({"enabled": false})"));
  }
  node.pass(10min);
  EXPECT_EQ(node.run_due(), 0U);
  node.commits().next(CommitFault::answer_lost);
  EXPECT_FALSE(node.client().put_subject("default", "s", "ada", R"({"enabled": true})"));
  EXPECT_EQ(node.run_due(), 1U);
  value_of(node.client().put_subject("default", "s", "bob", R"({"enabled": true})"));
  EXPECT_EQ(node.run_due(), 1U);
}

TEST_F(Recovery, WhatIsHeldIsHeldOnceHoweverOftenTheStoreFails) {
  node.handlers["work"] = [](JobContext&) { return fail("not yet"); };
  value_of(node.client().put_schedule(
      "default", R"({"name":"s","trigger":{"kind":"delivery","due":"14:00"},"job":{"type":"work"}})"));
  value_of(node.client().put_subject("default", "s", "ada", "{}"));
  node.pass(61min);
  node.run_due();
  value_of(node.client().put_subject("default", "s", "ada", R"({"enabled": false})"));
  node.pass(10min);
  for (int i = 0; i < 20; ++i) {
    for (int failures = 0; failures < 3; ++failures) node.commits().next(CommitFault::answer_lost);
    EXPECT_EQ(node.run_due(), 0U);
    EXPECT_LE(node.node().dispatcher().ready().size() + node.node().dispatcher().waiting(), 1U);
    node.pass(10s);
  }
  value_of(node.client().put_subject("default", "s", "ada", R"({"enabled": true})"));
  EXPECT_EQ(node.run_due(), 1U);
}

TEST_F(Recovery, ALimitThatIsToRestRestsThoughTheWordGotNoAnswer) {  // invariant 6
  value_of(node.client().put_limit("default", "api", R"({"concurrency": 20})"));
  int calls = 0;
  node.handlers["work"] = [&](JobContext&) {
    ++calls;
    return rate_limited("api", in(10min));
  };
  for (int i = 0; i < 20; ++i) node.enqueue({.type = "work", .limits = {"api"}});
  node.settle_down();
  EXPECT_EQ(node.runner.waiting.size(), 8U);
  node.execute_next();
  node.commits().next(CommitFault::answer_lost);
  node.run_due();
  EXPECT_EQ(calls, 1);
}

TEST_F(Recovery, ASweepRepairsNothingThatItsOwnRoundIsAboutToPlan) {  // invariant 34
  value_of(node.client().put_schedule(
      "default",
      R"({"name":"s","trigger":{"kind":"windows","interval":"1h","max_backfill":1},"job":{"type":"work"}})"));
  value_of(node.client().put_subject("default", "s", "ada", R"({"cursor_end":"2026-03-02T08:00:00Z"})"));
  node.settle_down();
  const RunPtr run = node.take();
  ASSERT_TRUE(run && node.begin(run));
  node.clock.advance(6min);
  node.finish(run, done());
  node.node().step();
  EXPECT_EQ(node.runner.waiting.size(), 1U) << "the next window";
  node.run_due();
  node.pass(1min);
  EXPECT_THAT(node.heard.of<SweepStopped>(), ::testing::SizeIs(1));
  EXPECT_EQ(node.node().counters().repaired, 0U);
}

TEST_F(Recovery, APriorityThatIsNotStoredIsForgotten) {  // invariant 5
  const JobId job = node.enqueue({.type = "work", .run_at = in(1h)});
  node.commits().next(CommitFault::unavailable);
  EXPECT_FALSE(node.client().change("default", job, {.priority = 2}));
  node.pass(1h);
  EXPECT_EQ(node.run_due(), 1U);
  EXPECT_EQ(node.job(job).state, JobState::done);
}

TEST_F(Recovery, AQueueWhoseResumingGotNoAnswerGoesOn) {
  value_of(node.client().put_queue("default", "default", R"({"paused": true})"));
  node.commits().next(CommitFault::answer_lost);
  EXPECT_FALSE(node.client().put_queue("default", "default", R"({"paused": false})"));
  node.enqueue({.type = "work"});
  EXPECT_EQ(node.run_due(), 1U);
}

TEST_F(Recovery, AGateThatTheClockPassesAgainOpensAgain) {  // invariant 27
  value_of(node.client().put_settings("default", R"({"quiet_hours": {"start": "13:00", "end": "14:00"}})"));
  node.pass(90min);
  node.clock.step(-24h);
  node.enqueue({.type = "work", .notifies = true});
  EXPECT_EQ(node.run_due(), 0U);
  node.pass(45min);
  EXPECT_EQ(node.run_due(), 1U);
}

TEST_F(Recovery, WhatAGateLetsGoDoesNotWaitForAClockThatWasSetBack) {  // invariant 5
  value_of(node.client().put_settings("default", R"({"paused": true})"));
  for (int i = 0; i < 20; ++i) node.enqueue({.type = "work"});
  node.pass(48h);
  value_of(node.client().put_settings("default", R"({"paused": false})"));
  node.node().step();
  node.clock.step(-24h);
  EXPECT_EQ(node.run_due(), 20U);
}

TEST_F(Recovery, AnEntryThatIsStaleDoesNotKeepASlotAsleep) {  // invariant 5
  value_of(node.client().put_settings("default", R"({"max_concurrency": 1, "paused": true})"));
  const JobId stale = node.enqueue({.type = "work", .priority = 1});
  const JobId waits = node.enqueue({.type = "work"});
  value_of(node.client().cancel("default", stale));
  value_of(node.client().put_settings("default", R"({"paused": false})"));
  node.pass(4s);
  node.run_due();
  EXPECT_EQ(node.job(waits).state, JobState::done);
}

}  // namespace
}  // namespace carillon::test
