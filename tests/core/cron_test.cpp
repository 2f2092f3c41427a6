#include "core/recurrence/cron.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "core/times.h"

namespace carillon {
namespace {

using test::error_of;
using test::expect_refused;
using test::times;
using test::timetable;
using test::value_of;
using testing::ElementsAre;

// The first times of an expression after midnight at the beginning of 2026, a Thursday, without the year.
std::vector<std::string> first(std::string_view cron, std::size_t most, std::string_view zone = "UTC") {
  std::vector<std::string> found =
      times(timetable("cron:" + std::string(cron), {.zone = zone}), "2025-12-31T23:59:59Z", most);
  for (std::string& text : found) text = text.substr(5, text.size() - 6);
  return found;
}

TEST(Cron, FieldsAreMinuteHourDayMonthWeekday) {
  EXPECT_THAT(first("0 8 * * *", 2), ElementsAre("01-01T08:00:00", "01-02T08:00:00"));
  EXPECT_THAT(first("5 4 3 2 *", 2), ElementsAre("02-03T04:05:00", "02-03T04:05:00"));
  EXPECT_THAT(first("0 0 * * 1", 2), ElementsAre("01-05T00:00:00", "01-12T00:00:00"));
}

TEST(Cron, SixFieldsBeginWithSeconds) {
  EXPECT_THAT(first("*/20 0 8 * * *", 4),
              ElementsAre("01-01T08:00:00", "01-01T08:00:20", "01-01T08:00:40", "01-02T08:00:00"));
  EXPECT_THAT(first("* * * * * *", 3), ElementsAre("01-01T00:00:00", "01-01T00:00:01", "01-01T00:00:02"));
}

TEST(Cron, ListsRangesAndSteps) {
  EXPECT_THAT(first("0 8,12 * * *", 3), ElementsAre("01-01T08:00:00", "01-01T12:00:00", "01-02T08:00:00"));
  EXPECT_THAT(first("0 9-11 * * *", 4),
              ElementsAre("01-01T09:00:00", "01-01T10:00:00", "01-01T11:00:00", "01-02T09:00:00"));
  EXPECT_THAT(first("*/25 * * * *", 4),
              ElementsAre("01-01T00:00:00", "01-01T00:25:00", "01-01T00:50:00", "01-01T01:00:00"));
  EXPECT_THAT(first("10-50/20 8 * * *", 4),
              ElementsAre("01-01T08:10:00", "01-01T08:30:00", "01-01T08:50:00", "01-02T08:10:00"));
  EXPECT_THAT(first("40/10 8 * * *", 3), ElementsAre("01-01T08:40:00", "01-01T08:50:00", "01-02T08:40:00"));
  EXPECT_THAT(first("0,30,0 8 * * *", 2), ElementsAre("01-01T08:00:00", "01-01T08:30:00"));
}

TEST(Cron, NamesInAnyCase) {
  EXPECT_THAT(first("0 0 1 FEB,mar *", 2), ElementsAre("02-01T00:00:00", "03-01T00:00:00"));
  EXPECT_THAT(first("0 0 * * Mon-WED", 4),
              ElementsAre("01-05T00:00:00", "01-06T00:00:00", "01-07T00:00:00", "01-12T00:00:00"));
}

// Which weekdays the field allows, 0 to 6 from Sunday.
std::set<int> weekdays(std::string_view field) {
  std::set<int> days;
  for (const Occurrence& o :
       test::walk(timetable("cron:0 0 * * " + std::string(field)), test::utc("2025-12-31T23:59:59Z"), 14)) {
    days.insert(static_cast<int>(std::chrono::weekday(std::chrono::floor<std::chrono::days>(o.local)).c_encoding()));
  }
  return days;
}

TEST(Cron, SundayIsZeroAndSeven) {
  EXPECT_THAT(weekdays("0"), ElementsAre(0));
  EXPECT_THAT(weekdays("7"), ElementsAre(0));
  EXPECT_THAT(weekdays("sun"), ElementsAre(0));
  EXPECT_THAT(weekdays("0,7"), ElementsAre(0));
  EXPECT_THAT(weekdays("5-7"), ElementsAre(0, 5, 6));
  EXPECT_THAT(weekdays("fri-sun"), ElementsAre(0, 5, 6));
  EXPECT_THAT(weekdays("0-0"), ElementsAre(0));
  EXPECT_THAT(weekdays("sun-sun"), ElementsAre(0));
  EXPECT_THAT(weekdays("0-7"), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(weekdays("*/2"), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(weekdays("1/2"), ElementsAre(1, 3, 5));
  EXPECT_THAT(weekdays("0/3"), ElementsAre(0, 3, 6));
}

TEST(Cron, AStepFromSevenIsAStepFromSunday) {
  EXPECT_THAT(weekdays("7/2"), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(weekdays("7"), ElementsAre(0));
}

TEST(Cron, EveryStarOrQuestionMarkMeansAll) {
  EXPECT_THAT(first("0 8 ? * *", 2), ElementsAre("01-01T08:00:00", "01-02T08:00:00"));
  EXPECT_THAT(first("0 8 1 * ?", 2), ElementsAre("01-01T08:00:00", "02-01T08:00:00"));
}

TEST(Cron, DayAndWeekdayTogetherMeanEither) {
  EXPECT_THAT(first("0 0 15 * mon", 5),
              ElementsAre("01-05T00:00:00", "01-12T00:00:00", "01-15T00:00:00", "01-19T00:00:00", "01-26T00:00:00"));
  EXPECT_THAT(first("0 0 L * fri#1", 4),
              ElementsAre("01-02T00:00:00", "01-31T00:00:00", "02-06T00:00:00", "02-28T00:00:00"));
}

TEST(Cron, TheLastDaysOfAMonth) {
  EXPECT_THAT(first("0 0 L * *", 3), ElementsAre("01-31T00:00:00", "02-28T00:00:00", "03-31T00:00:00"));
  EXPECT_THAT(first("0 0 L-3 * *", 2), ElementsAre("01-28T00:00:00", "02-25T00:00:00"));
  EXPECT_THAT(first("0 0 l-30 * *", 2), ElementsAre("01-01T00:00:00", "03-01T00:00:00"));
  EXPECT_THAT(first("0 0 LW * *", 3), ElementsAre("01-30T00:00:00", "02-27T00:00:00", "03-31T00:00:00"));
  EXPECT_THAT(first("0 0 1,L * *", 3), ElementsAre("01-01T00:00:00", "01-31T00:00:00", "02-01T00:00:00"));
}

TEST(Cron, TheNearestWeekday) {
  EXPECT_THAT(first("0 0 15W * *", 4),
              ElementsAre("01-15T00:00:00", "02-16T00:00:00", "03-16T00:00:00", "04-15T00:00:00"));
  EXPECT_THAT(first("0 0 1W 8 *", 1), ElementsAre("08-03T00:00:00"));
  EXPECT_THAT(first("0 0 31w * *", 3), ElementsAre("01-30T00:00:00", "03-31T00:00:00", "05-29T00:00:00"));
}

TEST(Cron, TheNthAndTheLastWeekday) {
  EXPECT_THAT(first("0 0 * * fri#2", 2), ElementsAre("01-09T00:00:00", "02-13T00:00:00"));
  EXPECT_THAT(first("0 0 * * 5#5", 2), ElementsAre("01-30T00:00:00", "05-29T00:00:00"));
  EXPECT_THAT(first("0 0 * * 5L", 2), ElementsAre("01-30T00:00:00", "02-27T00:00:00"));
  EXPECT_THAT(first("0 0 * * friL", 2), ElementsAre("01-30T00:00:00", "02-27T00:00:00"));
  EXPECT_THAT(first("0 0 * * FRI#L", 2), ElementsAre("01-30T00:00:00", "02-27T00:00:00"));
  EXPECT_THAT(first("0 0 * * 7L", 2), ElementsAre("01-25T00:00:00", "02-22T00:00:00"));
  EXPECT_THAT(first("0 0 * * mon#1,fri#1", 3), ElementsAre("01-02T00:00:00", "01-05T00:00:00", "02-02T00:00:00"));
}

TEST(Cron, Nicknames) {
  EXPECT_THAT(first("@hourly", 2), ElementsAre("01-01T00:00:00", "01-01T01:00:00"));
  EXPECT_THAT(first("@daily", 2), ElementsAre("01-01T00:00:00", "01-02T00:00:00"));
  EXPECT_EQ(first("@midnight", 9), first("@daily", 9));
  EXPECT_THAT(first("@weekly", 2), ElementsAre("01-04T00:00:00", "01-11T00:00:00"));
  EXPECT_THAT(first("@Monthly", 3), ElementsAre("01-01T00:00:00", "02-01T00:00:00", "03-01T00:00:00"));
  EXPECT_THAT(first("@yearly", 2), ElementsAre("01-01T00:00:00", "01-01T00:00:00"));
  EXPECT_EQ(first("@annually", 3), first("@yearly", 3));
}

TEST(Cron, SpacesAndTabsSeparateFields) { EXPECT_EQ(first("  0\t8   * *\t* ", 3), first("0 8 * * *", 3)); }

// invariant 24: a fixed hour is a time on the wall clock; * or a step of it follows absolute time.
TEST(Cron, TheHourFieldDecidesWhetherClockChangesMatter) {
  for (const std::string_view cron :
       {"0 * * * *", "0 */2 * * *", "0 0-23 * * *", "* * * * *", "0 0/1 * * *", "0 1,*/6 * * *"}) {
    EXPECT_EQ(value_of(parse_cron(cron)).frequency, Frequency::hourly) << cron;
  }
  for (const std::string_view cron : {"0 1 * * *", "0 1-22 * * *", "0 0-22/2 * * *", "0 1/2 * * *", "* 1 * * *"}) {
    EXPECT_EQ(value_of(parse_cron(cron)).frequency, Frequency::daily) << cron;
  }
}

TEST(Cron, RefusesWhatIsOutOfRange) {
  expect_refused(parse_cron, {{"*/0 * * * *", 3, "a step of the minute field must be 1 to 60, not 0"},
                              {"*/61 * * * *", 3, "a step of the minute field must be 1 to 60, not 61"},
                              {"* */25 * * *", 5, "a step of the hour field must be 1 to 24, not 25"},
                              {"* * * * */8", 11, "a step of the day of week field must be 1 to 7, not 8"},
                              {"1/0 * * * *", 3, "a step of the minute field must be 1 to 60, not 0"},
                              {"*/99999999999999999999 * * * *", 3, "a step is too large"},
                              {"60 * * * *", 1, "the minute field takes 0 to 59, not 60"},
                              {"0 24 * * *", 3, "the hour field takes 0 to 23, not 24"},
                              {"0 25:00 * * *", 3, "the hour field takes 0 to 23, not 25"},
                              {"0 0 0 * *", 5, "the day of month field takes 1 to 31, not 0"},
                              {"0 0 32 * *", 5, "the day of month field takes 1 to 31, not 32"},
                              {"0 0 * 13 *", 7, "the month field takes 1 to 12 or JAN to DEC, not 13"},
                              {"0 0 * 0 *", 7, "the month field takes 1 to 12"},
                              {"0 0 * * 8", 9, "the day of week field takes 0 to 7 or SUN to SAT, not 8"},
                              {"60 0 0 * * *", 1, "the second field takes 0 to 59, not 60"},
                              {"0 0 L-31 * *", 7, "L- takes 1 to 30 days before the last"},
                              {"0 0 * * fri#6", 13, "# takes 1 to 5, or L for the last"},
                              {"0 0 * * fri#0", 13, "# takes 1 to 5, or L for the last"}});
}

TEST(Cron, RefusesWhatCannotBeRead) {
  expect_refused(parse_cron,
                 {{"", 1, "has 0 fields; expected 5 (minute hour day month weekday) or 6 with seconds first"},
                  {"* * * *", 1, "has 4 fields"},
                  {"* * * * * * *", 1, "has 7 fields"},
                  {"-1 * * * *", 1, "expected a value of the minute field (0 to 59), found \"-\""},
                  {"a * * * *", 1, "expected a value of the minute field"},
                  {"5- * * * *", 3, "expected a value of the minute field (0 to 59), found \" \""},
                  {"5, * * * *", 3, "expected a value of the minute field"},
                  {",5 * * * *", 1, "expected a value of the minute field"},
                  {"1-5-7 * * * *", 4, "expected a comma or the end of the minute field, found \"-\""},
                  {"*5 * * * *", 2, "expected a comma or the end of the minute field"},
                  {"*/ * * * *", 3, "expected a step, found \" \""},
                  {"1.5 * * * *", 2, "expected a comma or the end of the minute field"},
                  {"30-10 * * * *", 1, "the range goes backwards; write 30-59,0-10"},
                  {"0 22-2 * * *", 3, "the range goes backwards; write 22-23,0-2"},
                  {"0 0 * * sat-mon", 9, "the range goes backwards; write 6-6,0-1"},
                  {"0 0 * monday *", 7, "expected a value of the month field"},
                  {"0 0 * * mond", 12, "expected a comma or the end of the day of week field"},
                  {"0 0 * * L", 9, "L needs a day before it here, like 5L or FRI#L"},
                  {"? * * * *", 1, "expected a value of the minute field"},
                  {"0 0 15W-17 * *", 8, "expected a comma or the end of the day of month field"},
                  {"0 0 W * *", 5, "expected a value of the day of month field"},
                  {"L * * * *", 1, "expected a value of the minute field"},
                  {"0 0 * * fri#", 13, "expected which one in the month, found the end"},
                  {"0 0 * * *\n", 10, "expected a comma or the end of the day of week field"},
                  {"@fortnightly", 1, "unknown nickname; allowed are @hourly, @daily, @midnight, @weekly"},
                  {"@reboot", 1, "unknown nickname"},
                  {"@", 1, "unknown nickname"}});
}

TEST(Cron, ARuleThatNeverFiresIsRefusedWithTheReason) {  // invariant 26
  for (const std::string_view cron : {"0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 31W 2 *", "0 0 L-30 2 *"}) {
    const Error error = error_of(test::try_timetable("cron:" + std::string(cron)));
    EXPECT_EQ(error.code, ErrorCode::invalid_configuration);
    EXPECT_EQ(error.message, "cron \"" + std::string(cron) + "\": never fires: no date and time matches it");
  }
}

TEST(Cron, ALeapDayIsRareButFires) {
  EXPECT_EQ(times(timetable("cron:0 0 29 2 *"), "2097-01-01T00:00:00Z", 1)[0], "2104-02-29T00:00:00Z");
}

}  // namespace
}  // namespace carillon
