#include "core/recurrence/day_rule.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "core/random_triggers.h"
#include "core/times.h"

namespace carillon {
namespace {

using std::chrono::days;
using std::chrono::year;
using std::chrono::year_month;
using std::chrono::year_month_day;
using test::date;
using test::draw;

// ---- What the words of a rule mean, day by day -------------------------------------------------------------------

int month_length(LocalDays day) {
  const year_month_day ymd(day);
  return static_cast<int>(static_cast<unsigned>((ymd.year() / ymd.month() / std::chrono::last).day()));
}
int day_of_month(LocalDays day) { return static_cast<int>(static_cast<unsigned>(year_month_day(day).day())); }
int year_of(LocalDays day) { return static_cast<int>(year_month_day(day).year()); }
LocalDays new_year(int y) { return LocalDays(year(y) / 1 / 1); }
int day_of_year(LocalDays day) { return static_cast<int>((day - new_year(year_of(day))).count()) + 1; }
int year_length(LocalDays day) {
  return static_cast<int>((new_year(year_of(day) + 1) - new_year(year_of(day))).count());
}

bool has(const std::vector<int>& list, int value) { return std::ranges::find(list, value) != list.end(); }

// The middle of the week that holds the day: the week belongs to the year that its fourth day lies in.
LocalDays fourth_day_of_week(LocalDays day, Weekday week_start) {
  while (weekday_of(day) != week_start) day -= days(1);
  return day + days(3);
}
int week_number(LocalDays day, Weekday week_start) {
  return (day_of_year(fourth_day_of_week(day, week_start)) - 1) / 7 + 1;
}
int week_number_from_end(LocalDays day, Weekday week_start) {
  const LocalDays fourth = fourth_day_of_week(day, week_start);
  return -((year_length(fourth) - day_of_year(fourth)) / 7 + 1);
}

bool is_weekday(LocalDays day) { return weekday_of(day) < Weekday::saturday; }

// `15W`: of the weekdays of the month, the one with the smallest distance; Saturday goes back, Sunday forward.
LocalDays nearest_weekday(LocalDays day) {
  for (int distance = 0;; ++distance) {
    const bool back_first = weekday_of(day) == Weekday::saturday;
    for (const int side : {back_first ? -1 : 1, back_first ? 1 : -1}) {
      const LocalDays candidate = day + days(side * distance);
      if (is_weekday(candidate) && year_month_day(candidate).month() == year_month_day(day).month()) return candidate;
    }
  }
}

bool matches_month_day(const DayRule& rule, LocalDays day) {
  const LocalDays first = day - days(day_of_month(day) - 1);
  if (has(rule.month_days, day_of_month(day)) || has(rule.month_days, day_of_month(day) - month_length(day) - 1))
    return true;
  for (const int wanted : rule.nearest_weekdays) {
    if (wanted <= month_length(day) && nearest_weekday(first + days(wanted - 1)) == day) return true;
  }
  if (rule.last_weekday) {
    LocalDays last = first + days(month_length(day) - 1);
    while (!is_weekday(last)) last -= days(1);
    if (last == day) return true;
  }
  return false;
}

bool matches_weekday(const DayRule& rule, LocalDays day) {
  return std::ranges::any_of(rule.weekdays, [&](const NthWeekday& wanted) {
    if (wanted.day != weekday_of(day)) return false;
    const int before = (rule.nth_in_year ? day_of_year(day) : day_of_month(day)) - 1;
    const int behind = rule.nth_in_year ? year_length(day) - day_of_year(day) : month_length(day) - day_of_month(day);
    return wanted.nth == 0 || wanted.nth == before / 7 + 1 || wanted.nth == -(behind / 7 + 1);
  });
}

bool matches(const DayRule& rule, LocalDays day) {
  if ((rule.months >> (static_cast<unsigned>(year_month_day(day).month()) - 1) & 1) == 0) return false;
  const bool by_month_day = !rule.month_days.empty() || !rule.nearest_weekdays.empty() || rule.last_weekday;
  const bool by_weekday = !rule.weekdays.empty();
  if (rule.either_day && by_month_day && by_weekday) {
    if (!matches_month_day(rule, day) && !matches_weekday(rule, day)) return false;
  } else {
    if (by_month_day && !matches_month_day(rule, day)) return false;
    if (by_weekday && !matches_weekday(rule, day)) return false;
  }
  if (!rule.year_days.empty() && !has(rule.year_days, day_of_year(day)) &&
      !has(rule.year_days, day_of_year(day) - year_length(day) - 1)) {
    return false;
  }
  return rule.week_numbers.empty() || has(rule.week_numbers, week_number(day, rule.week_start)) ||
         has(rule.week_numbers, week_number_from_end(day, rule.week_start));
}

template <typename Matches>
MonthMask mask_by_day(year_month month, Matches is_member) {
  MonthMask mask = 0;
  for (LocalDays day = first_of(month); year_month_day(day).month() == month.month(); day += days(1)) {
    if (is_member(day)) mask |= MonthMask{1} << (day_of_month(day) - 1);
  }
  return mask;
}

// ---- Rules at random ---------------------------------------------------------------------------------------------

int from_either_end(int max) { return draw(1, max) * (draw(0, 1) == 0 ? 1 : -1); }

std::vector<int> any_list(int max) {
  std::vector<int> list;
  if (draw(0, 3) != 0) return list;
  for (int i = draw(1, 4); i > 0; --i) list.push_back(from_either_end(max));
  return list;
}

DayRule any_rule() {
  DayRule rule;
  if (draw(0, 2) == 0) rule.months = static_cast<std::uint16_t>(draw(1, 0xFFF));
  rule.month_days = any_list(31);
  rule.year_days = any_list(366);
  rule.week_numbers = any_list(53);
  rule.nth_in_year = draw(0, 1) == 1;
  if (draw(0, 1) == 0) {
    for (int i = draw(1, 3); i > 0; --i) {
      const int nth = draw(0, 1) == 0 ? 0 : from_either_end(rule.nth_in_year ? 53 : 5);
      rule.weekdays.push_back({.day = static_cast<Weekday>(draw(0, 6)), .nth = nth});
    }
  }
  rule.week_start = static_cast<Weekday>(draw(0, 6));
  if (draw(0, 3) == 0) rule.nearest_weekdays = {draw(1, 31)};
  rule.last_weekday = draw(0, 5) == 0;
  rule.either_day = draw(0, 1) == 0;
  return rule;
}

year_month any_month() { return year(draw(1900, 2400)) / std::chrono::month(static_cast<unsigned>(draw(1, 12))); }

RC_GTEST_PROP(DayRule, AMonthAgreesWithAskingEachOfItsDays, ()) {
  const DayRule rule = any_rule();
  for (int i = 0; i < 24; ++i) {
    const year_month month = any_month();
    RC_ASSERT(rule.mask(month) == mask_by_day(month, [&](LocalDays day) { return matches(rule, day); }));
  }
}

// ---- Cases worth a name ------------------------------------------------------------------------------------------

std::vector<int> days_of(const DayRule& rule, year_month month) {
  std::vector<int> found;
  for (MonthMask mask = rule.mask(month); mask != 0; mask &= mask - 1) found.push_back(std::countr_zero(mask) + 1);
  return found;
}

using testing::ElementsAre;
using testing::IsEmpty;

TEST(DayRule, WithoutRestrictionsAllowsEveryDay) {
  EXPECT_TRUE(DayRule{}.restricts_nothing());

  EXPECT_EQ(DayRule{}.mask(year(2024) / 2), (1U << 29) - 1);
  EXPECT_EQ(DayRule{}.mask(year(2026) / 12), (1U << 31) - 1);
}

TEST(DayRule, CountsDaysFromTheEndOfTheMonth) {
  const DayRule rule{.month_days = {-1, -31}};
  EXPECT_THAT(days_of(rule, year(2026) / 1), ElementsAre(1, 31));
  EXPECT_THAT(days_of(rule, year(2026) / 2), ElementsAre(28));
  EXPECT_THAT(days_of(rule, year(2024) / 2), ElementsAre(29));
}

TEST(DayRule, TheFifthWeekdayIsOnlyInSomeMonths) {
  const DayRule rule{.weekdays = {{.day = Weekday::friday, .nth = 5}}};
  EXPECT_THAT(days_of(rule, year(2026) / 1), ElementsAre(30));
  EXPECT_THAT(days_of(rule, year(2026) / 2), IsEmpty());
}

TEST(DayRule, TheNearestWeekdayStaysInItsMonth) {
  const DayRule first{.nearest_weekdays = {1}};
  EXPECT_THAT(days_of(first, year(2026) / 8), ElementsAre(3));   // Saturday the 1st: Monday the 3rd
  EXPECT_THAT(days_of(first, year(2026) / 11), ElementsAre(2));  // Sunday the 1st
  const DayRule last{.nearest_weekdays = {31}};
  EXPECT_THAT(days_of(last, year(2026) / 5), ElementsAre(29));  // Sunday the 31st: Friday the 29th
  EXPECT_THAT(days_of(last, year(2026) / 4), IsEmpty());
}

TEST(DayRule, WeekOneMayBeginInDecember) {
  const DayRule rule{.week_numbers = {1}};
  EXPECT_THAT(days_of(rule, year(2024) / 12), ElementsAre(30, 31));
  EXPECT_THAT(days_of(rule, year(2025) / 1), ElementsAre(1, 2, 3, 4, 5));
}

TEST(DayRule, WeekFiftyThreeIsOnlyInLongYears) {
  const DayRule rule{.week_numbers = {53}};
  EXPECT_THAT(days_of(rule, year(2026) / 12), ElementsAre(28, 29, 30, 31));
  EXPECT_THAT(days_of(rule, year(2025) / 12), IsEmpty());
}

TEST(DayRule, OrdinalsCountInTheYearOnlyIfAsked) {
  DayRule rule{.weekdays = {{.day = Weekday::monday, .nth = 20}}, .nth_in_year = true};
  EXPECT_THAT(days_of(rule, year(1997) / 5), ElementsAre(19));  // RFC 5545
  rule.nth_in_year = false;
  EXPECT_THAT(days_of(rule, year(1997) / 5), IsEmpty());
}

// ---- Steps -------------------------------------------------------------------------------------------------------

RC_GTEST_PROP(DayStep, AMonthAgreesWithAskingForThePeriodOfEachDay, ()) {
  const DayStep step{.unit = static_cast<DayStep::Unit>(draw(0, 3)),
                     .interval = draw(1, 40),
                     .start = first_of(any_month()) + days(draw(0, 27)),
                     .week_start = static_cast<Weekday>(draw(0, 6))};
  for (int i = 0; i < 24; ++i) {
    const year_month month = any_month();
    RC_ASSERT(step.mask(month) == mask_by_day(month, [&](LocalDays day) { return step.counts(step.period_of(day)); }));
  }
}

RC_GTEST_PROP(DayStep, PeriodsAbut, ()) {
  const DayStep step{.unit = static_cast<DayStep::Unit>(draw(0, 3)),
                     .interval = 1,
                     .start = first_of(any_month()) + days(draw(0, 27)),
                     .week_start = static_cast<Weekday>(draw(0, 6))};
  RC_ASSERT(step.period_of(step.start) == 0);
  const LocalDays day = first_of(any_month()) + days(draw(0, 27));
  const std::int64_t period = step.period_of(day);
  RC_ASSERT(step.first_day(period) <= day);
  RC_ASSERT(day < step.first_day(period + 1));
}

TEST(DayStep, AWeekBeginsWhereTheRuleSaysSo) {
  const DayStep monday{
      .unit = DayStep::Unit::week, .interval = 2, .start = date("1997-08-05"), .week_start = Weekday::monday};
  EXPECT_EQ(monday.period_of(date("1997-08-10")), 0);  // a Sunday, the same week
  const DayStep sunday{
      .unit = DayStep::Unit::week, .interval = 2, .start = date("1997-08-05"), .week_start = Weekday::sunday};
  EXPECT_EQ(sunday.period_of(date("1997-08-10")), 1);
}

TEST(DayStep, APeriodFarBeyondTheCalendarDoesNotComeRoundAgain) {
  for (const auto unit : {DayStep::Unit::day, DayStep::Unit::week, DayStep::Unit::month, DayStep::Unit::year}) {
    const DayStep step{.unit = unit, .interval = 1, .start = date("2026-01-05"), .week_start = Weekday::monday};
    for (const std::int64_t period : {65'536LL, 786'432LL, 1'000'000'000LL, 3'000'000'000LL}) {
      EXPECT_GE(step.first_day(period), step.first_day(period - 1)) << static_cast<int>(unit) << " " << period;
      EXPECT_GT(step.first_day(period), step.first_day(100)) << static_cast<int>(unit) << " " << period;
    }
  }
}

}  // namespace
}  // namespace carillon
