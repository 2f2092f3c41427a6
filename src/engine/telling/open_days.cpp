#include "engine/telling/open_days.h"

#include <algorithm>

namespace carillon {

namespace {

constexpr std::size_t kLookedUpAtOnce = 100;
// Around the date in UTC: a local date differs by one at most, and a window is shorter than a day.
constexpr std::int64_t kDaysBack = 2;
constexpr std::int64_t kDaysAhead = 3;

std::int64_t utc_day_of(Instant at) { return std::chrono::floor<std::chrono::days>(at).time_since_epoch().count(); }

}  // namespace

void OpenDays::look_up_later(ScheduleId schedule) {
  forget(schedule);
  asked_.insert(schedule);
}

void OpenDays::forget(ScheduleId schedule) {
  asked_.erase(schedule);
  const auto found = known_.find(schedule);
  if (found == known_.end()) return;
  open_ -= found->second.open;
  known_.erase(found);
}

void OpenDays::forget_all() {
  known_.clear();
  asked_.clear();
  open_ = 0;
}

Result<void> OpenDays::look_up(PlanStore& plans, Instant now) {
  const std::int64_t today = utc_day_of(now);
  const DayRange days{.first = today - kDaysBack, .last = today + kDaysAhead};
  for (std::size_t i = 0; i < kLookedUpAtOnce && !asked_.empty(); ++i) {
    const ScheduleId schedule = *asked_.begin();
    TRY_ASSIGN(const std::int64_t open, plans.open_on_days(schedule, days));
    asked_.erase(schedule);
    known_.insert_or_assign(schedule, Known{.first_day = days.first, .open = open});
    open_ += open;
  }
  return {};
}

void OpenDays::apply(const OpenDayChanges& changes) {
  for (const auto& [at, change] : changes) {
    const auto found = known_.find(at.first);
    if (found == known_.end() || at.second < found->second.first_day) continue;
    found->second.open += change;
    open_ += change;
  }
}

std::int64_t OpenDays::change_of(const OpenDayChanges& changes) const {
  std::int64_t sum = 0;
  for (const auto& [at, change] : changes) {
    const auto found = known_.find(at.first);
    if (found != known_.end() && at.second >= found->second.first_day) sum += change;
  }
  return sum;
}

std::uint64_t OpenDays::count_with(const OpenDayChanges& changes) const {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(open_ + change_of(changes), 0));
}

}  // namespace carillon
