#include "daemon/reload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/config_settings.h"
#include "support/results.h"

namespace carillon::daemon {
namespace {

using namespace std::chrono_literals;
using test::value_of;
using testing::ElementsAre;
using testing::IsEmpty;

LoadedConfig load(const std::string& text) {
  return value_of(load_config({}, {}, ConfigFile{.path = "carillon.toml", .text = text}));
}

constexpr std::string_view kReport = "[handlers.\"report\"]\nkind = \"exec\"\nargv = [\"/bin/true\"]\n";
constexpr std::string_view kOtherReport = "[handlers.\"report\"]\nkind = \"exec\"\nargv = [\"/bin/true\", \"-v\"]\n";
constexpr std::string_view kMail =
    "[handlers.\"report\"]\nkind = \"email\"\nsmtp = \"smtp://127.0.0.1\"\nfrom = \"a@example.com\"\n"
    "to = \"b@example.com\"\nsubject = \"s\"\ntext = \"t\"\n";

TEST(Reload, WhatChangesIsTakenOverOrTakesARestart) {
  struct Row {
    std::string_view before;
    std::string_view after;
    std::vector<ConfigChange> changes;
  };
  const std::string report = "handlers.\"report\"";
  const std::vector<Row> rows{
      {"", "", {}},
      {"", "tick_ms = 1000\n[log]\nlevel = \"info\"", {}},
      {"", "[log]\nlevel = \"debug\"", {{"log.level", "info", "debug", false}}},
      {"[webhooks]\nallow = [\"10.0.0.1\"]", "", {{"webhooks.allow", "10.0.0.1", "", false}}},
      {"", "[webhooks]\nallow = [\"::1\", \"a.b\"]", {{"webhooks.allow", "", "::1,a.b", false}}},
      {"", "dlq_max = 7\nslo_eval_ms = 5000", {{"slo_eval_ms", "60000", "5000", false}, {"dlq_max", "0", "7", false}}},
      {"", "slo_window_minutes = 5", {{"slo_window_minutes", "15", "5", true}}},
      {"",
       "db = \"sqlite:b.db\"\nlisten = \"127.0.0.1:1\"",
       {{"db", "sqlite:carillon.db", "sqlite:b.db", true}, {"listen", "127.0.0.1:7440", "127.0.0.1:1", true}}},
      {"event_log = \"a\"", "event_log = \"b\"", {{"event_log", "a", "b", true}}},
      {"admin_key = \"a.0123456789abcdef0123456789abcdef\"",
       "admin_key = \"b.0123456789abcdef0123456789abcdef\"",
       {{"admin_key", "(set)", "(set)", true}}},
      {"", kReport, {{report, "", "exec", false}}},
      {kReport, "", {{report, "exec", "", false}}},
      {kReport, kReport, {}},
      {kReport, kOtherReport, {{report, "exec", "exec", false}}},
      {kReport, kMail, {{report, "exec", "email", false}}},
  };
  for (const Row& row : rows) {
    const LoadedConfig running = load(std::string(row.before));
    const LoadedConfig fresh = load(std::string(row.after));
    EXPECT_EQ(changes_between(running, fresh), row.changes) << row.before << " → " << row.after;
    // What was taken over is told once, what takes a restart until then.
    std::vector<ConfigChange> left;
    for (const ConfigChange& change : row.changes) {
      if (change.needs_restart) left.push_back(change);
    }
    EXPECT_EQ(changes_between(reloaded(running, fresh), fresh), left) << row.before << " → " << row.after;
  }
}

TEST(Reload, OnlyWhatCanBeTakenOverIs) {
  const LoadedConfig running = load("");
  const LoadedConfig fresh = load(
      "db = \"sqlite:b.db\"\ntick_ms = 7\nslo_window_minutes = 5\ndlq_max = 9\n[log]\nlevel = \"warn\"\n"
      "[webhooks]\nallow = [\"::1\"]\n" +
      std::string(kReport));
  const ServerConfig config = reloaded(running, fresh).config;
  EXPECT_EQ(config.db, "sqlite:carillon.db");
  EXPECT_EQ(config.tick, 1s);
  EXPECT_EQ(config.slo.window, 15min);
  EXPECT_EQ(config.slo.dlq_max, 9);
  EXPECT_EQ(config.log_level, LogLevel::warn);
  EXPECT_THAT(config.webhooks_allow, ElementsAre("::1"));
  EXPECT_EQ(config.handlers.size(), 1U);
}

// A setting that is listed as reloaded must be one, else a change of it would be told and lost.
TEST(Reload, EverySettingThatIsToldAsTakenOverIs) {
  struct Value {
    std::string_view key;
    std::string_view value;
  };
  const LoadedConfig running = load("");
  std::size_t taken = 0;
  for (const Value& one : std::to_array<Value>({{"log.level", "error"},
                                                {"webhooks.allow", "::1"},
                                                {"slo_eval_ms", "777"},
                                                {"tick_budget_ms", "777"},
                                                {"sat_ratio", "0.5"},
                                                {"depth_avg_max", "777"},
                                                {"job_p95_max_ms", "777"},
                                                {"cutoff_rate_max", "0.5"},
                                                {"dlq_max", "777"},
                                                {"stalled_max", "777"},
                                                {"breach_consecutive", "77"},
                                                {"retention", "9d"},
                                                {"slo_window_minutes", "77"},
                                                {"drain", "7s"},
                                                {"max_concurrency", "7"}})) {
    const LoadedConfig fresh = value_of(
        load_config({.config = {}, .values = {{std::string(one.key), std::string(one.value)}}}, {}, std::nullopt));
    const std::vector<ConfigChange> changes = changes_between(running, fresh);
    ASSERT_EQ(changes.size(), 1U) << one.key;
    const ServerConfig after = reloaded(running, fresh).config;
    for (const Setting& setting : all_settings()) {
      if (setting.names.front().key != one.key) continue;
      const auto expected = changes.front().needs_restart ? setting.show(running.config) : setting.show(fresh.config);
      EXPECT_EQ(setting.show(after), expected) << one.key;
      if (!changes.front().needs_restart) ++taken;
    }
  }
  EXPECT_EQ(taken, 11U);
}

}  // namespace
}  // namespace carillon::daemon
