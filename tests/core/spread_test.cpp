// Where the occurrences of a range are counted: by the local days and minutes of each of them. (invariant 34)
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <map>
#include <string>

#include "core/planned_subject.h"
#include "core/random_triggers.h"
#include "core/schedules/plan.h"
#include "core/times.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::any_timetable;
using test::AnyTimetable;
using test::draw;
using test::PlannedSubject;
using test::Setting;
using test::timetable;
using test::utc;
using test::walk;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr std::int64_t kMinutesOfDay = 1440;

using ByMinute = std::map<std::int64_t, std::int64_t>;

ByMinute by_minute(const std::vector<MinuteCount>& minutes) {
  ByMinute counts;
  for (const MinuteCount& minute : minutes) counts[minute.local_minute] += minute.count;
  return counts;
}

std::map<std::string, std::int64_t> by_day(const std::vector<MinuteCount>& minutes) {
  std::map<std::string, std::int64_t> counts;
  for (const MinuteCount& minute : minutes) {
    const LocalSeconds local(std::chrono::minutes(minute.local_minute));
    counts[format_date(std::chrono::floor<std::chrono::days>(local))] += minute.count;
  }
  return counts;
}

Spread spread(const Timetable& table, std::string_view after, std::string_view upto) {
  return table.spread({.after = utc(after), .upto = utc(upto)});
}

TEST(Spread, NinetySixHoursOfFourDaysAreTwentyFourADay) {
  const Spread hours = spread(timetable("cron:30 * * * *"), "2026-03-02T00:00:00Z", "2026-03-06T00:00:00Z");

  EXPECT_THAT(by_day(hours.minutes), ElementsAre(Pair("2026-03-02", 24), Pair("2026-03-03", 24), Pair("2026-03-04", 24),
                                                 Pair("2026-03-05", 24)));
  EXPECT_THAT(hours.minutes, SizeIs(96));
  EXPECT_EQ(hours.minutes.front().local_minute % kMinutesOfDay, 30);
  EXPECT_EQ(hours.minutes.back().local_minute % kMinutesOfDay, 23 * 60 + 30);
  EXPECT_TRUE(hours.is_whole);
}

TEST(Spread, TheDaysAreThoseOfTheLocalClock) {
  const Spread hours =
      spread(timetable("cron:0 * * * *", {.zone = "America/New_York"}), "2026-03-01T23:59:00Z", "2026-03-02T23:59:00Z");

  EXPECT_THAT(by_day(hours.minutes), ElementsAre(Pair("2026-03-01", 5), Pair("2026-03-02", 19)));
}

TEST(Spread, AnHourThatIsLostOrComesTwiceCountsSo) {
  const auto hours_of = [](std::string_view after, std::string_view upto) {
    return by_day(spread(timetable("cron:0 * * * *", {.zone = "Europe/London"}), after, upto).minutes);
  };

  EXPECT_THAT(hours_of("2026-03-28T23:59:00Z", "2026-03-29T22:59:00Z"), ElementsAre(Pair("2026-03-29", 23)));
  EXPECT_THAT(hours_of("2026-10-24T22:59:00Z", "2026-10-25T23:59:00Z"), ElementsAre(Pair("2026-10-25", 25)));
}

TEST(Spread, ADailyTimeInAGapCountsWhereItWasToBe) {
  const Timetable daily = timetable("daily:01:30", {.zone = "Europe/London"});

  const Spread days = spread(daily, "2026-03-27T12:00:00Z", "2026-03-31T12:00:00Z");

  EXPECT_THAT(by_day(days.minutes),
              ElementsAre(Pair("2026-03-28", 1), Pair("2026-03-29", 1), Pair("2026-03-30", 1), Pair("2026-03-31", 1)));
  for (const MinuteCount& minute : days.minutes) EXPECT_EQ(minute.local_minute % kMinutesOfDay, 90);
}

TEST(Spread, ATimeThatRunsTwiceCountsTwice) {
  const Timetable daily =
      timetable("daily:01:30", {.zone = "Europe/London", .dst = {.gap = DstGap::shift, .overlap = DstOverlap::both}});

  const Spread days = spread(daily, "2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z");

  EXPECT_THAT(by_day(days.minutes), ElementsAre(Pair("2026-10-25", 2), Pair("2026-10-26", 1)));
}

TEST(Spread, ManyOfOneMinuteAreCountedThere) {
  const Spread seconds = spread(timetable("cron:*/7 * * * * *"), "2026-03-02T11:59:30Z", "2026-03-02T12:01:30Z");

  EXPECT_EQ(seconds.total(), 4 + 9 + 5);
  EXPECT_THAT(seconds.minutes, SizeIs(3));
}

TEST(Spread, AYearOfMinutesIsCountedNotWalkedAndEveryDayIsExact) {
  const Timetable minutes = timetable("cron:* * * * *", {.zone = "Europe/London"});

  const Spread year = spread(minutes, "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z");

  EXPECT_TRUE(year.is_whole);
  EXPECT_EQ(year.total(), 365 * kMinutesOfDay);
  EXPECT_LT(year.minutes.size(), 366 * 25U);
  auto days = by_day(year.minutes);
  EXPECT_EQ(days["2026-03-29"], 23 * 60);
  EXPECT_EQ(days["2026-10-25"], 25 * 60);
  EXPECT_EQ(days["2026-07-14"], kMinutesOfDay);
  EXPECT_EQ(days["2026-01-01"], kMinutesOfDay - 1);  // the first of them lies before
  EXPECT_EQ(days["2027-01-01"], 1);
}

TEST(Spread, WhatIsTooOldToBeKeptIsNotCounted) {
  const Timetable hourly = timetable("cron:0 * * * *");

  const Spread some = hourly.spread({.after = utc("2001-01-01T00:00:00Z"),
                                     .upto = utc("2026-03-03T00:00:00Z"),
                                     .oldest = utc("2026-03-02T00:00:00Z")});

  EXPECT_THAT(by_day(some.minutes), ElementsAre(Pair("2026-03-02", 24), Pair("2026-03-03", 1)));
}

TEST(Spread, AMissedRangeSaysWhereItIsCounted) {
  const Timetable hourly = timetable("cron:0 * * * *");
  PlannedSubject subject{.schedule = {.name = "sync"}};
  PlanFacts facts = subject.facts(utc("2026-03-06T00:00:30Z"));
  facts.timetable = &hourly;
  facts.next_at = utc("2026-03-02T00:00:00Z");

  const SubjectPlan plan = plan_subject(facts);

  ASSERT_THAT(plan.closed, SizeIs(1));
  EXPECT_EQ(plan.closed[0].count, 96);
  EXPECT_THAT(by_day(plan.closed[0].minutes), ElementsAre(Pair("2026-03-02", 24), Pair("2026-03-03", 24),
                                                          Pair("2026-03-04", 24), Pair("2026-03-05", 24)));
}

TEST(Spread, SkippedOnesSayWhereTheyAreCounted) {
  const Timetable hourly = timetable("cron:0 * * * *");
  PlannedSubject subject{.schedule = {.name = "sync"}};
  subject.schedule.overlap = OverlapPolicy::skip;
  subject.schedule.misfire = {.kind = MisfireKind::latest, .max = 6, .max_age = {}, .grace = 4h};
  subject.open = {{.id = JobId{7}, .state = JobState::processing}};
  PlanFacts facts = subject.facts(utc("2026-03-03T01:30:00Z"));
  facts.timetable = &hourly;
  facts.next_at = utc("2026-03-02T22:00:00Z");

  const SubjectPlan plan = plan_subject(facts);

  ASSERT_THAT(plan.closed, SizeIs(1));
  EXPECT_THAT(by_day(plan.closed[0].minutes), ElementsAre(Pair("2026-03-02", 2), Pair("2026-03-03", 2)));
}

TEST(Spread, WindowsThatAreJumpedOverAreCountedWhereTheyBegin) {
  PlannedSubject subject{.schedule = {.name = "sync", .trigger = WindowsTrigger{.interval = 6h}},
                         .zone = test::zone("Europe/London")};
  subject.make(utc("2026-03-28T00:00:00Z"));

  const SubjectPlan plan = subject.anchor(SubjectChange::What::edited, utc("2026-03-31T00:00:00Z"),
                                          utc("2026-03-30T20:00:00Z"));  // into the middle of one

  ASSERT_THAT(plan.closed, SizeIs(1));
  EXPECT_EQ(plan.closed[0].count, 13);
  EXPECT_THAT(by_day(plan.closed[0].minutes),
              ElementsAre(Pair("2026-03-27", 1), Pair("2026-03-28", 4), Pair("2026-03-29", 4), Pair("2026-03-30", 4)));
}

TEST(Spread, ACheckThatWasHeldUpCountsOnItsOwnDay) {
  PlannedSubject subject{.schedule = {.name = "watch", .trigger = AdaptiveTrigger{.otherwise = {4h, 4h}}}};
  subject.open = {{.id = JobId{7}, .state = JobState::processing}};
  subject.next_at = utc("2026-03-02T22:00:00Z");
  subject.position = utc("2026-03-02T18:00:00Z");
  subject.plan(utc("2026-03-02T22:00:00Z"));

  const SubjectPlan plan = subject.plan(utc("2026-03-03T02:00:00Z"));

  ASSERT_THAT(plan.closed, SizeIs(1));
  EXPECT_TRUE(plan.closed[0].extends);
  EXPECT_EQ(plan.closed[0].local_minute, local_minute_of(test::local("2026-03-03T02:00:00")));
}

RC_GTEST_PROP(SpreadProperty, EveryOccurrenceCountsOnItsOwnLocalMinute, ()) {
  const AnyTimetable any = any_timetable();
  RC_LOG() << any.description << '\n';
  const std::vector<Occurrence> walked = walk(any.timetable, any.begin, 400);
  const std::size_t from = draw<std::size_t>(0, walked.size() - 1);
  const std::size_t to = draw<std::size_t>(from, walked.size() - 1);
  ByMinute expected;
  for (std::size_t i = from; i <= to; ++i) ++expected[local_minute_of(walked[i].local)];

  const Spread found = any.timetable.spread({.after = walked[from].at - Duration(1), .upto = walked[to].at});

  RC_ASSERT(found.is_whole);
  RC_ASSERT(by_minute(found.minutes) == expected);
}

// Intervals in a zone, by plain arithmetic and the zone's clock alone.
RC_GTEST_PROP(SpreadProperty, IntervalsOverClockChangesCountAsTheClockShows, ()) {
  const Zone zone = test::zone(test::any_zone());
  const Instant anchor = utc("2026-01-01T00:00:00Z") + std::chrono::seconds(draw<std::int64_t>(0, 400LL * 86'400));
  const auto every = std::chrono::seconds(draw<std::int64_t>(20, 7200));
  const auto count = draw<std::int64_t>(1, 3000);
  const auto table = Timetable::make(EveryTrigger{.every = every, .anchor = anchor}, {.zone = zone, .dst = {}});
  RC_ASSERT(table.has_value());
  ByMinute expected;
  for (std::int64_t i = 0; i < count; ++i) ++expected[local_minute_of(zone.to_local(anchor + i * every))];

  const Spread found = table->spread({.after = anchor - Duration(1), .upto = anchor + (count - 1) * every});

  RC_ASSERT(by_minute(found.minutes) == expected);
}

}  // namespace
}  // namespace carillon
