// One program of the library, from S0's configuration (§12) through its events (§11.2), debug lines (§11.3) and SLO
// watcher (§11.4): item by item, in the order of S0.
#include <carillon/carillon.h>
#include <carillon/event_log.h>
#include <carillon/log.h>
#include <carillon/metrics.h>
#include <carillon/settings.h>
#include <carillon/slo.h>
#include <carillon/testing.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "library/collected.h"
#include "support/scratch_folder.h"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

// §12, every name once. tick_ms is S0's own default, and no other setting's.
constexpr std::string_view kS0 = R"(tick_ms = 60000
max_concurrency = 4
job_timeout_ms = 120000
slo_eval_ms = 60000
slo_window_minutes = 15
tick_budget_ms = 300
sat_ratio = 0.8
depth_avg_max = 100
job_p95_max_ms = 30000
cutoff_rate_max = 0.2
breach_consecutive = 3
)";

// S0's schedule: a window of 60 minutes before the delivery, a retry every 10 minutes, all in UTC.
constexpr std::string_view kDaily =
    R"({"name":"news","trigger":{"kind":"delivery","due":"08:00","window":"60m"},"job":{"type":"news"}})";

class S0Walk : public ::testing::Test {
 protected:
  S0Walk() {
    engine.on_event([this](const Event& event) {
      log_event(log, event);
      metrics.hear(event);
      event_log.hear(event);
      watcher.hear(event, boot());
    });
    engine.handle("news", [this](JobContext& context) { return job_runner(context); });
    engine.client().put_schedule("default", kDaily).value();
  }

  Duration boot() const { return clock.now() - began; }
  void add_user(std::string_view user, std::string_view due) {
    engine.client().put_subject("default", "news", user, "{\"due\":\"" + std::string(due) + "\"}").value();
  }
  void run_until(std::string_view instant) { engine.advance(at(instant) - clock.now()); }
  // Every slo_eval_ms, as the watcher's thread would.
  std::vector<SloTurn> evaluate() {
    auto turns = watcher.evaluate({.boot = boot(), .now = clock.now(), .parked = 0});
    for (const SloTurn& turn : turns) log.write(turn.line());
    return turns;
  }
  // What was told under this name, as the event log has it.
  std::vector<JsonValue> told(std::string_view name) const {
    std::vector<JsonValue> out;
    std::istringstream text(folder.read("events.jsonl"));
    for (std::string line; std::getline(text, line);) {
      JsonValue event = JsonValue::parse(line).value();
      if (event.at("event").as_string() == name) out.push_back(std::move(event));
    }
    return out;
  }
  static std::vector<std::string> keys_of(const JsonValue& object) { return object.keys(); }

  const ScratchFolder folder;
  const EngineSettings settings = load_settings({.file = folder.write("s0.toml", std::string(kS0)),
                                                 .values = {},
                                                 .environment = std::map<std::string, std::string>()})
                                      .value();
  const Instant began = at("2026-03-03T06:30:00Z");
  carillon::testing::ManualClock clock{began};
  carillon::testing::TestEngine engine{clock, {.engine = settings.engine}};
  Lines lines;
  Log log{lines.options()};
  Metrics metrics;
  EventLog event_log = EventLog::open((folder.path() / "events.jsonl").string()).value();
  SloWatcher watcher{settings.slo, began};
  std::function<Outcome(JobContext&)> job_runner = [](JobContext&) { return done(); };
};

TEST_F(S0Walk, Configuration) {  // §12
  EXPECT_EQ(settings.engine.tick, 60s);
  EXPECT_EQ(settings.engine.max_concurrency, 4U);
  EXPECT_EQ(settings.engine.job_timeout, 120s);
  EXPECT_EQ(settings.slo.eval, 60s);
  EXPECT_EQ(settings.slo.window, 15min);
  EXPECT_EQ(settings.slo.tick_budget, 300ms);
  EXPECT_EQ(settings.slo.sat_ratio, 0.8);
  EXPECT_EQ(settings.slo.depth_avg_max, 100);
  EXPECT_EQ(settings.slo.job_p95_max, 30s);
  EXPECT_EQ(settings.slo.cutoff_rate_max, 0.2);
  EXPECT_EQ(settings.slo.breach_consecutive, 3U);
}

TEST_F(S0Walk, E1TickCost) {
  add_user("ada", "08:00");
  run_until("2026-03-03T07:05:00Z");
  const auto ticks = told("sched.tick.stop");
  ASSERT_FALSE(ticks.empty());
  EXPECT_THAT(keys_of(ticks[0].at("measurements")), ElementsAre("duration_ms"));
  EXPECT_THAT(keys_of(ticks[0].at("metadata")),
              IsSupersetOf({"users_scanned", "eligible_in_window", "enqueued", "cutoff_finalized"}));
  std::int64_t enqueued = 0;
  for (const JsonValue& tick : ticks) enqueued += tick.at("metadata").at("enqueued").as_int();
  EXPECT_EQ(enqueued, 1);
}

TEST_F(S0Walk, E2QueueDepthAndE3InFlight) {
  run_until("2026-03-03T06:40:00Z");
  const auto depths = told("sched.queue.depth");
  ASSERT_FALSE(depths.empty());
  EXPECT_EQ(depths[0].at("measurements").at("depth").as_int(-1), 0);
  EXPECT_EQ(depths[0].at("metadata").at("today").as_string(), "2026-03-03");
  const auto levels = told("sched.executor.in_flight");
  ASSERT_FALSE(levels.empty());
  EXPECT_EQ(levels[0].at("measurements").at("in_flight").as_int(-1), 0);
  EXPECT_EQ(levels[0].at("metadata").at("max_concurrency").as_int(), 4);
}

TEST_F(S0Walk, E4JobLatencyAndResultAndTheRetryDelay) {
  job_runner = [this](JobContext& context) -> Outcome {
    if (context.attempt() == 1) {
      clock.advance(2s);
      return fail("500", "req");
    }
    if (context.attempt() == 2) return fail("no JSON", "parse");
    if (context.attempt() == 3) return timed_out("took too long");
    return done();
  };
  add_user("ada", "08:00");
  run_until("2026-03-03T08:05:00Z");
  std::vector<std::string> results;
  std::vector<std::string> times;
  for (const JsonValue& stop : told("sched.job.stop")) {
    results.push_back(stop.at("metadata").at("result").as_string() + "/" +
                      stop.at("metadata").at("error_class").as_string("none"));
    times.push_back(stop.at("at").as_string().substr(11, 5));
  }
  EXPECT_THAT(results, ElementsAre("error/req", "error/parse", "timeout/timeout", "ok/none"));
  EXPECT_THAT(times, ElementsAre("07:00", "07:10", "07:20", "07:30")) << "window_minutes 60, retry_delay_minutes 10";
  EXPECT_EQ(told("sched.job.stop")[0].at("measurements").at("duration_ms").as_int(), 2000);
}

TEST_F(S0Walk, E5DailyFinalization) {
  job_runner = [](JobContext& context) { return context.job().subject == "ada" ? done() : fail("never", "llm"); };
  add_user("ada", "08:00");
  add_user("bob", "07:45");
  run_until("2026-03-03T08:05:00Z");
  std::set<std::string> outcomes;
  for (const JsonValue& finalize : told("sched.finalize")) {
    const JsonValue about = finalize.at("metadata");
    outcomes.insert(about.at("subject").as_string() + " " + about.at("status").as_string() + " " +
                    std::string(about.at("due_bucket").raw()) + " " + about.at("today").as_string());
  }
  EXPECT_THAT(outcomes, ElementsAre("ada success 480 2026-03-03", "bob cutoff_reached 465 2026-03-03"));
  EXPECT_THAT(metrics.text(), HasSubstr("carillon_finalized_total{status=\"cutoff_reached\"} 1"));
}

TEST_F(S0Walk, DebugLines) {  // §11.3
  // An enqueue that is ignored, with the reason.
  engine.client().enqueue({.type = "news", .payload = "1", .idempotency_key = "k"}).value();
  engine.client().enqueue({.type = "news", .payload = "1", .idempotency_key = "k"}).value();
  // A job's error, and a success after the cutoff.
  job_runner = [this](JobContext& context) -> Outcome {
    if (context.job().subject != "ada") return done();
    if (context.attempt() == 1) return fail("the provider answered 500", "req");
    clock.advance(90min);
    return done();
  };
  add_user("ada", "08:00");
  run_until("2026-03-03T07:05:00Z");
  run_until("2026-03-03T10:00:00Z");
  // What the store refuses, should it come to that.
  log_event(log,
            {.at = clock.now(), .body = StoreFailed{.code = ErrorCode::store_full, .message = "the disk is full"}});
  log.stop();

  ASSERT_EQ(lines.saying("enqueue ignored").size(), 1U);
  EXPECT_EQ(fields_of(lines.saying("enqueue ignored")[0]).at("reason").as_string(), "idempotency_key");
  ASSERT_FALSE(lines.saying("attempt failed").empty());
  const JsonValue failed = fields_of(lines.saying("attempt failed")[0]);
  EXPECT_EQ(failed.at("error").as_string(), "the provider answered 500");
  EXPECT_EQ(failed.at("err_code").as_string(), "req");
  EXPECT_EQ(lines.saying("late success").size(), 1U);
  EXPECT_EQ(lines.saying("the store refuses writes").size(), 1U);
  for (const LogLine& line : lines.all()) {
    if (line.message().contains("handler ignores its timeout")) continue;  // it took 90 minutes: a warning, rightly
    EXPECT_EQ(line.level(), LogLevel::debug) << line.message();
  }
}

TEST_F(S0Walk, TheSloWatcherWarnsAfterThreeBreachesInARow) {  // §11.4
  job_runner = [this](JobContext& context) -> Outcome {
    clock.advance(40s);
    const bool ends_well = context.job().subject == "ada" && clock.now() >= at("2026-03-03T07:00:00Z");
    return ends_well ? done() : fail("not now", "llm");
  };
  add_user("ada", "07:05");
  add_user("bob", "07:05");
  run_until("2026-03-03T07:06:00Z");
  std::map<Slo, int> warned;
  std::vector<SloTurn> turns;
  for (int i = 0; i < 5; ++i) {
    const auto now = evaluate();
    for (const SloTurn& turn : now) {
      EXPECT_EQ(i, 2) << "at the third look";
      turns.push_back(turn);
      ++warned[turn.slo];
    }
    engine.advance(1min);
  }
  log.stop();
  EXPECT_EQ(warned[Slo::job_latency], 1);
  EXPECT_EQ(warned[Slo::cutoff_miss_rate], 1);
  EXPECT_EQ(warned.size(), 2U) << "and of nothing else";

  const auto warnings = lines.saying("SLO breached");
  ASSERT_EQ(warnings.size(), 2U);
  for (const LogLine& line : warnings) {
    EXPECT_EQ(line.level(), LogLevel::warn);
    const JsonValue about = fields_of(line);
    EXPECT_EQ(about.at("window").as_string(), "15m");
    EXPECT_TRUE(about.at("value").is_number());
    EXPECT_TRUE(about.at("threshold").is_number());
    if (about.at("slo").as_string() == "cutoff_miss_rate") {
      EXPECT_EQ(about.at("due_bucket").as_int(), 425);
      EXPECT_EQ(about.at("value").as_double(), 0.5);
    }
  }
}

TEST_F(S0Walk, AQuietDayWarnsOfNothing) {  // the control of the one above
  add_user("ada", "07:05");
  run_until("2026-03-03T07:06:00Z");
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(evaluate().empty());
    engine.advance(1min);
  }
}

}  // namespace
}  // namespace carillon::test
