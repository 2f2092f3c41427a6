// What gates held before it was claimed is counted once for each closing, and stands in the job's history, though
// nothing was written while it was held. (invariants 33, 34)
#include "engine/support/engine_test.h"
#include "engine/support/hand_node.h"

namespace carillon::test::deferrals {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Deferrals : public EngineTest {
 protected:
  void SetUp() override {
    handle("work", [this](JobContext&) { return answer; });
    put(client().put_settings(kTenant, R"({"quiet_hours":{"start":"23:00","end":"07:00"}})"));
  }
  static void put(Result<void> done) { ASSERT_TRUE(done.has_value()) << done.error().message; }
  void go_to(std::string_view instant) { advance(at(instant) - clock.now()); }
  // "why from until" of the deferrals that explain tells.
  std::vector<std::string> deferrals(JobId id) {
    std::vector<std::string> texts;
    for (const ExplainStep& step : value_of(client().explain(kTenant, id)).steps) {
      if (step.what != "deferred") continue;
      const JsonValue detail = value_of(JsonValue::parse(step.detail));
      const std::string until = detail.at("until").is_null() ? "-" : std::string(detail.at("until").as_string());
      texts.push_back(step.why + " " + format_instant(step.at) + " " + until);
    }
    return texts;
  }
  std::uint64_t deferred() { return engine().counters().deferred; }
  JobId notify(RunAt run_at = {}) { return enqueue({.type = "work", .run_at = run_at, .notifies = true}); }

 public:
  Outcome answer = done();
};

TEST_P(Deferrals, QuietHoursThatHeldAJobAreTold) {
  go_to("2026-03-02T23:30:00Z");
  const JobId id = notify();
  advance(1h);
  // While it is held.
  EXPECT_EQ(job(id).deferrals, 1U);
  EXPECT_THAT(deferrals(id), ElementsAre("quiet_hours 2026-03-02T23:30:00.000Z 2026-03-03T07:00:00.000Z"));
  EXPECT_EQ(deferred(), 0U) << "counted when it opens";
  go_to("2026-03-03T08:00:00Z");
  // And afterwards.
  ASSERT_EQ(state(id), JobState::done);
  EXPECT_EQ(job(id).deferrals, 1U);
  EXPECT_THAT(deferrals(id), ElementsAre("quiet_hours 2026-03-02T23:30:00.000Z 2026-03-03T07:00:00.000Z"));
  EXPECT_EQ(deferred(), 1U);
  EXPECT_EQ(job(id).attempt, 1U);
}

TEST_P(Deferrals, AListShowsAsManyAsTheJobItself) {
  go_to("2026-03-02T23:30:00Z");
  const JobId done_later = notify();
  const JobId cancelled = notify();
  const JobId tried_twice = enqueue({.type = "flaky", .retry = RetryExponential{.base = 10min}, .notifies = true});
  handle("flaky", [](JobContext& context) { return context.job().attempt == 1 ? fail("no") : done(); });
  const auto listed = [&](JobId id) {
    for (const JobInfo& one : value_of(client().jobs({}, {}, 100)).jobs) {
      if (one.id == id) return one.deferrals;
    }
    throw std::runtime_error("it is not in the list");
  };
  const auto expect_same = [&](std::string_view when) {
    for (const JobId id : {done_later, cancelled, tried_twice}) {
      EXPECT_EQ(job(id).deferrals, 1U) << when;
      EXPECT_EQ(listed(id), 1U) << when;
    }
  };
  advance(1h);
  expect_same("while they are held");
  ASSERT_TRUE(client().cancel(kTenant, cancelled).has_value());
  go_to("2026-03-03T07:05:00Z");
  ASSERT_EQ(state(done_later), JobState::done);
  expect_same("once it has opened");
  go_to("2026-03-03T08:00:00Z");
  ASSERT_EQ(state(tried_twice), JobState::done);
  expect_same("after the second attempt");
}

TEST_P(Deferrals, OneEventForEachClosingAndQueueCarriesTheirNumber) {
  go_to("2026-03-02T22:00:00Z");
  for (int i = 0; i < 5; ++i) notify(RunAt(at("2026-03-03T01:00:00Z")));
  for (int i = 0; i < 3; ++i) {
    enqueue({.type = "work", .queue = "other", .run_at = RunAt(at("2026-03-03T02:00:00Z")), .notifies = true});
  }
  const JobId silent = enqueue({.type = "work", .run_at = RunAt(at("2026-03-03T02:00:00Z"))});
  const JobId later = notify(RunAt(at("2026-03-03T07:00:00Z")));
  go_to("2026-03-03T09:00:00Z");
  std::vector<std::string> told;
  for (const Deferred& one : heard.of<Deferred>()) {
    told.push_back(one.queue + " " + one.reason + " " + std::to_string(one.count) + " " + format_instant(*one.until));
  }
  EXPECT_THAT(told, ElementsAre("default quiet_hours 5 2026-03-03T07:00:00.000Z",
                                "other quiet_hours 3 2026-03-03T07:00:00.000Z"));
  EXPECT_EQ(deferred(), 8U);
  EXPECT_EQ(job(silent).deferrals, 0U);
  EXPECT_EQ(job(later).deferrals, 0U);
}

TEST_P(Deferrals, EachClosingCountsOnce) {
  go_to("2026-03-02T23:30:00Z");
  const JobId id = notify();
  put(client().put_maintenance(kTenant, R"({"until":"2026-03-03T03:00:00Z"})"));
  put(client().put_maintenance("", R"({"until":"2026-03-03T08:00:00Z"})"));
  go_to("2026-03-03T01:00:00Z");
  put(client().put_maintenance(kTenant, R"({"until":"2026-03-03T04:00:00Z"})"));  // the same one, longer
  go_to("2026-03-03T09:00:00Z");
  ASSERT_EQ(state(id), JobState::done);
  EXPECT_EQ(job(id).deferrals, 3U);
  EXPECT_THAT(deferrals(id),
              ::testing::UnorderedElementsAre("quiet_hours 2026-03-02T23:30:00.000Z 2026-03-03T07:00:00.000Z",
                                              "maintenance 2026-03-02T23:30:00.000Z 2026-03-03T04:00:00.000Z",
                                              "maintenance:all 2026-03-02T23:30:00.000Z 2026-03-03T08:00:00.000Z"));
  EXPECT_EQ(deferred(), 3U);
}

TEST_P(Deferrals, WhatHeldAnEarlierAttemptStaysOnRecord) {
  answer = fail("no answer");
  go_to("2026-03-02T23:30:00Z");
  const JobId id = enqueue({.type = "work", .retry = RetryExponential{.base = 10min}, .notifies = true});
  go_to("2026-03-03T07:05:00Z");
  EXPECT_EQ(job(id).attempt, 1U);
  EXPECT_EQ(job(id).deferrals, 1U);
  put(client().put_maintenance(kTenant, "{}"));
  go_to("2026-03-03T12:00:00Z");
  EXPECT_EQ(job(id).deferrals, 2U);
  put(client().put_maintenance(kTenant, std::nullopt));
  answer = done();
  advance(10s);
  ASSERT_EQ(state(id), JobState::done);
  EXPECT_EQ(job(id).deferrals, 2U);
  EXPECT_THAT(deferrals(id), ElementsAre("quiet_hours 2026-03-02T23:30:00.000Z 2026-03-03T07:00:00.000Z",
                                         HasSubstr("maintenance 2026-03-03T07")));
  EXPECT_EQ(deferred(), 2U);
}

TEST_P(Deferrals, WhoLeavesBeforeTheGateOpensIsCountedToo) {
  go_to("2026-03-02T23:30:00Z");
  const JobId cancelled = notify();
  const JobId moved = notify();
  const JobId stays = notify();
  const JobId cut_off = enqueue({.type = "work", .deadline = at("2026-03-03T02:00:00Z"), .notifies = true});
  advance(1h);
  ASSERT_TRUE(client().cancel(kTenant, cancelled).has_value());
  ASSERT_TRUE(client().change(kTenant, moved, {.run_at = at("2026-03-03T06:00:00Z")}).has_value());
  go_to("2026-03-03T09:00:00Z");
  ASSERT_EQ(state(cut_off), JobState::cutoff_reached);
  ASSERT_EQ(state(moved), JobState::done);
  for (const JobId id : {cancelled, moved, stays, cut_off}) {
    EXPECT_EQ(job(id).deferrals, 1U);
    EXPECT_THAT(deferrals(id), ElementsAre("quiet_hours 2026-03-02T23:30:00.000Z 2026-03-03T07:00:00.000Z"));
  }
  EXPECT_EQ(deferred(), 4U) << "each of them once";
}

TEST_P(Deferrals, TheHistoryOutlivesTheProcess) {
  if (!survives_restart()) GTEST_SKIP() << "memory is gone with the process";
  go_to("2026-03-02T23:30:00Z");
  const JobId held = notify();
  advance(1h);
  restart();
  advance(1min);
  EXPECT_THAT(deferrals(held), ElementsAre("quiet_hours 2026-03-02T23:30:00.000Z 2026-03-03T07:00:00.000Z"));
  go_to("2026-03-03T09:00:00Z");
  restart();
  run_due();
  EXPECT_EQ(job(held).deferrals, 1U);
  EXPECT_THAT(deferrals(held), ElementsAre("quiet_hours 2026-03-02T23:30:00.000Z 2026-03-03T07:00:00.000Z"));
  // One that ended while nothing ran ended when it was to.
  go_to("2026-03-03T23:30:00Z");
  const JobId over_night = notify();
  advance(1min);
  clock.advance(9h);
  restart();
  advance(1min);
  ASSERT_EQ(state(over_night), JobState::done);
  EXPECT_THAT(deferrals(over_night), ElementsAre("quiet_hours 2026-03-03T23:30:00.000Z 2026-03-04T07:00:00.000Z"));
}

TEST_P(Deferrals, AClockThatIsSetBackTakesNothingFromAGateThatIsClosed) {
  advance(1h);
  put(client().put_maintenance(kTenant, "{}"));
  advance(1h);
  clock.step(at("2026-03-01T12:00:00Z") - clock.now());
  advance(1min);
  const JobId id = enqueue({.type = "work"});
  advance(1h);
  EXPECT_EQ(job(id).deferrals, 1U);
  EXPECT_THAT(deferrals(id), ElementsAre("maintenance 2026-03-01T12:01:00.000Z -"));
  put(client().put_maintenance(kTenant, std::nullopt));
  advance(1min);
  EXPECT_EQ(job(id).deferrals, 1U);
  EXPECT_EQ(deferred(), 1U);
}

OVER_EVERY_STORE(Deferrals);

class DeferralsBehindClaim : public ::testing::Test {
 public:
  HandNode node;
};

// It was put back by the gate and then held by it: that is one closing.
TEST_F(DeferralsBehindClaim, OneThatAGatePutBackIsNotCountedAgain) {
  const JobId id = node.enqueue({.type = "work"});
  node.settle_down();
  ASSERT_TRUE(node.client().put_maintenance("default", "{}").has_value());
  EXPECT_EQ(node.execute_next(), Finished::How::gated);
  node.pass(1h);
  EXPECT_EQ(node.job(id).deferrals, 1U);
  ASSERT_TRUE(node.client().put_maintenance("default", std::nullopt).has_value());
  node.pass(4s);
  EXPECT_EQ(node.job(id).deferrals, 1U);
  EXPECT_EQ(node.node().counters().deferred, 1U);
}

TEST_F(DeferralsBehindClaim, WhatItHeldIsToldWithTheCommitThatKeepsIt) {
  ASSERT_TRUE(node.client().put_maintenance("default", "{}").has_value());
  for (int i = 0; i < 3; ++i) node.enqueue({.type = "work"});
  node.pass(1min);
  ASSERT_TRUE(node.client().put_maintenance("default", std::nullopt).has_value());
  node.commits().next(CommitFault::unavailable);
  node.commits().next(CommitFault::unavailable);
  node.pass(5s);
  EXPECT_EQ(node.node().counters().deferred, 3U);
}

}  // namespace
}  // namespace carillon::test::deferrals
