#include "core/recurrence/day_rule.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace carillon {

namespace {

using std::chrono::days;
using std::chrono::year;
using std::chrono::year_month;

struct MonthView {
  explicit MonthView(year_month shown)
      : year(static_cast<int>(shown.year())),
        month(static_cast<unsigned>(shown.month())),
        first(first_of(shown)),
        length(static_cast<int>(static_cast<unsigned>((shown / std::chrono::last).day()))),
        first_weekday(static_cast<int>(weekday_of(first))) {}

  int year;
  unsigned month;
  LocalDays first;
  int length;
  int first_weekday;

  MonthMask all() const { return (MonthMask{1} << length) - 1; }
  // The bit of day `day`, counted from 1; none if the month has no such day.
  MonthMask bit(int day) const { return day >= 1 && day <= length ? MonthMask{1} << (day - 1) : 0; }
  MonthMask bit(LocalDays day) const { return bit(static_cast<int>((day - first).count()) + 1); }
  int weekday_of_day(int day) const { return (first_weekday + day - 1) % 7; }
};

// Periods that begin after the calendar's end begin after this.
constexpr LocalDays kAfterCalendar{year(kYearMax + 2) / 1 / 1};

LocalDays new_year(int y) { return LocalDays(year(y) / 1 / 1); }

MonthMask every_weekday(const MonthView& month, Weekday day) {
  constexpr MonthMask kWeekly = 1U | 1U << 7 | 1U << 14 | 1U << 21 | 1U << 28;
  const int first = (static_cast<int>(day) - month.first_weekday + 7) % 7;
  return kWeekly << first & month.all();
}

// Which one of the weekdays `day` in [begin, end] is the nth, from the end if negative. May lie outside.
LocalDays nth_weekday(LocalDays begin, LocalDays last, NthWeekday which) {
  if (which.nth > 0) {
    const int ahead = (static_cast<int>(which.day) - static_cast<int>(weekday_of(begin)) + 7) % 7;
    return begin + days(ahead + 7 * (which.nth - 1));
  }
  const int back = (static_cast<int>(weekday_of(last)) - static_cast<int>(which.day) + 7) % 7;
  return last - days(back + 7 * (-which.nth - 1));
}

MonthMask month_day_mask(const MonthView& month, const DayRule& rule) {
  MonthMask mask = 0;
  for (const int day : rule.month_days) mask |= month.bit(day > 0 ? day : month.length + 1 + day);
  for (const int day : rule.nearest_weekdays) {
    if (day > month.length) continue;
    const int weekday = month.weekday_of_day(day);
    int nearest = day;
    if (weekday == 5) nearest = day == 1 ? 3 : day - 1;  // Saturday: Friday, but not of the month before
    if (weekday == 6) nearest = day == month.length ? day - 2 : day + 1;  // Sunday: Monday, but not of the next month
    mask |= month.bit(nearest);
  }
  if (rule.last_weekday) {
    const int weekday = month.weekday_of_day(month.length);
    mask |= month.bit(weekday < 5 ? month.length : month.length - (weekday - 4));
  }
  return mask;
}

MonthMask weekday_mask(const MonthView& month, const DayRule& rule) {
  MonthMask mask = 0;
  const LocalDays last = month.first + days(month.length - 1);
  for (const NthWeekday& weekday : rule.weekdays) {
    if (weekday.nth == 0) {
      mask |= every_weekday(month, weekday.day);
    } else if (rule.nth_in_year) {
      mask |= month.bit(nth_weekday(new_year(month.year), new_year(month.year + 1) - days(1), weekday));
    } else {
      mask |= month.bit(nth_weekday(month.first, last, weekday));
    }
  }
  return mask;
}

MonthMask year_day_mask(const MonthView& month, const DayRule& rule) {
  MonthMask mask = 0;
  const LocalDays begin = new_year(month.year);
  const LocalDays end = new_year(month.year + 1);
  for (const int day : rule.year_days) {
    const LocalDays date = day > 0 ? begin + days(day - 1) : end + days(day);
    if (date >= begin && date < end) mask |= month.bit(date);
  }
  return mask;
}

// The first day of week 1: the first week with at least four days in the year.
LocalDays first_week(int y, Weekday week_start) {
  const LocalDays fourth = new_year(y) + days(3);
  return fourth - days((static_cast<int>(weekday_of(fourth)) - static_cast<int>(week_start) + 7) % 7);
}

// A day matches by the number of the week that it lies in, whichever year that week belongs to: 30 December 2024 lies
// in week 1. Its period is its own calendar year all the same.
MonthMask week_number_mask(const MonthView& month, const DayRule& rule) {
  MonthMask mask = 0;
  const LocalDays last = month.first + days(month.length - 1);
  // Weeks of the year before reach into January, those of the next one into December.
  const int first_year = month.month == 1 ? month.year - 1 : month.year;
  const int last_year = month.month == 12 ? month.year + 1 : month.year;
  for (int y = first_year; y <= last_year; ++y) {
    const LocalDays begin = first_week(y, rule.week_start);
    const LocalDays end = first_week(y + 1, rule.week_start);
    for (const int number : rule.week_numbers) {
      const LocalDays week = number > 0 ? begin + days(7 * (number - 1)) : end + days(7 * number);
      const bool in_month = week <= last && week + days(6) >= month.first;
      if (!in_month || week < begin || week >= end) continue;
      for (int i = 0; i < 7; ++i) mask |= month.bit(week + days(i));
    }
  }
  return mask;
}

}  // namespace

MonthMask DayRule::mask(year_month month_wanted) const {
  const MonthView month(month_wanted);
  if ((months >> (month.month - 1) & 1) == 0) return 0;
  MonthMask allowed = month.all();

  const bool by_month_day = !month_days.empty() || !nearest_weekdays.empty() || last_weekday;
  const bool by_weekday = !weekdays.empty();
  if (by_month_day && by_weekday && either_day) {
    allowed &= month_day_mask(month, *this) | weekday_mask(month, *this);
  } else {
    if (by_month_day) allowed &= month_day_mask(month, *this);
    if (by_weekday) allowed &= weekday_mask(month, *this);
  }
  if (!year_days.empty() && allowed != 0) allowed &= year_day_mask(month, *this);
  if (!week_numbers.empty() && allowed != 0) allowed &= week_number_mask(month, *this);
  return allowed;
}

std::int64_t DayStep::period_of(LocalDays day) const {
  const auto month_number = [](LocalDays date) {
    const std::chrono::year_month_day ymd(date);
    return std::int64_t{static_cast<int>(ymd.year())} * 12 + static_cast<unsigned>(ymd.month()) - 1;
  };
  switch (unit) {
    case Unit::day: return (day - start).count();
    case Unit::week: {
      const auto begin = [&](LocalDays date) {
        return date - days((static_cast<int>(weekday_of(date)) - static_cast<int>(week_start) + 7) % 7);
      };
      return (begin(day) - begin(start)).count() / 7;
    }
    case Unit::month: return month_number(day) - month_number(start);
    case Unit::year: return month_number(day) / 12 - month_number(start) / 12;
  }
  UNREACHABLE();
}

LocalDays DayStep::first_day(std::int64_t period) const {
  const std::chrono::year_month_day ymd(start);
  const std::int64_t per_year = unit == Unit::year ? 1 : 12;
  const bool by_calendar = unit == Unit::year || unit == Unit::month;
  if (by_calendar && period / per_year > kYearMax) return kAfterCalendar + days(period);
  switch (unit) {
    case Unit::day: return start + days(period);
    case Unit::week: {
      const int into_week = (static_cast<int>(weekday_of(start)) - static_cast<int>(week_start) + 7) % 7;
      return start - days(into_week) + days(7 * period);
    }
    case Unit::month: return first_of(ymd.year() / ymd.month() + std::chrono::months(period));
    case Unit::year: return new_year(static_cast<int>(ymd.year()) + static_cast<int>(period));
  }
  UNREACHABLE();
}

year_month DayStep::month_after(year_month month) const {
  const year_month following = month + std::chrono::months(1);
  if (interval == 1) return following;
  const std::int64_t period = period_of(first_of(following));
  if (period < 0 || counts(period)) return following;
  const std::chrono::year_month_day ymd(first_day(period + interval - period % interval));
  return std::max(following, ymd.year() / ymd.month());
}

MonthMask DayStep::mask(year_month month_wanted) const {
  const MonthView month(month_wanted);
  if (interval == 1) return month.all();
  if (unit == Unit::month || unit == Unit::year) return counts(period_of(month.first)) ? month.all() : 0;

  MonthMask mask = 0;
  const LocalDays last = month.first + days(month.length - 1);
  if (unit == Unit::day) {
    const std::int64_t behind = ((month.first - start).count() % interval + interval) % interval;
    for (LocalDays day = month.first + days(behind == 0 ? 0 : interval - behind); day <= last; day += days(interval)) {
      mask |= month.bit(day);
    }
    return mask;
  }
  for (std::int64_t week = period_of(month.first); first_day(week) <= last; ++week) {
    if (!counts(week)) continue;
    for (int i = 0; i < 7; ++i) mask |= month.bit(first_day(week) + days(i));
  }
  return mask;
}

}  // namespace carillon
