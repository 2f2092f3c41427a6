// Which days of the calendar a rule allows, a month at a time as a bit mask (bit d - 1 stands for day d).
//
// Every BY part of RFC 5545 that speaks of days, and every day field of cron, is a set that a month mask can hold, so
// the search for the next day is a search for the next bit.
#pragma once

#include <cstdint>
#include <vector>

#include "core/time/local_time.h"

namespace carillon {

// Days 1 to 31 of one month.
using MonthMask = std::uint32_t;

// "MO" (nth 0: every one), "2TU", "-1FR".
struct NthWeekday {
  Weekday day = Weekday::monday;
  int nth = 0;
  friend bool operator==(const NthWeekday&, const NthWeekday&) = default;
};

// An empty list restricts nothing. What is restricted must all match, but for `either_day`.
struct DayRule {
  std::uint16_t months = 0xFFF;   // bit m - 1 stands for month m
  std::vector<int> month_days;    // 1 to 31, or counted from the end: -1 to -31
  std::vector<int> year_days;     // 1 to 366, or counted from the end: -1 to -366
  std::vector<int> week_numbers;  // 1 to 53, or counted from the end: -1 to -53
  std::vector<NthWeekday> weekdays;
  bool nth_in_year = false;  // ordinals of `weekdays` count within the year, else within the month
  Weekday week_start = Weekday::monday;

  // Beyond RFC 5545, for cron.
  std::vector<int> nearest_weekdays;  // `15W`: the weekday nearest to that day, in the same month
  bool last_weekday = false;          // `LW`: the last Monday to Friday of the month
  bool either_day = false;            // a day matches if day of month *or* weekday does

  bool restricts_nothing() const {
    return months == 0xFFF && month_days.empty() && year_days.empty() && week_numbers.empty() && weekdays.empty() &&
           nearest_weekdays.empty() && !last_weekday;
  }

  MonthMask mask(std::chrono::year_month month) const;
};

// Which days count as periods of the rule: every `interval`-th day, week, month or year from the start's own on.
struct DayStep {
  enum class Unit : std::uint8_t { day, week, month, year };
  Unit unit = Unit::day;
  std::int64_t interval = 1;
  LocalDays start;
  Weekday week_start = Weekday::monday;

  MonthMask mask(std::chrono::year_month month) const;

  // Periods are numbered; that of the start is 0, and only multiples of the interval count.
  std::int64_t period_of(LocalDays day) const;
  bool counts(std::int64_t period) const { return period % interval == 0; }
  LocalDays first_day(std::int64_t period) const;
  // The month of the first day from `month` on that counts; the one after `month` at the earliest. For a search that
  // found nothing in `month`: a long interval is stepped over at once.
  std::chrono::year_month month_after(std::chrono::year_month month) const;
};

inline LocalDays first_of(std::chrono::year_month month) { return LocalDays(month / std::chrono::day(1)); }

}  // namespace carillon
