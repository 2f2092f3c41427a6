#include "core/recurrence/recurrence.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "core/recurrence/cron.h"
#include "core/recurrence/rrule.h"
#include "core/times.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using std::chrono::days;
using test::error_of;
using test::local;
using test::times;
using test::timetable;
using test::utc;
using testing::ElementsAre;

Timetable rule(std::string_view text, std::string_view start, std::string_view zone = "UTC") {
  return test::timetable("rrule:" + std::string(text), {.zone = zone, .start = start});
}

// The local times that a rule asks for from its start on, as many as there are in `expected`.
void expect_locals(const Timetable& given, const std::vector<LocalSeconds>& expected) {
  const auto found = test::walk(given, utc("1900-01-01T00:00:00Z"), expected.size());
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(format_local_seconds(found[i].local), format_local_seconds(expected[i])) << i;
  }
  // The same in one jump from anywhere in between.
  for (std::size_t i = 1; i < expected.size(); i += 17) {
    ASSERT_EQ(given.next(found[i - 1].at + (found[i].at - found[i - 1].at) / 2)->at, found[i].at) << i;
  }
}

// ---- INTERVAL keeps its phase for ever (invariant 25) ------------------------------------------------------------

TEST(RecurrencePhase, EveryOtherWeekEqualsWalkingWeeksForFiftyYears) {
  std::vector<LocalSeconds> expected;
  const LocalSeconds start = local("2026-01-05T09:00:00");  // a Monday
  for (int week = 0; week < 50 * 52; ++week) {
    if (week % 2 != 0) continue;
    for (const int day : {0, 2, 4}) expected.push_back(start + days(7 * week + day));
  }
  expect_locals(rule("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE,FR", "2026-01-05T09:00:00", "Europe/London"), expected);
  expect_locals(rule("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE,FR", "2026-01-05T09:00:00", "America/Santiago"), expected);
}

TEST(RecurrencePhase, EveryThirdDayEqualsWalkingDaysForFiftyYears) {
  std::vector<LocalSeconds> expected;
  for (int day = 0; day < 50 * 365; day += 3) expected.push_back(local("2024-02-28T23:30:00") + days(day));
  expect_locals(rule("FREQ=DAILY;INTERVAL=3", "2024-02-28T23:30:00", "America/New_York"), expected);
}

TEST(RecurrencePhase, EveryFifthMonthEqualsWalkingMonthsForFiftyYears) {
  using std::chrono::year;
  std::vector<LocalSeconds> expected;
  for (int month = 0; month < 50 * 12; month += 5) {
    const auto date = year(2024) / 1 / 31 + std::chrono::months(month);
    if (date.ok()) expected.emplace_back(LocalDays(date) + 9h);  // months without a 31st are left out, not moved
  }
  expect_locals(rule("FREQ=MONTHLY;INTERVAL=5", "2024-01-31T09:00:00", "Europe/London"), expected);
}

TEST(RecurrencePhase, EveryThirdYearEqualsWalkingYears) {
  std::vector<LocalSeconds> expected;
  for (int y = 2024; y < 2324; y += 3) {
    const auto date = std::chrono::year(y) / 2 / 29;
    if (date.ok()) expected.emplace_back(LocalDays(date) + 9h);
  }
  expect_locals(rule("FREQ=YEARLY;INTERVAL=3", "2024-02-29T09:00:00", "Europe/London"), expected);
}

TEST(RecurrencePhase, EveryFiveHoursIsAbsoluteForFiftyYears) {
  const Timetable given = rule("FREQ=HOURLY;INTERVAL=5", "2026-01-05T09:00:00", "Europe/London");
  for (int i = 0; i < 50 * 365 * 24 / 5; i += 7) {
    const Instant expected = utc("2026-01-05T09:00:00Z") + i * 5h;
    ASSERT_EQ(given.next(expected - 1us)->at, expected);
  }
}

TEST(RecurrencePhase, TheWeekStartDecidesWhichWeeksCount) {
  EXPECT_THAT(test::locals(rule("FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO;WKST=MO", "2026-01-05T09:00:00"),
                           "2026-01-01T00:00:00Z", 4),
              ElementsAre("2026-01-05T09:00:00", "2026-01-11T09:00:00", "2026-01-19T09:00:00", "2026-01-25T09:00:00"));
  EXPECT_THAT(test::locals(rule("FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO;WKST=SU", "2026-01-05T09:00:00"),
                           "2026-01-01T00:00:00Z", 4),
              ElementsAre("2026-01-05T09:00:00", "2026-01-18T09:00:00", "2026-01-19T09:00:00", "2026-02-01T09:00:00"));
}

// ---- What a rule leaves out comes from its start -----------------------------------------------------------------

TEST(RecurrenceDefaults, ComeFromTheStart) {
  const auto first_two = [](std::string_view text) {
    return test::locals(rule(text, "2026-01-31T09:10:11"), "2026-01-01T00:00:00Z", 2);
  };
  EXPECT_THAT(first_two("FREQ=YEARLY"), ElementsAre("2026-01-31T09:10:11", "2027-01-31T09:10:11"));
  EXPECT_THAT(first_two("FREQ=YEARLY;BYMONTH=3"), ElementsAre("2026-03-31T09:10:11", "2027-03-31T09:10:11"));
  EXPECT_THAT(first_two("FREQ=YEARLY;BYMONTHDAY=1"), ElementsAre("2026-02-01T09:10:11", "2026-03-01T09:10:11"));
  EXPECT_THAT(first_two("FREQ=YEARLY;BYWEEKNO=20"), ElementsAre("2026-05-16T09:10:11", "2027-05-22T09:10:11"));
  EXPECT_THAT(first_two("FREQ=MONTHLY"), ElementsAre("2026-01-31T09:10:11", "2026-03-31T09:10:11"));
  EXPECT_THAT(first_two("FREQ=WEEKLY"), ElementsAre("2026-01-31T09:10:11", "2026-02-07T09:10:11"));
  EXPECT_THAT(first_two("FREQ=DAILY;BYHOUR=12"), ElementsAre("2026-01-31T12:10:11", "2026-02-01T12:10:11"));
  EXPECT_THAT(first_two("FREQ=HOURLY;BYMINUTE=0"), ElementsAre("2026-01-31T10:00:11", "2026-01-31T11:00:11"));
  EXPECT_THAT(first_two("FREQ=HOURLY"), ElementsAre("2026-01-31T09:10:11", "2026-01-31T10:10:11"));
  EXPECT_THAT(first_two("FREQ=MINUTELY"), ElementsAre("2026-01-31T09:10:11", "2026-01-31T09:11:11"));
  EXPECT_THAT(first_two("FREQ=SECONDLY"), ElementsAre("2026-01-31T09:10:11", "2026-01-31T09:10:12"));
}

TEST(RecurrenceSetPosition, PicksFromDaysAndTimesTogether) {
  EXPECT_THAT(
      test::locals(rule("FREQ=DAILY;BYHOUR=8,12,17;BYMINUTE=0,30;BYSECOND=0;BYSETPOS=1,-1,-1", "2026-01-05T00:00:00"),
                   "2026-01-01T00:00:00Z", 3),
      ElementsAre("2026-01-05T08:00:00", "2026-01-05T17:30:00", "2026-01-06T08:00:00"));
  EXPECT_THAT(test::locals(rule("FREQ=HOURLY;BYMINUTE=10,20,30;BYSECOND=0;BYSETPOS=2", "2026-01-05T00:00:00"),
                           "2026-01-01T00:00:00Z", 2),
              ElementsAre("2026-01-05T00:20:00", "2026-01-05T01:20:00"));
  EXPECT_THAT(test::locals(rule("FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "2026-01-05T09:00:00"),
                           "2026-01-01T00:00:00Z", 2),
              ElementsAre("2026-12-31T09:00:00", "2027-12-31T09:00:00"));
}

// A period before the start still counts its members from its beginning (RFC 5545, 3.8.5.3).
TEST(RecurrenceSetPosition, CountsMembersFromTheBeginningOfThePeriodNotFromTheStart) {
  EXPECT_THAT(test::locals(rule("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1,3", "2026-01-02T09:00:00"),
                           "2026-01-01T00:00:00Z", 3),
              ElementsAre("2026-01-05T09:00:00", "2026-02-02T09:00:00", "2026-02-04T09:00:00"));
}

// ---- COUNT -------------------------------------------------------------------------------------------------------

TEST(RecurrenceCount, ALargeCountEndsWhereWalkingWouldEnd) {
  struct Row {
    std::string_view rule;
    std::string_view zone;
    std::string_view last;
  };
  for (const auto& [text, zone, last] : std::vector<Row>{
           {"FREQ=DAILY;COUNT=1000", "UTC", "2028-09-26T09:00:00Z"},
           {"FREQ=DAILY;COUNT=1001", "UTC", "2028-09-27T09:00:00Z"},
           {"FREQ=DAILY;COUNT=100000", "UTC", "2299-10-16T09:00:00Z"},
           {"FREQ=SECONDLY;COUNT=999999999", "UTC", "2057-09-09T10:46:38Z"},
           {"FREQ=SECONDLY;COUNT=999999999", "Europe/London", "2057-09-09T10:46:38Z"},
           {"FREQ=MINUTELY;INTERVAL=7;COUNT=1000000", "Europe/London", "2039-04-24T11:33:00Z"},
       }) {
    const Timetable given = rule(text, "2026-01-01T09:00:00", zone);
    EXPECT_EQ(test::text_of(given.newest(kInstantMin, kInstantMax)->at), last) << text;
    EXPECT_FALSE(given.next(utc(last)).has_value()) << text;
  }
}

TEST(RecurrenceCount, OneThatTakesTooLongToFollowIsRefused) {
  const Error error = error_of(
      test::try_timetable("rrule:FREQ=MINUTELY;INTERVAL=7;BYDAY=MO;COUNT=999999999", {.start = "2026-01-05T09:00:00"}));
  EXPECT_EQ(error.code, ErrorCode::invalid_configuration);
  EXPECT_THAT(
      error.message,
      testing::HasSubstr("COUNT=999999999 takes too long to follow for this rule; give an end with UNTIL instead"));
}

// ---- Bounds (invariant 26) ---------------------------------------------------------------------------------------

TEST(RecurrenceBounds, NothingIsFoundBeyondTheCalendar) {
  const Timetable given = rule("FREQ=YEARLY", "2026-01-01T09:00:00");
  EXPECT_EQ(times(given, "9998-06-01T00:00:00Z", 5), std::vector<std::string>{"9999-01-01T09:00:00Z"});
  EXPECT_FALSE(given.next(kInstantMax).has_value());
  EXPECT_EQ(times(timetable("daily:23:59:59", {.zone = "America/New_York"}), "9999-12-30T00:00:00Z", 9).size(), 2U);
}

TEST(RecurrenceBounds, TheWholeCalendarCanBeAsked) {
  const Timetable given = rule("FREQ=YEARLY;INTERVAL=100;BYMONTH=2;BYMONTHDAY=29", "2000-01-01T09:00:00");
  EXPECT_EQ(given.count(kInstantMin, kInstantMax), 20U);  // 2000, 2400, …
  EXPECT_EQ(test::text_of(given.newest(kInstantMin, kInstantMax)->at), "9600-02-29T09:00:00Z");
}

// A second occurrence that no search reaches would be there or not, depending on where one asks from.
TEST(RecurrenceBounds, AnIntervalBeyondTheHorizonIsRefused) {
  for (const std::string_view text :
       {"FREQ=YEARLY;INTERVAL=401", "FREQ=YEARLY;INTERVAL=65537", "FREQ=YEARLY;INTERVAL=1000000000",
        "FREQ=MONTHLY;INTERVAL=4801", "FREQ=MONTHLY;INTERVAL=786432;BYMONTHDAY=5,6;BYSETPOS=1",
        "FREQ=WEEKLY;INTERVAL=1000000000", "FREQ=DAILY;INTERVAL=1000000000", "FREQ=HOURLY;INTERVAL=1000000000"}) {
    const auto error = test::error_of(parse_rrule(text));
    EXPECT_THAT(error.message, testing::HasSubstr("INTERVAL is longer than 400 years")) << text;
  }
}

TEST(RecurrenceBounds, TheLongestIntervalsEndWithTheCalendar) {
  for (const std::string_view text : {"FREQ=YEARLY;INTERVAL=400", "FREQ=MONTHLY;INTERVAL=4800",
                                      "FREQ=YEARLY;INTERVAL=400;BYMONTHDAY=5,6;BYMONTH=1;BYSETPOS=1",
                                      "FREQ=MONTHLY;INTERVAL=4800;BYMONTHDAY=5,6;BYSETPOS=1"}) {
    EXPECT_EQ(times(rule(text, "9626-01-05T09:00:00"), "1900-01-01T00:00:00Z", 5),
              std::vector<std::string>{"9626-01-05T09:00:00Z"})
        << text;
  }
}

TEST(RecurrenceBounds, ACountIsKeptHoweverFarItReaches) {
  EXPECT_EQ(times(rule("FREQ=DAILY;COUNT=200000", "2026-01-01T00:00:00"), "2800-01-01T00:00:00Z", 1).size(), 0U);
  EXPECT_EQ(times(rule("FREQ=YEARLY;COUNT=1001", "2026-01-01T00:00:00"), "3025-06-01T00:00:00Z", 9).size(), 1U);
  EXPECT_EQ(
      times(rule("FREQ=HOURLY;BYDAY=MO,TU,WE,TH,FR;COUNT=1001", "2026-01-05T00:00:00"), "2026-01-01T00:00:00Z", 2000)
          .size(),
      1001U);
}

}  // namespace
}  // namespace carillon
