// The examples of RFC 5545, section 3.8.5.3: all start in America/New_York in 1997 or near it.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/times.h"

namespace carillon {
namespace {

struct Example {
  std::string_view rule;
  std::string_view start;     // a date at 09:00
  std::string_view expected;  // dates at 09:00, each year written once: "1997: 9-2 9-3, 1998: 1-1"
  bool ends = false;          // there are no more than these
};

Timetable of(std::string_view rule, std::string_view start) {
  return test::timetable("rrule:" + std::string(rule),
                         {.zone = "America/New_York", .start = std::string(start) + "T09:00:00"});
}

// As in `Example::expected`.
std::string dates(const std::vector<Occurrence>& occurrences) {
  std::string text;
  int year = 0;
  for (const Occurrence& occurrence : occurrences) {
    const auto day = std::chrono::floor<std::chrono::days>(occurrence.local);
    const std::chrono::year_month_day date(day);
    if (static_cast<int>(date.year()) != year) {
      year = static_cast<int>(date.year());
      text += (text.empty() ? "" : ", ") + std::to_string(year) + ":";
    }
    text += " " + std::to_string(static_cast<unsigned>(date.month())) + "-" +
            std::to_string(static_cast<unsigned>(date.day()));
    if (occurrence.local - day != std::chrono::hours(9)) text += " not at 09:00";
  }
  return text;
}

TEST(Rfc5545, TheExamplesOfTheRfc) {
  const std::vector<Example> examples{
      {"FREQ=DAILY;COUNT=10", "1997-09-02", "1997: 9-2 9-3 9-4 9-5 9-6 9-7 9-8 9-9 9-10 9-11", true},
      {"FREQ=DAILY;INTERVAL=2", "1997-09-02", "1997: 9-2 9-4 9-6 9-8 9-10"},
      {"FREQ=DAILY;INTERVAL=10;COUNT=5", "1997-09-02", "1997: 9-2 9-12 9-22 10-2 10-12", true},
      {"FREQ=WEEKLY;COUNT=10", "1997-09-02", "1997: 9-2 9-9 9-16 9-23 9-30 10-7 10-14 10-21 10-28 11-4", true},
      {"FREQ=WEEKLY;INTERVAL=2;WKST=SU", "1997-09-02",
       "1997: 9-2 9-16 9-30 10-14 10-28 11-11 11-25 12-9 12-23, 1998: 1-6 1-20 2-3 2-17"},
      {"FREQ=WEEKLY;UNTIL=19971007T000000Z;WKST=SU;BYDAY=TU,TH", "1997-09-02",
       "1997: 9-2 9-4 9-9 9-11 9-16 9-18 9-23 9-25 9-30 10-2", true},
      {"FREQ=WEEKLY;COUNT=10;WKST=SU;BYDAY=TU,TH", "1997-09-02", "1997: 9-2 9-4 9-9 9-11 9-16 9-18 9-23 9-25 9-30 10-2",
       true},
      {"FREQ=WEEKLY;INTERVAL=2;UNTIL=19971224T000000Z;WKST=SU;BYDAY=MO,WE,FR", "1997-09-01",
       "1997: 9-1 9-3 9-5 9-15 9-17 9-19 9-29 10-1 10-3 10-13 10-15 10-17 10-27 10-29 10-31 11-10 11-12 11-14 11-24 "
       "11-26 11-28 12-8 12-10 12-12 12-22",
       true},
      {"FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH", "1997-09-02",
       "1997: 9-2 9-4 9-16 9-18 9-30 10-2 10-14 10-16", true},
      {"FREQ=MONTHLY;COUNT=10;BYDAY=1FR", "1997-09-05", "1997: 9-5 10-3 11-7 12-5, 1998: 1-2 2-6 3-6 4-3 5-1 6-5",
       true},
      {"FREQ=MONTHLY;UNTIL=19971224T000000Z;BYDAY=1FR", "1997-09-05", "1997: 9-5 10-3 11-7 12-5", true},
      {"FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU", "1997-09-07",
       "1997: 9-7 9-28 11-2 11-30, 1998: 1-4 1-25 3-1 3-29 5-3 5-31", true},
      {"FREQ=MONTHLY;COUNT=6;BYDAY=-2MO", "1997-09-22", "1997: 9-22 10-20 11-17 12-22, 1998: 1-19 2-16", true},
      {"FREQ=MONTHLY;BYMONTHDAY=-3", "1997-09-28", "1997: 9-28 10-29 11-28 12-29, 1998: 1-29 2-26"},
      {"FREQ=MONTHLY;COUNT=10;BYMONTHDAY=2,15", "1997-09-02",
       "1997: 9-2 9-15 10-2 10-15 11-2 11-15 12-2 12-15, 1998: 1-2 1-15", true},
      {"FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1", "1997-09-30",
       "1997: 9-30 10-1 10-31 11-1 11-30 12-1 12-31, 1998: 1-1 1-31 2-1", true},
      {"FREQ=MONTHLY;INTERVAL=18;COUNT=10;BYMONTHDAY=10,11,12,13,14,15", "1997-09-10",
       "1997: 9-10 9-11 9-12 9-13 9-14 9-15, 1999: 3-10 3-11 3-12 3-13", true},
      {"FREQ=MONTHLY;INTERVAL=2;BYDAY=TU", "1997-09-02",
       "1997: 9-2 9-9 9-16 9-23 9-30 11-4 11-11 11-18 11-25, 1998: 1-6 1-13 1-20 1-27 3-3 3-10 3-17 3-24 3-31"},
      {"FREQ=YEARLY;COUNT=10;BYMONTH=6,7", "1997-06-10",
       "1997: 6-10 7-10, 1998: 6-10 7-10, 1999: 6-10 7-10, 2000: 6-10 7-10, 2001: 6-10 7-10", true},
      {"FREQ=YEARLY;INTERVAL=2;COUNT=10;BYMONTH=1,2,3", "1997-03-10",
       "1997: 3-10, 1999: 1-10 2-10 3-10, 2001: 1-10 2-10 3-10, 2003: 1-10 2-10 3-10", true},
      {"FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200", "1997-01-01",
       "1997: 1-1 4-10 7-19, 2000: 1-1 4-9 7-18, 2003: 1-1 4-10 7-19, 2006: 1-1", true},
      {"FREQ=YEARLY;BYDAY=20MO", "1997-05-19", "1997: 5-19, 1998: 5-18, 1999: 5-17"},
      {"FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "1997-05-12", "1997: 5-12, 1998: 5-11, 1999: 5-17"},
      {"FREQ=YEARLY;BYMONTH=3;BYDAY=TH", "1997-03-13",
       "1997: 3-13 3-20 3-27, 1998: 3-5 3-12 3-19 3-26, 1999: 3-4 3-11 3-18 3-25"},
      {"FREQ=YEARLY;BYDAY=TH;BYMONTH=6,7,8", "1997-06-05",
       "1997: 6-5 6-12 6-19 6-26 7-3 7-10 7-17 7-24 7-31 8-7 8-14 8-21 8-28, 1998: 6-4"},
      {"FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", "1997-09-02", "1998: 2-13 3-13 11-13, 1999: 8-13, 2000: 10-13"},
      {"FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13", "1997-09-13",
       "1997: 9-13 10-11 11-8 12-13, 1998: 1-10 2-7 3-7 4-11 5-9 6-13"},
      {"FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8", "1996-11-05",
       "1996: 11-5, 2000: 11-7, 2004: 11-2"},
      {"FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3", "1997-09-04", "1997: 9-4 10-7 11-6", true},
      {"FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2", "1997-09-29",
       "1997: 9-29 10-30 11-27 12-30, 1998: 1-29 2-26 3-30"},
      {"FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO", "1997-08-05", "1997: 8-5 8-10 8-19 8-24", true},
      {"FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU", "1997-08-05", "1997: 8-5 8-17 8-19 8-31", true},
      {"FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5", "2007-01-15", "2007: 1-15 1-30 2-15 3-15 3-30", true},
  };
  for (const Example& example : examples) {
    SCOPED_TRACE(std::string(example.rule));
    const auto expected = static_cast<std::size_t>(std::ranges::count(example.expected, '-'));
    const auto found =
        test::walk(of(example.rule, example.start), test::utc("1990-01-01T00:00:00Z"), example.ends ? 1000 : expected);
    EXPECT_EQ(dates(found), example.expected);
  }
}

TEST(Rfc5545, EveryDayUntilChristmasEveAndEveryDayOfThreeJanuaries) {
  const auto daily =
      test::walk(of("FREQ=DAILY;UNTIL=19971224T000000Z", "1997-09-02"), test::utc("1990-01-01T00:00:00Z"), 1000);
  EXPECT_EQ(daily.size(), 113U);
  EXPECT_EQ(format_local_seconds(daily.back().local), "1997-12-23T09:00:00");

  for (const std::string_view rule : {"FREQ=YEARLY;UNTIL=20000131T140000Z;BYMONTH=1;BYDAY=SU,MO,TU,WE,TH,FR,SA",
                                      "FREQ=DAILY;UNTIL=20000131T140000Z;BYMONTH=1"}) {
    const auto januaries = test::walk(of(rule, "1998-01-01"), test::utc("1990-01-01T00:00:00Z"), 1000);
    EXPECT_EQ(januaries.size(), 93U);
    EXPECT_EQ(format_local_seconds(januaries.back().local), "2000-01-31T09:00:00");
  }
}

TEST(Rfc5545, HoursAndMinutes) {
  const auto locals = [](std::string_view rule, std::size_t most) {
    std::vector<std::string> clocks;
    for (const auto& text : test::locals(of(rule, "1997-09-02"), "1997-09-01T00:00:00Z", most))
      clocks.push_back(text.substr(5, 11));
    return clocks;
  };
  using testing::ElementsAre;
  // The RFC lists 15:00 as well, which erratum 3883 withdraws: 17:00 UTC is 13:00 in New York.
  EXPECT_THAT(locals("FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T170000Z", 9), ElementsAre("09-02T09:00", "09-02T12:00"));
  EXPECT_THAT(locals("FREQ=MINUTELY;INTERVAL=15;COUNT=6", 9),
              ElementsAre("09-02T09:00", "09-02T09:15", "09-02T09:30", "09-02T09:45", "09-02T10:00", "09-02T10:15"));
  EXPECT_THAT(locals("FREQ=MINUTELY;INTERVAL=90;COUNT=4", 9),
              ElementsAre("09-02T09:00", "09-02T10:30", "09-02T12:00", "09-02T13:30"));
  const auto every_twenty_minutes = locals("FREQ=DAILY;BYHOUR=9,10,11,12,13,14,15,16;BYMINUTE=0,20,40", 60);
  EXPECT_EQ(every_twenty_minutes[23], "09-02T16:40");
  EXPECT_EQ(every_twenty_minutes[24], "09-03T09:00");
  EXPECT_EQ(locals("FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10,11,12,13,14,15,16", 60), every_twenty_minutes);
}

}  // namespace
}  // namespace carillon
