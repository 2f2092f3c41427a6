// Settings by the names of S0 and S3, from a file, the environment and the program, and what they change.
#include <carillon/carillon.h>
#include <carillon/settings.h>
#include <carillon/testing.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "library/collected.h"
#include "support/scratch_folder.h"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Names = std::map<std::string, std::string>;

std::string refusal_of(const SettingSources& from) {
  const auto loaded = load_settings(from);
  EXPECT_FALSE(loaded);
  if (loaded) return {};
  EXPECT_EQ(loaded.error().code, ErrorCode::invalid_configuration);
  return loaded.error().message;
}

TEST(LibrarySettings, NothingGivenIsEveryDefaultAndPinsNothing) {
  const EngineSettings settings = load_settings({.file = {}, .values = {}, .environment = Names()}).value();
  EXPECT_EQ(settings.engine.tick, 1s);
  EXPECT_EQ(settings.engine.job_timeout, 5min);
  EXPECT_EQ(settings.engine.max_backfill_windows, 6U);
  EXPECT_EQ(settings.engine.lease, 60s);
  EXPECT_EQ(settings.slo.eval, 60s);
  EXPECT_EQ(settings.slo.window, 15min);
  EXPECT_EQ(settings.slo.tick_budget, 300ms);
  EXPECT_EQ(settings.slo.sat_ratio, 0.8);
  EXPECT_EQ(settings.slo.breach_consecutive, 3U);
  EXPECT_FALSE(settings.engine.pins.check_interval);
  EXPECT_FALSE(settings.engine.pins.enabled);
  EXPECT_EQ(settings.event_log, "");
  EXPECT_THAT(settings.warnings, IsEmpty());
}

TEST(LibrarySettings, S0sNamesAreKeysOfTheFileAndVariables) {
  const ScratchFolder folder;
  const auto file = folder.write("app.toml", R"(tick_ms = 500
max_concurrency = 3
job_timeout_ms = 900
slo_eval_ms = 2000
slo_window_minutes = 5
tick_budget_ms = 100
sat_ratio = 0.5
depth_avg_max = 12
job_p95_max_ms = 800
cutoff_rate_max = 0.25
breach_consecutive = 2
event_log = "events.jsonl"
[log]
level = "debug"
format = "json"
)");
  const EngineSettings settings = load_settings({.file = file, .values = {}, .environment = Names()}).value();
  EXPECT_EQ(settings.engine.tick, 500ms);
  EXPECT_EQ(settings.engine.max_concurrency, 3U);
  EXPECT_EQ(settings.engine.job_timeout, 900ms);
  EXPECT_EQ(settings.slo.eval, 2s);
  EXPECT_EQ(settings.slo.window, 5min);
  EXPECT_EQ(settings.slo.tick_budget, 100ms);
  EXPECT_EQ(settings.slo.sat_ratio, 0.5);
  EXPECT_EQ(settings.slo.depth_avg_max, 12);
  EXPECT_EQ(settings.slo.job_p95_max, 800ms);
  EXPECT_EQ(settings.slo.cutoff_rate_max, 0.25);
  EXPECT_EQ(settings.slo.breach_consecutive, 2U);
  EXPECT_EQ(settings.event_log, "events.jsonl");
  EXPECT_EQ(settings.log.level, LogLevel::debug);
  EXPECT_EQ(settings.log.format, LogFormat::json);

  const Names environment{
      {"CARILLON_TICK_MS", "40"}, {"CARILLON_JOB_P95_MAX_MS", "700"}, {"CARILLON_SAT_RATIO", "0.9"}};
  const EngineSettings over =
      load_settings({.file = file, .values = {{"tick_ms", "30"}}, .environment = environment}).value();
  EXPECT_EQ(over.engine.tick, 30ms) << "the program, over the environment, over the file";
  EXPECT_EQ(over.slo.job_p95_max, 700ms);
  EXPECT_EQ(over.slo.sat_ratio, 0.9);
  EXPECT_EQ(over.slo.window, 5min);
}

TEST(LibrarySettings, S3sNamesAreVariables) {
  const EngineSettings settings = load_settings({.file = {},
                                                 .values = {},
                                                 .environment = Names{{"SCHEDULER_TICK_MINUTES", "2"},
                                                                      {"SCHEDULER_MAX_BACKFILL_WINDOWS", "4"},
                                                                      {"SCHEDULER_MIN_WINDOW_SECONDS", "90"},
                                                                      {"WORKER_BATCH", "20"},
                                                                      {"WORKER_LEASE_MS", "30000"},
                                                                      {"WORKER_MAX_ATTEMPTS", "8"}}})
                                      .value();
  EXPECT_EQ(settings.engine.tick, 2min);
  EXPECT_EQ(settings.engine.max_backfill_windows, 4U);
  EXPECT_EQ(settings.engine.min_window, 90s);
  EXPECT_EQ(settings.engine.batch, 20U);
  EXPECT_EQ(settings.engine.lease, 30s);
  EXPECT_EQ(settings.engine.max_attempts, 8U);
  EXPECT_EQ(settings.engine.pins.check_interval, 2min);
  EXPECT_EQ(
      load_settings({.file = {}, .values = {}, .environment = Names{{"WORKER_POLL_MS", "250"}}}).value().engine.tick,
      250ms);
}

TEST(LibrarySettings, WhatIsWrongIsOneLineThatNamesIt) {
  const ScratchFolder folder;
  EXPECT_EQ(refusal_of({.file = {}, .values = {{"sat_ratio", "2"}}, .environment = Names()}),
            "sat_ratio = \"2\" (given by the program): must be a number from 0 to 1");
  EXPECT_THAT(
      refusal_of({.file = {}, .values = {}, .environment = Names{{"WORKER_POLL_MS", "5"}, {"CARILLON_TICK_MS", "6"}}}),
      HasSubstr("set the same thing and disagree"));
  EXPECT_THAT(refusal_of({.file = folder.write("a.toml", "tik_ms = 5\n"), .values = {}, .environment = Names()}),
              HasSubstr("did you mean tick_ms?"));
  EXPECT_THAT(
      refusal_of({.file = folder.write("b.toml", "listen = \"127.0.0.1:1\"\n"), .values = {}, .environment = Names()}),
      HasSubstr("unknown key \"listen\""))
      << "what only a server has";
  EXPECT_THAT(refusal_of({.file = "/nowhere/app.toml", .values = {}, .environment = Names()}),
              HasSubstr("no such file"));
  EXPECT_THAT(
      load_settings({.file = {}, .values = {}, .environment = Names{{"CARILLON_TIK_MS", "5"}}}).value().warnings,
      ElementsAre(HasSubstr("CARILLON_TICK_MS")));
}

// ---- What they change
// -------------------------------------------------------------------------------------------------

class LibrarySettingsHold : public ::testing::Test {
 protected:
  carillon::testing::ManualClock clock{at("2026-03-03T00:00:00Z")};
  EngineOptions options_of(const Names& environment) {
    return load_settings({.file = {}, .values = {}, .environment = environment}).value().engine;
  }
};

TEST_F(LibrarySettingsHold, JobsThatSayNothingGetThem) {
  carillon::testing::TestEngine engine(clock,
                                       {.engine = options_of({{"CARILLON_JOB_TIMEOUT_MS", "60000"},
                                                              {"WORKER_MAX_ATTEMPTS", "2"},
                                                              {"CARILLON_DEFAULT_RETRY_BACKOFF_SECONDS", "30"}})});
  Client& client = engine.client();
  engine.handle("work", [](JobContext&) { return fail("not yet"); });
  engine.handle("chained", [](JobContext&) { return done().then({.type = "next", .run_at = in(1h)}); });
  const JobInfo silent = client.job("default", client.enqueue({.type = "work"}).value().id).value();
  EXPECT_EQ(silent.timeout, 60s);
  EXPECT_EQ(silent.max_attempts, 2U);
  const JobInfo said =
      client.job("default", client.enqueue({.type = "work", .max_attempts = 5, .timeout = 5min}).value().id).value();
  EXPECT_EQ(said.timeout, 5min) << "a word is kept, though it is everybody's default";
  EXPECT_EQ(said.max_attempts, 5U);
  client.enqueue({.type = "chained"}).value();
  engine.run_due();
  EXPECT_EQ(client.job("default", silent.id).value().run_at, clock.now() + 30s) << "the first of exponential waits";
  const JobList next = client.jobs({.type = "next"}, {}, 1).value();
  ASSERT_EQ(next.jobs.size(), 1U);
  EXPECT_EQ(next.jobs[0].timeout, 60s) << "nor does what follows say anything";
}

TEST_F(LibrarySettingsHold, WindowsAreBoundedByThem) {
  carillon::testing::TestEngine engine(clock, {.engine = options_of({{"SCHEDULER_MAX_BACKFILL_WINDOWS", "2"}})});
  engine.client()
      .put_schedule("default", R"({"name":"w","trigger":{"kind":"windows","interval":"1h"},"job":{"type":"work"}})")
      .value();
  engine.client().put_subject("default", "w", "topic", "{}").value();
  engine.handle("work", [](JobContext&) { return fail("not yet"); });
  clock.advance(12h);
  engine.run_due();
  EXPECT_EQ(engine.client().jobs({.type = "work"}, {}, 50).value().jobs.size(), 2U) << "not twelve, nor six";
  EXPECT_EQ(engine.client()
                .put_schedule("default",
                              R"({"name":"short","trigger":{"kind":"windows","interval":"30s"},"job":{"type":"work"}})")
                .error()
                .code,
            ErrorCode::invalid_configuration)
      << "min_window is a minute";
}

TEST_F(LibrarySettingsHold, WhatIsGivenHoldsAgainstWhatIsStored) {
  const StorePtr store = open_store("memory:").value();
  Engine engine(*store, options_of({{"CARILLON_TICK_MS", "2000"}, {"CARILLON_MAX_CONCURRENT_JOBS", "3"}}));
  engine.client()
      .put_config(R"({"check_interval_seconds": 9, "max_concurrent_jobs": 99, "timezone": "Europe/Paris"})")
      .value();
  const JsonValue config = JsonValue::parse(engine.config()).value();
  EXPECT_EQ(config.at("check_interval_seconds").as_int(), 2);
  EXPECT_EQ(config.at("max_concurrent_jobs").as_int(), 3);
  EXPECT_EQ(config.at("timezone").as_string(), "Europe/Paris") << "what nobody pins is as stored";
}

}  // namespace
}  // namespace carillon::test
