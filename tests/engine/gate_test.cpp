// Gates and pauses: what holds starts, how it reads, and how it opens again.
#include "engine/support/engine_test.h"
#include "engine/support/hand_node.h"

namespace carillon::test {
namespace {

class EngineGates : public EngineTest {
 protected:
  void SetUp() override {
    handle("work", [this](JobContext& context) {
      started[context.job().id] = clock.now();
      return done();
    });
  }
  std::string why(JobId id, std::string_view tenant = kTenant) {
    return value_of(client().explain(tenant, id)).steps.back().why;
  }

 public:
  std::map<JobId, Instant> started;
};

TEST_P(EngineGates, MaintenanceOfATenantHoldsItsJobsAndNobodyElses) {  // invariants 27, 33
  ASSERT_TRUE(client().put_maintenance(kTenant, R"({"reason":"moving house"})").has_value());
  const JobId held = enqueue({.type = "work"});
  const JobId other = enqueue({.type = "work", .tenant = "other"});
  advance(1h);
  EXPECT_EQ(state(held), JobState::queued);
  EXPECT_EQ(state(other, "other"), JobState::done);
  EXPECT_EQ(job(held).defer_reason, "maintenance");
  EXPECT_EQ(job(held).deferred_until, std::nullopt);
  EXPECT_EQ(job(held).attempt, 0U);
  EXPECT_EQ(job(held).token, 0);  // never claimed: it cost nothing
  EXPECT_EQ(why(held), "maintenance");

  ASSERT_TRUE(client().put_maintenance(kTenant, std::nullopt).has_value());
  advance(3s);
  EXPECT_EQ(state(held), JobState::done);
  EXPECT_EQ(job(held).attempt, 1U);
}

TEST_P(EngineGates, MaintenanceForAllHoldsEverybodyUntilItsEnd) {  // invariants 27, 33
  const Instant end = clock.now() + 1h;
  ASSERT_TRUE(client().put_maintenance("", R"({"until":")" + format_instant(end) + R"("})").has_value());
  const JobId one = enqueue({.type = "work"});
  const JobId two = enqueue({.type = "work", .tenant = "other"});
  advance(1h - 1us);
  EXPECT_TRUE(started.empty());
  EXPECT_EQ(job(one).deferred_until, end);
  EXPECT_EQ(job(two, "other").defer_reason, "maintenance");
  advance(4s);
  EXPECT_EQ(state(one), JobState::done);
  EXPECT_EQ(state(two, "other"), JobState::done);
}

TEST_P(EngineGates, JobsThatAGateHeldAreSpreadOverThreeSeconds) {
  max_concurrency = 1000;
  ASSERT_TRUE(
      client().put_maintenance(kTenant, R"({"until":")" + format_instant(clock.now() + 10min) + R"("})").has_value());
  for (int i = 0; i < 60; ++i) enqueue({.type = "work"});
  const Instant opens = clock.now() + 10min;
  advance(20min);
  ASSERT_EQ(started.size(), 60U);
  std::set<Instant> different;
  for (const auto& [id, when] : started) {
    EXPECT_GE(when, opens);
    EXPECT_LE(when, opens + 3s);
    different.insert(when);
  }
  EXPECT_GT(different.size(), 20U);
}

TEST_P(EngineGates, QuietHoursOverMidnightHoldOnlyWhatNotifies) {  // invariant 27
  ASSERT_TRUE(
      client()
          .put_settings(kTenant, R"({"timezone":"Europe/London","quiet_hours":{"start":"22:00","end":"07:00"}})")
          .has_value());
  clock.advance(at("2026-03-02T23:30:00Z") - clock.now());
  const JobId loud = enqueue({.type = "work", .notifies = true});
  const JobId silent = enqueue({.type = "work"});
  advance(1min);
  EXPECT_EQ(state(silent), JobState::done);
  EXPECT_EQ(state(loud), JobState::queued);
  EXPECT_EQ(job(loud).defer_reason, "quiet_hours");
  EXPECT_EQ(job(loud).deferred_until, at("2026-03-03T07:00:00Z"));
  EXPECT_EQ(why(loud), "quiet_hours");
  advance(8h);
  EXPECT_EQ(state(loud), JobState::done);
  EXPECT_GE(started[loud], at("2026-03-03T07:00:00Z"));
  EXPECT_LE(started[loud], at("2026-03-03T07:00:03Z"));
}

TEST_P(EngineGates, QuietHoursFollowTheClocksOverTheirChange) {  // invariants 24, 27
  ASSERT_TRUE(
      client()
          .put_settings(kTenant, R"({"timezone":"Europe/London","quiet_hours":{"start":"22:00","end":"07:00"}})")
          .has_value());
  clock.advance(at("2026-03-28T23:00:00Z") - clock.now());
  const JobId spring = enqueue({.type = "work", .notifies = true});
  advance(12h);
  EXPECT_GE(started[spring], at("2026-03-29T06:00:00Z"));  // 07:00 in London is 06:00 UTC now
  EXPECT_LE(started[spring], at("2026-03-29T06:00:03Z"));
  clock.advance(at("2026-10-24T22:00:00Z") - clock.now());
  const JobId autumn = enqueue({.type = "work", .notifies = true});
  advance(12h);
  EXPECT_GE(started[autumn], at("2026-10-25T07:00:00Z"));
  EXPECT_LE(started[autumn], at("2026-10-25T07:00:03Z"));
}

TEST_P(EngineGates, QuietHoursThatEndAreNotEndlessForJobsThatComeDueInThem) {
  ASSERT_TRUE(client().put_settings(kTenant, R"({"quiet_hours":{"start":"13:00","end":"14:00"}})").has_value());
  const JobId inside = enqueue({.type = "work", .run_at = at("2026-03-02T13:30:00Z"), .notifies = true});
  const JobId before = enqueue({.type = "work", .run_at = at("2026-03-02T12:59:59Z"), .notifies = true});
  const JobId after = enqueue({.type = "work", .run_at = at("2026-03-02T14:30:00Z"), .notifies = true});
  advance(4h);
  EXPECT_EQ(started[before], at("2026-03-02T12:59:59Z"));
  EXPECT_GE(started[inside], at("2026-03-02T14:00:00Z"));
  EXPECT_LE(started[inside], at("2026-03-02T14:00:03Z"));
  EXPECT_EQ(started[after], at("2026-03-02T14:30:00Z"));
}

TEST_P(EngineGates, APausedTenantTakesJobsAndStartsNone) {  // invariant 32
  ASSERT_TRUE(client().put_settings(kTenant, R"({"paused":true})").has_value());
  const JobId id = enqueue({.type = "work"});
  advance(1h);
  EXPECT_EQ(state(id), JobState::queued);
  EXPECT_EQ(why(id), "paused");
  ASSERT_TRUE(client().put_settings(kTenant, R"({"paused":false})").has_value());
  advance(4s);
  EXPECT_EQ(state(id), JobState::done);
}

TEST_P(EngineGates, APausedQueueTakesJobsAndStartsNone) {  // invariant 32
  ASSERT_TRUE(client().put_queue(kTenant, "slow", R"({"paused":true})").has_value());
  const JobId held = enqueue({.type = "work", .queue = "slow"});
  const JobId free = enqueue({.type = "work"});
  advance(1h);
  EXPECT_EQ(state(held), JobState::queued);
  EXPECT_EQ(state(free), JobState::done);
  EXPECT_EQ(why(held), "paused");
  ASSERT_TRUE(client().put_queue(kTenant, "slow", R"({"paused":false})").has_value());
  advance(4s);
  EXPECT_EQ(state(held), JobState::done);
}

TEST_P(EngineGates, DisabledByItsConfigTheEngineTakesJobsAndStartsNone) {  // invariant 32
  ASSERT_TRUE(client().put_config(R"({"enabled":false})").has_value());
  const JobId id = enqueue({.type = "work"});
  advance(1h);
  EXPECT_EQ(state(id), JobState::queued);
  EXPECT_EQ(why(id), "disabled");
  ASSERT_TRUE(client().put_config(R"({"enabled":true})").has_value());
  advance(4s);
  EXPECT_EQ(state(id), JobState::done);
}

TEST_P(EngineGates, WhatIsSetHoldsAfterARestart) {  // invariants 5, 32
  if (!survives_restart()) GTEST_SKIP() << "memory is gone with the process";
  ASSERT_TRUE(client().put_maintenance("a", R"({})").has_value());
  ASSERT_TRUE(client().put_settings("b", R"({"paused":true})").has_value());
  ASSERT_TRUE(client().put_queue("c", "slow", R"({"paused":true})").has_value());
  const JobId a = enqueue({.type = "work", .tenant = "a"});
  const JobId b = enqueue({.type = "work", .tenant = "b"});
  const JobId c = enqueue({.type = "work", .tenant = "c", .queue = "slow"});
  restart();
  advance(1h);
  EXPECT_TRUE(started.empty());
  ASSERT_TRUE(client().put_maintenance("a", std::nullopt).has_value());
  ASSERT_TRUE(client().put_settings("b", R"({"paused":null})").has_value());
  ASSERT_TRUE(client().put_queue("c", "slow", R"({"paused":false})").has_value());
  advance(4s);
  EXPECT_EQ(state(a, "a"), JobState::done);
  EXPECT_EQ(state(b, "b"), JobState::done);
  EXPECT_EQ(state(c, "c"), JobState::done);
}

TEST_P(EngineGates, ADeadlineBehindAClosedGateIsTheOutcomeWithItsReason) {
  ASSERT_TRUE(client().put_maintenance(kTenant, "{}").has_value());
  const JobId id = enqueue({.type = "work", .deadline = clock.now() + 10min});
  advance(11min);
  EXPECT_EQ(state(id), JobState::cutoff_reached);
  EXPECT_EQ(job(id).reason, "gated");
  EXPECT_TRUE(started.empty());
}

TEST_P(EngineGates, ADeadlineInAPauseIsTheOutcomeWithItsReason) {  // invariant 32
  ASSERT_TRUE(client().put_queue(kTenant, "slow", R"({"paused":true})").has_value());
  const JobId paused = enqueue({.type = "work", .queue = "slow", .deadline = clock.now() + 10min});
  const JobId unserved = enqueue({.type = "nobody's", .deadline = clock.now() + 10min});
  advance(11min);
  EXPECT_EQ(state(paused), JobState::cutoff_reached);
  EXPECT_EQ(job(paused).reason, "paused");
  EXPECT_EQ(job(unserved).reason, "deadline");
  EXPECT_TRUE(started.empty());
}

TEST_P(EngineGates, AHandlerCanAskWhetherAGateHasClosedSinceItBegan) {  // invariant 27
  std::optional<GateClosing> closing;
  handle("asks", [&](JobContext& context) {
    EXPECT_FALSE(context.check_gates());
    EXPECT_TRUE(client().put_maintenance(kTenant, "{}").has_value());
    closing = context.check_gates();
    return done();
  });
  const JobId id = enqueue({.type = "asks"});
  run_due();
  ASSERT_TRUE(closing);
  EXPECT_EQ(closing->reason, "maintenance");
  EXPECT_EQ(closing->until, std::nullopt);
  EXPECT_EQ(state(id), JobState::done);
}

TEST_P(EngineGates, SettingsThatCannotBeAreRefusedAndChangeNothing) {
  EXPECT_EQ(error_of(client().put_settings(kTenant, R"({"colour":"red"})")).code, ErrorCode::invalid_request);
  EXPECT_EQ(error_of(client().put_settings(kTenant, R"({"timezone":"Moon/Base"})")).code,
            ErrorCode::invalid_configuration);
  EXPECT_FALSE(client().put_maintenance(kTenant, "[]").has_value());
  EXPECT_FALSE(client().put_queue(kTenant, "slow", "{").has_value());
  const JobId id = enqueue({.type = "work"});
  run_due();
  EXPECT_EQ(state(id), JobState::done);
}

OVER_EVERY_STORE(EngineGates);

// ---- Between claim and start ----------------------------------------------------------------------------------------

class GateBehindClaim : public ::testing::Test {
 protected:
  GateBehindClaim() {
    node.handlers["work"] = [this](JobContext&) {
      ++calls;
      return done();
    };
  }

 public:
  HandNode node;
  int calls = 0;
};

TEST_F(GateBehindClaim, AGateThatClosesBetweenClaimAndStartDefersWithoutAnAttempt) {  // invariants 16, 27
  const JobId id = node.enqueue({.type = "work"});
  node.settle_down();
  ASSERT_EQ(node.runner.waiting.size(), 1U);
  const Instant end = node.clock.now() + 1h;
  ASSERT_TRUE(node.client().put_maintenance("default", R"({"until":")" + format_instant(end) + R"("})").has_value());
  EXPECT_EQ(node.execute_next(), Finished::How::gated);
  EXPECT_EQ(calls, 0);
  const JobInfo info = node.job(id);
  EXPECT_EQ(info.state, JobState::queued);
  EXPECT_EQ(info.attempt, 0U);
  EXPECT_EQ(info.deferrals, 1U);
  EXPECT_EQ(info.defer_reason, "maintenance");
  EXPECT_GE(info.run_at, end);
  EXPECT_LE(info.run_at, end + 3s);
  EXPECT_EQ(node.heard.of<Deferred>().size(), 1U);
  node.pass(1h + 4s);
  EXPECT_EQ(node.run_due(), 1U);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(node.job(id).attempt, 1U);
}

TEST_F(GateBehindClaim, WithoutAnEndItWaitsUntilTheGateIsLifted) {  // invariant 27
  const JobId id = node.enqueue({.type = "work"});
  node.settle_down();
  ASSERT_TRUE(node.client().put_maintenance("default", "{}").has_value());
  EXPECT_EQ(node.execute_next(), Finished::How::gated);
  node.pass(24h);
  EXPECT_EQ(node.run_due(), 0U);
  EXPECT_EQ(node.job(id).deferrals, 1U);
  ASSERT_TRUE(node.client().put_maintenance("default", std::nullopt).has_value());
  node.pass(4s);
  EXPECT_EQ(node.run_due(), 1U);
  EXPECT_EQ(calls, 1);
}

TEST_F(GateBehindClaim, TokensOfALimitReturnWhenAGateStoppedTheStart) {  // invariant 33
  ASSERT_TRUE(node.client().put_limit("default", "api", R"({"rate":1,"per":"24h"})").has_value());
  const JobId id = node.enqueue({.type = "work", .limits = {"api"}});
  node.settle_down();
  ASSERT_TRUE(node.client().put_maintenance("default", "{}").has_value());
  EXPECT_EQ(node.execute_next(), Finished::How::gated);
  ASSERT_TRUE(node.client().put_maintenance("default", std::nullopt).has_value());
  node.pass(4s);
  EXPECT_EQ(node.run_due(), 1U);
  EXPECT_EQ(node.job(id).state, JobState::done);
}

}  // namespace
}  // namespace carillon::test
