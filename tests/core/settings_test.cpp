#include "core/settings/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "core/random_triggers.h"
#include "core/times.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::draw;
using test::error_of;
using test::expect_refused;
using test::utc;
using test::value_of;
using testing::HasSubstr;

auto read_tenant(std::string_view json) { return parse_tenant_settings(json); }
auto read_queue(std::string_view json) { return parse_queue_settings(json); }
auto read_config(std::string_view json) { return parse_engine_config(json); }

struct Unworkable {
  std::string_view text;
  std::string_view says;
};

// Each text can be read, but is refused as one that cannot work.
template <typename Parse>
void expect_unworkable(Parse parse, std::initializer_list<Unworkable> rows) {
  for (const Unworkable& row : rows) {
    SCOPED_TRACE(std::string(row.text));
    const Error error = error_of(parse(row.text));
    EXPECT_EQ(error.code, ErrorCode::invalid_configuration);
    EXPECT_THAT(error.message, HasSubstr(std::string(row.says)));
    test::expect_one_line(error);
  }
}

// ---- Tenants -------------------------------------------------------------------------------------------------------

TenantSettings everything_set() {
  return {
      .timezone = "Europe/London",
      .quiet_hours =
          QuietHours{
              .start = {79200}, .end = {25200}, .days = {Weekday::monday, Weekday::friday}, .timezone = "Europe/Paris"},
      .max_concurrency = 8,
      .weight = 3,
      .retention = 48h,
      .paused = true};
}

TEST(TenantSettingsTest, EveryFieldIsRead) {
  EXPECT_EQ(value_of(parse_tenant_settings(R"({"timezone": "Europe/London",
    "quiet_hours": {"start": "22:00", "end": "07:00", "days": ["fri", "Monday", "mon"], "timezone": "Europe/Paris"},
    "max_concurrency": 8, "weight": 3, "retention": "2d", "paused": true})")),
            everything_set());
}

TEST(TenantSettingsTest, WhatIsLeftOutHasItsDefault) {
  EXPECT_EQ(value_of(parse_tenant_settings("{}")), TenantSettings{});
  EXPECT_EQ(TenantSettings{}.weight, 1U);
}

TEST(TenantSettingsTest, AreWrittenWithEveryField) {
  EXPECT_EQ(
      write_tenant_settings({}),
      R"({"timezone":null,"quiet_hours":null,"max_concurrency":null,"weight":1,"retention":null,"paused":false})");
  EXPECT_EQ(write_tenant_settings(everything_set()),
            R"({"timezone":"Europe/London","quiet_hours":{"start":"22:00","end":"07:00","days":["mon","fri"],)"
            R"("timezone":"Europe/Paris"},"max_concurrency":8,"weight":3,"retention":"2d","paused":true})");
}

TEST(TenantSettingsTest, AFieldThatIsGivenReplacesAndTheOthersStay) {
  TenantSettings expected = everything_set();
  expected.weight = 7;
  expected.paused = false;
  EXPECT_EQ(value_of(parse_tenant_settings(R"({"weight": 7, "paused": false})", everything_set())), expected);
}

TEST(TenantSettingsTest, NullClearsAField) {
  EXPECT_EQ(value_of(parse_tenant_settings(R"({"timezone": null, "quiet_hours": null, "max_concurrency": null,
                                               "weight": null, "retention": null, "paused": null})",
                                           everything_set())),
            TenantSettings{});
}

TEST(TenantSettingsTest, QuietHoursAreReplacedWhole) {
  const auto settings =
      value_of(parse_tenant_settings(R"({"quiet_hours": {"start": "20:00", "end": "21:00"}})", everything_set()));
  EXPECT_EQ(settings.quiet_hours, (QuietHours{.start = {72000}, .end = {75600}, .days = {}, .timezone = {}}));
}

TEST(TenantSettingsTest, RefusalsNameTheFieldAndPointAtIt) {
  expect_refused(read_tenant, {
                                  {"[]", 1, "settings (line 1, column 1): expected an object, found an array"},
                                  {R"({"wieght": 2})", 2,
                                   "wieght (line 1, column 2): unknown field (did you mean weight?); allowed are"},
                                  {R"({"weight": 0})", 12, "expected a whole number from 1 to 1000, found 0"},
                                  {R"({"weight": 1001})", 12, "found 1001"},
                                  {R"({"weight": 1.5})", 12, "found 1.5"},
                                  {R"({"weight": "2"})", 12, "expected a number, found a string"},
                                  {R"({"max_concurrency": 0})", 21, "from 1 to 1000000000, found 0"},
                                  {R"({"max_concurrency": 1000000001})", 21, "found 1000000001"},
                                  {R"({"retention": "0s"})", 15, "expected a duration from 1s to 146097d, found 0s"},
                                  {R"({"retention": "soon"})", 15, "retention (line 1, column 15): duration \"soon\""},
                                  {R"({"retention": 60})", 15, "60 seconds are \"60s\""},
                                  {R"({"paused": 1})", 12, "expected true or false, found a number"},
                                  {R"({"timezone": 1})", 14, "expected a string, found a number"},
                                  {R"({"quiet_hours": true})", 17, "expected an object, found true or false"},
                                  {"{\n  \"weight\": -1}", 13, "weight (line 2, column 13)"},
                              });
}

TEST(TenantSettingsTest, AnUnknownZoneCannotWork) {
  expect_unworkable(read_tenant, {
                                     {R"({"timezone": "Europe/Londn"})", "timezone (line 1, column 14): time zone"},
                                     {R"({"timezone": ""})", "unknown"},
                                 });
}

// ---- Quiet hours ---------------------------------------------------------------------------------------------------

TEST(QuietHoursTest, RefusalsNameTheFieldAndPointAtIt) {
  expect_refused(parse_quiet_hours,
                 {
                     {R"({"start": "22:00"})", 1, "end (line 1, column 1): is missing; expected a string"},
                     {R"({"start": "24:00", "end": "07:00"})", 11, "the hour must be 00 to 23"},
                     {R"({"start": "22:00", "end": 7})", 27, "expected a string, found a number"},
                     {R"({"start": "22:00", "end": "07:00", "days": ["mon", "moon"]})", 52, "days[1] (line 1"},
                     {R"({"start": "22:00", "end": "07:00", "days": ["mon,"]})", 45, "the end after the day's name"},
                     {R"({"start": "22:00", "end": "07:00", "days": [0]})", 45, "expected a day name, found a number"},
                     {R"({"start": "22:00", "end": "07:00", "days": "mon"})", 44, "expected an array"},
                     {R"({"start": "22:00", "end": "07:00", "zone": "UTC"})", 36, "zone (line 1, column 36): unknown"},
                 });
}

TEST(QuietHoursTest, HoursWithoutLengthOrWithAnUnknownZoneCannotWork) {
  expect_unworkable(parse_quiet_hours,
                    {
                        {R"({"start": "22:00", "end": "22:00:00"})", "end (line 1, column 27): must differ from start"},
                        {R"({"start": "22:00", "end": "07:00", "timezone": "Mars"})", "timezone (line 1, column 48)"},
                    });
}

TEST(QuietHoursTest, InsideOfSettingsTheirPathIsNamed) {
  const Error error = error_of(parse_tenant_settings(R"({"quiet_hours": {"start": "22:00", "end": "x"}})"));
  EXPECT_THAT(error.message, HasSubstr("quiet_hours.end (line 1, column 43)"));
}

TEST(QuietHoursTest, NoDaysAndNullMeanEveryDay) {
  for (const std::string_view days : {"null", "[]"}) {
    const std::string json = R"({"start": "22:00", "end": "07:00", "days": )" + std::string(days) + "}";
    EXPECT_TRUE(value_of(parse_quiet_hours(json)).days.empty());
  }
}

// ---- Maintenance, queues, the engine -------------------------------------------------------------------------------

TEST(MaintenanceTest, HasAnEndAndAReasonOrNeither) {
  EXPECT_EQ(value_of(parse_maintenance("{}")), Maintenance{});
  const Maintenance maintenance{.until = utc("2026-03-29T01:00:00Z"), .reason = "moving house"};
  EXPECT_EQ(value_of(parse_maintenance(R"({"until": "2026-03-29T02:00:00+01:00", "reason": "moving house"})")),
            maintenance);
  EXPECT_EQ(value_of(parse_maintenance(R"({"until": 1774746000000, "reason": "moving house"})")), maintenance);
  EXPECT_EQ(write_maintenance(maintenance), R"({"until":"2026-03-29T01:00:00.000Z","reason":"moving house"})");
  EXPECT_EQ(write_maintenance({}), R"({"until":null,"reason":""})");
}

TEST(MaintenanceTest, AnInstantIsKeptToTheMillisecond) {
  EXPECT_EQ(value_of(parse_maintenance(R"({"until": "2026-03-29T01:00:00.123999Z"})")).until,
            utc("2026-03-29T01:00:00.123Z"));
}

TEST(MaintenanceTest, RefusesWhatIsNoInstantAndWhatIsNoLine) {
  const std::string long_reason = R"({"reason": ")" + std::string(kReasonBytesMax + 1, 'x') + "\"}";
  expect_refused(parse_maintenance,
                 {
                     {R"({"until": "tomorrow"})", 11, "until (line 1, column 11)"},
                     {R"({"until": true})", 11, "expected an instant as RFC 3339 or Unix milliseconds"},
                     {R"({"reason": "a\nb"})", 12, "contains a control character"},
                     {long_reason, 12, "has 501 bytes; at most 500 are allowed"},
                     {R"({"untill": null})", 2, "unknown field (did you mean until?); allowed are reason, until"},
                 });
}

TEST(QueueSettingsTest, AreReadOntoWhatIsSet) {
  const QueueSettings capped{.max_concurrency = 4, .paused = false};
  EXPECT_EQ(value_of(parse_queue_settings(R"({"max_concurrency": 4})")), capped);
  EXPECT_EQ(value_of(parse_queue_settings(R"({"paused": true})", capped)),
            (QueueSettings{.max_concurrency = 4, .paused = true}));
  EXPECT_EQ(value_of(parse_queue_settings(R"({"max_concurrency": null})", capped)), QueueSettings{});
  EXPECT_EQ(write_queue_settings(capped), R"({"max_concurrency":4,"paused":false})");
}

TEST(QueueSettingsTest, RefusesWhatIsNotItsOwn) {
  expect_refused(read_queue, {{R"({"weight": 1})", 2, "unknown field; allowed are max_concurrency, paused"},
                              {R"({"max_concurrency": -1})", 21, "from 1 to"}});
}

TEST(EngineConfigTest, AreReadOntoWhatIsSet) {
  const EngineConfig config{.enabled = false,
                            .max_concurrent_jobs = 100,
                            .check_interval = 5s,
                            .timezone = "America/New_York",
                            .default_retry_max_attempts = 3,
                            .default_retry_backoff = 90s,
                            .retention = 30 * 24h};
  EXPECT_EQ(value_of(parse_engine_config(write_engine_config(config))), config);
  EXPECT_EQ(value_of(parse_engine_config("{}", config)), config);
  EXPECT_EQ(value_of(parse_engine_config(write_engine_config({}), config)), EngineConfig{});
  EXPECT_TRUE(value_of(parse_engine_config(R"({"enabled": null})", config)).enabled);
  EXPECT_EQ(write_engine_config({.check_interval = 250ms}),
            R"({"enabled":true,"max_concurrent_jobs":null,"check_interval_seconds":0.25,"timezone":null,)"
            R"("default_retry_max_attempts":null,"default_retry_backoff_seconds":null,"retention":null})");
}

TEST(EngineConfigTest, WhatIsPinnedHoldsOverWhatIsStored) {
  const EngineConfig stored{.max_concurrent_jobs = 100, .check_interval = 5s, .timezone = "Europe/London"};
  EXPECT_EQ(pinned(stored, {}), stored);
  const EngineConfig config =
      pinned(stored, {.enabled = false, .check_interval = 250ms, .default_retry_max_attempts = 2});
  EXPECT_EQ(config, (EngineConfig{.enabled = false,
                                  .max_concurrent_jobs = 100,
                                  .check_interval = 250ms,
                                  .timezone = "Europe/London",
                                  .default_retry_max_attempts = 2}));
}

TEST(EngineConfigTest, RefusesWhatIsOutOfRangeAndAnUnknownZone) {
  expect_refused(read_config, {{R"({"max_concurrent_jobs": 0})", 25, "from 1 to"},
                               {R"({"check_interval_seconds": 3601})", 28, "from 1 to 3600"},
                               {R"({"check_interval_seconds": 0.5})", 28, "from 1 to 3600"},
                               {R"({"default_retry_max_attempts": 1001})", 32, "from 1 to 1000"},
                               {R"({"default_retry_backoff_seconds": 0})", 35, "from 1 to 86400"},
                               {R"({"enabled": "yes"})", 13, "expected true or false, found a string"}});
  expect_unworkable(read_config, {{R"({"timezone": "utc"})", "did you mean UTC?"}});
}

// ---- Limits --------------------------------------------------------------------------------------------------------

TEST(LimitRuleTest, IsReadAndWritten) {
  const LimitRule full{.rate = 10, .per = 1s, .burst = 20, .concurrency = 4};
  EXPECT_EQ(value_of(parse_limit_rule(R"({"rate": 10, "per": "1s", "burst": 20, "concurrency": 4})")), full);
  EXPECT_EQ(write_limit_rule(full), R"({"rate":10,"per":"1s","burst":20,"concurrency":4})");
  EXPECT_EQ(value_of(parse_limit_rule(R"({"rate": 0.5})")), (LimitRule{.rate = 0.5, .per = 1s}));
  const LimitRule slots{.concurrency = 1};
  EXPECT_EQ(value_of(parse_limit_rule(R"({"concurrency": 1})")), slots);
  EXPECT_EQ(write_limit_rule(slots), R"({"rate":null,"per":null,"burst":null,"concurrency":1})");
}

TEST(LimitRuleTest, TheBurstIsWhatOnePeriodAllowsButNeverLessThanOne) {
  EXPECT_EQ((LimitRule{.rate = 10}.burst_or_default()), 10);
  EXPECT_EQ((LimitRule{.rate = 0.25}.burst_or_default()), 1);
  EXPECT_EQ((LimitRule{.rate = 10, .burst = 3}.burst_or_default()), 3);
}

TEST(LimitRuleTest, RefusalsNameTheFieldAndPointAtIt) {
  expect_refused(parse_limit_rule,
                 {
                     {R"({"rate": 0})", 10, "rate (line 1, column 10): expected a number above 0, at most 1000000000"},
                     {R"({"rate": -0.0})", 10, "found -0.0"},
                     {R"({"rate": 1000000000.1})", 10, "found 1000000000.1"},
                     {R"({"rate": 1e400})", 10, "found 1e400"},
                     {R"({"rate": 1e-400})", 10, "found 1e-400"},
                     {R"({"rate": "10"})", 10, "expected a number, found a string"},
                     {R"({"rate": 1, "per": "0s"})", 20, "expected a duration from 1ms to 146097d, found 0s"},
                     {R"({"rate": 1, "burst": 0.5})", 22, "expected a number of at least 1, at most 1000000000"},
                     {R"({"concurrency": 0})", 17, "expected a whole number from 1 to 1000000000, found 0"},
                     {R"({"rate": 1, "limit": 2})", 13, "allowed are burst, concurrency, per, rate"},
                 });
}

TEST(LimitRuleTest, ARuleThatLimitsNothingOrNeverAllowsAStartCannotWork) {
  expect_unworkable(parse_limit_rule,
                    {
                        {"{}", "limit (line 1, column 1): needs rate, concurrency, or both"},
                        {R"({"rate": null, "burst": 2})", "needs rate, concurrency, or both"},
                        {R"({"concurrency": 1, "burst": 2})", "burst (line 1, column 29): belongs to a rate"},
                        {R"({"concurrency": 1, "per": "1m"})", "per (line 1, column 27): belongs to a rate"},
                        {R"({"rate": 1e-300})", "allows less than one start in 400 years"},
                        {R"({"rate": 0.5, "per": "146097d"})", "allows less than one start in 400 years"},
                    });
}

// ---- What is written reads back ------------------------------------------------------------------------------------

std::optional<std::string> maybe_zone() { return draw(0, 1) == 0 ? std::nullopt : std::optional(test::any_zone()); }

std::optional<std::uint32_t> maybe_count() {
  return draw(0, 1) == 0 ? std::nullopt : std::optional(draw<std::uint32_t>(1, kConcurrencyMax));
}

std::optional<Duration> maybe_retention() {
  if (draw(0, 1) == 0) return std::nullopt;
  return std::chrono::milliseconds(draw<std::int64_t>(1000, kDurationMax / 1ms));
}

TenantSettings any_tenant_settings() {
  TenantSettings settings{.timezone = maybe_zone(),
                          .quiet_hours = {},
                          .max_concurrency = maybe_count(),
                          .weight = draw<std::uint32_t>(1, kWeightMax),
                          .retention = maybe_retention(),
                          .paused = draw(0, 1) == 0};
  if (draw(0, 1) == 0) return settings;
  QuietHours quiet{.start = {draw(0, 43199)}, .end = {draw(43200, 86399)}, .days = {}, .timezone = maybe_zone()};
  if (draw(0, 1) == 0) std::swap(quiet.start, quiet.end);
  for (int day = 0; day < 7; ++day) {
    if (draw(0, 1) == 0) quiet.days.push_back(static_cast<Weekday>(day));
  }
  settings.quiet_hours = quiet;
  return settings;
}

RC_GTEST_PROP(SettingsProperty, TenantSettingsReadBackAsTheSameOntoAnything, ()) {
  const TenantSettings settings = any_tenant_settings();
  RC_ASSERT(value_of(parse_tenant_settings(write_tenant_settings(settings), any_tenant_settings())) == settings);
}

RC_GTEST_PROP(SettingsProperty, LimitRulesReadBackAsTheSame, ()) {
  LimitRule rule{.concurrency = maybe_count()};
  if (!rule.concurrency || draw(0, 1) == 0) {
    rule.rate = static_cast<double>(draw<std::int64_t>(1, 1'000'000'000)) / draw(1, 1000);
    rule.per = std::chrono::milliseconds(draw(1, 100'000'000));
    if (draw(0, 1) == 0) rule.burst = 1 + draw(0, 1'000'000) / 7.0;
  }
  RC_ASSERT(value_of(parse_limit_rule(write_limit_rule(rule))) == rule);
}

}  // namespace
}  // namespace carillon
