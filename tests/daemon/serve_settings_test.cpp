#include "daemon/serve_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/host/engine_host.h"
#include "support/results.h"

namespace carillon::daemon {
namespace {

using namespace std::chrono_literals;
using test::value_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

LoadedConfig load(const Environment& environment) { return value_of(load_config({}, environment, std::nullopt)); }

RuleBook::Base rules_of(const LoadedConfig& loaded) { return carillon::rules_of(engine_options_of(loaded)); }

TEST(ServeSettings, DefaultsPinNothing) {
  const RuleBook::Base rules = rules_of(load({}));
  EXPECT_EQ(pinned({}, rules.pins), EngineConfig{});
  EXPECT_EQ(rules.job, JobDefaults{});
  EXPECT_THAT(config_pins(load({})), IsEmpty());
}

TEST(ServeSettings, WhatIsGivenIsPinned) {
  const LoadedConfig loaded = load({{"CARILLON_ENABLED", "false"},
                                    {"CARILLON_MAX_CONCURRENT_JOBS", "7"},
                                    {"CARILLON_TIMEZONE", "Europe/London"},
                                    {"WORKER_POLL_MS", "2500"},
                                    {"WORKER_MAX_ATTEMPTS", "3"},
                                    {"CARILLON_DEFAULT_RETRY_BACKOFF_SECONDS", "90"},
                                    {"CARILLON_RETENTION", "2d"}});
  EXPECT_EQ(pinned({}, rules_of(loaded).pins), (EngineConfig{.enabled = false,
                                                             .max_concurrent_jobs = 7,
                                                             .check_interval = 2500ms,
                                                             .timezone = "Europe/London",
                                                             .default_retry_max_attempts = 3,
                                                             .default_retry_backoff = 90s,
                                                             .retention = 48h}));
  EXPECT_THAT(config_pins(loaded),
              ElementsAre(Pair("check_interval_seconds", "environment WORKER_POLL_MS"),
                          Pair("default_retry_backoff_seconds", "environment CARILLON_DEFAULT_RETRY_BACKOFF_SECONDS"),
                          Pair("default_retry_max_attempts", "environment WORKER_MAX_ATTEMPTS"),
                          Pair("enabled", "environment CARILLON_ENABLED"),
                          Pair("max_concurrent_jobs", "environment CARILLON_MAX_CONCURRENT_JOBS"),
                          Pair("retention", "environment CARILLON_RETENTION"),
                          Pair("timezone", "environment CARILLON_TIMEZONE")));
}

TEST(ServeSettings, JobsThatSayNothingGetTheseDefaults) {
  const JobDefaults job =
      rules_of(load({{"CARILLON_JOB_TIMEOUT_MS", "60000"}, {"WORKER_LEASE_MS", "15000"}, {"WORKER_MAX_ATTEMPTS", "3"}}))
          .job;
  EXPECT_EQ(job, (JobDefaults{.timeout = 60s, .lease = 15s, .max_attempts = 3}));
}

TEST(ServeSettings, WindowsAreBoundedByTheSeedsNames) {
  const WindowDefaults windows =
      rules_of(load({{"SCHEDULER_MAX_BACKFILL_WINDOWS", "3"}, {"SCHEDULER_MIN_WINDOW_SECONDS", "90"}})).windows;
  EXPECT_EQ(windows, (WindowDefaults{.max_backfill = 3, .min_window = 90s}));
}

}  // namespace
}  // namespace carillon::daemon
