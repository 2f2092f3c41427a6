#include "core/schedules/schedule.h"

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

constexpr std::string_view kDelivery = R"({"kind": "delivery", "due": "08:00"})";
constexpr std::string_view kWindows = R"({"kind": "windows", "interval": "1h"})";
constexpr std::string_view kAdaptive = R"({"kind": "adaptive", "otherwise": "1h"})";

// A schedule of that trigger with one more field.
std::string of_kind(std::string_view trigger, std::string_view field, std::string_view job = R"({"type": "t"})") {
  std::string text = R"({"name": "n", "trigger": )" + std::string(trigger) + R"(, "job": )" + std::string(job);
  if (!field.empty()) text += ", " + std::string(field);
  return text + "}";
}

TEST(Schedule, ThoseThatPlanBySubjectFanOutUnlessToldOtherwise) {
  for (const std::string_view trigger : {kDelivery, kWindows, kAdaptive}) {
    EXPECT_TRUE(value_of(parse_schedule(with_trigger(trigger))).fan_out) << trigger;
    EXPECT_FALSE(value_of(parse_schedule(of_kind(trigger, R"("fan_out": false)"))).fan_out) << trigger;
    EXPECT_FALSE(has_timetable(value_of(parse_schedule(with_trigger(trigger)))));
    EXPECT_TRUE(has_times(value_of(parse_schedule(with_trigger(trigger)))));
  }
  EXPECT_FALSE(value_of(parse_schedule(with(""))).fan_out);
  EXPECT_TRUE(value_of(parse_schedule(with(R"("fan_out": true)"))).fan_out);
}

TEST(Schedule, ThoseThatPlanBySubjectAreWrittenAndReadBackTheSame) {
  for (const std::string& text :
       {of_kind(kDelivery, R"("on_cutoff": {"type": "reset", "payload": {"a":  1}, "max_attempts": 2}, "fan_out": false,
                              "exclude_dates": ["2026-12-25"], "dst": {"gap": "skip", "overlap": "second"})"),
        of_kind(kWindows, R"("misfire": {"grace": "5m"}, "jitter": "10s")"),
        of_kind(kAdaptive, R"("jitter": "10s")")}) {
    const Schedule schedule = value_of(parse_schedule(text));
    const std::string written = write_schedule(schedule);
    const Schedule again = value_of(parse_schedule(written));
    EXPECT_EQ(write_schedule(again), written);
    EXPECT_EQ(again.fan_out, schedule.fan_out);
    EXPECT_EQ(again.misfire.grace, schedule.misfire.grace);
    EXPECT_EQ(again.on_cutoff.has_value(), schedule.on_cutoff.has_value());
    EXPECT_EQ(again.on_cutoff ? again.on_cutoff->payload : "", schedule.on_cutoff ? R"({"a":  1})" : "");
  }
}

TEST(Schedule, RefusesWhatDoesNotGoWithItsKind) {
  const auto message = [](std::string_view text) {
    const Error error = refusal(text);
    EXPECT_EQ(error.code, ErrorCode::invalid_configuration) << error.message;
    return error.message;
  };
  EXPECT_THAT(message(of_kind(kDelivery, R"("dst": {"overlap": "both"})")), HasSubstr("dst.overlap"));
  EXPECT_THAT(message(of_kind(kDelivery, "", R"({"type": "t", "retry": {"kind": "none"}})")), HasSubstr("job.retry"));
  EXPECT_THAT(message(of_kind(kDelivery, "", R"({"type": "t", "max_attempts": 3})")), HasSubstr("job.max_attempts"));
  EXPECT_THAT(message(of_kind(kDelivery, R"("jitter": "1m")")), HasSubstr("jitter"));
  EXPECT_THAT(message(of_kind(kWindows, "", R"({"type": "t", "payload": [1]})")), HasSubstr("job.payload"));
  EXPECT_THAT(message(of_kind(kWindows, R"("misfire": {"policy": "skip"})")), HasSubstr("misfire.policy"));
  EXPECT_THAT(message(of_kind(kWindows, R"("misfire": {"max_age": "1h"})")), HasSubstr("misfire.max_age"));
  for (const std::string_view trigger : {kDelivery, kAdaptive}) {
    EXPECT_THAT(message(of_kind(trigger, R"("misfire": {"grace": "1m"})")), HasSubstr("misfire (line 1"));
  }
  for (const std::string_view trigger : {kDelivery, kWindows, kAdaptive}) {
    EXPECT_THAT(message(of_kind(trigger, R"("overlap": "skip")")), HasSubstr("overlap (line 1"));
  }
  for (const std::string_view trigger : {kWindows, kAdaptive}) {
    EXPECT_THAT(message(of_kind(trigger, R"("exclude_dates": ["2026-12-25"])")), HasSubstr("exclude_dates"));
    EXPECT_THAT(message(of_kind(trigger, R"("on_cutoff": {"type": "t"})")), HasSubstr("only a delivery"));
  }
  EXPECT_THAT(message(with(R"("on_cutoff": {"type": "t"})")), HasSubstr("only a delivery"));
  EXPECT_EQ(refusal(of_kind(kDelivery, R"("on_cutoff": {"queue": "q"})")).code, ErrorCode::invalid_request);
}

TEST(Schedule, AWindowIsNoShorterThanTheConfigurationAllowsWhenItIsPut) {
  Schedule schedule = value_of(parse_schedule(with_trigger(R"({"kind": "windows", "interval": "30s"})")));
  EXPECT_EQ(error_of(check_windows(schedule, {})).code, ErrorCode::invalid_configuration);
  EXPECT_THAT(error_of(check_windows(schedule, {})).message, HasSubstr("below the shortest window, 1m"));
  EXPECT_TRUE(check_windows(schedule, {.min_window = 30s}).has_value());
  fill(schedule, {.max_backfill = 9});
  EXPECT_EQ(std::get<WindowsTrigger>(schedule.trigger).max_backfill, 9U);
  Schedule told = value_of(parse_schedule(with_trigger(R"({"kind": "windows", "interval": "1h", "max_backfill": 2})")));
  fill(told, {.max_backfill = 9});
  EXPECT_EQ(std::get<WindowsTrigger>(told.trigger).max_backfill, 2U);
  EXPECT_TRUE(check_windows(value_of(parse_schedule(with(""))), {}).has_value());
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
  ASSERT_NE(followed_by(after), nullptr);
  EXPECT_EQ(*followed_by(after), "other");
  EXPECT_FALSE(timetable_of(after, Zone::utc(), utc("2026-01-01T00:00:00Z")).has_value());

  const Schedule daily = value_of(parse_schedule(with("")));
  EXPECT_TRUE(has_times(daily));
  EXPECT_EQ(followed_by(daily), nullptr);
}

}  // namespace
}  // namespace carillon
