// What an engine finds when it starts again.
#include "engine/support/engine_test.h"
#include "engine/support/hand_node.h"
#include "store/memory/memory_store.h"

namespace carillon::test {
namespace {

class EngineRestart : public EngineTest {
 protected:
  void SetUp() override { handle_counted("work"); }
};

TEST_P(EngineRestart, QueuedWaitingAndRetriedJobsGoOn) {  // invariant 5
  handle("flaky", [](JobContext& context) { return context.attempt() == 1 ? fail("no") : done(); });
  const JobId due = enqueue({.type = "work"});
  const JobId later = enqueue({.type = "work", .run_at = in(1h)});
  const JobId waiting = enqueue({.type = "work", .depends_on = {later}});
  const JobId retried = enqueue({.type = "flaky", .retry = RetryExponential{.base = 30min}});
  restart();
  run_due();
  restart();
  EXPECT_EQ(state(due), JobState::done);
  EXPECT_EQ(state(retried), JobState::queued);
  advance(29min);
  restart();
  EXPECT_EQ(state(retried), JobState::queued);
  advance(1min);
  EXPECT_EQ(state(retried), JobState::done);
  restart();
  advance(30min);
  EXPECT_EQ(state(later), JobState::done);
  EXPECT_EQ(state(waiting), JobState::done);
  EXPECT_EQ(calls("work"), 3);
}

TEST_P(EngineRestart, AFarOffJobComesInTime) {  // invariant 5
  const JobId id = enqueue({.type = "work", .run_at = in(24h * 40)});
  restart();
  run_due();
  clock.advance(24h * 20);
  run_due();
  restart();
  run_due();
  clock.advance(24h * 20 - 1h);
  advance(1h - 1s);
  EXPECT_EQ(state(id), JobState::queued);
  advance(1s);
  EXPECT_EQ(state(id), JobState::done);
}

TEST_P(EngineRestart, ThousandsAtTheSameFarOffInstantAllCome) {  // invariant 5
  const Instant when = clock.now() + 5h;
  const std::vector<JobRequest> batch(1000, JobRequest{.type = "work", .run_at = when});
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(client().enqueue_all(batch).has_value());
  restart();
  advance(5h);
  EXPECT_EQ(calls("work"), 12'000);
}

TEST_P(EngineRestart, AHundredThousandQueuedJobsAreFound) {  // invariant 5
  const std::vector<JobRequest> batch(1000, JobRequest{.type = "work"});
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(client().enqueue_all(batch).has_value());
  restart();
  max_concurrency = 500;
  run_due();
  EXPECT_EQ(calls("work"), 100'000);
}

TEST_P(EngineRestart, JobsOfAPausedScheduleStayHeldAndGoOnWhenItIsResumed) {  // invariants 5, 32
  handle("flaky", [](JobContext& context) { return context.attempt() == 1 ? retry_after(10min) : done(); });
  ASSERT_TRUE(client().schedule_recurring({.name = "s", .type = "flaky", .every = 1h}).has_value());
  advance(1h);
  ASSERT_TRUE(client().pause(kTenant, "s").has_value());
  restart();
  advance(2h);
  const JobInfo open = jobs().front();
  EXPECT_EQ(open.state, JobState::queued);
  EXPECT_EQ(jobs().size(), 1U);
  ASSERT_TRUE(client().resume(kTenant, "s").has_value());
  run_due();
  EXPECT_EQ(state(open.id), JobState::done);
}

TEST_P(EngineRestart, AScheduleGoesOnAndWhatItMissedIsJudged) {  // invariants 3, 5
  ASSERT_TRUE(client().schedule_recurring({.name = "s", .type = "work", .every = 1h}).has_value());
  advance(2h);
  restart();
  clock.advance(5h + 30min);
  run_due();
  EXPECT_EQ(calls("work"), 3);
  EXPECT_EQ(engine().counters().missed, 4U);
  advance(30min);
  EXPECT_EQ(calls("work"), 4);
}

TEST_P(EngineRestart, WhatFollowsAScheduleGoesOnFollowing) {  // invariants 5, 31
  handle_counted("next");
  ASSERT_TRUE(client().schedule_recurring({.name = "a", .type = "work", .every = 1h}).has_value());
  ASSERT_TRUE(client().schedule_recurring({.name = "b", .type = "next", .after = "a"}).has_value());
  advance(1h);
  restart();
  advance(2h);
  EXPECT_EQ(calls("next"), 3);
}

TEST_P(EngineRestart, AKeyIsHeldAfterARestart) {  // invariants 4, 17
  const JobId id = enqueue({.type = "work", .idempotency_key = "k"});
  restart();
  EXPECT_EQ(enqueue({.type = "work", .idempotency_key = "k"}), id);
  run_due();
  restart();
  EXPECT_EQ(enqueue({.type = "work", .idempotency_key = "k"}), id);
  run_due();
  EXPECT_EQ(calls("work"), 1);
}

TEST_P(EngineRestart, ACallBeforeTheFirstRoundSeesTheRulesThatWereSet) {  // invariant 5
  ASSERT_TRUE(client().put_settings(kTenant, R"({"timezone":"America/New_York","weight":5})").has_value());
  restart();
  // Fields that are not given stay as they were, although nothing has been loaded yet.
  ASSERT_TRUE(client().put_settings(kTenant, R"({"max_concurrency":3})").has_value());
  ASSERT_TRUE(client().schedule_recurring({.name = "s", .type = "work", .daily = "08:00"}).has_value());
  EXPECT_EQ(value_of(client().schedule(kTenant, "s")).next_at, at("2026-03-02T13:00:00Z"));
  advance(61min);
  EXPECT_EQ(calls("work"), 1);
}

TEST_P(EngineRestart, AScheduleMadeBeforeTheFirstRoundIsInTheZoneOfItsTenant) {  // invariant 5
  ASSERT_TRUE(client().put_settings(kTenant, R"({"timezone":"America/New_York"})").has_value());
  run_due();
  restart();
  ASSERT_TRUE(client().schedule_recurring({.name = "s", .type = "work", .daily = "08:00"}).has_value());
  EXPECT_EQ(value_of(client().schedule(kTenant, "s")).next_at, at("2026-03-02T13:00:00Z"));
}

// ---- A clock that does not stand still
// ---------------------------------------------------------------------------------

// Every look at it is a little later than the one before, as of a real clock.
class PassingClock final : public StoreClock {
 public:
  Instant exact_wall() const override { return start_ + boot(); }
  BootTime boot() const override { return BootTime(++looks_) + passed_; }
  void advance(Duration by) { passed_ += by; }

 private:
  const Instant start_ = at("2026-03-02T12:00:00Z");
  mutable std::int64_t looks_ = 0;
  Duration passed_{};
};

TEST(EngineHorizon, AJobThatIsJustNotFarOffComesInTime) {  // invariant 5
  PassingClock clock;
  const auto store = make_memory_store(clock);
  HandRunner runner;
  Node node(*store, clock, {.threaded = false});
  NodeClient client(node);
  node.set_runner(runner);
  node.open();
  const auto settle_down = [&] {
    for (int i = 0; i < 10; ++i) node.step();
  };
  const JobId id = value_of(client.enqueue({.type = "work", .retry = RetryFixed{.delay = 10min}})).id;
  settle_down();
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(runner.waiting.size(), 1U) << i;
    const RunPtr run = runner.waiting.front();
    runner.waiting.pop_front();
    ASSERT_TRUE(run->begin(node.slots()->take().value()));
    node.finished()->put({.run = run, .outcome = retry_after(10min + std::chrono::microseconds(i))});
    settle_down();
    clock.advance(10min + 1s);
    settle_down();
  }
  EXPECT_EQ(value_of(client.job("default", id)).attempts.size(), 4U);
  EXPECT_EQ(runner.waiting.size(), 1U);
}

// ---- A process that died in the middle of an attempt
// ------------------------------------------------------------------

class EngineCrash : public ::testing::Test {
 protected:
  // Each life begins an attempt of what is due, and dies before it ends. The job as the next life finds it.
  JobInfo live_and_die(Duration later, bool* started = nullptr) {
    now = add_clamped(now, later);
    HandNode node({.sqlite = folder.path() / "jobs.db", .start = now});
    if (!id) id = node.enqueue(request);
    const RunPtr run = node.take();
    if (run) node.begin(run);
    if (started) *started = run != nullptr;
    lost += node.heard.of<LeaseLost>().size();
    return node.job(id);
  }

 public:
  TestFolder folder;
  Instant now = at("2026-03-02T12:00:00Z");
  JobRequest request{.type = "work", .retry = RetryExponential{.base = 10min}, .max_attempts = 4};
  JobId id;
  std::size_t lost = 0;
};

TEST_F(EngineCrash, TheFirstLossIsDueAtOnceTheSecondFollowsThePolicy) {  // invariants 5, 9, 12
  bool started = false;
  const JobInfo first = live_and_die(0s, &started);
  EXPECT_TRUE(started);
  EXPECT_EQ(first.state, JobState::processing);
  const JobInfo second = live_and_die(1s, &started);
  EXPECT_TRUE(started);
  EXPECT_EQ(lost, 1U);
  EXPECT_EQ(second.attempt, 2U);
  EXPECT_GT(second.token, first.token);
  const JobInfo third = live_and_die(1s, &started);
  EXPECT_FALSE(started);
  EXPECT_EQ(lost, 2U);
  EXPECT_EQ(third.state, JobState::queued);
  EXPECT_EQ(third.run_at, now + 20min);
  EXPECT_EQ(third.attempts.size(), 2U);
  live_and_die(20min, &started);
  EXPECT_TRUE(started);
}

TEST_F(EngineCrash, AJobThatKillsItsProcessAgainAndAgainEndsInTheDlq) {  // invariants 12, 16
  int starts = 0;
  JobInfo last;
  for (int i = 0; i < 10; ++i) {
    bool started = false;
    last = live_and_die(1h, &started);
    starts += started ? 1 : 0;
  }
  EXPECT_EQ(starts, 4);
  EXPECT_EQ(last.state, JobState::dlq);
  EXPECT_EQ(lost, 4U);
}

INSTANTIATE_TEST_SUITE_P(Stores, EngineRestart, ::testing::Values("sqlite"),
                         [](const ::testing::TestParamInfo<std::string>& param_info) { return param_info.param; });

}  // namespace
}  // namespace carillon::test
