// The configuration of the engine: what is pinned holds over what is stored, that over defaults.
#include "engine/support/hand_node.h"

namespace carillon::test {
namespace {

EngineConfig config_of(HandNode& node) { return node.node().config(); }

void put(HandNode& node, std::string_view config) { ASSERT_TRUE(node.client().put_config(config).has_value()); }

std::string schedule(std::string_view job) {
  return R"({"name": "s", "trigger": {"kind": "every", "every": "1h"}, "job": )" + std::string(job) + "}";
}

TEST(Configuration, WhatNobodySaysHasADefault) {
  HandNode node;
  const EngineConfig config = config_of(node);
  EXPECT_TRUE(config.enabled);
  EXPECT_EQ(config.check_interval, 1s);
  EXPECT_EQ(config.timezone, "UTC");
  EXPECT_EQ(config.default_retry_max_attempts, 5U);
  EXPECT_EQ(config.default_retry_backoff, std::nullopt);
  EXPECT_EQ(config.retention, Duration(std::chrono::days(7)));
}

TEST(Configuration, WhatIsStoredHoldsUntilItIsCleared) {
  HandNode node;
  put(node, R"({"timezone": "Europe/London", "default_retry_max_attempts": 2, "check_interval_seconds": 30})");
  EXPECT_EQ(config_of(node).timezone, "Europe/London");
  EXPECT_EQ(config_of(node).check_interval, 30s);
  EXPECT_EQ(node.node().rules().job_defaults().max_attempts, 2U);
  EXPECT_EQ(node.node().rules().zone_of("default").name(), "Europe/London");
  put(node, R"({"timezone": null, "default_retry_max_attempts": null, "check_interval_seconds": null})");
  EXPECT_EQ(config_of(node).timezone, "UTC");
  EXPECT_EQ(config_of(node).check_interval, 1s);
  EXPECT_EQ(node.node().rules().job_defaults().max_attempts, 5U);
}

TEST(Configuration, WhatIsPinnedHoldsOverWhatIsStored) {
  HandNode node({.rules = {.pins = {.max_concurrent_jobs = 3, .timezone = "Europe/Paris"}}});
  EXPECT_EQ(config_of(node).timezone, "Europe/Paris");
  put(node, R"({"timezone": "Europe/London", "max_concurrent_jobs": 9, "retention": "1d"})");
  EXPECT_EQ(config_of(node).timezone, "Europe/Paris");
  EXPECT_EQ(config_of(node).max_concurrent_jobs, 3U);
  EXPECT_EQ(config_of(node).retention, Duration(24h));
  EXPECT_EQ(node.node().rules().zone_of("default").name(), "Europe/Paris");
}

TEST(Configuration, PinnedAsDisabledNothingStarts) {
  HandNode node({.rules = {.pins = {.enabled = false}}});
  node.enqueue({.type = "work"});
  node.pass(1min);
  EXPECT_FALSE(node.take());
  EXPECT_FALSE(node.node().rules().is_enabled());
  put(node, R"({"enabled": true})");
  node.pass(1min);
  EXPECT_FALSE(node.take());
}

TEST(Configuration, TheCapOverAllIsPinnedFromTheStart) {
  HandNode node({.rules = {.pins = {.max_concurrent_jobs = 2}}});
  for (int i = 0; i < 5; ++i) node.enqueue({.type = "work"});
  node.settle_down();
  EXPECT_EQ(node.runner.waiting.size(), 2U);
}

TEST(Configuration, TheCheckIntervalIsTheLongestSleep) {
  HandNode node;
  node.pass(1min);
  EXPECT_LE(node.node().step(), 1s);
  put(node, R"({"check_interval_seconds": 60})");
  node.pass(90s);  // between two looks
  EXPECT_GT(node.node().step(), 1s);
}

TEST(Configuration, ASchedulesJobsGetWhatTheyDoNotSayFromTheDefaultsOfTheirTime) {
  HandNode node({.rules = {.job = {.timeout = 10min, .lease = 20s, .max_attempts = 7}}});
  ASSERT_TRUE(node.client().put_schedule("default", schedule(R"({"type": "work"})")).has_value());
  const auto first = value_of(node.client().trigger("default", "s", {}));
  EXPECT_EQ(node.job(first.id).timeout, Duration(10min));
  EXPECT_EQ(node.job(first.id).max_attempts, 7U);
  const RunPtr run = node.take();
  ASSERT_TRUE(run);
  EXPECT_EQ(run->job.lease, 20s);

  put(node, R"({"default_retry_max_attempts": 2, "default_retry_backoff_seconds": 30})");
  const auto second = value_of(node.client().trigger("default", "s", {}));
  EXPECT_EQ(node.job(second.id).max_attempts, 2U);
  EXPECT_EQ(node.job(first.id).max_attempts, 7U);
}

TEST(Configuration, AScheduleThatSaysItKeepsItsWord) {
  HandNode node({.rules = {.job = {.timeout = 10min, .max_attempts = 7}}});
  ASSERT_TRUE(node.client()
                  .put_schedule("default", schedule(R"({"type": "work", "timeout": "5m", "max_attempts": 5})"))
                  .has_value());
  const auto made = value_of(node.client().trigger("default", "s", {}));
  EXPECT_EQ(node.job(made.id).timeout, kTimeoutDefault);
  EXPECT_EQ(node.job(made.id).max_attempts, kMaxAttemptsDefault);
}

TEST(Configuration, TheDefaultBackoffIsExponential) {
  HandNode node({.rules = {.pins = {.default_retry_backoff = 30s}}});
  ASSERT_TRUE(node.client().put_schedule("default", schedule(R"({"type": "work"})")).has_value());
  const auto made = value_of(node.client().trigger("default", "s", {}));
  const RunPtr run = node.take();
  ASSERT_TRUE(node.begin(run));
  const Instant failed_at = node.clock.now();
  node.finish(run, fail("no"));
  node.settle_down();
  EXPECT_EQ(node.job(made.id).run_at, failed_at + 30s);
}

TEST(Configuration, NoMoreThanABatchIsClaimedAtOnce) {
  HandNode node({.max_concurrency = 8, .claims_max = 3});
  for (int i = 0; i < 8; ++i) node.enqueue({.type = "work"});
  node.node().step();
  EXPECT_EQ(node.runner.waiting.size(), 3U);
  EXPECT_EQ(node.node().step(), Duration::zero());
  EXPECT_EQ(node.runner.waiting.size(), 6U);
  node.settle_down();
  EXPECT_EQ(node.runner.waiting.size(), 8U);
}

TEST(Levels, SayWhatWaitsAndForHowLong) {
  HandNode node({.max_concurrency = 1});
  node.enqueue({.type = "work", .run_at = in(1min)});
  node.enqueue({.type = "work", .run_at = in(2min)});
  node.enqueue({.type = "work", .run_at = in(1h)});
  node.pass(90s);
  ASSERT_TRUE(node.begin(node.take()));
  node.pass(5min - 90s);
  const auto levels = value_of(
      node.node().call<NodeLevels>([&](Round& round) -> Result<NodeLevels> { return node.node().levels(round); }));
  EXPECT_EQ(levels.in_flight, 1U);
  EXPECT_EQ(levels.ready, 1U);
  ASSERT_TRUE(levels.oldest_due);
  EXPECT_EQ(*levels.oldest_due, node.clock.now() - 3min);
  EXPECT_EQ(levels.planner_lag, Duration::zero());
  EXPECT_TRUE(levels.loaded);
  EXPECT_EQ(levels.max_concurrency, 1U);
}

TEST(Levels, ThePlannersLagIsSinceWhenItShouldHavePlanned) {
  HandNode node;
  ASSERT_TRUE(node.client().put_schedule("default", schedule(R"({"type": "work"})")).has_value());
  node.clock.advance(1h + 10min);
  const auto levels = value_of(
      node.node().call<NodeLevels>([&](Round& round) -> Result<NodeLevels> { return node.node().levels(round); }));
  EXPECT_EQ(levels.planner_lag, 10min);
}

TEST(Enqueues, OneThatIsIgnoredIsTold) {  // invariant 17
  HandNode node;
  const JobId id = node.enqueue({.type = "work", .idempotency_key = "k"});
  EXPECT_EQ(node.enqueue({.type = "work", .idempotency_key = "k"}), id);
  const auto ignored = node.heard.of<EnqueueIgnored>();
  ASSERT_EQ(ignored.size(), 1U);
  EXPECT_EQ(ignored.front().job, id);
  EXPECT_EQ(ignored.front().type, "work");
  EXPECT_EQ(ignored.front().reason, "idempotency_key");
}

}  // namespace
}  // namespace carillon::test
