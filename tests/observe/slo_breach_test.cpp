// Each objective, breached on purpose and left alone: it warns once, at the third evaluation in a row that is over; it
// recovers once; it does not flap; and what is within its threshold never warns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <ostream>

#include "observe/slo_window.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Minutes {
 public:
  explicit Minutes(const SloOptions& config) : watcher_(config, Instant()) {}

  void hear(EventBody body) { watcher_.hear({.at = {}, .body = std::move(body)}, boot_); }
  // So many are in the DLQ, until the next look.
  void park(std::uint64_t jobs) { parked_ = jobs; }
  // The end of a minute, and of the window: what was heard before the last look is over.
  std::vector<SloTurn> look() {
    std::vector<SloTurn> turns = watcher_.evaluate({.boot = boot_, .now = Instant(boot_), .parked = parked_});
    boot_ += 2min;
    parked_ = 0;
    return turns;
  }

 private:
  SloWatcher watcher_;
  Duration boot_ = 500h;
  std::uint64_t parked_ = 0;
};

struct Breach {
  Slo slo = Slo::tick_budget;
  std::function<void(Minutes&)> over;    // a minute of it
  std::function<void(Minutes&)> within;  // a minute that just is not: at the threshold
};

std::ostream& operator<<(std::ostream& out, const Breach& breach) { return out << to_string(breach.slo); }

SloOptions config_of_a_minute() {
  SloOptions config;
  config.window = 1min;
  config.dlq_max = 2;
  config.stalled_max = 1;
  config.depth_avg_max = 10;
  return config;
}

template <typename Body>
std::function<void(Minutes&)> times(int count, const Body& body) {
  return [=](Minutes& minutes) {
    for (int i = 0; i < count; ++i) minutes.hear(body);
  };
}

std::function<void(Minutes&)> deliveries(std::uint64_t made, std::uint64_t missed) {
  return [=](Minutes& minutes) {
    minutes.hear(Finalized{.status = JobState::done, .count = made, .due_bucket = 480, .today = "2026-03-29"});
    minutes.hear(
        Finalized{.status = JobState::cutoff_reached, .count = missed, .due_bucket = 480, .today = "2026-03-29"});
  };
}

std::function<void(Minutes&)> parked(std::uint64_t jobs) {
  return [=](Minutes& minutes) { minutes.park(jobs); };
}

const SloOptions kConfig = config_of_a_minute();

const std::vector<Breach>& breaches() {
  static const std::vector<Breach> all{
      {Slo::tick_budget, times(20, TickStopped{.duration = kConfig.tick_budget + 1us, .users_scanned = 1}),
       times(20, TickStopped{.duration = kConfig.tick_budget, .users_scanned = 1})},
      {Slo::saturation, times(10, InFlight{.in_flight = 4, .max_concurrency = 4}),
       times(10, InFlight{.in_flight = 3, .max_concurrency = 4})},
      {Slo::queue_pressure, times(10, QueueDepth{.depth = 11}), times(10, QueueDepth{.depth = 10})},
      {Slo::job_latency, times(20, JobStopped{.duration = kConfig.job_p95_max + 1us}),
       times(20, JobStopped{.duration = kConfig.job_p95_max})},
      {Slo::cutoff_miss_rate, deliveries(94, 6), deliveries(95, 5)},
      {Slo::dlq, parked(3), parked(2)},
      {Slo::stalled, times(2, LeaseLost{}), times(1, LeaseLost{})},
  };
  return all;
}

class SloBreach : public ::testing::TestWithParam<Breach> {
 protected:
  std::vector<SloTurn> minute_of(const std::function<void(Minutes&)>& events) {
    events(minutes);
    return minutes.look();
  }
  void expect_turn(const std::vector<SloTurn>& turns, bool breached) {
    ASSERT_THAT(turns, SizeIs(1)) << "of this objective, and of no other";
    EXPECT_EQ(turns.front().slo, GetParam().slo);
    EXPECT_EQ(turns.front().standing.breached, breached);
    EXPECT_EQ(turns.front().line().level(), breached ? LogLevel::warn : LogLevel::info);
    EXPECT_EQ(turns.front().threshold, threshold_of(GetParam().slo, kConfig));
  }

 public:
  Minutes minutes{kConfig};
};

TEST_P(SloBreach, WarnsOnceRecoversOnceAndMayWarnAgain) {
  for (int repeat = 0; repeat < 2; ++repeat) {
    EXPECT_THAT(minute_of(GetParam().over), IsEmpty());
    EXPECT_THAT(minute_of(GetParam().over), IsEmpty());
    expect_turn(minute_of(GetParam().over), true);
    for (int i = 0; i < 10; ++i) EXPECT_THAT(minute_of(GetParam().over), IsEmpty()) << "it was said";
    EXPECT_THAT(minute_of(GetParam().within), IsEmpty());
    EXPECT_THAT(minute_of(GetParam().within), IsEmpty());
    expect_turn(minute_of(GetParam().within), false);
    for (int i = 0; i < 10; ++i) EXPECT_THAT(minute_of(GetParam().within), IsEmpty());
  }
}

TEST_P(SloBreach, WhatSwingsAroundTheThresholdIsNoWarningAndNoRecovery) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(minute_of(GetParam().over), IsEmpty());
    EXPECT_THAT(minute_of(GetParam().over), IsEmpty());
    EXPECT_THAT(minute_of(GetParam().within), IsEmpty());
  }
  minute_of(GetParam().over);
  minute_of(GetParam().over);
  expect_turn(minute_of(GetParam().over), true);
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(minute_of(GetParam().within), IsEmpty());
    EXPECT_THAT(minute_of(GetParam().within), IsEmpty());
    EXPECT_THAT(minute_of(GetParam().over), IsEmpty());
  }
}

// The control: the same number of evaluations, with samples that only just pass.
TEST_P(SloBreach, WhatIsWithinItsThresholdNeverWarns) {
  for (int i = 0; i < 50; ++i) EXPECT_THAT(minute_of(GetParam().within), IsEmpty());
}

TEST_P(SloBreach, WithoutSamplesABreachIsOver) {
  for (int i = 0; i < 3; ++i) minute_of(GetParam().over);
  EXPECT_THAT(minutes.look(), IsEmpty());
  EXPECT_THAT(minutes.look(), IsEmpty());
  expect_turn(minutes.look(), false);
}

INSTANTIATE_TEST_SUITE_P(All, SloBreach, ::testing::ValuesIn(breaches()),
                         [](const auto& param_info) { return std::string(to_string(param_info.param.slo)); });

TEST(SloBreachTable, HasEveryObjective) { EXPECT_EQ(breaches().size(), kSloCount); }

// The other half of queue_pressure: never over the mean, and longer every minute.
TEST(SloGrowth, WarnsAfterThreeEvaluationsOfGrowthAndRecoversWhenTheQueueStands) {
  SloOptions config = kConfig;
  config.window = 3min;
  config.depth_avg_max = 1'000'000;
  SloWatcher watcher(config, Instant());
  Duration boot = 500h;
  const auto minute = [&](std::uint64_t depth) {
    watcher.hear({.at = {}, .body = QueueDepth{.depth = depth}}, boot);
    std::vector<SloTurn> turns = watcher.evaluate({.boot = boot, .now = Instant()});
    boot += 1min;
    return turns;
  };
  std::vector<std::string> told;
  const auto note = [&](std::uint64_t depth) {
    for (const SloTurn& turn : minute(depth)) {
      told.push_back(std::to_string(depth) + " " + turn.event().reason + (turn.standing.breached ? "!" : "."));
    }
  };
  for (std::uint64_t depth = 1; depth <= 12; ++depth) note(depth);
  EXPECT_THAT(told, ::testing::ElementsAre("6 growth!")) << "a window to watch, then the third evaluation";
  for (int i = 0; i < 6; ++i) note(12);
  EXPECT_THAT(told, ::testing::ElementsAre("6 growth!", "12 ."));
}

}  // namespace
}  // namespace carillon
