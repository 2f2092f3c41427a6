#include "core/recurrence/rrule.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/times.h"

namespace carillon {
namespace {

using test::error_of;
using test::expect_refused;
using test::local;
using test::utc;
using test::value_of;
using testing::ElementsAre;
using testing::HasSubstr;

RecurrenceRule parsed(std::string_view text) { return value_of(parse_rrule(text)); }

TEST(Rrule, ReadsEveryPart) {
  const RecurrenceRule rule = parsed(
      "FREQ=YEARLY;INTERVAL=2;COUNT=10;BYMONTH=1,12;BYWEEKNO=1,-1;BYYEARDAY=1,-366;BYMONTHDAY=1,-31;BYDAY=MO,SU;"
      "BYHOUR=0,23;BYMINUTE=0,59;BYSECOND=0,59;BYSETPOS=1,-1;WKST=SU");
  EXPECT_EQ(rule.frequency, Frequency::yearly);
  EXPECT_EQ(rule.interval, 2);
  EXPECT_EQ(rule.count, 10U);
  EXPECT_THAT(rule.by_month, ElementsAre(1, 12));
  EXPECT_THAT(rule.by_week_number, ElementsAre(-1, 1));
  EXPECT_THAT(rule.by_year_day, ElementsAre(-366, 1));
  EXPECT_THAT(rule.by_month_day, ElementsAre(-31, 1));
  EXPECT_THAT(rule.by_day, ElementsAre(NthWeekday{.day = Weekday::monday}, NthWeekday{.day = Weekday::sunday}));
  EXPECT_THAT(rule.by_hour, ElementsAre(0, 23));
  EXPECT_THAT(rule.by_minute, ElementsAre(0, 59));
  EXPECT_THAT(rule.by_second, ElementsAre(0, 59));
  EXPECT_THAT(rule.by_set_position, ElementsAre(-1, 1));
  EXPECT_EQ(rule.week_start, Weekday::sunday);
}

TEST(Rrule, WhatIsNotGivenHasItsDefault) {
  const RecurrenceRule rule = parsed("FREQ=DAILY");
  EXPECT_EQ(rule.interval, 1);
  EXPECT_FALSE(rule.count || rule.until || rule.until_local);
  EXPECT_EQ(rule.week_start, Weekday::monday);
  EXPECT_TRUE(rule.by_day.empty() && rule.by_hour.empty() && rule.by_set_position.empty());
}

TEST(Rrule, ReadsEveryFrequency) {
  const std::vector<std::string> names{"YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(parsed("FREQ=" + names[i]).frequency, static_cast<Frequency>(i));
  }
}

TEST(Rrule, CaseOrderPrefixAndATrailingSemicolonDoNotMatter) {
  EXPECT_EQ(parsed("rrule:interval=3;freq=weekly;byday=mo;").interval, 3);
  EXPECT_EQ(parsed("RRULE:FREQ=DAILY").frequency, Frequency::daily);
  EXPECT_THAT(parsed("COUNT=1;FREQ=MONTHLY;BYDAY=+1MO,-1fr").by_day,
              ElementsAre(NthWeekday{.day = Weekday::monday, .nth = 1}, NthWeekday{.day = Weekday::friday, .nth = -1}));
}

TEST(Rrule, UntilIsUtcLocalOrAWholeDay) {
  EXPECT_EQ(parsed("FREQ=DAILY;UNTIL=20261231T080000Z").until, utc("2026-12-31T08:00:00Z"));
  EXPECT_FALSE(parsed("FREQ=DAILY;UNTIL=20261231T080000Z").until_local.has_value());
  EXPECT_EQ(parsed("FREQ=DAILY;UNTIL=20261231T090000").until_local, local("2026-12-31T09:00:00"));
  EXPECT_EQ(parsed("FREQ=DAILY;UNTIL=20261231").until_local, local("2026-12-31T23:59:59"));
  EXPECT_EQ(parsed("FREQ=DAILY;UNTIL=20261231T235960Z").until, utc("2026-12-31T23:59:59Z"));
}

TEST(Rrule, TheSixtiethSecondIsTheFiftyNinth) {
  EXPECT_THAT(parsed("FREQ=DAILY;BYSECOND=60").by_second, ElementsAre(59));
}

TEST(Rrule, RefusesWhatIsOutOfRange) {
  expect_refused(parse_rrule, {{"FREQ=DAILY;INTERVAL=0", 21, "INTERVAL must be 1 to 1000000000"},
                               {"FREQ=DAILY;INTERVAL=-1", 21, "expected a whole number for INTERVAL, found \"-\""},
                               {"FREQ=DAILY;INTERVAL=1000000001", 21, "INTERVAL must be 1 to"},
                               {"FREQ=DAILY;INTERVAL=99999999999999999999", 21, "is too large"},
                               {"FREQ=DAILY;COUNT=0", 18, "COUNT must be 1 to"},
                               {"FREQ=DAILY;COUNT=-5", 18, "expected a whole number for COUNT"},
                               {"FREQ=DAILY;BYHOUR=24", 19, "BYHOUR must be 0 to 23"},
                               {"FREQ=DAILY;BYHOUR=1,25", 21, "BYHOUR must be 0 to 23"},
                               {"FREQ=DAILY;BYMINUTE=60", 21, "BYMINUTE must be 0 to 59"},
                               {"FREQ=DAILY;BYSECOND=61", 21, "BYSECOND must be 0 to 60"},
                               {"FREQ=DAILY;BYMONTH=0", 20, "BYMONTH must be 1 to 12"},
                               {"FREQ=DAILY;BYMONTH=13", 20, "BYMONTH must be 1 to 12"},
                               {"FREQ=DAILY;BYMONTH=-1", 20, "expected a number for BYMONTH"},
                               {"FREQ=DAILY;BYMONTHDAY=0", 23, "BYMONTHDAY must be 1 to 31 or -1 to -31"},
                               {"FREQ=DAILY;BYMONTHDAY=-32", 23, "BYMONTHDAY must be 1 to 31 or -1 to -31"},
                               {"FREQ=YEARLY;BYYEARDAY=367", 23, "BYYEARDAY must be 1 to 366 or -1 to -366"},
                               {"FREQ=YEARLY;BYWEEKNO=54", 22, "BYWEEKNO must be 1 to 53 or -1 to -53"},
                               {"FREQ=MONTHLY;BYDAY=60MO", 20, "the number before a day must be 1 to 53 or -1 to -53"},
                               {"FREQ=MONTHLY;BYDAY=0MO", 20, "the number before a day must be 1 to 53"},
                               {"FREQ=MONTHLY;BYDAY=MO;BYSETPOS=0", 32, "BYSETPOS must be 1 to 366 or -1 to -366"},
                               {"FREQ=MONTHLY;BYDAY=MO;BYSETPOS=367", 32, "BYSETPOS must be 1 to 366 or -1 to -366"}});
}

TEST(Rrule, RefusesWhatCannotBeRead) {
  expect_refused(parse_rrule, {{"", 1, "unknown part; allowed are FREQ, INTERVAL"},
                               {"INTERVAL=2", 1, "FREQ is missing; a rule begins with it: FREQ=DAILY"},
                               {"FREQ", 5, "expected = after FREQ, found the end"},
                               {"FREQ=", 6, "unknown frequency; allowed are YEARLY, MONTHLY, WEEKLY, DAILY"},
                               {"FREQ=FORTNIGHTLY", 6, "unknown frequency"},
                               {"FREQ=DAILY,WEEKLY", 11, "expected a semicolon or the end, found \",\""},
                               {"FREQ=DAILY INTERVAL=2", 11, "expected a semicolon or the end, found \" \""},
                               {"FREQ=DAILY;;INTERVAL=2", 12, "unknown part"},
                               {"FREQ=DAILY; INTERVAL=2", 12, "unknown part"},
                               {"FREQ=DAILY;BYEASTER=0", 12, "unknown part"},
                               {"FREQ=DAILY;X-FOO=1", 12, "unknown part"},
                               {"FREQ=DAILY;FREQ=WEEKLY", 12, "FREQ is given twice"},
                               {"FREQ=DAILY;BYHOUR=1;BYHOUR=2", 21, "BYHOUR is given twice"},
                               {"FREQ=DAILY;BYHOUR=", 19, "expected a number for BYHOUR, found the end"},
                               {"FREQ=DAILY;BYHOUR=1,", 21, "expected a number for BYHOUR, found the end"},
                               {"FREQ=DAILY;BYHOUR=1.5", 20, "expected a semicolon or the end"},
                               {"FREQ=WEEKLY;BYDAY=XX", 19, "BYDAY takes days: MO, TU, WE, TH, FR, SA, SU"},
                               {"FREQ=WEEKLY;BYDAY=MON", 19, "BYDAY takes days"},
                               {"FREQ=WEEKLY;BYDAY=MO,", 22, "BYDAY takes days"},
                               {"FREQ=MONTHLY;BYDAY=-MO", 21, "expected a number for the number before a day"},
                               {"FREQ=WEEKLY;WKST=1", 18, "WKST takes days"},
                               {"DTSTART:20260101T000000Z RRULE:FREQ=DAILY", 1, "a rule has no DTSTART in it"},
                               {"EXDATE:20260101", 1, "unknown part"}});
}

TEST(Rrule, RefusesAnUntilThatIsNoTime) {
  expect_refused(parse_rrule, {{"FREQ=DAILY;UNTIL=", 18, "expected a digit (write UNTIL=20261231T080000Z"},
                               {"FREQ=DAILY;UNTIL=2026-12-31", 22, "expected a digit"},
                               {"FREQ=DAILY;UNTIL=20260230", 18, "UNTIL is not a date of the calendar"},
                               {"FREQ=DAILY;UNTIL=20261301", 18, "UNTIL is not a date of the calendar"},
                               {"FREQ=DAILY;UNTIL=00000101", 18, "UNTIL is not a date of the calendar"},
                               {"FREQ=DAILY;UNTIL=20261231T250000Z", 18, "UNTIL is not a time of the day"},
                               {"FREQ=DAILY;UNTIL=20261231T2359", 31, "expected a digit"},
                               {"FREQ=DAILY;UNTIL=20261231T080000+0100", 33, "expected a semicolon or the end"}});
}

// The "MUST NOT" of section 3.3.10.
TEST(Rrule, RefusesCombinationsThatTheRfcForbids) {
  expect_refused(parse_rrule,
                 {{"FREQ=DAILY;COUNT=1;UNTIL=20261231", 20, "COUNT and UNTIL do not go together"},
                  {"FREQ=MONTHLY;BYWEEKNO=1", 14, "BYWEEKNO goes only with FREQ=YEARLY"},
                  {"FREQ=DAILY;BYYEARDAY=1", 12, "BYYEARDAY does not go with FREQ=DAILY, WEEKLY or MONTHLY"},
                  {"FREQ=WEEKLY;BYYEARDAY=1", 13, "BYYEARDAY does not go with"},
                  {"FREQ=MONTHLY;BYYEARDAY=1", 14, "BYYEARDAY does not go with"},
                  {"FREQ=WEEKLY;BYMONTHDAY=1", 13, "BYMONTHDAY does not go with FREQ=WEEKLY"},
                  {"FREQ=DAILY;BYDAY=1MO", 12, "a number before a day goes only with FREQ=MONTHLY or YEARLY"},
                  {"FREQ=WEEKLY;BYDAY=MO,-1FR", 13, "a number before a day goes only with"},
                  {"FREQ=YEARLY;BYWEEKNO=1;BYDAY=1MO", 24, "a number before a day does not go with BYWEEKNO"},
                  {"FREQ=DAILY;BYSETPOS=1", 12, "BYSETPOS needs another BY part to pick from"}});
}

TEST(Rrule, AListIsBounded) {
  std::string rule = "FREQ=DAILY;BYHOUR=1";
  for (int i = 1; i < 732; ++i) rule += ",1";
  EXPECT_TRUE(parse_rrule(rule).has_value());
  EXPECT_THAT(error_of(parse_rrule(rule + ",1")).message, HasSubstr("BYHOUR has more than 732 values"));
  std::string days = "FREQ=WEEKLY;BYDAY=MO";
  for (int i = 1; i < 733; ++i) days += ",MO";
  EXPECT_THAT(error_of(parse_rrule(days)).message, HasSubstr("BYDAY has more than 732 values"));
}

// ---- Rules that can be read but never fire (invariant 26) --------------------------------------------------------

std::string refused(std::string_view rule, std::string_view start = "2026-01-05T09:00:00") {
  const Error error = error_of(test::try_timetable("rrule:" + std::string(rule), {.start = start}));
  EXPECT_EQ(error.code, ErrorCode::invalid_configuration);
  test::expect_one_line(error);
  return error.message;
}

TEST(Rrule, ARuleThatNeverFiresIsRefusedWithTheReason) {
  for (const std::string_view rule : {
           "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
           "FREQ=MONTHLY;BYMONTH=4,6,9,11;BYMONTHDAY=31",
           "FREQ=YEARLY;INTERVAL=4;BYMONTH=2;BYMONTHDAY=29",  // 2026 and every fourth year after it
           "FREQ=MONTHLY;BYDAY=6MO",
           "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=-31",
           "FREQ=YEARLY;BYYEARDAY=1;BYMONTH=2",
           "FREQ=YEARLY;BYWEEKNO=10;BYMONTH=8",
           "FREQ=DAILY;BYHOUR=9;BYMINUTE=0;BYSECOND=0;BYSETPOS=2",
           "FREQ=WEEKLY;BYDAY=MO;BYSETPOS=2",
           "FREQ=MONTHLY;BYMONTHDAY=1,2;BYSETPOS=-3",
           "FREQ=YEARLY;BYMONTH=1;BYMONTHDAY=1;BYSETPOS=366",
           "FREQ=MINUTELY;INTERVAL=2;BYMINUTE=1,3,5",
           "FREQ=SECONDLY;INTERVAL=60;BYSECOND=30",
           "FREQ=SECONDLY;BYSECOND=0;BYSETPOS=2",
           "FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=30",
           "FREQ=YEARLY;INTERVAL=400;BYMONTH=1;BYMONTHDAY=5,6;BYSETPOS=3",
           "FREQ=MONTHLY;INTERVAL=4800;BYMONTHDAY=5,6;BYSETPOS=3",
           "FREQ=MINUTELY;BYMINUTE=0,1;BYSECOND=0,30;BYSETPOS=3",
       }) {
    EXPECT_EQ(refused(rule), "rrule \"" + std::string(rule) + "\": never fires: no date and time matches it");
  }
}

TEST(Rrule, AnUntilBeforeTheStartIsRefused) {
  EXPECT_THAT(refused("FREQ=DAILY;UNTIL=20260105T085959"),
              HasSubstr("never fires: UNTIL lies before the start 2026-01-05T09:00:00"));
  EXPECT_THAT(refused("FREQ=DAILY;UNTIL=20260105T085959Z"), HasSubstr("never fires: UNTIL lies before the start"));
  EXPECT_THAT(refused("FREQ=DAILY;UNTIL=20260104"), HasSubstr("never fires: UNTIL lies before the start"));
  EXPECT_THAT(refused("FREQ=HOURLY;UNTIL=20260105T085959"), HasSubstr("never fires: UNTIL lies before the start"));
  EXPECT_THAT(refused("FREQ=DAILY;BYHOUR=8;UNTIL=20260105T100000"),
              HasSubstr("no date and time matches it before UNTIL"));
  const Error error =
      error_of(test::try_timetable("rrule:FREQ=DAILY;UNTIL=20260104", {.start = "2026-01-05T09:00:00"}));
  EXPECT_EQ(
      error.message,
      "rrule \"FREQ=DAILY;UNTIL=20260104\", column 18: never fires: UNTIL lies before the start 2026-01-05T09:00:00");
  EXPECT_EQ(error.column, 18);
  EXPECT_TRUE(
      test::try_timetable("rrule:FREQ=DAILY;UNTIL=20260105T090000", {.start = "2026-01-05T09:00:00"}).has_value());
}

}  // namespace
}  // namespace carillon
