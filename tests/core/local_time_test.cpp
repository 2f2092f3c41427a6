#include "core/time/local_time.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <chrono>
#include <string>

#include "support/results.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::error_of;
using test::expect_refused;
using test::value_of;

TEST(TimeOfDay, ReadsHoursMinutesAndSeconds) {
  EXPECT_EQ(value_of(parse_time_of_day("00:00")).seconds, 0);
  EXPECT_EQ(value_of(parse_time_of_day("08:05")).seconds, 8 * 3600 + 5 * 60);
  EXPECT_EQ(value_of(parse_time_of_day("23:59:59")).seconds, 86399);
}

TEST(TimeOfDay, RefusesWhatNoClockShows) {
  expect_refused(parse_time_of_day, {{"25:00", 1, "the hour must be 00 to 23, not 25"},
                                     {"24:00", 1, "the hour must be 00 to 23, not 24"},
                                     {"12:60", 4, "the minute must be 00 to 59, not 60"},
                                     {"12:00:60", 7, "the second must be 00 to 59, not 60"},
                                     {"8:00", 1, "the hour needs 2 digits"},
                                     {"08:0", 4, "the minute needs 2 digits"},
                                     {"008:00", 1, "the hour needs 2 digits"},
                                     {"08.00", 3, "expected a colon (write HH:MM or HH:MM:SS), found \".\""},
                                     {"08", 3, "expected a colon"},
                                     {"08:00:", 7, "expected the second, found the end"},
                                     {"08:00:00.5", 9, "expected the end after HH:MM:SS"},
                                     {"08:00pm", 6, "expected the end after HH:MM:SS"},
                                     {"-1:00", 1, "expected the hour, found \"-\""},
                                     {"", 1, "expected the hour, found the end"}});
}

TEST(TimeOfDay, IsWrittenWithSecondsOnlyIfThereAreAny) {
  EXPECT_EQ(format_time_of_day({8 * 3600}), "08:00");
  EXPECT_EQ(format_time_of_day({8 * 3600 + 7}), "08:00:07");
}

TEST(TimeOfDay, EverySecondOfTheDayReadsBackAsTheSame) {
  for (std::int32_t second = 0; second < kSecondsPerDay; ++second) {
    ASSERT_EQ(value_of(parse_time_of_day(format_time_of_day({second}))).seconds, second);
  }
}

TEST(Date, ReadsTheCalendar) {
  using namespace std::chrono;
  EXPECT_EQ(value_of(parse_date("2026-03-29")), local_days(2026y / 3 / 29));
  EXPECT_EQ(value_of(parse_date("2024-02-29")), local_days(2024y / 2 / 29));
  EXPECT_EQ(value_of(parse_date("0001-01-01")), local_days(1y / 1 / 1));
  EXPECT_EQ(value_of(parse_date("9999-12-31")), local_days(9999y / 12 / 31));
}

TEST(Date, RefusesDaysThatDoNotExist) {
  expect_refused(parse_date, {{"2026-02-29", 9, "there is no day 29 in that month"},
                              {"1900-02-29", 9, "there is no day 29 in that month"},
                              {"2026-04-31", 9, "there is no day 31 in that month"},
                              {"2026-01-32", 9, "the day must be 01 to 31, not 32"},
                              {"2026-01-00", 9, "the day must be 01 to 31, not 00"},
                              {"2026-13-01", 6, "the month must be 01 to 12, not 13"},
                              {"2026-00-01", 6, "the month must be 01 to 12"},
                              {"0000-01-01", 1, "the year must be 0001 to 9999"},
                              {"26-01-01", 1, "the year needs 4 digits"},
                              {"10000-01-01", 1, "the year needs 4 digits"},
                              {"2026/01/01", 5, "expected a dash (write YYYY-MM-DD), found \"/\""},
                              {"20260101", 1, "the year needs 4 digits"},
                              {"2026-1-1", 6, "the month needs 2 digits"},
                              {"2026-01-01T", 11, "expected the end after YYYY-MM-DD"},
                              {"", 1, "expected the year, found the end"}});
}

RC_GTEST_PROP(Date, ReadsBackAsTheSame, ()) {
  const auto day = *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(-719162, 2932897));  // years 1 to 9999
  const LocalDays given{std::chrono::days(day)};
  RC_ASSERT(value_of(parse_date(format_date(given))) == given);
}

TEST(LocalTime, ReadsDateAndTime) {
  using namespace std::chrono;
  const LocalSeconds expected = local_days(2026y / 3 / 29) + 1h + 30min;
  EXPECT_EQ(value_of(parse_local_seconds("2026-03-29T01:30:00")), expected);
  EXPECT_EQ(value_of(parse_local_seconds("2026-03-29T01:30")), expected);
  EXPECT_EQ(value_of(parse_local_seconds("2026-03-29 01:30")), expected);
  EXPECT_EQ(format_local_seconds(expected), "2026-03-29T01:30:00");
}

TEST(LocalTime, HasNoZoneAndNoFraction) {
  expect_refused(parse_local_seconds, {{"2026-03-29T01:30:00Z", 20, "a local time has no zone and no fraction"},
                                       {"2026-03-29T01:30:00+01:00", 20, "a local time has no zone and no fraction"},
                                       {"2026-03-29T01:30:00.5", 20, "a local time has no zone and no fraction"},
                                       {"2026-03-29", 11, "expected T and a time"},
                                       {"2026-03-29t01:30", 11, "expected T and a time"},
                                       {"2026-03-29T25:30", 12, "the hour must be 00 to 23, not 25"},
                                       {"2026-02-30T01:30", 9, "there is no day 30 in that month"}});
}

RC_GTEST_PROP(LocalTime, ReadsBackAsTheSame, ()) {
  const auto second = *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(-62135596800, 253402300800));
  const LocalSeconds given{std::chrono::seconds(second)};
  RC_ASSERT(value_of(parse_local_seconds(format_local_seconds(given))) == given);
}

TEST(Weekday, IsReadByShortAndLongNameInAnyCase) {
  constexpr std::array<std::string_view, 7> kLong{"monday", "tuesday",  "wednesday", "thursday",
                                                  "friday", "saturday", "sunday"};
  for (std::size_t i = 0; i < kLong.size(); ++i) {
    for (const std::string& text : {std::string(kLong[i]), std::string(kLong[i].substr(0, 3))}) {
      TextCursor lower("day", text);
      EXPECT_EQ(value_of(parse_weekday(lower)), static_cast<Weekday>(i));
      std::string upper = text;
      upper[0] = static_cast<char>(upper[0] - 32);
      TextCursor capital("day", upper);
      EXPECT_EQ(value_of(parse_weekday(capital)), static_cast<Weekday>(i));
    }
    EXPECT_EQ(short_name(static_cast<Weekday>(i)), kLong[i].substr(0, 3));
  }
}

TEST(Weekday, RefusesWhatIsNoDay) {
  for (const std::string_view text : {"", "m", "mo", "mond", "mondays", "funday", "1", "0"}) {
    TextCursor cursor("day", text);
    const Error error = error_of(parse_weekday(cursor));
    EXPECT_EQ(error.column, 1);
    EXPECT_THAT(error.message, testing::HasSubstr("expected a day name: mon, tue, wed, thu, fri, sat, sun"));
  }
}

TEST(Weekday, OfADateStartsWithMonday) {
  using namespace std::chrono;
  EXPECT_EQ(weekday_of(local_days(2026y / 1 / 5)), Weekday::monday);
  EXPECT_EQ(weekday_of(local_days(2026y / 1 / 4)), Weekday::sunday);
  EXPECT_EQ(weekday_of(local_days(1y / 1 / 1)), Weekday::monday);
}

}  // namespace
}  // namespace carillon
