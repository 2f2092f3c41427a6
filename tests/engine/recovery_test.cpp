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
