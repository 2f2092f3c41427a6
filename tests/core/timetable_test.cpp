#include "core/triggers/timetable.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "core/times.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::date;
using test::error_of;
using test::times;
using test::timetable;
using test::try_timetable;
using test::utc;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string text_of(const std::optional<Occurrence>& found) { return found ? test::text_of(found->at) : "nothing"; }

// ---- once --------------------------------------------------------------------------------------------------------

TEST(Once, FiresOnceAndIsFinished) {
  const Timetable once = timetable("once:2026-03-29T01:00:00.250Z");
  EXPECT_THAT(times(once, "2026-01-01T00:00:00Z", 5), ElementsAre("2026-03-29T01:00:00.250Z"));
  EXPECT_EQ(text_of(once.next(utc("2026-03-29T01:00:00.250Z"))), "nothing");
  EXPECT_EQ(once.count(utc("2026-01-01T00:00:00Z"), utc("2026-03-29T01:00:00.250Z")), 1U);
  EXPECT_EQ(once.count(utc("2026-03-29T01:00:00.250Z"), utc("2027-01-01T00:00:00Z")), 0U);
  EXPECT_EQ(once.count(utc("2026-01-01T00:00:00Z"), utc("2026-03-29T01:00:00Z")), 0U);
}

// ---- every -------------------------------------------------------------------------------------------------------

TEST(Every, WithoutAnAnchorBeginsOneIntervalAfterCreation) {
  const Timetable every = timetable("every:90m", {.created = "2026-01-01T00:10:00.5Z"});
  EXPECT_THAT(times(every, "2020-01-01T00:00:00Z", 2),
              ElementsAre("2026-01-01T01:40:00.500Z", "2026-01-01T03:10:00.500Z"));
}

Timetable anchored(Duration every, std::string_view anchor) {
  return test::value_of(Timetable::make(EveryTrigger{.every = every, .anchor = utc(anchor)}, {}));
}

TEST(Every, TheAnchorIsItsFirstTime) {
  const Timetable every = anchored(2h, "2026-03-29T00:30:00Z");
  EXPECT_EQ(text_of(every.next(utc("2020-01-01T00:00:00Z"))), "2026-03-29T00:30:00Z");
  EXPECT_EQ(text_of(every.next(utc("2026-03-29T00:30:00Z"))), "2026-03-29T02:30:00Z");
  EXPECT_EQ(text_of(every.next(utc("2026-03-29T02:29:59.999Z"))), "2026-03-29T02:30:00Z");
}

TEST(Every, KeepsItsPhaseForEver) {  // invariant 25
  const Timetable every = anchored(7h, "2000-01-01T00:00:00Z");
  const Instant late = utc("9998-06-01T12:34:56Z");
  const Instant found = every.next(late)->at;
  EXPECT_EQ((found - utc("2000-01-01T00:00:00Z")) % 7h, 0h);
  EXPECT_GT(found, late);
  EXPECT_LE(found - late, 7h);
}

TEST(Every, EndsWithTheCalendar) {
  const Timetable every = anchored(kDurationMax, "2000-01-01T00:00:00Z");
  const auto all = test::walk(every, kInstantMin, 100);
  EXPECT_EQ(all.size(), 20U);
  EXPECT_EQ(test::text_of(all.back().at), "9600-01-01T00:00:00Z");
  EXPECT_EQ(text_of(anchored(1s, "9999-12-31T23:59:59Z").next(utc("9999-12-31T23:59:59Z"))), "nothing");
}

TEST(Every, IsAtLeastASecond) {
  EXPECT_EQ(error_of(try_timetable("every:999ms")).message,
            R"(duration "999ms", column 1: an interval must be at least 1s)");
  EXPECT_EQ(error_of(try_timetable("every:0s")).message, R"(duration "0s", column 1: an interval must be at least 1s)");
  EXPECT_TRUE(try_timetable("every:1s").has_value());
  EXPECT_EQ(error_of(Timetable::make(EveryTrigger{.every = 999ms}, {})).code, ErrorCode::invalid_configuration);
  EXPECT_FALSE(Timetable::make(EveryTrigger{.every = 999ms}, {}).has_value());
}

TEST(Every, CountsWithoutWalking) {
  const Timetable every = anchored(1s, "2000-01-01T00:00:00Z");
  EXPECT_EQ(every.count(utc("2000-01-01T00:00:00Z"), utc("2100-01-01T00:00:00Z")), 36525U * 86400);
  EXPECT_EQ(every.count(utc("1999-01-01T00:00:00Z"), utc("2000-01-01T00:00:00Z")), 1U);
  EXPECT_EQ(timetable("every:1h").count(kInstantMin, utc("2026-01-01T02:30:00Z")), 2U);
}

// ---- daily and weekly --------------------------------------------------------------------------------------------

TEST(Daily, IsAtThatLocalTimeEachDay) {
  EXPECT_THAT(times(timetable("daily:08:00", {.zone = "Europe/London"}), "2026-03-28T00:00:00Z", 3),
              ElementsAre("2026-03-28T08:00:00Z", "2026-03-29T07:00:00Z", "2026-03-30T07:00:00Z"));
}

TEST(Weekly, IsAtThatLocalTimeOnThoseDays) {
  EXPECT_THAT(times(timetable("weekly:fri,mon@08:30"), "2026-01-01T00:00:00Z", 3),
              ElementsAre("2026-01-02T08:30:00Z", "2026-01-05T08:30:00Z", "2026-01-09T08:30:00Z"));
}

// ---- rrule's start -----------------------------------------------------------------------------------------------

TEST(RruleStart, IsTheMinuteOfTheCreationInTheZoneUnlessGiven) {
  EXPECT_THAT(times(timetable("rrule:FREQ=DAILY", {.zone = "Europe/London", .created = "2026-07-01T08:15:30.7Z"}),
                    "2020-01-01T00:00:00Z", 2),
              ElementsAre("2026-07-02T08:15:00Z", "2026-07-03T08:15:00Z"));
  EXPECT_THAT(times(timetable("rrule:FREQ=DAILY", {.zone = "Europe/London", .start = "2026-07-01T09:00:00"}),
                    "2020-01-01T00:00:00Z", 1),
              ElementsAre("2026-07-01T08:00:00Z"));
}

TEST(RruleStart, TheCreationIsNoOccurrenceAndCountCountsRuns) {
  for (const std::string_view created : {"2026-07-01T08:15:00Z", "2026-07-01T08:15:00.4Z", "2026-07-01T08:15:59Z"}) {
    EXPECT_THAT(times(timetable("rrule:FREQ=HOURLY;INTERVAL=5;COUNT=2", {.created = created}), created, 5),
                ElementsAre("2026-07-01T13:15:00Z", "2026-07-01T18:15:00Z"));
  }
  // What lies between that minute and the creation is none either.
  const Timetable quick = timetable("rrule:FREQ=SECONDLY;INTERVAL=20;COUNT=3", {.created = "2026-07-01T08:15:45Z"});
  EXPECT_THAT(times(quick, "2020-01-01T00:00:00Z", 5),
              ElementsAre("2026-07-01T08:16:00Z", "2026-07-01T08:16:20Z", "2026-07-01T08:16:40Z"));
  EXPECT_EQ(quick.count(utc("2020-01-01T00:00:00Z"), utc("2027-01-01T00:00:00Z")), 3U);
  // A start that was given is one if it matches.
  EXPECT_THAT(
      times(timetable("rrule:FREQ=HOURLY;COUNT=2", {.start = "2026-07-01T08:15:00", .created = "2026-07-01T08:15:00Z"}),
            "2020-01-01T00:00:00Z", 5),
      ElementsAre("2026-07-01T08:15:00Z", "2026-07-01T09:15:00Z"));
}

TEST(RruleStart, IsAnOccurrenceOnlyIfItMatches) {
  EXPECT_THAT(times(timetable("rrule:FREQ=WEEKLY;BYDAY=TU;COUNT=2", {.start = "2026-01-05T09:00:00"}),
                    "2020-01-01T00:00:00Z", 5),
              ElementsAre("2026-01-06T09:00:00Z", "2026-01-13T09:00:00Z"));
}

// ---- starts_at, ends_at ------------------------------------------------------------------------------------------

TEST(StartsAt, AndEndsAtAreInclusive) {
  const Timetable daily =
      timetable("daily:08:00", {.starts_at = "2026-01-03T08:00:00Z", .ends_at = "2026-01-05T08:00:00Z"});
  EXPECT_THAT(times(daily, "2020-01-01T00:00:00Z", 9),
              ElementsAre("2026-01-03T08:00:00Z", "2026-01-04T08:00:00Z", "2026-01-05T08:00:00Z"));
  EXPECT_EQ(daily.count(kInstantMin, kInstantMax), 3U);
  EXPECT_EQ(text_of(daily.newest(kInstantMin, kInstantMax)), "2026-01-05T08:00:00Z");
  EXPECT_THAT(
      times(timetable("daily:08:00", {.starts_at = "2026-01-03T08:00:00.001Z", .ends_at = "2026-01-05T07:59:59.999Z"}),
            "2020-01-01T00:00:00Z", 9),
      ElementsAre("2026-01-04T08:00:00Z"));
}

TEST(StartsAt, DoesNotMoveThePhase) {  // invariant 25
  EXPECT_THAT(times(timetable("rrule:FREQ=DAILY;INTERVAL=2",
                              {.start = "2026-01-01T09:00:00", .starts_at = "2026-01-02T00:00:00Z"}),
                    "2020-01-01T00:00:00Z", 2),
              ElementsAre("2026-01-03T09:00:00Z", "2026-01-05T09:00:00Z"));
  EXPECT_THAT(times(timetable("every:1h", {.created = "2026-01-01T00:10:00Z", .starts_at = "2026-01-02T00:00:00Z"}),
                    "2020-01-01T00:00:00Z", 1),
              ElementsAre("2026-01-02T00:10:00Z"));
}

TEST(StartsAt, AfterEndsAtIsRefused) {
  const Error error =
      error_of(try_timetable("daily:08:00", {.starts_at = "2026-01-02T00:00:00Z", .ends_at = "2026-01-01T00:00:00Z"}));
  EXPECT_EQ(error.code, ErrorCode::invalid_configuration);
  EXPECT_EQ(error.message, "ends_at 2026-01-01T00:00:00.000Z lies before starts_at 2026-01-02T00:00:00.000Z");
}

TEST(StartsAt, WhatLeavesNoTimeIsRefused) {  // invariant 26
  const std::string says = "never fires: the calendar, starts_at, ends_at and exclude_dates leave no time";
  EXPECT_EQ(error_of(try_timetable("once:2026-01-01T00:00:00Z", {.starts_at = "2026-01-01T00:00:00.001Z"})).message,
            says);
  EXPECT_EQ(
      error_of(try_timetable("daily:08:00", {.starts_at = "2026-01-01T09:00:00Z", .ends_at = "2026-01-02T07:00:00Z"}))
          .message,
      says);
  EXPECT_EQ(error_of(try_timetable("once:2026-01-01T00:00:00Z", {.exclude_dates = {date("2026-01-01")}})).message,
            says);
  EXPECT_EQ(
      error_of(try_timetable("rrule:FREQ=DAILY;COUNT=2", {.start = "2026-01-01T09:00:00",
                                                          .exclude_dates = {date("2026-01-01"), date("2026-01-02")}}))
          .message,
      says);
}

// ---- exclude_dates -----------------------------------------------------------------------------------------------

TEST(ExcludeDates, AreLocalDates) {
  const Timetable daily =
      timetable("daily:00:30", {.zone = "Europe/London", .exclude_dates = {date("2026-07-02"), date("2026-12-25")}});
  EXPECT_THAT(times(daily, "2026-06-30T12:00:00Z", 2), ElementsAre("2026-06-30T23:30:00Z", "2026-07-02T23:30:00Z"));
  EXPECT_THAT(times(daily, "2026-12-24T00:00:00Z", 2), ElementsAre("2026-12-24T00:30:00Z", "2026-12-26T00:30:00Z"));
}

TEST(ExcludeDates, AWholeDayOfManyOccurrencesIsLeftOut) {
  const Timetable minutely = timetable("cron:* * * * *", {.exclude_dates = {date("2026-01-02"), date("2026-01-03")}});
  EXPECT_THAT(times(minutely, "2026-01-01T23:58:59Z", 2), ElementsAre("2026-01-01T23:59:00Z", "2026-01-04T00:00:00Z"));
  EXPECT_EQ(minutely.count(utc("2026-01-01T23:59:00Z"), utc("2026-01-04T00:00:00Z")), 1U);
  EXPECT_EQ(text_of(minutely.newest(kInstantMin, utc("2026-01-03T12:00:00Z"))), "2026-01-01T23:59:00Z");
}

TEST(ExcludeDates, StillUseUpTheCount) {
  const Timetable daily =
      timetable("rrule:FREQ=DAILY;COUNT=3", {.start = "2026-01-01T09:00:00", .exclude_dates = {date("2026-01-02")}});
  EXPECT_THAT(times(daily, "2020-01-01T00:00:00Z", 9), ElementsAre("2026-01-01T09:00:00Z", "2026-01-03T09:00:00Z"));
  EXPECT_EQ(daily.count(kInstantMin, kInstantMax), 2U);
}

TEST(ExcludeDates, AreCountedOnlyWithinTheSpanWhereClocksChangeToo) {
  const Timetable hourly =
      timetable("cron:0 * * * *", {.zone = "Europe/London", .exclude_dates = {date("2026-03-29"), date("2026-07-02")}});
  EXPECT_EQ(hourly.count(utc("2026-03-28T00:00:00Z"), utc("2026-03-29T05:00:00Z")), 23U);
  EXPECT_EQ(hourly.count(utc("2026-03-28T00:00:00Z"), utc("2026-03-29T23:00:00Z")), 24U);
  EXPECT_EQ(hourly.count(utc("2026-03-29T05:00:00Z"), utc("2026-03-29T22:00:00Z")), 0U);
  EXPECT_EQ(hourly.count(utc("2026-07-01T00:00:00Z"), utc("2026-07-02T05:00:00Z")), 22U);
  const Timetable ends_there =
      timetable("rrule:FREQ=DAILY;COUNT=3",
                {.zone = "Europe/London", .start = "2026-03-27T09:00:00", .exclude_dates = {date("2026-03-29")}});
  EXPECT_EQ(ends_there.count(kInstantMin, kInstantMax), 2U);
}

// In Nuuk clocks go from 23:00 to midnight: what was asked for on Saturday runs on Sunday.
TEST(ExcludeDates, ManyTimesMovedPastMidnightByAGapDoNotEndTheSeries) {
  const Timetable evening =
      timetable("cron:*/10 23 * * *", {.zone = "America/Nuuk", .exclude_dates = {date("2026-03-28")}});
  EXPECT_THAT(times(evening, "2026-03-28T12:00:00Z", 2), ElementsAre("2026-03-30T00:00:00Z", "2026-03-30T00:10:00Z"));
}

TEST(ExcludeDates, ATimeMovedOntoAnExcludedDateBelongsToTheDayItWasAskedFor) {
  const Timetable both_ends =
      timetable("rrule:FREQ=DAILY;BYHOUR=0,23;BYMINUTE=0,30;BYSECOND=0;BYSETPOS=1,4",  // 00:00 and 23:30
                {.zone = "America/Nuuk", .start = "2026-01-01T00:00:00", .exclude_dates = {date("2026-03-29")}});
  EXPECT_THAT(times(both_ends, "2026-03-28T12:00:00Z", 2), ElementsAre("2026-03-29T01:30:00Z", "2026-03-30T01:00:00Z"));
  EXPECT_EQ(both_ends.count(utc("2026-03-28T12:00:00Z"), utc("2026-03-30T01:00:00Z")), 2U);
}

// ---- newest, count, skipped --------------------------------------------------------------------------------------

TEST(Newest, IsTheLastOneInTheSpanOrNothing) {
  const Timetable daily = timetable("daily:08:00");
  EXPECT_EQ(text_of(daily.newest(utc("2026-01-01T00:00:00Z"), utc("2026-02-01T07:59:59Z"))), "2026-01-31T08:00:00Z");
  EXPECT_EQ(text_of(daily.newest(utc("2026-01-01T00:00:00Z"), utc("2026-02-01T08:00:00Z"))), "2026-02-01T08:00:00Z");
  EXPECT_EQ(text_of(daily.newest(utc("2026-01-01T08:00:00Z"), utc("2026-01-02T07:00:00Z"))), "nothing");
  EXPECT_EQ(text_of(daily.newest(utc("2026-01-02T08:00:00Z"), utc("2026-01-01T08:00:00Z"))), "nothing");
}

TEST(Newest, AnswersOverCenturiesOfSeconds) {
  EXPECT_EQ(text_of(timetable("cron:* * * * * *").newest(utc("1900-01-01T00:00:00Z"), utc("2300-01-01T00:00:00.5Z"))),
            "2300-01-01T00:00:00Z");
  EXPECT_EQ(text_of(timetable("every:1s").newest(kInstantMin, kInstantMax)), "9999-12-31T23:59:59Z");
}

TEST(Count, AnswersOverCenturiesWithoutWalking) {
  EXPECT_EQ(timetable("cron:* * * * * *").count(utc("2000-01-01T00:00:00Z"), utc("2100-01-01T00:00:00Z")),
            36525U * 86400);
  EXPECT_EQ(timetable("daily:01:30", {.zone = "Europe/London"})
                .count(utc("2000-01-01T00:00:00Z"), utc("2100-01-01T00:00:00Z")),
            36525U);
  EXPECT_EQ(timetable("daily:01:30", {.zone = "Europe/London", .dst = {.gap = DstGap::skip}})
                .count(utc("2000-01-01T00:00:00Z"), utc("2100-01-01T00:00:00Z")),
            36525U - 100);
  EXPECT_EQ(timetable("daily:01:30", {.zone = "Europe/London", .dst = {.overlap = DstOverlap::both}})
                .count(utc("2000-01-01T00:00:00Z"), utc("2100-01-01T00:00:00Z")),
            36525U + 100);
}

TEST(Count, IncludesAnOccurrenceAtUntilItself) {
  for (const std::string_view until : {"20260107T090000", "20260107T090000Z", "20260107"}) {
    const Timetable daily = timetable("rrule:FREQ=DAILY;UNTIL=" + std::string(until), {.start = "2026-01-05T09:00:00"});
    EXPECT_EQ(daily.count(kInstantMin, kInstantMax), 3U) << until;
  }
  EXPECT_EQ(timetable("rrule:FREQ=DAILY;UNTIL=20260107T085959", {.start = "2026-01-05T09:00:00"})
                .count(kInstantMin, kInstantMax),
            2U);
}

TEST(Count, OfAnEmptySpanIsZero) {
  EXPECT_EQ(timetable("daily:08:00").count(utc("2026-01-02T00:00:00Z"), utc("2026-01-01T00:00:00Z")), 0U);
  EXPECT_EQ(timetable("daily:08:00").count(utc("2026-01-02T08:00:00Z"), utc("2026-01-02T08:00:00Z")), 0U);
}

TEST(Skipped, StopsAtTheNumberAskedForAndKeepsToItsSpan) {
  const Timetable daily = timetable("cron:*/20 1 * * *", {.zone = "Europe/London", .dst = {.gap = DstGap::skip}});
  const Instant begin = utc("2026-01-01T00:00:00Z");
  EXPECT_EQ(daily.skipped(begin, utc("2028-01-01T00:00:00Z"), 100).size(), 6U);
  EXPECT_EQ(daily.skipped(begin, utc("2028-01-01T00:00:00Z"), 4).size(), 4U);
  EXPECT_EQ(daily.skipped(begin, utc("2026-03-29T01:00:00Z"), 100).size(), 3U);
  EXPECT_THAT(daily.skipped(begin, utc("2026-03-29T00:59:59Z"), 100), IsEmpty());
  EXPECT_THAT(daily.skipped(utc("2026-03-29T01:00:00Z"), utc("2027-01-01T00:00:00Z"), 100), IsEmpty());
  EXPECT_THAT(timetable("cron:* * * * *", {.zone = "Europe/London", .dst = {.gap = DstGap::skip}})
                  .skipped(begin, utc("2028-01-01T00:00:00Z"), 9),
              IsEmpty());
  EXPECT_THAT(timetable("every:1h").skipped(begin, utc("2028-01-01T00:00:00Z"), 9), IsEmpty());
}

TEST(Skipped, KeepsToStartsAtAndEndsAt) {
  const Timetable daily = timetable("daily:01:30", {.zone = "Europe/London",
                                                    .dst = {.gap = DstGap::skip},
                                                    .starts_at = "2027-01-01T00:00:00Z",
                                                    .ends_at = "2028-12-31T00:00:00Z"});
  EXPECT_EQ(daily.skipped(utc("2020-01-01T00:00:00Z"), utc("2040-01-01T00:00:00Z"), 100).size(), 2U);
}

TEST(Skipped, AnExcludedDateDoesNotHideTheOnesAfterIt) {
  const Timetable daily = timetable(
      "daily:01:30", {.zone = "Europe/London", .dst = {.gap = DstGap::skip}, .exclude_dates = {date("2026-03-29")}});
  const auto lost = daily.skipped(utc("2026-01-01T00:00:00Z"), utc("2028-01-01T00:00:00Z"), 1);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(format_local_seconds(lost[0].local), "2027-03-28T01:30:00");
}

TEST(Timetable, AfterHasNoTimesOfItsOwn) {
  const Error error = error_of(try_timetable("after:import"));
  EXPECT_EQ(error.code, ErrorCode::invalid_configuration);
  EXPECT_EQ(error.message, "after \"import\": follows another schedule and has no times of its own");
}

TEST(Timetable, WhatCannotBeReadIsRefusedWithItsColumn) {
  EXPECT_EQ(error_of(try_timetable("cron:*/0 * * * *")).column, 3);
  EXPECT_THAT(error_of(try_timetable("cron:*/0 * * * *")).message,
              HasSubstr("cron \"*/0 * * * *\", column 3: a step of the minute field"));
  EXPECT_EQ(error_of(try_timetable("rrule:FREQ=MONTHLY;BYDAY=60MO")).column, 20);
}

}  // namespace
}  // namespace carillon
