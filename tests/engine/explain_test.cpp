// Every state and everything that holds a job is explained. (invariant 33)
#include "engine/support/engine_test.h"

namespace carillon::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class EngineExplains : public EngineTest {
 protected:
  Explanation explain(JobId id) { return value_of(client().explain(kTenant, id)); }
  std::vector<std::string> steps(JobId id) {
    std::vector<std::string> texts;
    for (const ExplainStep& step : explain(id).steps) texts.push_back(step.what + ":" + step.why);
    return texts;
  }
};

TEST_P(EngineExplains, AJobThatIsNotDue) {
  const JobId id = enqueue({.type = "work", .run_at = in(1h)});
  EXPECT_EQ(explain(id).summary, "waiting: it is due at 2026-03-02T13:00:00.000Z");
  EXPECT_EQ(explain(id).next_at, at("2026-03-02T13:00:00Z"));
  EXPECT_THAT(steps(id), ElementsAre("created:api", "held:not_due"));
}

TEST_P(EngineExplains, AJobThatIsDueAndOnlyWaitsForASlot) {
  const JobId id = enqueue({.type = "work"});
  EXPECT_EQ(explain(id).summary, "queued: due, waiting for a free slot");
}

TEST_P(EngineExplains, AJobThatWaitsForOthers) {
  const JobId parent = enqueue({.type = "work", .run_at = in(1h)});
  const JobId id = enqueue({.type = "work", .depends_on = {parent}});
  EXPECT_EQ(explain(id).summary, "waiting: for 1 other job");
  EXPECT_THAT(steps(id), ElementsAre("created:dependent", "held:dependency"));
}

TEST_P(EngineExplains, ARetriedJobWithItsAttempts) {
  handle("work", [](JobContext&) { return fail("no answer", "req"); });
  const JobId id = enqueue({.type = "work", .retry = RetryExponential{.base = 60s}});
  run_due();
  EXPECT_EQ(explain(id).summary, "waiting: the next attempt is at 2026-03-02T12:01:00.000Z");
  EXPECT_THAT(steps(id), ElementsAre("created:api", "claimed:api", "failed:error", "retry_planned:retry_planned"));
  advance(1min);
  EXPECT_EQ(explain(id).steps[3].why, "retry");
  EXPECT_THAT(explain(id).steps[2].detail, HasSubstr("no answer"));
}

TEST_P(EngineExplains, AParkedJob) {
  handle("work", [](JobContext&) { return permanent("bad address"); });
  const JobId id = enqueue({.type = "work"});
  run_due();
  EXPECT_EQ(explain(id).summary, "dlq: execution_failed after 1 attempt: bad address");
}

TEST_P(EngineExplains, ARunningJob) {
  std::string summary;
  handle("work", [&](JobContext& context) {
    EXPECT_TRUE(client().cancel(kTenant, context.job().id).has_value());
    summary = explain(context.job().id).summary;
    return done();
  });
  enqueue({.type = "work"});
  run_due();
  EXPECT_EQ(summary, "processing: attempt 1 at engine, asked to stop");
}

TEST_P(EngineExplains, JobsThatAreFinished) {
  handle_counted("work");
  handle("nothing", [](JobContext&) { return skipped("nothing new"); });
  const JobId finished = enqueue({.type = "work"});
  const JobId nothing = enqueue({.type = "nothing"});
  const JobId cancelled = enqueue({.type = "work", .run_at = in(1h)});
  const JobId late = enqueue({.type = "work", .run_at = in(1h), .deadline = clock.now() + 1min});
  EXPECT_TRUE(client().cancel(kTenant, cancelled).has_value());
  advance(2min);
  EXPECT_EQ(explain(finished).summary, "done");
  EXPECT_EQ(explain(nothing).summary, "skipped: nothing new");
  EXPECT_THAT(explain(cancelled).summary, StartsWith("cancelled"));
  EXPECT_EQ(explain(late).summary, "cutoff_reached: deadline");
  EXPECT_THAT(steps(finished), ElementsAre("created:api", "claimed:api", "finished:ok", "finished:done"));
}

TEST_P(EngineExplains, ADeferredJobWithItsDeferrals) {
  handle("work", [](JobContext&) { return defer(in(10min), "no ticket"); });
  const JobId id = enqueue({.type = "work"});
  advance(11min);
  EXPECT_THAT(explain(id).summary, HasSubstr("no ticket"));
  EXPECT_EQ(explain(id).next_at, at("2026-03-02T12:20:00Z"));
  EXPECT_THAT(steps(id), ElementsAre("created:api", "deferred:no ticket", "deferred:no ticket", "held:no ticket"));
}

TEST_P(EngineExplains, AJobThatARateLimitHolds) {
  handle("work", [](JobContext&) { return rate_limited("", in(10min)); });
  const JobId id = enqueue({.type = "work"});
  run_due();
  EXPECT_EQ(explain(id).next_at, at("2026-03-02T12:10:00Z"));
  EXPECT_THAT(steps(id), ElementsAre("created:api", "claimed:api", "held:rate_limited", "retry_planned:retry_planned"));
}

TEST_P(EngineExplains, EverythingThatHoldsADueJob) {
  ASSERT_TRUE(client().put_queue(kTenant, "closed", R"({"paused":true})").has_value());
  ASSERT_TRUE(client().put_limit(kTenant, "api", R"({"rate":1,"per":"24h"})").has_value());
  ASSERT_TRUE(client().put_settings(kTenant, R"({"quiet_hours":{"start":"11:00","end":"13:00"}})").has_value());
  handle_counted("work");
  enqueue({.type = "work", .limits = {"api"}});
  const JobId limited = enqueue({.type = "work", .limits = {"api"}});
  const JobId closed = enqueue({.type = "work", .queue = "closed"});
  const JobId quiet = enqueue({.type = "work", .notifies = true});
  run_due();
  EXPECT_EQ(steps(limited).back(), "held:limit:api");
  EXPECT_EQ(steps(closed).back(), "held:paused");
  EXPECT_EQ(steps(quiet).back(), "held:quiet_hours");
  EXPECT_EQ(explain(quiet).next_at, at("2026-03-02T13:00:00Z"));
}

TEST_P(EngineExplains, AnExplanationIsJson) {
  const JobId id = enqueue({.type = "work", .run_at = in(1h)});
  const JsonValue json = value_of(JsonValue::parse(to_json(explain(id))));
  EXPECT_EQ(json.at("steps").size(), 2U);
  EXPECT_EQ(json.at("next_at").as_string(), "2026-03-02T13:00:00.000Z");
  EXPECT_EQ(json.at("steps").at(std::size_t{0}).at("detail").at("origin").as_string(), "api");
}

// ---- Schedules ------------------------------------------------------------------------------------------------------

TEST_P(EngineExplains, AScheduleInEachOfItsStates) {
  const auto summary = [&](std::string_view name) {
    return value_of(client().explain_schedule(kTenant, name)).summary;
  };
  ASSERT_TRUE(client().schedule_recurring({.name = "s", .type = "work", .every = 1h}).has_value());
  ASSERT_TRUE(client().schedule_recurring({.name = "next", .type = "work", .after = "s"}).has_value());
  ASSERT_TRUE(client().schedule_recurring({.name = "off", .type = "work", .every = 1h, .enabled = false}).has_value());
  EXPECT_EQ(summary("s"), "next at 2026-03-02T13:00:00.000Z");
  EXPECT_EQ(summary("next"), "runs after s");
  EXPECT_EQ(summary("off"), "disabled: nothing is planned until it is enabled");
  ASSERT_TRUE(client().pause(kTenant, "s").has_value());
  EXPECT_EQ(summary("s"), "paused until it is resumed");
  ASSERT_TRUE(client().pause(kTenant, "s", clock.now() + 2h).has_value());
  EXPECT_EQ(summary("s"), "paused until 2026-03-02T14:00:00.000Z");
  EXPECT_EQ(error_of(client().explain_schedule(kTenant, "nobody")).code, ErrorCode::not_found);
}

TEST_P(EngineExplains, WhatAScheduleMissedAndDid) {
  handle_counted("work");
  ASSERT_TRUE(client().schedule_recurring({.name = "s", .type = "work", .every = 1h}).has_value());
  run_due();
  clock.advance(3h + 30min);
  run_due();
  std::vector<std::string> texts;
  for (const ExplainStep& step : value_of(client().explain_schedule(kTenant, "s")).steps) {
    texts.push_back(step.what + ":" + step.why);
  }
  ASSERT_EQ(texts.size(), 3U);
  EXPECT_EQ(texts[0], "created:api");
  EXPECT_THAT(texts[1], HasSubstr("mis"));
  EXPECT_EQ(texts[2], "finished:done");
}

OVER_EVERY_STORE(EngineExplains);

}  // namespace
}  // namespace carillon::test
