#include "core/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/times.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::error_of;
using test::utc;
using test::value_of;
using testing::ElementsAre;
using testing::HasSubstr;

// The example of the documentation.
constexpr std::string_view kWeekly = R"({
  "name": "weekly-digest", "description": "Mondays", "enabled": true, "fan_out": false,
  "trigger":  { "kind": "rrule", "rrule": "FREQ=WEEKLY;BYDAY=MO;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
                "start": "2026-01-05T09:00:00" },
  "timezone": "Europe/London",
  "job":      { "type": "digest.send", "queue": "mail", "payload": {"top": 10}, "priority": 3, "notifies": true,
                "retry": {"kind": "table"}, "max_attempts": 5, "timeout": "5m", "limits": ["smtp"] },
  "misfire":  { "policy": "latest" },
  "overlap":  "allow",
  "jitter":   "30s",
  "on_cutoff": null,
  "dst":      { "gap": "shift", "overlap": "first" },
  "starts_at": null, "ends_at": null, "exclude_dates": ["2026-12-28"] })";

// A small schedule with one more field.
std::string with(std::string_view field) {
  std::string text = R"({"name": "n", "trigger": {"kind": "daily", "at": "08:00"}, "job": {"type": "t"})";
  if (!field.empty()) text += ", " + std::string(field);
  return text + "}";
}

std::string with_trigger(std::string_view trigger) {
  return R"({"name": "n", "trigger": )" + std::string(trigger) + R"(, "job": {"type": "t"}})";
}

Error refusal(std::string_view text) { return error_of(parse_schedule(text)); }

TEST(Schedule, TheDocumentedExampleIsRead) {
  const Schedule schedule = value_of(parse_schedule(kWeekly));
  EXPECT_EQ(schedule.name, "weekly-digest");
  EXPECT_EQ(schedule.description, "Mondays");
  EXPECT_EQ(schedule.timezone, "Europe/London");
  EXPECT_EQ(schedule.job.queue, "mail");
  EXPECT_EQ(schedule.job.payload, R"({"top": 10})");
  EXPECT_EQ(schedule.jitter, 30s);
  const Timetable timetable = value_of(timetable_of(schedule, Zone::utc(), utc("2026-01-01T00:00:00Z")));
  EXPECT_THAT(test::times(timetable, "2026-12-15T00:00:00Z", 2),
              ElementsAre("2026-12-21T09:00:00Z", "2027-01-04T09:00:00Z"));
}

TEST(Schedule, WhatIsLeftOutHasItsDefault) {
  const Schedule schedule = value_of(parse_schedule(with("")));
  EXPECT_TRUE(schedule.enabled);
  EXPECT_EQ(schedule.overlap, OverlapPolicy::allow);
  EXPECT_EQ(schedule.misfire.kind, MisfireKind::latest);
  EXPECT_EQ(schedule.misfire.max, 6U);
  EXPECT_EQ(schedule.misfire.grace, 60s);
  EXPECT_EQ(schedule.jitter, 0s);
  EXPECT_FALSE(schedule.timezone.has_value());
  EXPECT_FALSE(schedule.starts_at.has_value());
  EXPECT_TRUE(schedule.exclude_dates.empty());
}

TEST(Schedule, EachPolicyIsRead) {
  const Schedule schedule = value_of(parse_schedule(with(
      R"("enabled": false, "misfire": {"policy": "all", "max": 3, "max_age": "2h", "grace": "5s"},
         "dst": {"gap": "next_valid", "overlap": "both"}, "starts_at": 1767225600000, "ends_at": "2026-02-01T00:00:00Z",
         "exclude_dates": ["2026-01-03", "2026-01-02", "2026-01-03"])")));
  EXPECT_FALSE(schedule.enabled);
  EXPECT_EQ(schedule.misfire.kind, MisfireKind::all);
  EXPECT_EQ(schedule.misfire.max, 3U);
  EXPECT_EQ(schedule.misfire.max_age, 2h);
  EXPECT_EQ(schedule.misfire.grace, 5s);
  EXPECT_EQ(schedule.dst.gap, DstGap::next_valid);
  EXPECT_EQ(schedule.dst.overlap, DstOverlap::both);
  EXPECT_EQ(schedule.starts_at, utc("2026-01-01T00:00:00Z"));
  EXPECT_EQ(schedule.ends_at, utc("2026-02-01T00:00:00Z"));
  EXPECT_THAT(schedule.exclude_dates, ElementsAre(test::date("2026-01-02"), test::date("2026-01-03")));
}

TEST(Schedule, ReadsBackAsTheSame) {
  for (const std::string& text :
       {std::string(kWeekly), with(""), with(R"("description": "a \"b\"\n\u00e9", "enabled": false)"),
        with(R"("misfire": {"policy": "all", "max": 9, "max_age": "1d", "grace": "0s"}, "jitter": "1h30m")"),
        with(R"("overlap": "queue_one", "misfire": {"policy": "skip"}, "dst": {"gap": "skip", "overlap": "second"})"),
        with(R"("starts_at": "2026-01-01T00:00:00.000001Z", "ends_at": "2026-01-01T05:00:00.120+01:00")"),
        with_trigger(R"({ "type" : "weekly", "day":4,"hour":6,"minute":0 })"),
        with_trigger(R"({"kind": "after", "schedule": "other", "on": "done"})"),
        with_trigger(R"({"kind": "every", "every": "90s", "anchor": "2026-01-01T00:00:00.5Z"})")}) {
    const Schedule schedule = value_of(parse_schedule(text));
    const std::string written = write_schedule(schedule);
    const Schedule again = value_of(parse_schedule(written));
    EXPECT_EQ(write_schedule(again), written);
    EXPECT_EQ(again.trigger_json, schedule.trigger_json);
    EXPECT_EQ(again.starts_at, schedule.starts_at) << written;
    EXPECT_EQ(again.ends_at, schedule.ends_at);
    EXPECT_EQ(again.exclude_dates, schedule.exclude_dates);
    EXPECT_EQ(again.misfire.max_age, schedule.misfire.max_age);
  }
}

TEST(Schedule, TheNameMayComeFromWhereItIsPut) {
  const std::string nameless = R"({"trigger": {"kind": "daily", "at": "08:00"}, "job": {"type": "t"}})";
  EXPECT_EQ(value_of(parse_schedule(nameless, "given")).name, "given");
  EXPECT_EQ(value_of(parse_schedule(with(""), "n")).name, "n");
  EXPECT_THAT(refusal(nameless).message, HasSubstr("name"));
  EXPECT_THAT(error_of(parse_schedule(with(""), "m")).message, HasSubstr("\"n\" is put under the name \"m\""));
  EXPECT_THAT(error_of(parse_schedule(nameless, "a/b")).message, HasSubstr("name \"a/b\""));
}

TEST(Schedule, RefusesWhatCannotBeRead) {
  const auto message = [](std::string_view text) {
    const Error error = refusal(text);
    EXPECT_EQ(error.code, ErrorCode::invalid_request) << error.message;
    return error.message;
  };
  EXPECT_THAT(message("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(message("{"), HasSubstr("JSON"));
  EXPECT_THAT(message(R"({"name": "n", "job": {"type": "t"}})"), HasSubstr("trigger"));
  EXPECT_THAT(message(R"({"name": "n", "trigger": {"kind": "daily", "at": "08:00"}})"), HasSubstr("job"));
  EXPECT_THAT(message(with_trigger(R"({"kind": "hourly"})")), HasSubstr("trigger.kind"));
  EXPECT_THAT(message(with_trigger(R"({"kind": "after", "schedule": "a b"})")), HasSubstr("trigger.schedule"));
  EXPECT_THAT(message(with(R"("name2": 1)")), HasSubstr("unknown field"));
  EXPECT_THAT(message(with(R"("overlap": "maybe")")), HasSubstr("allowed are allow, skip, queue_one, replace"));
  EXPECT_THAT(message(with(R"("misfire": {"policy": "none"})")), HasSubstr("misfire.policy"));
  EXPECT_THAT(message(with(R"("misfire": {"max": 0})")), HasSubstr("misfire.max"));
  EXPECT_THAT(message(with(R"("misfire": {"min": 0})")), HasSubstr("misfire.min"));
  EXPECT_THAT(message(with(R"("dst": {"gap": "stay"})")), HasSubstr("dst.gap"));
  EXPECT_THAT(message(with(R"("jitter": "-1s")")), HasSubstr("jitter"));
  EXPECT_THAT(message(with(R"("starts_at": "tomorrow")")), HasSubstr("starts_at"));
  EXPECT_THAT(message(with(R"("exclude_dates": ["2026-02-30"])")), HasSubstr("exclude_dates"));
  EXPECT_THAT(message(with(R"("exclude_dates": [1])")), HasSubstr("exclude_dates"));
  EXPECT_THAT(message(with("\"description\": \"" + std::string(5000, 'x') + "\"")), HasSubstr("at most 4096"));
}

TEST(Schedule, RefusesWhatCannotWork) {
  const auto message = [](std::string_view text) {
    const Error error = refusal(text);
    EXPECT_EQ(error.code, ErrorCode::invalid_configuration) << error.message;
    return error.message;
  };
  EXPECT_THAT(message(with(R"("timezone": "Europe/Londn")")), HasSubstr("timezone (line 1"));
  EXPECT_THAT(message(with(R"("misfire": {"policy": "all"}, "overlap": "skip")")), HasSubstr("goes only with"));
  EXPECT_THAT(message(with_trigger(R"({"kind": "after", "schedule": "n"})")), HasSubstr("follow itself"));
}

TEST(Schedule, SaysWhatThisVersionDoesNotSupport) {
  for (const std::string& text :
       {with(R"("fan_out": true)"), with(R"("on_cutoff": {"type": "reset"})"),
        with_trigger(R"({"kind": "delivery", "due": "08:00"})"), with_trigger(R"({"kind": "windows"})"),
        with_trigger(R"({"kind": "adaptive", "bands": []})")}) {
    const Error error = refusal(text);
    EXPECT_EQ(error.code, ErrorCode::invalid_configuration) << text;
    EXPECT_THAT(error.message, HasSubstr("this version does not support")) << text;
  }
  EXPECT_TRUE(parse_schedule(with(R"("fan_out": false, "on_cutoff": null)")).has_value());
}

TEST(Schedule, ItsZoneIsItsOwnOrTheDefault) {
  const Instant created = utc("2026-01-01T00:00:00Z");
  const auto first = [&](std::string_view field) {
    const Timetable timetable =
        value_of(timetable_of(value_of(parse_schedule(with(field))), test::zone("Asia/Tokyo"), created));
    return test::times(timetable, "2026-01-01T00:00:00Z", 1).front();
  };
  EXPECT_EQ(first(""), "2026-01-01T23:00:00Z");
  EXPECT_EQ(first(R"("timezone": "America/New_York")"), "2026-01-01T13:00:00Z");
}

TEST(Schedule, ARuleThatNeverFiresHasNoTimetable) {  // invariant 26
  for (const std::string& text : {with_trigger(R"({"kind": "cron", "cron": "0 0 30 2 *"})"),
                                  with(R"("starts_at": "2026-01-01T09:00:00Z", "ends_at": "2026-01-01T10:00:00Z")"),
                                  with(R"("starts_at": "2026-01-02T00:00:00Z", "ends_at": "2026-01-01T00:00:00Z")")}) {
    const Schedule schedule = value_of(parse_schedule(text));
    EXPECT_EQ(error_of(timetable_of(schedule, Zone::utc(), utc("2026-01-01T00:00:00Z"))).code,
              ErrorCode::invalid_configuration);
  }
}

TEST(Schedule, OneThatFollowsAnotherHasNoTimes) {
  const Schedule after = value_of(parse_schedule(with_trigger(R"({"kind": "after", "schedule": "other"})")));
  EXPECT_FALSE(has_times(after));
  ASSERT_NE(after_of(after), nullptr);
  EXPECT_EQ(after_of(after)->schedule, "other");
  EXPECT_FALSE(timetable_of(after, Zone::utc(), utc("2026-01-01T00:00:00Z")).has_value());

  const Schedule daily = value_of(parse_schedule(with("")));
  EXPECT_TRUE(has_times(daily));
  EXPECT_EQ(after_of(daily), nullptr);
}

}  // namespace
}  // namespace carillon
