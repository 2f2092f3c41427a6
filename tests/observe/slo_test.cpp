// Each objective, breached on purpose.
#include "observe/slo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "observe/slo_window.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;

constexpr Duration kStart = 1000h;

SloOptions config_of_two_minutes() {
  SloOptions config;
  config.window = 2min;
  return config;
}

Finalized delivery(JobState status, std::uint16_t due_bucket, std::uint64_t count = 1) {
  return {.status = status, .count = count, .due_bucket = due_bucket, .today = "2026-03-29"};
}

SloMeasure measure(SloWindow& window, Slo slo, Duration after = {}) { return window.measure(kStart + after)[slo]; }

TEST(SloWindow, WithoutSamplesNothingIsOver) {
  SloWindow window(SloOptions{});
  const SloMeasures measures = window.measure(kStart);
  for (const Slo slo : kSlos) {
    EXPECT_FALSE(measures[slo].over) << to_string(slo);
    EXPECT_EQ(measures[slo].samples, 0U) << to_string(slo);
  }
  EXPECT_FALSE(measures[Slo::job_latency].value);
}

TEST(SloWindow, OneInTwentyMayBeSlow) {
  SloOptions config;
  config.job_p95_max = 100ms;
  SloWindow window(config);
  for (int i = 0; i < 19; ++i) window.hear(JobStopped{.duration = 100ms}, kStart);
  window.hear(JobStopped{.duration = 1h}, kStart);
  SloMeasure of_jobs = measure(window, Slo::job_latency);
  EXPECT_FALSE(of_jobs.over);
  EXPECT_EQ(of_jobs.samples, 20U);
  EXPECT_NEAR(*of_jobs.value, 100, 100 * DurationHistogram::kErrorMax);
  window.hear(JobStopped{.duration = 100ms + 1us, .result = AttemptResult::timeout}, kStart);
  of_jobs = measure(window, Slo::job_latency);
  EXPECT_TRUE(of_jobs.over) << "two of 21, by a microsecond";
  EXPECT_GT(*of_jobs.value, 100);
}

TEST(SloWindow, TicksAreMeasuredApartFromJobs) {
  SloOptions config;
  config.tick_budget = 20ms;
  SloWindow window(config);
  window.hear(TickStopped{.duration = 21ms, .users_scanned = 1}, kStart);
  window.hear(JobStopped{.duration = 1ms}, kStart);
  EXPECT_TRUE(measure(window, Slo::tick_budget).over);
  EXPECT_FALSE(measure(window, Slo::job_latency).over);
}

TEST(SloWindow, TicksThatLookedAtNothingDoNotDilute) {
  SloOptions config;
  config.tick_budget = 20ms;
  SloWindow window(config);
  for (int i = 0; i < 1000; ++i) window.hear(TickStopped{.duration = 1us}, kStart);
  EXPECT_EQ(measure(window, Slo::tick_budget).samples, 0U);
  window.hear(TickStopped{.duration = 21ms, .users_scanned = 1}, kStart);
  window.hear(TickStopped{.duration = 22ms, .cutoff_finalized = 1}, kStart);
  EXPECT_EQ(measure(window, Slo::tick_budget).samples, 2U);
  EXPECT_TRUE(measure(window, Slo::tick_budget).over);
}

TEST(SloWindow, SaturationIsTheShareOfSamplesWithEverySlotTaken) {
  SloWindow window(SloOptions{});
  for (int i = 0; i < 8; ++i) window.hear(InFlight{.in_flight = 4, .max_concurrency = 4}, kStart);
  window.hear(InFlight{.in_flight = 3, .max_concurrency = 4}, kStart);
  window.hear(InFlight{.in_flight = 0, .max_concurrency = 4}, kStart);
  EXPECT_EQ(measure(window, Slo::saturation).value, 0.8);
  EXPECT_FALSE(measure(window, Slo::saturation).over) << "at the threshold is not over it";
  window.hear(InFlight{.in_flight = 4, .max_concurrency = 4}, kStart);
  EXPECT_TRUE(measure(window, Slo::saturation).over);
}

TEST(SloWindow, QueuePressureIsTheMeanDepth) {
  SloOptions config;
  config.depth_avg_max = 10;
  SloWindow window(config);
  for (const std::uint64_t depth : {0U, 20U}) window.hear(QueueDepth{.depth = depth}, kStart);
  EXPECT_FALSE(measure(window, Slo::queue_pressure).over);
  window.hear(QueueDepth{.depth = 11}, kStart);
  EXPECT_TRUE(measure(window, Slo::queue_pressure).over);
  EXPECT_FALSE(measure(window, Slo::queue_pressure).growth);
}

// One depth a minute, a minute apart; then whether the queue grew.
bool grows(const std::vector<std::uint64_t>& depths, Duration length = 2min) {
  SloOptions config;
  config.window = length;
  SloWindow window(config);
  Duration at = kStart;
  for (const std::uint64_t depth : depths) {
    window.hear(QueueDepth{.depth = depth}, at);
    at += 1min;
  }
  const SloMeasure measured = window.measure(at - 1min)[Slo::queue_pressure];
  EXPECT_EQ(measured.over, measured.growth);
  return measured.growth;
}

TEST(SloWindow, AQueueThatGrowsInEveryMinuteOfTheWindowIsUnderPressureHoweverShortItIs) {
  EXPECT_TRUE(grows({1, 2, 3}));
  EXPECT_TRUE(grows({9, 1, 2, 3})) << "what was before the window does not count";
  EXPECT_FALSE(grows({1, 3, 3}));
  EXPECT_FALSE(grows({1, 5, 4}));
  EXPECT_FALSE(grows({1, 5})) << "two minutes are noise";
  EXPECT_FALSE(grows({3, 2, 1}));
}

TEST(SloWindow, GrowthIsJudgedOnceAWholeWindowWasWatched) {
  EXPECT_FALSE(grows({1, 2, 3, 4}, 4min)) << "as after every start";
  EXPECT_TRUE(grows({1, 2, 3, 4, 5}, 4min));
}

TEST(SloWindow, GrowthOfLessThanAJobAMinuteIsNone) {
  SloWindow window(config_of_two_minutes());
  for (int minute = 0; minute < 3; ++minute) {
    for (int i = 0; i < 10; ++i) {
      window.hear(QueueDepth{.depth = i < minute ? 1U : 0U}, kStart + minute * 1min);
    }
  }
  EXPECT_FALSE(measure(window, Slo::queue_pressure, 2min).growth);
}

TEST(SloWindow, CutoffMissesAreAShareOfDeliveriesAndNameTheMinuteThatMissedMost) {
  SloWindow window(SloOptions{});
  window.hear(delivery(JobState::done, 480, 96), kStart);
  window.hear(delivery(JobState::cutoff_reached, 480, 1), kStart);
  window.hear(delivery(JobState::cutoff_reached, 540, 3), kStart);
  EXPECT_EQ(measure(window, Slo::cutoff_miss_rate).value, 0.04);
  EXPECT_FALSE(measure(window, Slo::cutoff_miss_rate).over);
  window.hear(delivery(JobState::cutoff_reached, 540, 2), kStart + 1min);
  const SloMeasure missed = measure(window, Slo::cutoff_miss_rate, 1min);
  EXPECT_TRUE(missed.over);
  EXPECT_EQ(missed.due_bucket, 540);
  EXPECT_EQ(missed.samples, 102U);
}

TEST(SloWindow, OccurrencesThatAreNoDeliveriesDoNotDilute) {
  SloWindow window(SloOptions{});
  window.hear(Finalized{.status = JobState::done, .count = 1000}, kStart);
  window.hear(Finalized{.status = JobState::cutoff_reached}, kStart);
  EXPECT_EQ(measure(window, Slo::cutoff_miss_rate).samples, 0U);
  window.hear(delivery(JobState::skipped, 480), kStart);
  window.hear(delivery(JobState::missed, 480), kStart);
  EXPECT_EQ(measure(window, Slo::cutoff_miss_rate).samples, 0U) << "neither a success nor a cutoff";
  window.hear(delivery(JobState::cutoff_reached, 480), kStart);
  EXPECT_EQ(measure(window, Slo::cutoff_miss_rate).value, 1.0);
}

TEST(SloWindow, TheDlqIsALevelThatNoWindowKnows) {
  SloWindow window(SloOptions{});
  window.hear(JobChanged{.state = JobState::dlq}, kStart);
  EXPECT_EQ(measure(window, Slo::dlq), SloMeasure());
}

TEST(SloLevel, OneParkedJobIsOneTooMany) {
  SloOptions config;
  EXPECT_FALSE(measure_level(Slo::dlq, 0, config).over);
  EXPECT_TRUE(measure_level(Slo::dlq, 1, config).over);
  config.dlq_max = 3;
  EXPECT_FALSE(measure_level(Slo::dlq, 3, config).over);
  EXPECT_EQ(measure_level(Slo::dlq, 4, config), (SloMeasure{.samples = 1, .value = 4, .over = true}));
}

TEST(SloWindow, LostLeasesAreCounted) {
  SloOptions config;
  config.stalled_max = 2;
  SloWindow window(config);
  for (int i = 0; i < 2; ++i) window.hear(LeaseLost{}, kStart);
  EXPECT_FALSE(measure(window, Slo::stalled).over);
  window.hear(LeaseLost{}, kStart);
  EXPECT_TRUE(measure(window, Slo::stalled).over);
}

TEST(SloWindow, WhatIsOlderThanTheWindowIsForgotten) {
  SloWindow window(config_of_two_minutes());
  window.hear(LeaseLost{}, kStart + 59s);
  EXPECT_EQ(measure(window, Slo::stalled, 2min + 59s).value, 1.0) << "never shorter than it is said to be";
  EXPECT_EQ(measure(window, Slo::stalled, 3min).value, 0.0);
}

TEST(SloWindow, AClockThatGoesBackLosesNothing) {
  SloWindow window(config_of_two_minutes());
  window.hear(LeaseLost{}, kStart);
  window.hear(LeaseLost{}, kStart - 10min);
  EXPECT_EQ(measure(window, Slo::stalled).value, 2.0);
}

// ---- Turns ----------------------------------------------------------------------------------------------------------

// What becomes of the state, one sign an evaluation: B breached, . ok.
std::string states_after(std::string_view evaluations, std::uint32_t consecutive) {
  SloStanding standing;
  std::string states;
  for (const char over : evaluations) {
    standing = after_evaluation(standing, over == 'x', consecutive);
    states += standing.breached ? 'B' : '.';
  }
  return states;
}

TEST(SloStanding, ItTurnsAfterSoManyInARowAndBackAfterAsMany) {
  EXPECT_EQ(states_after("xxxx---x", 3),  //
            "..BBBB..");
  EXPECT_EQ(states_after("x-x-", 1),  //
            "B.B.");
}

TEST(SloStanding, WhatSwingsAroundItsThresholdTurnsNothing) {
  EXPECT_EQ(states_after("xx-xx-xx-x-x-x", 3),  //
            "..............");
  EXPECT_EQ(states_after("xxx--x--x-x-x--x", 3),  //
            "..BBBBBBBBBBBBBB");
}

}  // namespace
}  // namespace carillon
