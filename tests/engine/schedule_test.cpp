// Schedules: what they make, when, and what becomes of times that nobody saw.
#include "engine/support/engine_test.h"
#include "engine/support/hand_node.h"

namespace carillon::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class EngineSchedules : public EngineTest {
 protected:
  void SetUp() override {
    handle("work", [this](JobContext& context) {
      slots.push_back(context.job().slot.value_or(Instant{}));
      starts.push_back(clock.now());
      return done();
    });
  }
  // Looked at once a day.
  void days_pass(int days) {
    for (int i = 0; i < days; ++i) {
      run_due();
      clock.advance(24h);
    }
    run_due();
  }
  void go_to(std::string_view instant) { clock.advance(at(instant) - clock.now()); }
  ScheduleInfo put(ScheduleRequest request) {
    if (request.name.empty()) request.name = "s";
    if (request.type.empty()) request.type = "work";
    return value_of(client().schedule_recurring(request));
  }
  // "HH:MM" of every start, in UTC.
  std::vector<std::string> times() const {
    std::vector<std::string> texts;
    for (const Instant start : starts) texts.push_back(format_instant(start).substr(11, 5));
    return texts;
  }

 public:
  std::vector<Instant> slots;
  std::vector<Instant> starts;
};

TEST_P(EngineSchedules, EveryKindFiresAtItsTimes) {
  put({.name = "rrule", .rrule = "FREQ=HOURLY;INTERVAL=2;COUNT=2", .start = "2026-03-02T13:00:00"});
  advance(24h);
  EXPECT_THAT(times(), ElementsAre("13:00", "15:00"));
  starts.clear();
  put({.name = "cron", .cron = "30 */6 * * *"});
  advance(24h);
  EXPECT_THAT(times(), ElementsAre("12:30", "18:30", "00:30", "06:30"));
  ASSERT_TRUE(client().delete_schedule(kTenant, "cron").has_value());
  starts.clear();
  put({.name = "every", .every = 8h});
  advance(24h);
  EXPECT_THAT(times(), ElementsAre("20:00", "04:00", "12:00"));
  ASSERT_TRUE(client().delete_schedule(kTenant, "every").has_value());
  starts.clear();
  put({.name = "daily", .daily = "08:15"});
  advance(48h);
  EXPECT_THAT(times(), ElementsAre("08:15", "08:15"));
  ASSERT_TRUE(client().delete_schedule(kTenant, "daily").has_value());
  starts.clear();
  put({.name = "once", .once = clock.now() + 90min});
  advance(48h);
  EXPECT_THAT(times(), ElementsAre("13:30"));
}

TEST_P(EngineSchedules, ACronWithSecondsFiresAtThem) {
  put({.cron = "15,45 * * * * *"});
  advance(2min);
  ASSERT_EQ(starts.size(), 4U);
  EXPECT_EQ(starts[0], at("2026-03-02T12:00:15Z"));
  EXPECT_EQ(starts[3], at("2026-03-02T12:01:45Z"));
}

TEST_P(EngineSchedules, DailyInLondonKeepsItsClockOverBothChanges) {  // invariant 24
  go_to("2026-03-27T12:00:00Z");
  put({.daily = "08:00", .timezone = "Europe/London"});
  advance(72h);
  EXPECT_THAT(times(), ElementsAre("08:00", "07:00", "07:00"));
  starts.clear();
  go_to("2026-10-23T12:00:00Z");
  run_due();
  starts.clear();
  advance(72h);
  EXPECT_THAT(times(), ElementsAre("07:00", "08:00", "08:00"));
}

TEST_P(EngineSchedules, ATimeInTheGapIsShiftedAndOneInTheOverlapRunsOnce) {  // invariant 24
  go_to("2026-03-28T12:00:00Z");
  put({.daily = "01:30", .timezone = "Europe/London"});
  advance(37h);
  EXPECT_THAT(times(), ElementsAre("01:30", "00:30"));  // 02:30 by the new clock; then 01:30 of the 30th
  starts.clear();
  go_to("2026-10-24T12:00:00Z");
  run_due();
  starts.clear();
  advance(24h);
  EXPECT_THAT(times(), ElementsAre("00:30"));
}

TEST_P(EngineSchedules, WithoutAZoneItFollowsItsTenants) {
  ASSERT_TRUE(client().put_settings(kTenant, R"({"timezone":"America/New_York"})").has_value());
  put({.daily = "08:00"});
  advance(24h);
  EXPECT_THAT(times(), ElementsAre("13:00"));
}

TEST_P(EngineSchedules, TheTenantsNewZoneHoldsForTheNextTimes) {
  put({.daily = "08:00"});
  ASSERT_TRUE(client().put_settings(kTenant, R"({"timezone":"America/New_York"})").has_value());
  advance(72h);
  ASSERT_GE(starts.size(), 2U);
  EXPECT_EQ(times().back(), "13:00");
}

// ---- Misfire ------------------------------------------------------------------------------------------------------

TEST_P(EngineSchedules, AfterDowntimeTheLatestRunsAndTheRestIsMissed) {  // invariant 3
  put({.every = 1h});
  run_due();
  clock.advance(5h + 30min);
  run_due();
  EXPECT_EQ(slots, std::vector{at("2026-03-02T17:00:00Z")});
  const auto missed = heard.of<Missed>();
  ASSERT_EQ(missed.size(), 1U);
  EXPECT_EQ(missed[0].count, 4U);
  EXPECT_EQ(missed[0].first, at("2026-03-02T13:00:00Z"));
  EXPECT_EQ(missed[0].last, at("2026-03-02T16:00:00Z"));
  EXPECT_EQ(engine().counters().missed, 4U);
  advance(30min);
  EXPECT_EQ(slots.size(), 2U);
}

TEST_P(EngineSchedules, WithSkipNothingLateRuns) {  // invariant 3
  put({.every = 1h, .misfire = "skip"});
  run_due();
  clock.advance(5h + 30min);
  run_due();
  EXPECT_TRUE(slots.empty());
  EXPECT_EQ(engine().counters().missed, 5U);
  advance(30min);
  EXPECT_EQ(slots, std::vector{at("2026-03-02T18:00:00Z")});
}

TEST_P(EngineSchedules, WithAllTheNewestSixRunOldestFirst) {  // invariant 3
  max_concurrency = 1;
  put({.every = 1h, .misfire = "all"});
  run_due();
  clock.advance(9h + 30min);
  run_due();
  ASSERT_EQ(slots.size(), 6U);
  EXPECT_TRUE(std::ranges::is_sorted(slots));
  EXPECT_EQ(slots.front(), at("2026-03-02T16:00:00Z"));
  EXPECT_EQ(engine().counters().missed, 3U);
}

TEST_P(EngineSchedules, WithinTheGraceNothingIsLate) {
  put({.every = 1h, .misfire = "skip"});
  run_due();
  clock.advance(1h + 59s);
  run_due();
  EXPECT_EQ(slots.size(), 1U);
}

TEST_P(EngineSchedules, AForwardStepOfTheWallIsTimeThatPassedAndABackwardStepRepeatsNothing) {  // invariant 11
  put({.every = 1h});
  run_due();
  clock.step(3h);
  run_due();
  EXPECT_EQ(slots, std::vector{at("2026-03-02T15:00:00Z")});
  clock.step(-3h);
  advance(3h);
  EXPECT_EQ(slots.size(), 1U);
  advance(1h);
  EXPECT_EQ(slots.size(), 2U);
}

// ---- Overlap ------------------------------------------------------------------------------------------------------

TEST_P(EngineSchedules, SkipMakesNoSecondJobWhileTheFirstIsOpen) {
  handle("slow", [](JobContext& context) { return context.attempt() < 2 ? retry_after(150min) : done(); });
  put({.type = "slow", .every = 1h, .overlap = "skip"});
  advance(3h + 31min);  // 13:00 runs, comes again at 15:30
  const auto all = jobs({.type = "slow"});
  EXPECT_EQ(all.size(), 1U);
  EXPECT_EQ(all.front().state, JobState::done);
  advance(30min);
  EXPECT_EQ(jobs({.type = "slow"}).size(), 2U);
  std::uint64_t skipped_slots = 0;
  for (const Finalized& one : heard.of<Finalized>()) {
    if (one.status == JobState::skipped) skipped_slots += one.count;
  }
  EXPECT_EQ(skipped_slots, 2U);
}

TEST_P(EngineSchedules, QueueOneKeepsOnlyTheNewestWaiting) {
  handle("slow", [](JobContext& context) { return context.attempt() < 2 ? retry_after(190min) : done(); });
  put({.type = "slow", .every = 1h, .overlap = "queue_one"});
  advance(3h + 30min);
  const auto open = jobs({.states = {JobState::queued, JobState::waiting}, .type = "slow"});
  EXPECT_EQ(open.size(), 2U);  // the first, and the newest behind it
  const auto skipped = jobs({.states = {JobState::skipped}, .type = "slow"});
  ASSERT_EQ(skipped.size(), 1U);
  EXPECT_EQ(told_of(skipped.front().id).back(), JobState::skipped);
  advance(1h);
  EXPECT_GE(jobs({.states = {JobState::done}, .type = "slow"}).size(), 1U);
}

TEST_P(EngineSchedules, QueueOneIsNotHeldByAParkedJob) {
  bool broken = true;
  handle("slow", [&](JobContext&) { return broken ? permanent("no") : done(); });
  put({.type = "slow", .every = 1h, .overlap = "queue_one"});
  advance(1h);
  EXPECT_EQ(jobs({.states = {JobState::dlq}}).size(), 1U);
  broken = false;
  advance(2h);
  EXPECT_EQ(jobs({.states = {JobState::done}}).size(), 2U);
}

TEST_P(EngineSchedules, ReplaceAsksTheRunningOneToStopAndRunsAfterIt) {
  int begun = 0;
  bool asked = false;
  handle("slow", [&](JobContext& context) {
    if (++begun > 1) return done();
    advance(1h);  // over the next slot
    asked = context.cancelled();
    EXPECT_EQ(begun, 1);  // the new one starts when the old has ended
    return fail("stopped");
  });
  put({.type = "slow", .every = 1h, .overlap = "replace", .timeout = 3h});
  advance(1h);
  run_due();
  EXPECT_TRUE(asked);
  EXPECT_EQ(begun, 2);
  EXPECT_EQ(jobs({.states = {JobState::cancelled}}).size(), 1U);
  EXPECT_EQ(jobs({.states = {JobState::done}}).size(), 1U);
}

TEST_P(EngineSchedules, ReplaceCancelsTheOneThatHasNotBegunAndTellsIt) {
  handle("slow", [](JobContext&) { return retry_after(24h); });
  put({.type = "slow", .every = 1h, .overlap = "replace"});
  advance(2h);
  const auto cancelled = jobs({.states = {JobState::cancelled}});
  ASSERT_EQ(cancelled.size(), 1U);
  EXPECT_EQ(told_of(cancelled.front().id).back(), JobState::cancelled);
}

// ---- Pause, edit, delete --------------------------------------------------------------------------------------------

TEST_P(EngineSchedules, PausedTimeHasNoOccurrencesAndResumingIsNoBurst) {  // invariant 32
  put({.every = 1h, .misfire = "all"});
  advance(1h);
  EXPECT_TRUE(client().pause(kTenant, "s").has_value());
  advance(5h);
  EXPECT_EQ(slots.size(), 1U);
  EXPECT_EQ(value_of(client().schedule(kTenant, "s")).next_at, std::nullopt);
  EXPECT_TRUE(client().resume(kTenant, "s").has_value());
  run_due();
  EXPECT_EQ(slots.size(), 1U);
  advance(1h);
  EXPECT_EQ(slots.size(), 2U);
  EXPECT_EQ(engine().counters().missed, 0U);
}

TEST_P(EngineSchedules, APauseWithAnEndResumesByItself) {  // invariant 32
  put({.every = 1h, .misfire = "all"});
  EXPECT_TRUE(client().pause(kTenant, "s", clock.now() + 150min).has_value());
  advance(2h);
  EXPECT_TRUE(slots.empty());
  advance(2h);
  EXPECT_EQ(slots, (std::vector{at("2026-03-02T15:00:00Z"), at("2026-03-02T16:00:00Z")}));
  EXPECT_EQ(engine().counters().missed, 0U);
}

TEST_P(EngineSchedules, DisabledTimeHasNoOccurrences) {  // invariant 32
  put({.every = 1h, .misfire = "all"});
  advance(1h);
  put({.every = 1h, .misfire = "all", .enabled = false});
  advance(5h);
  EXPECT_EQ(slots.size(), 1U);
  put({.every = 1h, .misfire = "all"});
  run_due();
  EXPECT_EQ(slots.size(), 1U);
  advance(1h);
  EXPECT_EQ(slots, (std::vector{at("2026-03-02T13:00:00Z"), at("2026-03-02T19:00:00Z")}));
}

TEST_P(EngineSchedules, AnOpenJobOfAPausedScheduleStaysAndIsNotStarted) {  // invariant 32
  handle("flaky", [&](JobContext& context) {
    starts.push_back(clock.now());
    return context.attempt() == 1 ? retry_after(10min) : done();
  });
  put({.type = "flaky", .every = 1h});
  advance(1h);
  EXPECT_TRUE(client().pause(kTenant, "s").has_value());
  advance(1h);
  EXPECT_EQ(starts.size(), 1U);
  const JobInfo open = jobs().front();
  EXPECT_EQ(open.state, JobState::queued);
  EXPECT_EQ(value_of(client().explain(kTenant, open.id)).steps.back().why, "paused");
  EXPECT_TRUE(client().resume(kTenant, "s").has_value());
  run_due();
  EXPECT_EQ(starts.size(), 2U);
  EXPECT_EQ(state(open.id), JobState::done);
}

TEST_P(EngineSchedules, AnEditKeepsThePhase) {  // invariant 25
  put({.every = 1h});
  advance(90min);
  put({.every = 1h, .payload = "2"});
  advance(90min);
  EXPECT_THAT(times(), ElementsAre("13:00", "14:00", "15:00"));
}

TEST_P(EngineSchedules, EveryOtherWeekKeepsItsPhaseForEver) {  // invariant 25
  put({.rrule = "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO", .start = "2026-03-09T09:00:00"});
  days_pass(21);
  put({.rrule = "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO", .start = "2026-03-09T09:00:00", .payload = "2"});
  days_pass(35);
  std::vector<std::string> days;
  for (const Instant slot : slots) days.push_back(format_instant(slot).substr(5, 5));
  EXPECT_THAT(days, ElementsAre("03-09", "03-23", "04-06", "04-20"));
}

TEST_P(EngineSchedules, PuttingTheSameAgainChangesNothing) {
  const ScheduleInfo first = put({.every = 1h});
  advance(30min);
  const ScheduleInfo second = put({.every = 1h});
  EXPECT_EQ(second.revision, first.revision);
  EXPECT_EQ(second.next_at, first.next_at);
}

TEST_P(EngineSchedules, AWrongRevisionIsAConflict) {
  const ScheduleInfo first = put({.every = 1h});
  EXPECT_EQ(error_of(client().put_schedule(kTenant, first.definition, first.revision + 1)).code, ErrorCode::conflict);
}

TEST_P(EngineSchedules, DeletingCancelsWhatHasNotStartedAndMakesNoMore) {
  handle("flaky", [](JobContext&) { return retry_after(10min); });
  put({.type = "flaky", .every = 1h});
  advance(1h);
  EXPECT_TRUE(client().delete_schedule(kTenant, "s").has_value());
  advance(5h);
  const auto all = jobs();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all.front().state, JobState::cancelled);
  EXPECT_EQ(error_of(client().schedule(kTenant, "s")).code, ErrorCode::not_found);
  EXPECT_EQ(error_of(client().delete_schedule(kTenant, "s")).code, ErrorCode::not_found);
}

TEST_P(EngineSchedules, ADeletedScheduleCanBeMadeAgain) {  // invariant 1
  put({.every = 1h});
  advance(2h);
  EXPECT_TRUE(client().delete_schedule(kTenant, "s").has_value());
  put({.every = 1h});
  advance(2h);
  EXPECT_EQ(slots.size(), 4U);
  EXPECT_EQ(std::set<Instant>(slots.begin(), slots.end()).size(), 4U);
}

TEST_P(EngineSchedules, ARuleThatNeverFiresIsRefused) {  // invariant 26
  const auto refused = client().schedule_recurring({.name = "s", .type = "work", .cron = "0 0 30 2 *"});
  EXPECT_EQ(error_of(refused).code, ErrorCode::invalid_configuration);
  const auto past = client().schedule_recurring({.name = "s", .type = "work", .once = clock.now() - 1h});
  EXPECT_EQ(error_of(past).code, ErrorCode::invalid_configuration);
  EXPECT_EQ(error_of(client().schedule(kTenant, "s")).code, ErrorCode::not_found);
}

TEST_P(EngineSchedules, AnEditThatNeverFiresIsExhausted) {  // invariant 26
  put({.every = 1h});
  put({.once = clock.now() - 1h});
  advance(3h);
  EXPECT_TRUE(slots.empty());
  EXPECT_EQ(value_of(client().schedule(kTenant, "s")).next_at, std::nullopt);
  EXPECT_THAT(value_of(client().explain_schedule(kTenant, "s")).summary, HasSubstr("exhausted"));
}

TEST_P(EngineSchedules, TwoTriggersOrNoneAreRefused) {
  EXPECT_EQ(error_of(client().schedule_recurring({.name = "s", .type = "work"})).code, ErrorCode::invalid_request);
  EXPECT_EQ(error_of(client().schedule_recurring({.name = "s", .type = "work", .every = 1h, .daily = "08:00"})).code,
            ErrorCode::invalid_request);
}

TEST_P(EngineSchedules, AllGoesOnlyWithAllow) {
  EXPECT_FALSE(client()
                   .schedule_recurring({.name = "s", .type = "work", .every = 1h, .overlap = "skip", .misfire = "all"})
                   .has_value());
}

// ---- After --------------------------------------------------------------------------------------------------------

TEST_P(EngineSchedules, WhatComesAfterRunsOncePerSuccessOfItsParent) {  // invariants 30, 31
  handle_counted("next");
  handle("flaky", [](JobContext& context) { return context.attempt() == 1 ? retry_after(1min) : done(); });
  put({.name = "parent", .type = "flaky", .every = 1h});
  put({.name = "child", .type = "next", .after = "parent"});
  advance(1h);
  EXPECT_EQ(calls("next"), 0);
  advance(1min);
  EXPECT_EQ(calls("next"), 1);
  const JobInfo made = jobs({.type = "next"}).front();
  EXPECT_EQ(made.schedule, "child");
  EXPECT_EQ(made.slot, at("2026-03-02T13:00:00Z"));
  EXPECT_EQ(made.origin, Origin::dependent);
  advance(1h);
  EXPECT_EQ(calls("next"), 2);
}

TEST_P(EngineSchedules, AFailedOrManualParentFiresNothing) {  // invariant 31
  handle_counted("next");
  bool broken = true;
  handle("flaky", [&](JobContext&) { return broken ? permanent("no") : done(); });
  put({.name = "parent", .type = "flaky", .every = 1h});
  put({.name = "child", .type = "next", .after = "parent"});
  advance(1h);
  EXPECT_EQ(calls("next"), 0);
  broken = false;
  EXPECT_TRUE(client().trigger(kTenant, "parent", {}).has_value());
  run_due();
  EXPECT_EQ(calls("next"), 0);
  // Retried from the DLQ it is a success of its occurrence after all.
  EXPECT_TRUE(client().retry(kTenant, jobs({.states = {JobState::dlq}}).front().id).has_value());
  run_due();
  EXPECT_EQ(calls("next"), 1);
}

TEST_P(EngineSchedules, AChainFiresOneAfterTheOther) {  // invariant 31
  handle_counted("b");
  handle_counted("c");
  put({.name = "a", .every = 1h});
  put({.name = "b", .type = "b", .after = "a"});
  put({.name = "c", .type = "c", .after = "b"});
  advance(3h);
  EXPECT_EQ(calls("b"), 3);
  EXPECT_EQ(calls("c"), 3);
}

TEST_P(EngineSchedules, AChainThatFollowsItselfIsRefused) {  // invariant 31
  put({.name = "a", .every = 1h});
  put({.name = "b", .after = "a"});
  EXPECT_EQ(error_of(client().schedule_recurring({.name = "a", .type = "work", .after = "b"})).code,
            ErrorCode::invalid_configuration);
  EXPECT_EQ(error_of(client().schedule_recurring({.name = "x", .type = "work", .after = "x"})).code,
            ErrorCode::invalid_configuration);
  EXPECT_EQ(error_of(client().schedule_recurring({.name = "x", .type = "work", .after = "nobody"})).code,
            ErrorCode::invalid_configuration);
}

// ---- Trigger, preview, jitter
// -----------------------------------------------------------------------------------------

TEST_P(EngineSchedules, AManualRunTouchesNoOccurrence) {  // invariant 20
  put({.every = 1h});
  const EnqueuedJob manual = value_of(client().trigger(kTenant, "s", {.payload = "7"}));
  run_due();
  const JobInfo info = job(manual.id);
  EXPECT_EQ(info.state, JobState::done);
  EXPECT_EQ(info.origin, Origin::manual);
  EXPECT_EQ(info.priority, 2);
  EXPECT_EQ(info.payload, "7");
  EXPECT_EQ(info.slot, std::nullopt);
  EXPECT_TRUE(heard.of<Finalized>().empty());
  advance(1h);
  EXPECT_EQ(slots.size(), 2U);
  EXPECT_EQ(heard.of<Finalized>().size(), 1U);
}

TEST_P(EngineSchedules, ThePreviewShowsTheTimesThatThenHappen) {
  put({.cron = "0 9 * * MON-FRI", .timezone = "Europe/London"});
  const auto preview = value_of(client().preview(kTenant, "s", 5)).times;
  days_pass(7);
  ASSERT_EQ(preview.size(), 5U);
  ASSERT_EQ(slots.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(preview[i].at, slots[i]);
}

TEST_P(EngineSchedules, JitterIsTheSameAfterARestartAndWithinItsBound) {
  if (!survives_restart()) GTEST_SKIP() << "memory is gone with the process";
  put({.every = 1h, .jitter = 10min});
  advance(30min);
  const auto before = value_of(client().schedule(kTenant, "s")).next_at;
  restart();
  run_due();
  EXPECT_EQ(value_of(client().schedule(kTenant, "s")).next_at, before);
  advance(5h);
  ASSERT_GE(starts.size(), 4U);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    EXPECT_GE(starts[i], slots[i]);
    EXPECT_LE(starts[i], slots[i] + 10min);
  }
}

TEST_P(EngineSchedules, EveryDueSlotGetsExactlyOneOutcomeOverRandomJumps) {  // invariants 1, 2, 3, 19
  std::map<Instant, int> runs;
  handle("work", [&](JobContext& context) {
    ++runs[*context.job().slot];
    return done();
  });
  put({.every = 10min, .misfire = "all"});
  run_due();
  const Instant begin = clock.now();
  std::uint64_t seed = 12345;
  const auto random = [&](std::uint64_t below) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (seed >> 33U) % below;
  };
  Instant furthest = begin;
  for (int i = 0; i < 300; ++i) {
    switch (random(4)) {
      case 0: clock.advance(std::chrono::seconds(random(7200))); break;
      case 1: clock.step(std::chrono::seconds(random(7200))); break;
      case 2: clock.step(-std::chrono::seconds(random(3600))); break;
      default: advance(std::chrono::seconds(random(1800))); break;
    }
    furthest = std::max(furthest, clock.now());
    run_due();
  }
  clock.advance(std::max(Duration::zero(), furthest - clock.now()));
  run_due();
  const auto due = static_cast<std::uint64_t>((clock.now() - begin) / 10min);
  std::uint64_t outcomes = 0;
  for (const Finalized& one : heard.of<Finalized>()) outcomes += one.count;
  EXPECT_EQ(outcomes, due);
  EXPECT_EQ(runs.size() + engine().counters().missed, due);
  for (const auto& [slot, count] : runs) EXPECT_EQ(count, 1) << format_instant(slot);
}

OVER_EVERY_STORE(EngineSchedules);

// ---- Beside handlers ------------------------------------------------------------------------------------------------

TEST(PlanningBesideHandlers, DoesNotWaitForThem) {  // invariant 7
  HandNode node({.max_concurrency = 1});
  const JobId slow = node.enqueue({.type = "slow", .timeout = 10h});
  node.settle_down();
  const RunPtr busy = node.take();
  ASSERT_TRUE(node.begin(busy));
  ASSERT_TRUE(node.client().schedule_recurring({.name = "s", .type = "work", .every = 1min}));
  node.pass(5min + 1s);
  EXPECT_EQ(value_of(node.client().jobs({.states = {JobState::queued, JobState::waiting}}, {}, 100)).jobs.size(), 5U);
  EXPECT_EQ(node.job(slow).state, JobState::processing);
}

// What was planned in the round of a tick, for just beyond what memory held before it, once fell between the two.
TEST_P(EngineSchedules, JitterOfAQuarterOfAnHourLosesNothingBehindASleep) {
  for (int i = 0; i < 80; ++i) put({.name = "s" + std::to_string(i), .daily = "07:00", .jitter = 40min});
  run_due();
  go_to("2026-03-03T07:00:00Z");
  run_due();
  advance(41min);
  EXPECT_EQ(starts.size(), 80U);
}

// ---- What was missed, day by day ----

class EngineMissedDays : public EngineSchedules {
 protected:
  // How many were missed on each of these days; and what the rows say of the whole.
  std::vector<std::int64_t> missed_on(const std::vector<std::string>& days) {
    std::vector<std::int64_t> counts;
    std::int64_t shown = 0;
    for (const std::string& day : days) {
      std::int64_t missed = 0;
      for (const OutcomeMinute& minute : value_of(client().outcomes_of_day(kTenant, "s", day))) {
        shown += minute.count;
        if (minute.outcome == "missed") missed += minute.count;
      }
      counts.push_back(missed);
    }
    std::int64_t listed = 0;
    for (const OutcomeItem& item : value_of(client().outcome_items(kTenant, "s", {}, "", 1000)).items)
      listed += item.count;
    EXPECT_EQ(shown, listed);
    return counts;
  }
};

OVER_EVERY_STORE(EngineMissedDays);

TEST_P(EngineMissedDays, NinetySixMissedHoursAreShownOnTheirFourDays) {  // invariant 34
  go_to("2026-03-02T23:30:00Z");
  put({.cron = "0 * * * *", .misfire = "skip"});
  run_due();
  go_to("2026-03-06T23:30:00Z");
  run_due();
  EXPECT_THAT(missed_on({"2026-03-03", "2026-03-04", "2026-03-05", "2026-03-06"}), ElementsAre(24, 24, 24, 24));
  for (const OutcomeMinute& minute : value_of(client().outcomes_of_day(kTenant, "s", "2026-03-04"))) {
    EXPECT_EQ(minute.minute % 60, 0);
    EXPECT_EQ(minute.count, 1);
  }
}

TEST_P(EngineMissedDays, MissedDaysOverAClockChangeAreShownOnEachOfThem) {  // invariants 24, 34
  go_to("2026-03-27T12:00:00Z");
  put({.daily = "01:30", .timezone = "Europe/London", .misfire = "skip"});
  run_due();
  go_to("2026-03-31T12:00:00Z");
  run_due();
  EXPECT_THAT(missed_on({"2026-03-28", "2026-03-29", "2026-03-30", "2026-03-31"}), ElementsAre(1, 1, 1, 1));
  EXPECT_EQ(value_of(client().outcomes_of_day(kTenant, "s", "2026-03-29")).at(0).minute, 90);
}

TEST_P(EngineMissedDays, AYearOfMissedMinutesIsCountedAndEveryDayIsRight) {
  go_to("2026-03-02T23:59:30Z");
  put({.cron = "* * * * *", .misfire = "skip"});
  run_due();
  go_to("2027-03-02T23:59:30Z");
  run_due();
  for (const char* const day : {"2026-03-03", "2026-07-14", "2027-03-01"}) {
    std::int64_t missed = 0;
    for (const OutcomeMinute& minute : value_of(client().outcomes_of_day(kTenant, "s", day))) missed += minute.count;
    EXPECT_EQ(missed, 1440) << day;
  }
}

}  // namespace
}  // namespace carillon::test
