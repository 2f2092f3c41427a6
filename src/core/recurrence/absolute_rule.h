// A recurrence in absolute time: every n-th hour, minute or second from the start, kept where the local clock matches.
// FREQ=HOURLY and finer, and cron whose hour field is `*` or a step of it.
//
// Such rules step in UTC and look at the local clock only to filter. Stepping in local time would fire twice in spring
// and leave a hole in autumn.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/recurrence/wall_rule.h"
#include "core/time/zone.h"

namespace carillon {

// What a search may still spend. One step costs some 100 ns. More than 86,400 are never needed to find a time that
// comes at most once per day.
struct StepBudget {
  std::int64_t steps = 100'000;
  bool take() { return steps-- > 0; }
};

struct AbsoluteRule {
  WallRule clock;                // what the local clock and calendar must show; steps through every second of every day
  std::chrono::seconds unit{1};  // length of a period
  std::int64_t interval = 1;     // every how many periods
  UnixSeconds anchor;            // beginning of the period that the start lies in
  UnixSeconds start;             // nothing before it
  std::vector<int> set_positions;  // BYSETPOS: which instants of each period count; all if empty

  // The first instant of the rule after `after`; nothing if there is none within the horizon or the budget.
  std::optional<UnixSeconds> next(UnixSeconds after, const Zone& zone, StepBudget& budget) const;

  // How many instants t there are with from <= t < to; nothing if that would cost more than the budget.
  std::optional<std::uint64_t> count(UnixSeconds from, UnixSeconds to, const Zone& zone, StepBudget& budget) const;

 private:
  UnixSeconds period_begin(UnixSeconds t) const;
  bool can_meet(std::chrono::seconds offset) const;
  std::optional<UnixSeconds> next_match(UnixSeconds from, const Zone& zone, StepBudget& budget) const;
  std::optional<UnixSeconds> next_by_position(UnixSeconds from, const Zone& zone, StepBudget& budget) const;
  class Period;
  std::vector<UnixSeconds> picked(UnixSeconds first, const Zone& zone, StepBudget& budget) const;
};

// More than any two offsets of one zone differ.
inline constexpr std::chrono::days kOffsetSlack{3};

}  // namespace carillon
