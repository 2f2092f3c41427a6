#include "core/schedules/subject.h"

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

Schedule schedule_of(std::string_view trigger, std::string_view payload = "null") {
  return value_of(parse_schedule(R"({"name": "n", "trigger": )" + std::string(trigger) +
                                 R"(, "job": {"type": "t", "payload": )" + std::string(payload) + "}}"));
}

const std::string_view kDelivery = R"({"kind": "delivery", "due": "08:00"})";
const std::string_view kWindows = R"({"kind": "windows", "interval": "1h"})";
const std::string_view kAdaptive = R"({"kind": "adaptive", "otherwise": "1h"})";
const std::string_view kDaily = R"({"kind": "daily", "at": "08:00"})";

constexpr std::string_view kWhole = R"({"enabled": false, "due": "07:30", "timezone": "Europe/Paris", "interval": "2h",
  "mode": "full", "priority": "high", "limits": ["smtp"], "payload": {"a":  [1.50, {"b": 2}]},
  "expected_at": "2026-01-01T00:00:00Z", "cursor_end": 1767225600000})";

TEST(Subject, EveryFieldIsRead) {
  const SubjectText text = value_of(parse_subject(kWhole));
  const SubjectOverrides& overrides = text.overrides;
  EXPECT_FALSE(overrides.enabled);
  EXPECT_EQ(overrides.due, TimeOfDay{27000});
  EXPECT_EQ(overrides.timezone, "Europe/Paris");
  EXPECT_EQ(overrides.interval, 2h);
  EXPECT_EQ(overrides.mode, "full");
  EXPECT_EQ(overrides.priority, 2);
  EXPECT_THAT(overrides.limits.value(), ElementsAre("smtp"));
  EXPECT_EQ(overrides.payload, R"({"a":  [1.50, {"b": 2}]})") << "byte for byte";
  EXPECT_EQ(text.expected_at, std::optional(std::optional(utc("2026-01-01T00:00:00Z"))));
  EXPECT_EQ(text.cursor_end, utc("2026-01-01T00:00:00Z"));
}

TEST(Subject, WhatIsLeftOutIsAsTheScheduleHasIt) {
  const SubjectText text = value_of(parse_subject("{}"));
  EXPECT_EQ(text.overrides, SubjectOverrides{});
  EXPECT_TRUE(text.overrides.enabled);
  EXPECT_FALSE(text.expected_at) << "what a check has found out stays";
  EXPECT_EQ(write_overrides(text.overrides), "");
  EXPECT_EQ(value_of(read_overrides("")), SubjectOverrides{});
}

TEST(Subject, WhatIsWrittenIsReadAsTheSame) {
  SubjectText text = value_of(parse_subject(kWhole));
  EXPECT_EQ(value_of(read_overrides(write_overrides(text.overrides))), text.overrides);
  text.subject = "user \"17\"";
  EXPECT_EQ(value_of(parse_subject_line(write_subject_line(text))), text);
  text.expected_at.emplace();
  text.cursor_end = utc("2026-01-01T00:00:00.000001Z");
  EXPECT_EQ(value_of(parse_subject_line(write_subject_line(text))), text);
}

TEST(Subject, APatchChangesWhatItNamesAndNullTakesAway) {
  const SubjectOverrides before = value_of(parse_subject(kWhole)).overrides;
  const SubjectText patched =
      value_of(patch_subject(before, R"({"due": "09:00", "mode": null, "enabled": null, "expected_at": null})"));
  EXPECT_EQ(patched.overrides.due, TimeOfDay{32400});
  EXPECT_EQ(patched.overrides.mode, std::nullopt);
  EXPECT_TRUE(patched.overrides.enabled);
  EXPECT_EQ(patched.overrides.payload, before.payload);
  EXPECT_EQ(patched.overrides.limits, before.limits);
  ASSERT_TRUE(patched.expected_at) << "said to be unknown";
  EXPECT_FALSE(*patched.expected_at);
  EXPECT_FALSE(patched.cursor_end);
  EXPECT_EQ(value_of(patch_subject(before, "{}")).overrides, before);
}

TEST(Subject, ALineOfAnImportNamesItsSubject) {
  EXPECT_EQ(value_of(parse_subject_line(R"({"subject": "ada", "due": "09:00"})")).subject, "ada");
  EXPECT_THAT(error_of(parse_subject_line(R"({"due": "09:00"})")).message, HasSubstr("subject"));
  EXPECT_THAT(error_of(parse_subject_line(R"({"subject": ""})")).message, HasSubstr("named subjects only"));
  EXPECT_THAT(error_of(parse_subject_line("{\"subject\": \"" + std::string(600, 'x') + "\"}")).message,
              HasSubstr("at most 512"));
  EXPECT_THAT(error_of(parse_subject(R"({"subject": "ada"})")).message, HasSubstr("unknown field"));
}

TEST(Subject, ANameThatNoPathReachesIsRefused) {
  for (const std::string_view name : {".", ".."}) {
    EXPECT_THAT(error_of(check_subject_name(name)).message, HasSubstr("cannot be reached")) << name;
  }
  for (const std::string_view name : {"...", ".a", "a.", "a/../b"}) EXPECT_TRUE(check_subject_name(name)) << name;
  EXPECT_THAT(error_of(parse_subject_line(R"({"subject": ".."})")).message, HasSubstr("cannot be reached"));
}

TEST(Subject, WhatCannotBeReadIsRefusedWithItsPlace) {
  const auto message = [](std::string_view text) {
    const Error error = error_of(parse_subject(text));
    EXPECT_EQ(error.code, ErrorCode::invalid_request) << error.message;
    return error.message;
  };
  EXPECT_THAT(message("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(message(R"({"due": 8})"), HasSubstr("due (line 1"));
  EXPECT_THAT(message(R"({"due": "25:00"})"), HasSubstr("due (line 1"));
  EXPECT_THAT(message(R"({"interval": "soon"})"), HasSubstr("interval"));
  EXPECT_THAT(message(R"({"mode": "a b"})"), HasSubstr("mode"));
  EXPECT_THAT(message(R"({"priority": 9})"), HasSubstr("priority"));
  EXPECT_THAT(message(R"({"limits": [1]})"), HasSubstr("limits"));
  EXPECT_THAT(message(R"({"payload": [1]})"), HasSubstr("payload"));
  EXPECT_THAT(message(R"({"expected_at": "tomorrow"})"), HasSubstr("expected_at"));
  EXPECT_THAT(message(R"({"cursor_end": {}})"), HasSubstr("cursor_end"));
  EXPECT_THAT(message(R"({"enabled": "yes"})"), HasSubstr("enabled"));
  EXPECT_THAT(message(R"({"next_at": null})"), HasSubstr("unknown field"));
  EXPECT_EQ(error_of(parse_subject(R"({"timezone": "Europe/Pari"})")).code, ErrorCode::invalid_configuration);
}

TEST(Subject, AFieldThatDoesNotBelongToTheKindIsRefusedByName) {
  struct Case {
    std::string_view trigger;
    std::string_view text;
    std::string_view field;
  };
  for (const Case& c :
       {Case{kWindows, R"({"due": "08:00"})", "due"}, Case{kDaily, R"({"due": "08:00"})", "due"},
        Case{kDelivery, R"({"interval": "1h"})", "interval"}, Case{kAdaptive, R"({"mode": "m"})", "mode"},
        Case{kDelivery, R"({"cursor_end": 0})", "cursor_end"},
        Case{kWindows, R"({"expected_at": 0})", "expected_at"}}) {
    const Error error = error_of(check_subject(value_of(parse_subject(c.text)), schedule_of(c.trigger), {}));
    EXPECT_EQ(error.code, ErrorCode::invalid_configuration) << error.message;
    EXPECT_THAT(error.message, HasSubstr(std::string(c.field) + ": does not go with the kind")) << c.text;
  }
  EXPECT_TRUE(check_subject(value_of(parse_subject(R"({"due": "08:00"})")), schedule_of(kDelivery), {}));
  EXPECT_TRUE(check_subject(value_of(parse_subject(R"({"interval": "1h", "mode": "m", "cursor_end": 0})")),
                            schedule_of(kWindows), {}));
  EXPECT_TRUE(check_subject(value_of(parse_subject(R"({"expected_at": 0})")), schedule_of(kAdaptive), {}));
  EXPECT_TRUE(check_subject(value_of(parse_subject(R"({"expected_at": null})")), schedule_of(kDaily), {}));
}

TEST(Subject, WhatCannotWorkIsRefused) {
  const auto message = [](std::string_view text, const Schedule& schedule, WindowDefaults defaults = {}) {
    const Error error = error_of(check_subject(value_of(parse_subject(text)), schedule, defaults));
    return error.message;
  };
  EXPECT_THAT(message(R"({"interval": "59s"})", schedule_of(kWindows)), HasSubstr("below the shortest window, 1m"));
  EXPECT_THAT(message(R"({"interval": "4m"})", schedule_of(kWindows), {.min_window = 5min}), HasSubstr("5m"));
  EXPECT_THAT(message(R"({"payload": {}})", schedule_of(kDaily, "[1]")), HasSubstr("no object"));
  EXPECT_THAT(message(R"({"limits": ["a", "b", "c", "d", "e"]})", schedule_of(kDaily)), HasSubstr("limits"));
  EXPECT_THAT(message("{\"payload\": {\"a\": \"" + std::string(1 << 20, 'x') + "\"}}", schedule_of(kDaily)),
              HasSubstr("at most"));
}

TEST(Subject, PayloadsAreMergedTopLevelByTopLevelAndValuesAreKeptAsTheyStand) {
  EXPECT_EQ(merge_payload(R"({"a": 1.50, "b": {"x": 1}, "c":  [1,  2]})", R"({"b": {"y":  2}, "d": "\u0041"})"),
            R"({"a":1.50,"b":{"y":  2},"c":[1,  2],"d":"\u0041"})");
  EXPECT_EQ(merge_payload("null", R"({"a":  1})"), R"({"a":  1})");
  EXPECT_EQ(merge_payload("[1]", R"({"a":  1})"), R"({"a":  1})");
  EXPECT_EQ(merge_payload(R"({"a": 1})", "{}"), R"({"a":1})");
  EXPECT_EQ(merge_payload(R"({"a\"b": 1})", R"({"a\"b": null})"), R"({"a\"b":null})");
}

TEST(Subject, ItsZoneIsItsOwnElseTheSchedulesElseTheDefault) {
  Schedule schedule = schedule_of(kDelivery);
  SubjectOverrides overrides;
  EXPECT_EQ(value_of(zone_of(schedule, overrides, test::zone("Asia/Tokyo"))).name(), "Asia/Tokyo");
  schedule.timezone = "Europe/London";
  EXPECT_EQ(value_of(zone_of(schedule, overrides, test::zone("Asia/Tokyo"))).name(), "Europe/London");
  overrides.timezone = "Europe/Paris";
  EXPECT_EQ(value_of(zone_of(schedule, overrides, test::zone("Asia/Tokyo"))).name(), "Europe/Paris");
}

}  // namespace
}  // namespace carillon
