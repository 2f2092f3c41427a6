// A recurrence on the wall clock: days × times of day, in local time only. FREQ=DAILY and coarser, and cron with fixed
// hours. Zones and clock changes come later, in Recurrence.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/recurrence/day_rule.h"
#include "core/recurrence/time_set.h"

namespace carillon {

struct WallRule {
  DayRule allowed_days;
  DayStep step;
  TimeSet times;
  std::vector<int> set_positions;  // BYSETPOS: which of each period's local times count; all if empty
  LocalSeconds start;              // nothing before it
  LocalSeconds until;              // nothing after it

  // The first local time of the rule that lies after `after`, within the horizon.
  std::optional<LocalSeconds> next(LocalSeconds after) const;

  // How many local times of the rule t there are with from <= t < to.
  std::uint64_t count(LocalSeconds from, LocalSeconds to) const;

 private:
  MonthMask mask(std::chrono::year_month month) const { return allowed_days.mask(month) & step.mask(month); }
  std::optional<LocalDays> first_day_from(LocalDays from, LocalDays horizon) const;
  std::optional<LocalSeconds> next_by_position(LocalSeconds from, LocalDays horizon) const;
  // The local times that set_positions pick from one period, in order.
  void pick(std::int64_t period, std::vector<LocalSeconds>& picked) const;
};

// Searches end this far ahead, or at the end of the calendar: the calendar has repeated by then.
inline constexpr std::chrono::days kHorizon{146097};
inline constexpr LocalDays kLastLocalDay{std::chrono::year(9999) / 12 / 31};

}  // namespace carillon
