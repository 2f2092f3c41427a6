#include "core/schedules/misfire.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "core/random_triggers.h"
#include "core/times.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::draw;
using test::error_of;
using test::timetable;
using test::utc;
using enum MisfireKind;

// "08:00 late" for each that runs, then "missed 3: 05:00 to 07:00"; times of 1 January 2026.
std::string summary(const DuePlan& plan) {
  const auto clock = [](Instant t) { return test::text_of(t).substr(11, 5); };
  std::string text;
  for (const DueSlot& slot : plan.run) text += clock(slot.occurrence.at) + (slot.backfilled ? " late, " : ", ");
  if (!plan.missed) return text + "none missed";
  const std::string count = plan.missed->count ? std::to_string(*plan.missed->count) : "?";
  return text + "missed " + count + ": " + clock(plan.missed->first.at) + " to " + clock(plan.missed->last);
}

std::string plan_at(std::string_view now, const MisfirePolicy& policy, std::string_view after = "04:30:00") {
  const auto at = [](std::string_view clock) { return utc("2026-01-01T" + std::string(clock) + "Z"); };
  return summary(plan_due(timetable("cron:0 * * * *"), at(after), at(now), policy));
}

TEST(Misfire, WithinItsGraceAnOccurrenceIsOnTime) {
  for (const MisfireKind kind : {latest, skip, all}) {
    EXPECT_EQ(plan_at("05:00:00", {.kind = kind}), "05:00, none missed");
    EXPECT_EQ(plan_at("05:01:00", {.kind = kind}), "05:00, none missed") << "exactly the grace";
    EXPECT_EQ(plan_at("04:59:59.999", {.kind = kind}), "none missed");
  }
  EXPECT_EQ(plan_at("05:01:00.001", {.kind = skip}), "missed 1: 05:00 to 05:00");
  EXPECT_EQ(plan_at("05:10:00", {.kind = skip, .grace = 10min}), "05:00, none missed");
  EXPECT_EQ(plan_at("05:00:00.001", {.kind = skip, .grace = 0s}), "missed 1: 05:00 to 05:00");
}

TEST(Misfire, LatestRunsTheNewestAndTheRestIsMissed) {
  EXPECT_EQ(plan_at("08:30:00", {}), "08:00 late, missed 3: 05:00 to 07:00");
  EXPECT_EQ(plan_at("05:30:00", {}), "05:00 late, none missed");
  EXPECT_EQ(plan_at("08:00:30", {}), "08:00, missed 3: 05:00 to 07:00") << "one that is on time is the newest";
}

TEST(Misfire, SkipRunsNothingThatIsLate) {
  EXPECT_EQ(plan_at("08:30:00", {.kind = skip}), "missed 4: 05:00 to 08:00");
  EXPECT_EQ(plan_at("08:00:30", {.kind = skip}), "08:00, missed 3: 05:00 to 07:00");
}

TEST(Misfire, AllRunsTheNewestFewOldestFirst) {
  EXPECT_EQ(plan_at("08:30:00", {.kind = all}), "05:00 late, 06:00 late, 07:00 late, 08:00 late, none missed");
  EXPECT_EQ(plan_at("08:30:00", {.kind = all, .max = 2}), "07:00 late, 08:00 late, missed 2: 05:00 to 06:00");
  EXPECT_EQ(plan_at("08:00:30", {.kind = all, .max = 2}), "06:00 late, 07:00 late, 08:00, missed 1: 05:00 to 05:00");
  EXPECT_EQ(plan_at("20:30:00", {.kind = all}),
            "15:00 late, 16:00 late, 17:00 late, 18:00 late, 19:00 late, 20:00 late, missed 10: 05:00 to 14:00");
}

TEST(Misfire, AllLeavesWhatIsOlderThanMaxAge) {
  EXPECT_EQ(plan_at("08:30:00", {.kind = all, .max_age = 2h}), "07:00 late, 08:00 late, missed 2: 05:00 to 06:00");
  EXPECT_EQ(plan_at("08:00:00", {.kind = all, .max_age = 2h}),
            "06:00 late, 07:00 late, 08:00, missed 1: 05:00 to 05:00");
  EXPECT_EQ(plan_at("08:30:00", {.kind = all, .max_age = 0s}), "missed 4: 05:00 to 08:00");
  EXPECT_EQ(plan_at("08:00:30", {.kind = all, .max_age = 0s}), "08:00, missed 3: 05:00 to 07:00");
}

TEST(Misfire, NothingIsDueTwice) {
  EXPECT_EQ(plan_at("05:00:30", {}, "05:00:00"), "none missed");
  EXPECT_EQ(plan_at("05:00:30", {}, "05:00:30"), "none missed");
  const DuePlan plan =
      plan_due(timetable("cron:0 * * * *"), utc("2026-01-01T05:00:00Z"), utc("2026-01-01T04:00:00Z"), {});
  EXPECT_TRUE(plan.run.empty());
  EXPECT_EQ(plan.planned_until, utc("2026-01-01T05:00:00Z")) << "a clock that stepped back repeats nothing";
}

TEST(Misfire, EveryOneOfAFastSeriesThatIsOnTimeRuns) {
  const DuePlan plan = plan_due(timetable("every:1s"), utc("2026-01-01T00:01:00Z"), utc("2026-01-01T00:01:03Z"), {});
  EXPECT_EQ(plan.run.size(), 3U);
  EXPECT_EQ(plan.planned_until, utc("2026-01-01T00:01:03Z"));
}

TEST(Misfire, APlanIsBoundedAndGoesOnWhereItStopped) {
  const Timetable secondly = timetable("every:1s");
  const MisfirePolicy policy{.kind = latest, .grace = 1h};
  const Instant now = utc("2026-01-01T00:50:00Z");
  Instant after = utc("2026-01-01T00:00:00Z");
  std::size_t planned = 0;
  for (int rounds = 0; after < now && rounds < 10; ++rounds) {
    const DuePlan plan = plan_due(secondly, after, now, policy);
    EXPECT_LE(plan.run.size(), kDueSlotsMax);
    EXPECT_FALSE(plan.missed.has_value());
    planned += plan.run.size();
    after = plan.planned_until;
  }
  EXPECT_EQ(planned, 3000U);
}

TEST(Misfire, CenturiesOfSecondsAreOneRange) {
  const DuePlan plan = plan_due(timetable("cron:* * * * * *"), utc("1926-01-01T00:00:00Z"), utc("2026-01-01T00:00:00Z"),
                                {.kind = skip, .grace = 0s});
  ASSERT_TRUE(plan.missed.has_value());
  EXPECT_EQ(plan.missed->count, 36525U * 86400 - 1);
  EXPECT_EQ(plan.run.size(), 1U);
}

TEST(MisfirePolicy, WhatCannotWorkIsRefused) {
  EXPECT_TRUE(check_misfire({}, OverlapPolicy::skip).has_value());
  EXPECT_TRUE(check_misfire({.max = 1000, .max_age = 0s, .grace = 0s}, OverlapPolicy::skip).has_value());
  EXPECT_TRUE(check_misfire({.kind = all}, OverlapPolicy::allow).has_value());
  for (const OverlapPolicy overlap : {OverlapPolicy::skip, OverlapPolicy::queue_one, OverlapPolicy::replace}) {
    EXPECT_EQ(error_of(check_misfire({.kind = all}, overlap)).code, ErrorCode::invalid_configuration);
  }
  EXPECT_EQ(error_of(check_misfire({.max = 0}, OverlapPolicy::allow)).message, "misfire max must be 1 to 1000, not 0");
  EXPECT_EQ(error_of(check_misfire({.max = 1001}, OverlapPolicy::allow)).message,
            "misfire max must be 1 to 1000, not 1001");
  EXPECT_EQ(error_of(check_misfire({.max_age = -1s}, OverlapPolicy::allow)).message,
            "misfire grace and max_age cannot be negative");
  EXPECT_EQ(error_of(check_misfire({.grace = -1us}, OverlapPolicy::allow)).message,
            "misfire grace and max_age cannot be negative");
}

TEST(MisfirePolicy, NamesReadBack) {
  for (const MisfireKind kind : {latest, skip, all})
    EXPECT_EQ(test::value_of(parse_misfire_kind(to_string(kind))), kind);
  EXPECT_THAT(error_of(parse_misfire_kind("none")).message, testing::HasSubstr("allowed are latest, skip, all"));
}

// ---- Any trigger, any policy -------------------------------------------------------------------------------------

struct Expected {
  std::vector<Instant> run;
  std::vector<Instant> missed;
};

// Section 4 of the semantics, applied to a list.
Expected sorted_by_definition(const std::vector<Instant>& due, Instant now, const MisfirePolicy& policy) {
  std::vector<Instant> late;
  std::vector<Instant> on_time;
  for (const Instant t : due) (now - t > policy.grace ? late : on_time).push_back(t);
  std::size_t runs = 0;
  if (policy.kind == latest && on_time.empty() && !late.empty()) runs = 1;
  if (policy.kind == all) {
    const auto young =
        std::ranges::count_if(late, [&](Instant t) { return !policy.max_age || now - t <= *policy.max_age; });
    runs = std::min<std::size_t>(policy.max, static_cast<std::size_t>(young));
  }
  Expected expected{.run = {late.end() - static_cast<std::ptrdiff_t>(runs), late.end()}, .missed = late};
  expected.missed.resize(late.size() - runs);
  expected.run.insert(expected.run.end(), on_time.begin(), on_time.end());
  return expected;
}

RC_GTEST_PROP(Misfire, EveryDueOccurrenceRunsOrIsMissedNeverBoth, ()) {  // invariant 3
  const test::AnyTimetable any = test::any_timetable();
  const std::vector<Occurrence> walked = test::walk(any.timetable, any.begin, 300);
  const MisfirePolicy policy{
      .kind = static_cast<MisfireKind>(draw(0, 2)),
      .max = draw<std::uint32_t>(1, draw(0, 1) == 0 ? 8 : 1000),
      .max_age = draw(0, 2) == 0 ? std::optional<Duration>(std::chrono::hours(draw(0, 2000))) : std::nullopt,
      .grace = std::chrono::seconds(draw(0, 3) == 0 ? draw(0, 100'000) : 60)};
  const auto any_moment = [&] {
    const Instant occurrence = walked[draw<std::size_t>(0, walked.size() - 1)].at;
    return std::min(walked.back().at, occurrence + std::chrono::seconds(draw(0, 1) * draw(0, 7200)) +
                                          draw(0, 1) * policy.grace + Duration(draw(-1, 1)));
  };
  Instant after = any_moment();
  Instant now = any_moment();
  if (after > now) std::swap(after, now);
  RC_LOG() << "after " << format_instant(after) << " now " << format_instant(now) << " " << to_string(policy.kind)
           << '\n';

  const DuePlan plan = plan_due(any.timetable, after, now, policy);
  std::vector<Instant> due;
  for (const Occurrence& o : walked) {
    if (o.at > after && o.at <= now) due.push_back(o.at);
  }
  const Expected expected = sorted_by_definition(due, now, policy);
  std::vector<Instant> run;
  for (const DueSlot& slot : plan.run) {
    run.push_back(slot.occurrence.at);
    RC_ASSERT(slot.backfilled == (now - slot.occurrence.at > policy.grace));
  }
  RC_ASSERT(run == expected.run);
  RC_ASSERT(plan.missed.has_value() == !expected.missed.empty());
  if (plan.missed) {
    RC_ASSERT(plan.missed->first.at == expected.missed.front());
    RC_ASSERT(plan.missed->last == expected.missed.back());
    RC_ASSERT(plan.missed->count == expected.missed.size());
  }
  RC_ASSERT(plan.planned_until == std::max(after, now));
}

}  // namespace
}  // namespace carillon
