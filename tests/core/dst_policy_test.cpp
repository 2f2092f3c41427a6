// What clock changes do to wall-clock times, worked out by hand from the offsets in zone_test.cpp. (invariant 24)
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/time/dst.h"
#include "core/times.h"

namespace carillon {
namespace {

using test::times;
using test::timetable;
using test::utc;
using testing::ElementsAre;
using enum DstGap;
using enum DstOverlap;

std::string_view note_word(DstNote note) { return note == DstNote::none ? "" : to_string(note); }

// "2026-03-29T01:30:00Z gap_shifted"
std::vector<std::string> noted(const Timetable& timetable, std::string_view after, std::string_view upto) {
  std::vector<std::string> found;
  for (const Occurrence& o : test::walk(timetable, utc(after), 10)) {
    if (o.at > utc(upto)) break;
    found.push_back(test::text_of(o.at) + (o.note == DstNote::none ? "" : " ") + std::string(note_word(o.note)));
  }
  return found;
}

// ---- A daily time in a gap, in zones whose clocks do odd things --------------------------------------------------

struct GapCase {
  std::string_view zone;
  std::string_view at;          // local time that the change skips
  std::string_view day_before;  // of the three days that are looked at: the last occurrence before the change
  std::string_view shifted;
  std::string_view next_valid;
  std::string_view day_after;
};

const std::vector<GapCase> kGaps{
    {"Europe/London", "01:30", "2026-03-28T01:30:00Z", "2026-03-29T01:30:00Z", "2026-03-29T01:00:00Z",
     "2026-03-30T00:30:00Z"},
    {"Europe/London", "01:00", "2026-03-28T01:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z",
     "2026-03-30T00:00:00Z"},
    {"Europe/London", "01:59:59", "2026-03-28T01:59:59Z", "2026-03-29T01:59:59Z", "2026-03-29T01:00:00Z",
     "2026-03-30T00:59:59Z"},
    {"Europe/Dublin", "01:30", "2026-03-28T01:30:00Z", "2026-03-29T01:30:00Z", "2026-03-29T01:00:00Z",
     "2026-03-30T00:30:00Z"},
    {"America/New_York", "02:30", "2026-03-07T07:30:00Z", "2026-03-08T07:30:00Z", "2026-03-08T07:00:00Z",
     "2026-03-09T06:30:00Z"},
    {"America/Santiago", "00:00", "2026-09-05T04:00:00Z", "2026-09-06T04:00:00Z", "2026-09-06T04:00:00Z",
     "2026-09-07T03:00:00Z"},
    {"America/Santiago", "00:30", "2026-09-05T04:30:00Z", "2026-09-06T04:30:00Z", "2026-09-06T04:00:00Z",
     "2026-09-07T03:30:00Z"},
    {"Australia/Lord_Howe", "02:15", "2026-10-02T15:45:00Z", "2026-10-03T15:45:00Z", "2026-10-03T15:30:00Z",
     "2026-10-04T15:15:00Z"},
    {"Pacific/Chatham", "03:00", "2026-09-25T14:15:00Z", "2026-09-26T14:15:00Z", "2026-09-26T14:00:00Z",
     "2026-09-27T13:15:00Z"},
    {"Antarctica/Troll", "02:30", "2026-03-28T02:30:00Z", "2026-03-29T02:30:00Z", "2026-03-29T01:00:00Z",
     "2026-03-30T00:30:00Z"},
    {"Africa/Cairo", "00:30", "2024-04-24T22:30:00Z", "2024-04-25T22:30:00Z", "2024-04-25T22:00:00Z",
     "2024-04-26T21:30:00Z"},
    {"Africa/Casablanca", "02:30", "2024-04-13T02:30:00Z", "2024-04-14T02:30:00Z", "2024-04-14T02:00:00Z",
     "2024-04-15T01:30:00Z"},
    {"America/Nuuk", "23:30", "2026-03-28T01:30:00Z", "2026-03-29T01:30:00Z", "2026-03-29T01:00:00Z",
     "2026-03-30T00:30:00Z"},
};

TEST(DstGap, ADailyTimeInAGapFollowsThePolicy) {
  for (const GapCase& each : kGaps) {
    SCOPED_TRACE(std::string(each.zone) + " " + std::string(each.at));
    const std::string daily = "daily:" + std::string(each.at);
    const auto with = [&](DstGap gap) {
      const std::string after = test::text_of(utc(each.day_before) - std::chrono::seconds(1));
      return noted(timetable(daily, {.zone = each.zone, .dst = {.gap = gap}}), after, each.day_after);
    };
    const std::string before(each.day_before);
    const std::string after(each.day_after);
    EXPECT_THAT(with(shift), ElementsAre(before, std::string(each.shifted) + " gap_shifted", after));
    EXPECT_THAT(with(next_valid), ElementsAre(before, std::string(each.next_valid) + " gap_next_valid", after));
    EXPECT_THAT(with(skip), ElementsAre(before, after));
  }
}

TEST(DstGap, WhatIsSkippedIsKnown) {
  for (const GapCase& each : kGaps) {
    SCOPED_TRACE(std::string(each.zone) + " " + std::string(each.at));
    const Timetable skipping = timetable("daily:" + std::string(each.at), {.zone = each.zone, .dst = {.gap = skip}});
    const auto lost = skipping.skipped(utc(each.day_before), utc(each.day_after), 10);
    ASSERT_EQ(lost.size(), 1U);
    EXPECT_EQ(lost[0].note, DstNote::gap_skipped);
    EXPECT_EQ(format_local_seconds(lost[0].local).substr(11, 5), each.at.substr(0, 5));
    const Timetable shifting = timetable("daily:" + std::string(each.at), {.zone = each.zone});
    EXPECT_TRUE(shifting.skipped(utc(each.day_before), utc(each.day_after), 10).empty());
  }
}

// ---- A daily time in an overlap ----------------------------------------------------------------------------------

struct OverlapCase {
  std::string_view zone;
  std::string_view at;  // local time that comes twice
  std::string_view day_before;
  std::string_view first;
  std::string_view second;
  std::string_view day_after;
};

const std::vector<OverlapCase> kOverlaps{
    {"Europe/London", "01:30", "2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z",
     "2026-10-26T01:30:00Z"},
    {"Europe/London", "01:00", "2026-10-24T00:00:00Z", "2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z",
     "2026-10-26T01:00:00Z"},
    {"Europe/London", "01:59:59", "2026-10-24T00:59:59Z", "2026-10-25T00:59:59Z", "2026-10-25T01:59:59Z",
     "2026-10-26T01:59:59Z"},
    {"Europe/Dublin", "01:30", "2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z",
     "2026-10-26T01:30:00Z"},
    {"America/New_York", "01:30", "2026-10-31T05:30:00Z", "2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z",
     "2026-11-02T06:30:00Z"},
    {"America/Santiago", "23:30", "2026-04-04T02:30:00Z", "2026-04-05T02:30:00Z", "2026-04-05T03:30:00Z",
     "2026-04-06T03:30:00Z"},
    {"Australia/Lord_Howe", "01:45", "2026-04-03T14:45:00Z", "2026-04-04T14:45:00Z", "2026-04-04T15:15:00Z",
     "2026-04-05T15:15:00Z"},
    {"Pacific/Chatham", "03:00", "2026-04-03T13:15:00Z", "2026-04-04T13:15:00Z", "2026-04-04T14:15:00Z",
     "2026-04-05T14:15:00Z"},
    {"Antarctica/Troll", "02:00", "2026-10-24T00:00:00Z", "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z",
     "2026-10-26T02:00:00Z"},
    {"Africa/Cairo", "23:30", "2024-10-30T20:30:00Z", "2024-10-31T20:30:00Z", "2024-10-31T21:30:00Z",
     "2024-11-01T21:30:00Z"},
    {"Africa/Casablanca", "02:30", "2024-03-09T01:30:00Z", "2024-03-10T01:30:00Z", "2024-03-10T02:30:00Z",
     "2024-03-11T02:30:00Z"},
};

TEST(DstOverlap, ADailyTimeInAnOverlapFollowsThePolicy) {
  for (const OverlapCase& each : kOverlaps) {
    SCOPED_TRACE(std::string(each.zone) + " " + std::string(each.at));
    const auto with = [&](DstOverlap overlap) {
      const std::string after = test::text_of(utc(each.day_before) - std::chrono::seconds(1));
      const Timetable daily =
          timetable("daily:" + std::string(each.at), {.zone = each.zone, .dst = {.overlap = overlap}});
      return noted(daily, after, each.day_after);
    };
    const std::string before(each.day_before);
    const std::string after(each.day_after);
    const std::string one = std::string(each.first) + " overlap_first";
    const std::string two = std::string(each.second) + " overlap_second";
    EXPECT_THAT(with(first), ElementsAre(before, one, after));
    EXPECT_THAT(with(second), ElementsAre(before, two, after));
    EXPECT_THAT(with(both), ElementsAre(before, one, two, after));
  }
}

TEST(DstOverlap, TheSecondsJustOutsideAnOverlapAreOrdinary) {
  for (const DstOverlap overlap : {first, second, both}) {
    const test::Setting london{.zone = "Europe/London", .dst = {.overlap = overlap}};
    EXPECT_THAT(noted(timetable("daily:00:59:59", london), "2026-10-24T12:00:00Z", "2026-10-25T12:00:00Z"),
                ElementsAre("2026-10-24T23:59:59Z"));
    EXPECT_THAT(noted(timetable("daily:02:00", london), "2026-10-24T12:00:00Z", "2026-10-25T12:00:00Z"),
                ElementsAre("2026-10-25T02:00:00Z"));
  }
}

// ---- The day that Samoa left out ---------------------------------------------------------------------------------

TEST(DstGap, ADayThatDoesNotExistRunsOnceOrNotAtAll) {
  const auto apia = [](DstGap gap) {
    return noted(timetable("daily:12:00", {.zone = "Pacific/Apia", .dst = {.gap = gap}}), "2011-12-29T00:00:00Z",
                 "2011-12-31T23:00:00Z");
  };
  // 30 December is shifted by its 24 hours onto the 31st, which has a run of its own: one of the two is enough.
  EXPECT_THAT(apia(shift), ElementsAre("2011-12-29T22:00:00Z", "2011-12-30T22:00:00Z", "2011-12-31T22:00:00Z"));
  EXPECT_THAT(apia(skip), ElementsAre("2011-12-29T22:00:00Z", "2011-12-30T22:00:00Z", "2011-12-31T22:00:00Z"));
  EXPECT_THAT(apia(next_valid), ElementsAre("2011-12-29T22:00:00Z", "2011-12-30T10:00:00Z gap_next_valid",
                                            "2011-12-30T22:00:00Z", "2011-12-31T22:00:00Z"));
}

// ---- Never two runs for one wall-clock occurrence ----------------------------------------------------------------

TEST(DstGap, SeveralTimesInOneGapMoveToSeveralInstantsOrToOne) {
  const auto london = [](DstGap gap) {
    return noted(timetable("cron:*/20 1,2 * * *", {.zone = "Europe/London", .dst = {.gap = gap}}),
                 "2026-03-29T00:00:00Z", "2026-03-29T12:00:00Z");
  };
  // What is shifted to 02:00, 02:20 and 02:40 falls on occurrences that are there anyway.
  EXPECT_THAT(london(shift), ElementsAre("2026-03-29T01:00:00Z", "2026-03-29T01:20:00Z", "2026-03-29T01:40:00Z"));
  EXPECT_THAT(london(next_valid), ElementsAre("2026-03-29T01:00:00Z", "2026-03-29T01:20:00Z", "2026-03-29T01:40:00Z"));
  const auto only_in_gap = [](DstGap gap) {
    return noted(timetable("cron:*/20 1 * * *", {.zone = "Europe/London", .dst = {.gap = gap}}), "2026-03-29T00:00:00Z",
                 "2026-03-29T12:00:00Z");
  };
  EXPECT_THAT(only_in_gap(shift), ElementsAre("2026-03-29T01:00:00Z gap_shifted", "2026-03-29T01:20:00Z gap_shifted",
                                              "2026-03-29T01:40:00Z gap_shifted"));
  EXPECT_THAT(only_in_gap(next_valid), ElementsAre("2026-03-29T01:00:00Z gap_next_valid"));
  EXPECT_THAT(only_in_gap(skip), ElementsAre());
}

// ---- Absolute time: intervals, HOURLY and finer, cron with hour * ------------------------------------------------

TEST(AbsoluteTime, HourlyRunsEveryHourThroughEveryChange) {
  for (const std::string_view trigger : {"cron:0 * * * *", "every:1h", "rrule:FREQ=HOURLY"}) {
    for (const auto& [zone, from] :
         std::vector<std::pair<std::string_view, std::string_view>>{{"Europe/London", "2026-03-28T23:00:00Z"},
                                                                    {"Europe/London", "2026-10-24T23:00:00Z"},
                                                                    {"America/New_York", "2026-03-08T05:00:00Z"},
                                                                    {"America/New_York", "2026-11-01T04:00:00Z"},
                                                                    {"America/Santiago", "2026-09-06T02:00:00Z"},
                                                                    {"Antarctica/Troll", "2026-03-28T23:00:00Z"},
                                                                    {"Pacific/Apia", "2011-12-30T08:00:00Z"},
                                                                    {"Europe/Dublin", "2026-10-24T23:00:00Z"}}) {
      const Timetable hourly = timetable(trigger, {.zone = zone, .created = from});
      const auto found = test::walk(hourly, utc(from), 6);
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].at, utc(from) + std::chrono::hours(i + 1)) << trigger << " " << zone << " " << from;
        EXPECT_EQ(found[i].note, DstNote::none);
      }
    }
  }
}

TEST(AbsoluteTime, OnTheHourFollowsTheClockWhereItChangesByHalfAnHour) {
  const Timetable on_the_hour = timetable("cron:0 * * * *", {.zone = "Australia/Lord_Howe"});
  EXPECT_THAT(times(on_the_hour, "2026-04-04T13:30:00Z", 3),
              ElementsAre("2026-04-04T14:00:00Z", "2026-04-04T15:30:00Z", "2026-04-04T16:30:00Z"));
  EXPECT_THAT(times(on_the_hour, "2026-10-03T14:00:00Z", 3),
              ElementsAre("2026-10-03T14:30:00Z", "2026-10-03T16:00:00Z", "2026-10-03T17:00:00Z"));
  const Timetable each_hour =
      timetable("rrule:FREQ=HOURLY", {.zone = "Australia/Lord_Howe", .start = "2026-04-05T00:00:00"});
  EXPECT_THAT(times(each_hour, "2026-04-04T00:00:00Z", 4), ElementsAre("2026-04-04T13:00:00Z", "2026-04-04T14:00:00Z",
                                                                       "2026-04-04T15:00:00Z", "2026-04-04T16:00:00Z"));
}

TEST(AbsoluteTime, EveryMinuteMissesNoneAndRepeatsNone) {
  for (const GapCase& each : kGaps) {
    const Timetable minutely = timetable("cron:* * * * *", {.zone = each.zone});
    const Instant begin = utc(each.next_valid) - std::chrono::minutes(90);
    const auto found = test::walk(minutely, begin, 180);
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_EQ(found[i].at, begin + std::chrono::minutes(i + 1)) << each.zone;
  }
  for (const OverlapCase& each : kOverlaps) {
    const Timetable minutely = timetable("rrule:FREQ=MINUTELY", {.zone = each.zone, .start = "2020-01-01T00:00:00"});
    const Instant begin = std::chrono::floor<std::chrono::minutes>(utc(each.first)) - std::chrono::minutes(90);
    const auto found = test::walk(minutely, begin, 300);
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_EQ(found[i].at, begin + std::chrono::minutes(i + 1)) << each.zone;
  }
}

TEST(AbsoluteTime, AStepOfTheHourFiresInBothPassesOfARepeatedHour) {
  const Timetable steps = timetable("cron:30 1/2,*/3 * * *", {.zone = "Europe/London"});
  EXPECT_THAT(times(steps, "2026-10-24T23:00:00Z", 4), ElementsAre("2026-10-24T23:30:00Z", "2026-10-25T00:30:00Z",
                                                                   "2026-10-25T01:30:00Z", "2026-10-25T03:30:00Z"));
}

TEST(AbsoluteTime, ARepeatedHourFiresTwiceEvenIfNothingElseDoesForAMonth) {
  const Timetable late = timetable("cron:11 */22 L,28 * *", {.zone = "America/Nuuk"});
  EXPECT_THAT(times(late, "2006-10-28T12:00:00Z", 3),
              ElementsAre("2006-10-29T00:11:00Z", "2006-10-29T01:11:00Z", "2006-10-31T03:11:00Z"));
  EXPECT_EQ(late.count(utc("2006-10-28T12:00:00Z"), utc("2006-10-31T03:11:00Z")), 3U);
}

// ---- Series over a change: every other week, COUNT and UNTIL at the edge ------------------------------------------

TEST(DstSeries, EveryOtherWeekKeepsItsWallClockTime) {
  const Timetable biweekly =
      timetable("rrule:FREQ=WEEKLY;INTERVAL=2", {.zone = "Europe/London", .start = "2026-03-01T01:30:00"});
  EXPECT_THAT(noted(biweekly, "2026-03-01T00:00:00Z", "2026-04-30T00:00:00Z"),
              ElementsAre("2026-03-01T01:30:00Z", "2026-03-15T01:30:00Z", "2026-03-29T01:30:00Z gap_shifted",
                          "2026-04-12T00:30:00Z", "2026-04-26T00:30:00Z"));
}

std::vector<std::string> series(std::string_view rule, std::string_view start, DstPolicy dst) {
  return times(timetable("rrule:" + std::string(rule), {.zone = "Europe/London", .start = start, .dst = dst}),
               "2026-01-01T00:00:00Z", 10);
}

TEST(DstSeries, CountCountsWhatFires) {
  EXPECT_THAT(series("FREQ=DAILY;COUNT=3", "2026-03-28T01:30:00", {}),
              ElementsAre("2026-03-28T01:30:00Z", "2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"));
  EXPECT_THAT(series("FREQ=DAILY;COUNT=3", "2026-03-28T01:30:00", {.gap = skip}),
              ElementsAre("2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z", "2026-03-31T00:30:00Z"));
  EXPECT_THAT(series("FREQ=DAILY;COUNT=3", "2026-10-24T01:30:00", {.overlap = both}),
              ElementsAre("2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"));
  EXPECT_THAT(series("FREQ=HOURLY;COUNT=3", "2026-03-29T00:30:00", {}),
              ElementsAre("2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z", "2026-03-29T02:30:00Z"));
}

TEST(DstSeries, ATimeThatComesTwiceAndThenNotForAYear) {
  const std::string_view rule = "FREQ=YEARLY;BYMONTH=10;BYMONTHDAY=25;COUNT=3";
  EXPECT_THAT(series(rule, "2025-10-25T01:30:00", {.overlap = first}),
              ElementsAre("2026-10-25T00:30:00Z", "2027-10-25T00:30:00Z"));
  EXPECT_THAT(series(rule, "2025-10-25T01:30:00", {.overlap = second}),
              ElementsAre("2026-10-25T01:30:00Z", "2027-10-25T00:30:00Z"));
  EXPECT_THAT(series(rule, "2025-10-25T01:30:00", {.overlap = both}),
              ElementsAre("2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"));
}

TEST(DstSeries, AStartInAGapIsTheFirstOccurrenceOfItsCount) {
  EXPECT_THAT(series("FREQ=DAILY;COUNT=1", "2026-03-29T01:30:00", {.gap = shift}), ElementsAre("2026-03-29T01:30:00Z"));
  EXPECT_THAT(series("FREQ=DAILY;COUNT=1", "2026-03-29T01:30:00", {.gap = next_valid}),
              ElementsAre("2026-03-29T01:00:00Z"));
  EXPECT_THAT(series("FREQ=DAILY;COUNT=1", "2026-03-29T01:30:00", {.gap = skip}), ElementsAre("2026-03-30T00:30:00Z"));
}

TEST(DstSeries, AStartInAnOverlapIsTheOneThatThePolicyPicks) {
  EXPECT_THAT(series("FREQ=DAILY;COUNT=1", "2026-10-25T01:30:00", {.overlap = first}),
              ElementsAre("2026-10-25T00:30:00Z"));
  EXPECT_THAT(series("FREQ=DAILY;COUNT=1", "2026-10-25T01:30:00", {.overlap = second}),
              ElementsAre("2026-10-25T01:30:00Z"));
  EXPECT_THAT(series("FREQ=DAILY;COUNT=2", "2026-10-25T01:30:00", {.overlap = both}),
              ElementsAre("2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"));
  EXPECT_THAT(series("FREQ=HOURLY;COUNT=2", "2026-10-25T01:30:00", {.overlap = second}),
              ElementsAre("2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"));
}

TEST(DstSeries, UntilIsInclusiveAtTheEdge) {
  const auto last = [](std::string_view until, DstPolicy dst = {}) {
    return series("FREQ=DAILY;UNTIL=" + std::string(until), "2026-03-28T01:30:00", dst).back();
  };
  EXPECT_EQ(last("20260329T013000Z"), "2026-03-29T01:30:00Z");  // in UTC: up to that instant
  EXPECT_EQ(last("20260329T012959Z"), "2026-03-28T01:30:00Z");
  EXPECT_EQ(last("20260329T013000"), "2026-03-29T01:30:00Z");  // in local time: up to what the rule asks for
  EXPECT_EQ(last("20260329T012959"), "2026-03-28T01:30:00Z");
  EXPECT_EQ(last("20260329"), "2026-03-29T01:30:00Z");
  EXPECT_EQ(last("20260328"), "2026-03-28T01:30:00Z");
  const auto autumn = [](std::string_view until) {
    return series("FREQ=DAILY;UNTIL=" + std::string(until), "2026-10-24T01:30:00", {.overlap = both}).back();
  };
  EXPECT_EQ(autumn("20261025T013000"), "2026-10-25T01:30:00Z");
  EXPECT_EQ(autumn("20261025T005959Z"), "2026-10-25T00:30:00Z");
  EXPECT_EQ(series("FREQ=HOURLY;UNTIL=20261025T013000", "2026-10-25T00:30:00", {}).back(), "2026-10-25T00:30:00Z");
}

// In Santiago the last hour of 4 April 2026 comes twice; both belong to the day.
TEST(DstSeries, AnUntilThatIsADateCoversAllOfThatDay) {
  const Timetable hourly =
      timetable("rrule:FREQ=HOURLY;UNTIL=20260404", {.zone = "America/Santiago", .start = "2026-04-04T22:30:00"});
  EXPECT_THAT(times(hourly, "2026-04-01T00:00:00Z", 9),
              ElementsAre("2026-04-05T01:30:00Z", "2026-04-05T02:30:00Z", "2026-04-05T03:30:00Z"));
}

TEST(DstPolicy, NamesReadBack) {
  for (const DstGap gap : {shift, skip, next_valid}) EXPECT_EQ(test::value_of(parse_dst_gap(to_string(gap))), gap);
  for (const DstOverlap overlap : {first, second, both})
    EXPECT_EQ(test::value_of(parse_dst_overlap(to_string(overlap))), overlap);
  EXPECT_EQ(to_string(DstNote::gap_skipped), "gap_skipped");
  EXPECT_THAT(test::error_of(parse_dst_gap("forward")).message,
              testing::HasSubstr("allowed are shift, skip, next_valid"));
  EXPECT_THAT(test::error_of(parse_dst_overlap("")).message, testing::HasSubstr("allowed are first, second, both"));
}

}  // namespace
}  // namespace carillon
