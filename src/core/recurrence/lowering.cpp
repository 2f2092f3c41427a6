#include "core/recurrence/lowering.h"

#include <chrono>

#include "base/check.h"

namespace carillon {

namespace {

using std::chrono::seconds;

constexpr LocalSeconds kAlways{kLastLocalDay + std::chrono::days(1) - seconds(1)};

std::uint64_t mask_of(const std::vector<int>& values) {
  std::uint64_t mask = 0;
  for (const int value : values) mask |= std::uint64_t{1} << value;
  return mask;
}

std::uint64_t mask_or(const std::vector<int>& values, std::uint64_t otherwise) {
  return values.empty() ? otherwise : mask_of(values);
}

// The start, taken apart.
struct StartParts {
  explicit StartParts(LocalSeconds start)
      : day(std::chrono::floor<std::chrono::days>(start)), date(day), clock(start - day) {}

  LocalDays day;
  std::chrono::year_month_day date;
  std::chrono::hh_mm_ss<seconds> clock;

  int month_number() const { return static_cast<int>(static_cast<unsigned>(date.month())); }
  int month_day() const { return static_cast<int>(static_cast<unsigned>(date.day())); }
  std::uint64_t hour_mask() const { return std::uint64_t{1} << clock.hours().count(); }
  std::uint64_t minute_mask() const { return std::uint64_t{1} << clock.minutes().count(); }
  std::uint64_t second_mask() const { return std::uint64_t{1} << clock.seconds().count(); }
};

DayRule day_rule(const RecurrenceRule& rule, const StartParts& start) {
  DayRule days;
  if (!rule.by_month.empty()) days.months = static_cast<std::uint16_t>(mask_of(rule.by_month) >> 1);
  days.month_days = rule.by_month_day;
  days.year_days = rule.by_year_day;
  days.week_numbers = rule.by_week_number;
  days.weekdays = rule.by_day;
  days.nth_in_year = rule.frequency == Frequency::yearly && rule.by_month.empty();
  days.week_start = rule.week_start;
  days.nearest_weekdays = rule.nearest_weekdays;
  days.last_weekday = rule.last_weekday;
  days.either_day = rule.either_day;

  const bool names_days = !rule.by_day.empty() || !rule.by_month_day.empty() || !rule.by_year_day.empty();
  const NthWeekday start_weekday{.day = weekday_of(start.day), .nth = 0};
  switch (rule.frequency) {
    case Frequency::yearly:
      if (names_days) break;
      if (!rule.by_week_number.empty()) {
        days.weekdays = {start_weekday};
        break;
      }
      days.month_days = {start.month_day()};
      if (rule.by_month.empty()) days.months = static_cast<std::uint16_t>(1U << (start.month_number() - 1));
      break;
    case Frequency::monthly:
      if (!names_days) days.month_days = {start.month_day()};
      break;
    case Frequency::weekly:
      if (!names_days) days.weekdays = {start_weekday};
      break;
    case Frequency::daily:
    case Frequency::hourly:
    case Frequency::minutely:
    case Frequency::secondly: break;
  }
  return days;
}

DayStep::Unit unit_of(Frequency frequency) {
  switch (frequency) {
    case Frequency::yearly: return DayStep::Unit::year;
    case Frequency::monthly: return DayStep::Unit::month;
    case Frequency::weekly: return DayStep::Unit::week;
    case Frequency::daily: return DayStep::Unit::day;
    case Frequency::hourly:
    case Frequency::minutely:
    case Frequency::secondly: break;
  }
  UNREACHABLE();
}

WallRule lower_wall(const RecurrenceRule& rule, LocalSeconds start) {
  const StartParts parts(start);
  return {.allowed_days = day_rule(rule, parts),
          .step = {.unit = unit_of(rule.frequency),
                   .interval = rule.interval,
                   .start = parts.day,
                   .week_start = rule.week_start},
          .times = TimeSet({.hours = mask_or(rule.by_hour, parts.hour_mask()),
                            .minutes = mask_or(rule.by_minute, parts.minute_mask()),
                            .seconds = mask_or(rule.by_second, parts.second_mask())}),
          .set_positions = rule.by_set_position,
          .start = start,
          .until = rule.until_local.value_or(kAlways)};
}

// A rule without BYMINUTE steps through whole hours from its start, whatever the local minute becomes when clocks
// change by half an hour: HOURLY without BYMINUTE is MINUTELY with 60 times the interval, and that without BYSECOND is
// SECONDLY.
AbsoluteRule lower_absolute(const RecurrenceRule& rule, LocalSeconds start, const Zone& zone, DstPolicy dst) {
  const StartParts parts(start);
  seconds unit{1};
  std::int64_t interval = rule.interval;
  if (rule.frequency == Frequency::hourly && !rule.by_minute.empty()) {
    unit = seconds(3600);
  } else if (rule.frequency != Frequency::secondly) {
    if (rule.frequency == Frequency::hourly) interval *= 60;
    if (!rule.by_second.empty()) {
      unit = seconds(60);
    } else {
      interval *= 60;
    }
  }
  const std::uint64_t any_second = unit == seconds(3600) ? parts.second_mask() : TimeSet::kAllSixty;

  const Zone::Mapping mapping = zone.resolve(start);
  const UnixSeconds begin = dst.overlap == DstOverlap::second ? mapping.second : mapping.first;
  return {.clock = {.allowed_days = day_rule(rule, parts),
                    .step = {.unit = DayStep::Unit::day, .interval = 1, .start = parts.day, .week_start = {}},
                    .times = TimeSet({.hours = mask_or(rule.by_hour, TimeSet::kAllHours),
                                      .minutes = mask_or(rule.by_minute, TimeSet::kAllSixty),
                                      .seconds = mask_or(rule.by_second, any_second)}),
                    .set_positions = {},
                    .start = LocalSeconds(std::chrono::floor<seconds>(kInstantMin).time_since_epoch()),
                    .until = kAlways},
          .unit = unit,
          .interval = interval,
          .anchor = begin - (start - std::chrono::floor<std::chrono::days>(start)) % unit,
          .start = begin,
          .set_positions = rule.by_set_position};
}

}  // namespace

std::variant<WallRule, AbsoluteRule> lower(const RecurrenceRule& rule, LocalSeconds start, const Zone& zone,
                                           DstPolicy dst) {
  if (rule.frequency < Frequency::hourly) return lower_wall(rule, start);
  return lower_absolute(rule, start, zone, dst);
}

}  // namespace carillon
