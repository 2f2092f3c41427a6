#include <carillon/slo.h>

#include <carillon/json.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "observe/slo_window.h"
#include "support/results.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::value_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const Instant kBegan = std::chrono::sys_days{std::chrono::year{2026} / 3 / 29};

class Watched {
 public:
  explicit Watched(const SloOptions& config) : watcher(config, kBegan) {}

  void hear(EventBody body) { watcher.hear({.at = {}, .body = std::move(body)}, boot); }
  // A minute later.
  std::vector<SloTurn> look() {
    boot += 1min;
    now += 1min;
    return watcher.evaluate({.boot = boot, .now = now, .parked = parked});
  }
  JsonValue item(Slo slo) const {
    return value_of(JsonValue::parse(watcher.json())).at("items").at(static_cast<std::size_t>(slo));
  }

  SloWatcher watcher;
  Duration boot = 77h;
  Instant now = kBegan;
  std::optional<std::uint64_t> parked;
};

SloOptions short_window() {
  SloOptions config;
  config.window = 1min;
  config.job_p95_max = 100ms;
  return config;
}

TEST(SloWatcher, WarnsAtTheThirdBreachInARowOnceAndAgainOnlyAfterItRecovered) {
  Watched watched(short_window());
  const auto slow = [&] { watched.hear(JobStopped{.duration = 2s}); };
  for (int repeat = 0; repeat < 2; ++repeat) {
    slow();
    EXPECT_THAT(watched.look(), IsEmpty());
    slow();
    EXPECT_THAT(watched.look(), IsEmpty());
    slow();
    const auto warned = watched.look();
    ASSERT_EQ(warned.size(), 1U);
    EXPECT_EQ(warned.front().slo, Slo::job_latency);
    EXPECT_TRUE(warned.front().standing.breached);
    EXPECT_EQ(warned.front().standing.breaches_in_a_row, 3U);
    for (int i = 0; i < 5; ++i) {
      slow();
      EXPECT_THAT(watched.look(), IsEmpty()) << "it was said";
    }
    EXPECT_THAT(watched.look(), IsEmpty());
    EXPECT_THAT(watched.look(), IsEmpty());
    const auto recovered = watched.look();
    ASSERT_EQ(recovered.size(), 1U);
    EXPECT_FALSE(recovered.front().standing.breached);
  }
}

TEST(SloWatcher, TheDlqIsBreachedWhileAnythingIsParkedHoweverLongAgo) {
  Watched watched(short_window());
  watched.parked = 7;  // as after a restart: nothing was heard of them
  EXPECT_THAT(watched.look(), IsEmpty());
  EXPECT_THAT(watched.look(), IsEmpty());
  const auto warned = watched.look();
  ASSERT_EQ(warned.size(), 1U);
  EXPECT_EQ(warned.front().slo, Slo::dlq);
  EXPECT_EQ(warned.front().measure.value, 7);
  for (int i = 0; i < 100; ++i) EXPECT_THAT(watched.look(), IsEmpty()) << "far beyond the window";
  EXPECT_EQ(watched.item(Slo::dlq).at("state").as_string(), "breached");
  watched.parked = 0;  // retried, or discarded
  EXPECT_THAT(watched.look(), IsEmpty());
  EXPECT_THAT(watched.look(), IsEmpty());
  const auto recovered = watched.look();
  ASSERT_EQ(recovered.size(), 1U);
  EXPECT_FALSE(recovered.front().standing.breached);
}

TEST(SloWatcher, AStoreThatDoesNotSayHowManyAreParkedIsNoRecovery) {
  Watched watched(short_window());
  watched.parked = 1;
  for (int i = 0; i < 3; ++i) watched.look();
  watched.parked.reset();
  for (int i = 0; i < 10; ++i) EXPECT_THAT(watched.look(), IsEmpty());
  EXPECT_EQ(watched.item(Slo::dlq).at("value").as_int(), 1);
  Watched never_told(short_window());
  for (int i = 0; i < 10; ++i) EXPECT_THAT(never_told.look(), IsEmpty());
  EXPECT_TRUE(never_told.item(Slo::dlq).at("value").is_null());
}

TEST(SloWatcher, AWarningSaysWindowValueThresholdAndDueBucket) {
  SloOptions config = short_window();
  config.breach_consecutive = 1;
  Watched watched(config);
  watched.hear(Finalized{.status = JobState::cutoff_reached, .due_bucket = 480, .today = "2026-03-29"});
  watched.hear(Finalized{.status = JobState::done, .due_bucket = 480, .today = "2026-03-29"});
  const auto turns = watched.look();
  ASSERT_EQ(turns.size(), 1U);
  EXPECT_EQ(turns.front().line().level(), LogLevel::warn);
  EXPECT_THAT(turns.front().line().json(kBegan),
              HasSubstr(R"("msg":"SLO breached: cutoff_miss_rate","slo":"cutoff_miss_rate","value":0.5,)"
                        R"("threshold":0.05,"unit":"ratio","window":"1m","samples":2,"breaches_in_a_row":1,)"
                        R"("due_bucket":480})"));
  EXPECT_THAT(turns.front().line().plain(kBegan), HasSubstr("  value=0.5  threshold=0.05  "));
  EXPECT_EQ(to_json_line({.at = kBegan, .body = turns.front().event()}),
            R"({"event":"slo.breach","at":"2026-03-29T00:00:00.000Z","measurements":{"value":0.5,"threshold":0.05},)"
            R"("metadata":{"slo":"cutoff_miss_rate","unit":"ratio","window":"1m","breaches_in_a_row":1,)"
            R"("reason":null,"due_bucket":480}})");
  const auto recovered = watched.look();
  ASSERT_EQ(recovered.size(), 1U);
  EXPECT_EQ(recovered.front().line().level(), LogLevel::info);
  EXPECT_THAT(recovered.front().line().json(kBegan), HasSubstr("SLO recovered: cutoff_miss_rate"));
  EXPECT_THAT(recovered.front().line().json(kBegan), Not(HasSubstr("\"value\"")));
}

TEST(SloWatcher, GrowthIsSaidToBeTheReason) {
  SloOptions config = short_window();
  config.window = 2min;
  config.breach_consecutive = 1;
  Watched watched(config);
  std::vector<SloTurn> turns;
  for (std::uint64_t depth = 1; depth <= 3; ++depth) {
    watched.hear(QueueDepth{.depth = depth * 10});
    if (depth < 3) {
      EXPECT_THAT(watched.look(), IsEmpty());
    } else {
      turns = watched.watcher.evaluate({.boot = watched.boot, .now = watched.now});
    }
  }
  ASSERT_EQ(turns.size(), 1U);
  EXPECT_EQ(turns.front().event().reason, "growth");
  EXPECT_EQ(turns.front().event().value, 20);
}

TEST(SloWatcher, TheAnswerIsOfTheLastEvaluation) {
  SloOptions config = short_window();
  config.breach_consecutive = 2;
  Watched watched(config);
  EXPECT_TRUE(value_of(JsonValue::parse(watched.watcher.json())).at("evaluated_at").is_null());
  watched.hear(JobStopped{.duration = 2s});
  EXPECT_TRUE(watched.item(Slo::job_latency).at("value").is_null());
  watched.look();
  JsonValue item = watched.item(Slo::job_latency);
  EXPECT_EQ(item.at("state").as_string(), "ok");
  EXPECT_EQ(item.at("breaches_in_a_row").as_int(), 1);
  EXPECT_EQ(item.at("since").as_string(), "2026-03-29T00:00:00.000Z");
  watched.hear(JobStopped{.duration = 2s});
  watched.look();
  item = watched.item(Slo::job_latency);
  EXPECT_EQ(item.at("name").as_string(), "job_latency");
  EXPECT_EQ(item.at("state").as_string(), "breached");
  EXPECT_EQ(item.at("since").as_string(), "2026-03-29T00:02:00.000Z");
  EXPECT_EQ(item.at("threshold").as_int(), 100);
  EXPECT_EQ(item.at("window").as_string(), "1m");
  EXPECT_NEAR(item.at("value").as_double(), 2000, 2000 * DurationHistogram::kErrorMax);
  EXPECT_EQ(watched.item(Slo::stalled).at("state").as_string(), "ok");
}

}  // namespace
}  // namespace carillon
