#include "core/triggers/trigger.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <variant>

#include "core/times.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::error_of;
using test::expect_refused;
using test::local;
using test::utc;
using test::value_of;
using testing::ElementsAre;
using testing::HasSubstr;

template <typename T>
T text_as(std::string_view text) {
  return std::get<T>(value_of(parse_trigger_text(text)));
}

TEST(TriggerText, ReadsEveryShortForm) {
  EXPECT_EQ(text_as<CronTrigger>("cron:0 8 * * *").cron, "0 8 * * *");
  EXPECT_EQ(text_as<RruleTrigger>("rrule:FREQ=DAILY").rrule, "FREQ=DAILY");
  EXPECT_FALSE(text_as<RruleTrigger>("rrule:FREQ=DAILY").start.has_value());
  EXPECT_EQ(text_as<EveryTrigger>("every:2h").every, 2h);
  EXPECT_FALSE(text_as<EveryTrigger>("every:2h").anchor.has_value());
  EXPECT_EQ(text_as<DailyTrigger>("daily:08:00").at.seconds, 8 * 3600);
  EXPECT_EQ(text_as<WeeklyTrigger>("weekly:mon,Friday@08:00:30").at.seconds, 8 * 3600 + 30);
  EXPECT_THAT(text_as<WeeklyTrigger>("weekly:mon,Friday@08:00").on, ElementsAre(Weekday::monday, Weekday::friday));
  EXPECT_EQ(text_as<OnceTrigger>("once:2026-03-29T01:00:00Z").at, utc("2026-03-29T01:00:00Z"));
  EXPECT_EQ(text_as<OnceTrigger>("once:1774746000000").at, utc("2026-03-29T01:00:00Z"));
}

TEST(TriggerText, AnErrorPointsIntoThePartAfterTheKind) {
  expect_refused(parse_trigger_text, {{"", 1, "expected a kind and a colon"},
                                      {"daily", 1, "expected a kind and a colon, like once:"},
                                      {"hourly:5", 1, "unknown kind \"hourly\"; allowed are once:"},
                                      {":", 1, "unknown kind \"\""},
                                      {"Daily:08:00", 1, "unknown kind \"Daily\""},
                                      {"daily:25:00", 1, "time of day \"25:00\", column 1: the hour must be 00 to 23"},
                                      {"daily:", 1, "expected the hour, found the end"},
                                      {"every:-5m", 1, "a duration cannot be negative"},
                                      {"every:9999999999d", 1, "longer than 400 years"},
                                      {"every:", 1, "is empty"},
                                      {"once:tomorrow", 1, "instant \"tomorrow\", column 1"},
                                      {"weekly:", 1, "expected a day name"},
                                      {"weekly:mon", 4, "expected @ and a time, as in mon,fri@08:00, found the end"},
                                      {"weekly:mon,@08:00", 5, "expected a day name"},
                                      {"weekly:mon@25:00", 5, "the hour must be 00 to 23, not 25"},
                                      {"weekly:mon@08:00x", 10, "expected the end after the time"},
                                      {"weekly:mon fri@08:00", 4, "expected @ and a time"}});
}

Result<Trigger> read(std::string_view text) {
  TRY_ASSIGN(const Json json, parse_json(text));
  return parse_trigger_json(text, json, "trigger");
}

template <typename T>
T json_as(std::string_view text) {
  return std::get<T>(value_of(read(text)));
}

TEST(TriggerJson, ReadsEveryKind) {
  EXPECT_EQ(json_as<OnceTrigger>(R"({"kind": "once", "at": "2026-03-29T01:00:00Z"})").at, utc("2026-03-29T01:00:00Z"));
  EXPECT_EQ(json_as<OnceTrigger>(R"({"kind": "once", "at": 1774746000000})").at, utc("2026-03-29T01:00:00Z"));
  EXPECT_EQ(json_as<EveryTrigger>(R"({"kind": "every", "every": "90m"})").every, 90min);
  EXPECT_EQ(json_as<EveryTrigger>(R"({"kind": "every", "every": "90m", "anchor": 0})").anchor, Instant{});
  EXPECT_FALSE(json_as<EveryTrigger>(R"({"kind": "every", "every": "90m", "anchor": null})").anchor.has_value());
  EXPECT_EQ(json_as<DailyTrigger>(R"({"kind": "daily", "at": "08:30"})").at.seconds, 8 * 3600 + 30 * 60);
  EXPECT_THAT(json_as<WeeklyTrigger>(R"({"kind": "weekly", "on": ["mon", "sunday"], "at": "08:30"})").on,
              ElementsAre(Weekday::monday, Weekday::sunday));
  EXPECT_EQ(json_as<CronTrigger>(R"({"kind": "cron", "cron": "@daily"})").cron, "@daily");
  EXPECT_EQ(json_as<RruleTrigger>(R"({"kind": "rrule", "rrule": "FREQ=DAILY", "start": "2026-01-05T09:00:00"})").start,
            GivenTime(local("2026-01-05T09:00:00")));
  EXPECT_EQ(json_as<AfterTrigger>(R"({"kind": "after", "schedule": "import", "on": "done"})").schedule, "import");
}

TEST(TriggerJson, ReadsTheFormatOfS1) {
  // 0 = Monday as S1 states, so 4 is Friday.
  const auto weekly = json_as<WeeklyTrigger>(R"({"type":"weekly","day":4,"hour":6,"minute":0})");
  EXPECT_THAT(weekly.on, ElementsAre(Weekday::friday));
  EXPECT_EQ(weekly.at.seconds, 6 * 3600);
  EXPECT_THAT(json_as<WeeklyTrigger>(R"({"type":"weekly","day":0,"hour":0,"minute":0})").on,
              ElementsAre(Weekday::monday));
  EXPECT_THAT(json_as<WeeklyTrigger>(R"({"type":"weekly","day":6,"hour":0,"minute":0})").on,
              ElementsAre(Weekday::sunday));
  EXPECT_EQ(json_as<DailyTrigger>(R"({"type":"daily","hour":20,"minute":15})").at.seconds, 20 * 3600 + 15 * 60);
  EXPECT_EQ(json_as<EveryTrigger>(R"({"type":"every_n_hours","hours":4})").every, 4h);
  EXPECT_EQ(json_as<OnceTrigger>(R"({"type":"once","scheduled_for":"2026-03-29T01:00:00Z"})").at,
            utc("2026-03-29T01:00:00Z"));
  EXPECT_EQ(json_as<OnceTrigger>(R"({"type":"once","at":1774746000000})").at, utc("2026-03-29T01:00:00Z"));
}

TEST(TriggerJson, RefusesWrongTypesMissingFieldsAndUnknownOnes) {
  expect_refused(
      read,
      {{"[]", 1, "trigger (line 1, column 1): expected an object, found an array"},
       {"null", 1, "trigger (line 1, column 1): expected an object, found null"},
       {"{}", 1, "trigger.kind (line 1, column 1): is missing; expected a string"},
       {R"({"kind": 5})", 10, "trigger.kind (line 1, column 10): expected a string, found a number"},
       {R"({"kind": "hourly"})", 10,
        "unknown kind \"hourly\"; allowed are once, every, daily, weekly, cron, rrule, after, delivery, windows, "
        "adaptive"},
       {R"({"kind": "daily"})", 1, "trigger.at (line 1, column 1): is missing; expected a string"},
       {R"({"kind": "daily", "at": 8})", 25, "trigger.at (line 1, column 25): expected a string, found a number"},
       {R"({"kind": "daily", "at": "25:00"})", 25, "the hour must be 00 to 23, not 25"},
       {R"({"kind": "daily", "at": "08:00", "on": ["mon"]})", 34,
        "trigger.on (line 1, column 34): unknown field; allowed are at, kind"},
       {R"({"kind": "every", "every": 3600})", 28,
        "expected a duration like \"90s\", found a number; 3600 seconds are \"3600s\""},
       {R"({"kind": "every", "every": -1})", 28, "expected a duration like \"90s\", found a number"},
       {R"({"kind": "dayly", "at": "08:00"})", 10, "unknown kind \"dayly\" (did you mean daily?); allowed are once"},
       {R"({"knid": "daily", "at": "08:00"})", 2,
        "unknown field (did you mean kind?); allowed are anchor, at, bands, ceiling, cron, due, every, floor, "
        "interval, "
        "kind, lag, max_age, max_backfill, mode, on, otherwise, retry_delay, rrule, schedule, spread, start, window"},
       {R"({"kind": "delivery", "zz": 1})", 22, "unknown field; allowed are due, kind, retry_delay, spread, window"},
       {R"({"kind": "every", "every": "-5m"})", 28, "a duration cannot be negative"},
       {R"({"kind": "every", "every": "9999999999d"})", 28, "longer than 400 years"},
       {R"({"kind": "every", "every": "5m", "anchor": true})", 44,
        "expected an instant as RFC 3339 or Unix milliseconds, found true or false"},
       {R"({"kind": "weekly", "on": "mon", "at": "08:00"})", 26,
        "trigger.on (line 1, column 26): expected an array, found a string"},
       {R"({"kind": "weekly", "on": [], "at": "08:00"})", 26, "expected at least one day name"},
       {R"({"kind": "weekly", "on": ["mon", 2], "at": "08:00"})", 34,
        "trigger.on[1] (line 1, column 34): expected a string, found a number"},
       {R"({"kind": "weekly", "on": ["mon day"], "at": "08:00"})", 27, "expected the end after the day's name"},
       {R"({"kind": "weekly", "on": ["funday"], "at": "08:00"})", 27, "expected a day name: mon, tue"},
       {R"({"kind": "cron", "cron": ["0 8 * * *"]})", 26, "expected a string, found an array"},
       {R"({"kind": "rrule", "rrule": "FREQ=DAILY", "start": "2026-01-05"})", 51, "a local time is written"},
       {R"({"kind": "rrule", "rrule": "FREQ=DAILY", "start": true})", 51, "expected an instant or a local time, found"},
       {R"({"kind": "once"})", 1, "trigger.at (line 1, column 1): is missing"},
       {R"({"kind": "once", "at": {}})", 24, "expected an instant as RFC 3339 or Unix milliseconds, found an object"},
       {R"({"kind": "once", "at": 1.5})", 24, "trigger.at (line 1, column 24)"},
       {R"({"kind": "once", "at": 1e12})", 24, "trigger.at (line 1, column 24)"},
       {R"({"kind": "after", "schedule": "x", "on": "failed"})", 42, "the only value is \"done\""},
       {R"({"kind": "daily", "type": "daily", "at": "08:00"})", 19,
        "trigger.type (line 1, column 19): unknown field"}});
}

TEST(TriggerJson, RefusesWhatS1DoesNotHave) {
  expect_refused(
      read,
      {{R"({"type": "monthly"})", 10, "unknown type \"monthly\"; allowed are once, every_n_hours, daily, weekly"},
       {R"({"type": "weekly", "day": 7, "hour": 6, "minute": 0})", 27, "expected a whole number from 0 to 6, found 7"},
       {R"({"type": "weekly", "day": -1, "hour": 6, "minute": 0})", 27,
        "expected a whole number from 0 to 6, found -1"},
       {R"({"type": "weekly", "day": "fri", "hour": 6, "minute": 0})", 27, "expected a number, found a string"},
       {R"({"type": "daily", "hour": 25, "minute": 0})", 27, "expected a whole number from 0 to 23, found 25"},
       {R"({"type": "daily", "hour": 8, "minute": 60})", 40, "expected a whole number from 0 to 59, found 60"},
       {R"({"type": "daily", "hour": 8})", 1, "trigger.minute (line 1, column 1): is missing; expected a number"},
       {R"({"type": "daily", "hour": 8.5, "minute": 0})", 27, "expected a whole number from 0 to 23, found 8.5"},
       {R"({"type": "every_n_hours", "hours": 0})", 36, "expected a whole number from 1 to 3506328, found 0"},
       {R"({"type": "every_n_hours", "hours": 99999999999999999999})", 36, "expected a whole number from 1 to"},
       {R"({"type": "every_n_hours", "hours": 4, "minute": 0})", 39, "unknown field"},
       {R"({"type": "once"})", 1, "is missing"}});
}

TEST(TriggerJson, AnErrorInALongDocumentNamesItsLine) {
  const Error error = error_of(read("{\n  \"kind\": \"weekly\",\n  \"on\": [\"mon\"],\n  \"at\": \"8am\"\n}"));
  EXPECT_EQ(error.column, 9);
  EXPECT_THAT(error.message,
              HasSubstr("trigger.at (line 4, column 9): time of day \"8am\", column 1: the hour needs 2 digits"));
}

}  // namespace
}  // namespace carillon
