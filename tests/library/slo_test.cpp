// S0's objectives, each breached alone and told with what S0 asks for, and none of them without a cause.
#include <carillon/slo.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "library/collected.h"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;

const Instant kNow = at("2026-03-03T00:00:00Z");

// One watcher, fed the same every minute, and looked at as often.
std::vector<SloTurn> turns_of(const SloOptions& options, const std::function<std::vector<EventBody>(int minute)>& told,
                              int minutes, std::optional<std::uint64_t> parked = 0) {
  SloWatcher watcher(options, kNow);
  std::vector<SloTurn> turns;
  for (int minute = 0; minute < minutes; ++minute) {
    const Duration boot = std::chrono::minutes(minute) + 30s;
    for (EventBody& body : told(minute)) watcher.hear({.at = kNow, .body = std::move(body)}, boot);
    for (SloTurn& turn : watcher.evaluate({.boot = boot, .now = kNow, .parked = parked}))
      turns.push_back(std::move(turn));
  }
  return turns;
}

EventBody tick(Duration took) { return TickStopped{.duration = took, .users_scanned = 1}; }
EventBody job(Duration took) { return JobStopped{.job = {.value = 1}, .tenant = "t", .type = "x", .duration = took}; }
EventBody day(JobState status) {
  return Finalized{.job = {.value = 1},
                   .tenant = "t",
                   .schedule = "s",
                   .subject = "u",
                   .slot = kNow,
                   .status = status,
                   .due_bucket = 480,
                   .today = "2026-03-03"};
}
EventBody level(std::uint32_t in_flight) { return InFlight{.in_flight = in_flight, .max_concurrency = 4}; }

void expect_breach(const std::vector<SloTurn>& turns, Slo slo, double value, double threshold) {
  ASSERT_EQ(turns.size(), 1U) << to_string(slo);
  EXPECT_EQ(turns[0].slo, slo);
  const SloBreached event = turns[0].event();
  EXPECT_EQ(event.breaches_in_a_row, 3U);
  EXPECT_EQ(event.window, 15min);
  EXPECT_NEAR(event.value, value, value * 0.04);
  EXPECT_EQ(event.threshold, threshold);
  const LogLine line = turns[0].line();
  EXPECT_EQ(line.level(), LogLevel::warn);
  const JsonValue fields = fields_of(line);
  EXPECT_EQ(fields.at("window").as_string(), "15m");
  EXPECT_EQ(fields.at("threshold").as_double(), threshold);
  EXPECT_TRUE(fields.at("value").is_number());
}

TEST(LibrarySlo, TickBudget) {
  expect_breach(turns_of({}, [](int) { return std::vector{tick(400ms)}; }, 5), Slo::tick_budget, 400, 300);
}
TEST(LibrarySlo, Saturation) {
  expect_breach(turns_of({}, [](int) { return std::vector{level(4), level(4)}; }, 5), Slo::saturation, 1, 0.8);
}
TEST(LibrarySlo, QueuePressureByMeanDepth) {
  expect_breach(turns_of(
                    {}, [](int) { return std::vector<EventBody>{QueueDepth{.depth = 2000}}; }, 5),
                Slo::queue_pressure, 2000, 1000);
}
TEST(LibrarySlo, QueuePressureByGrowth) {
  const auto turns = turns_of(
      {},
      [](int minute) {
        return std::vector<EventBody>{QueueDepth{.depth = 10 + 5 * static_cast<std::uint64_t>(minute)}};
      },
      25);
  ASSERT_EQ(turns.size(), 1U);
  EXPECT_EQ(turns[0].event().reason, "growth");
}
TEST(LibrarySlo, JobLatency) {
  expect_breach(turns_of({}, [](int) { return std::vector{job(90s)}; }, 5), Slo::job_latency, 90'000, 60'000);
}
TEST(LibrarySlo, CutoffMissRateNamesTheMinuteOfTheDay) {
  const auto turns =
      turns_of({}, [](int) { return std::vector{day(JobState::done), day(JobState::cutoff_reached)}; }, 5);
  expect_breach(turns, Slo::cutoff_miss_rate, 0.5, 0.05);
  EXPECT_EQ(turns[0].event().due_bucket, 480);
  EXPECT_EQ(fields_of(turns[0].line()).at("due_bucket").as_int(), 480);
}

TEST(LibrarySlo, NothingIsToldOfWhatKeepsToItsThresholds) {
  const auto well = [](int) {
    return std::vector{tick(299ms), level(3), EventBody(QueueDepth{.depth = 999}), job(59s), day(JobState::done)};
  };
  EXPECT_TRUE(turns_of({}, well, 60).empty());
}

TEST(LibrarySlo, OneThatFlapsIsNotToldAndOneThatRecoversIsToldOnce) {
  const auto flapping = [](int minute) { return minute % 40 < 2 ? std::vector{job(90s)} : std::vector<EventBody>(); };
  SloOptions short_window{.window = 1min};
  EXPECT_TRUE(turns_of(short_window, [&](int minute) { return flapping(minute % 40 == 0 ? 0 : 5); }, 90).empty());
  const auto turns = turns_of(short_window, [](int minute) { return std::vector{job(minute < 10 ? 90s : 1s)}; }, 30);
  ASSERT_EQ(turns.size(), 2U);
  EXPECT_TRUE(turns[0].standing.breached);
  EXPECT_FALSE(turns[1].standing.breached);
  EXPECT_EQ(turns[1].line().level(), LogLevel::info);
}

TEST(LibrarySlo, ItAnswersAsTheServerDoes) {
  SloWatcher watcher({}, kNow);
  watcher.hear({.at = kNow, .body = job(5s)}, 1s);
  watcher.evaluate({.boot = 2s, .now = kNow, .parked = 3});
  const JsonValue json = JsonValue::parse(watcher.json()).value();
  ASSERT_EQ(json.at("items").size(), kSloCount);
  EXPECT_EQ(json.at("items").at(std::size_t{3}).at("name").as_string(), "job_latency");
  EXPECT_EQ(json.at("items").at(std::size_t{3}).at("samples").as_int(), 1);
  EXPECT_EQ(json.at("items").at(std::size_t{5}).at("value").as_double(), 3);
}

}  // namespace
}  // namespace carillon::test
