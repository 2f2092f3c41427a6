#include "core/recurrence/wall_rule.h"

#include <algorithm>
#include <array>
#include <bit>

namespace carillon {

namespace {

using std::chrono::days;
using std::chrono::months;
using std::chrono::seconds;
using std::chrono::year_month;

year_month month_of(LocalDays day) {
  const std::chrono::year_month_day ymd(day);
  return ymd.year() / ymd.month();
}

TimeOfDay time_in(LocalDays day, LocalSeconds time) { return TimeOfDay{static_cast<int>((time - day).count())}; }

LocalSeconds at(LocalDays day, TimeOfDay time) { return day + seconds(time.seconds); }

}  // namespace

std::optional<LocalDays> WallRule::first_day_from(LocalDays from, LocalDays horizon) const {
  if (from > horizon) return std::nullopt;
  for (year_month month = month_of(from); first_of(month) <= horizon; month = step.month_after(month)) {
    MonthMask allowed = mask(month);
    const auto passed = (from - first_of(month)).count();
    if (passed > 0) allowed &= ~MonthMask{0} << passed;
    if (allowed == 0) continue;
    const LocalDays day = first_of(month) + days(std::countr_zero(allowed));
    return day <= horizon ? std::optional(day) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<LocalSeconds> WallRule::next(LocalSeconds after) const {
  const LocalSeconds from = std::max(after + seconds(1), start);
  const auto from_day = std::chrono::floor<days>(from);
  const LocalDays horizon = std::min({from_day + kHorizon, kLastLocalDay, std::chrono::floor<days>(until)});
  if (from_day > horizon) return std::nullopt;

  std::optional<LocalSeconds> found;
  if (!set_positions.empty()) {
    found = next_by_position(from, horizon);
  } else if (const auto day = first_day_from(from_day, horizon)) {
    const auto time = times.first_from(*day == from_day ? time_in(from_day, from) : TimeOfDay{});
    if (time) {
      found = at(*day, *time);
    } else if (const auto later = first_day_from(*day + days(1), horizon)) {
      found = at(*later, times.at(0));
    }
  }
  return found && *found <= until ? found : std::nullopt;
}

void WallRule::pick(std::int64_t period, std::vector<LocalSeconds>& picked) const {
  picked.clear();
  std::array<LocalDays, 366> members;
  std::size_t member_count = 0;
  const LocalDays begin = step.first_day(period);
  const LocalDays end = step.first_day(period + 1);
  for (year_month month = month_of(begin); first_of(month) < end; month += months(1)) {
    for (MonthMask allowed = allowed_days.mask(month); allowed != 0; allowed &= allowed - 1) {
      const LocalDays day = first_of(month) + std::chrono::days(std::countr_zero(allowed));
      if (day >= begin && day < end) members[member_count++] = day;
    }
  }
  const std::int64_t per_day = times.size();
  const std::int64_t total = static_cast<std::int64_t>(member_count) * per_day;
  for (const int position : set_positions) {
    const std::int64_t index = position > 0 ? position - 1 : total + position;
    if (index < 0 || index >= total) continue;
    picked.push_back(at(members[static_cast<std::size_t>(index / per_day)], times.at(index % per_day)));
  }
  std::ranges::sort(picked);
  const auto repeated = std::ranges::unique(picked);
  picked.erase(repeated.begin(), repeated.end());
}

std::optional<LocalSeconds> WallRule::next_by_position(LocalSeconds from, LocalDays horizon) const {
  std::vector<LocalSeconds> picked;
  std::int64_t period = step.period_of(std::chrono::floor<std::chrono::days>(from));
  if (!step.counts(period)) period += step.interval - period % step.interval;
  while (step.first_day(period) <= horizon) {
    pick(period, picked);
    const auto found = std::ranges::lower_bound(picked, from);
    if (found != picked.end()) return *found;
    if (step.unit == DayStep::Unit::day && picked.empty()) {
      // Either the day is not allowed, or no day has that many times: look only at allowed days.
      const auto day = first_day_from(step.first_day(period + step.interval), horizon);
      if (!day || std::ranges::all_of(set_positions, [&](int p) { return std::abs(p) > times.size(); })) return {};
      period = step.period_of(*day);
    } else {
      period += step.interval;
    }
  }
  return std::nullopt;
}

std::uint64_t WallRule::count(LocalSeconds from, LocalSeconds to) const {
  from = std::max(from, start);
  if (until < to) to = until + seconds(1);
  if (from >= to) return 0;

  std::uint64_t total = 0;
  if (!set_positions.empty()) {
    std::vector<LocalSeconds> picked;
    std::int64_t period = step.period_of(std::chrono::floor<std::chrono::days>(from));
    if (!step.counts(period)) period += step.interval - period % step.interval;
    for (; step.first_day(period) < to; period += step.interval) {
      pick(period, picked);
      total +=
          static_cast<std::uint64_t>(std::ranges::lower_bound(picked, to) - std::ranges::lower_bound(picked, from));
    }
    return total;
  }

  const auto from_day = std::chrono::floor<std::chrono::days>(from);
  const auto last_day = std::chrono::floor<std::chrono::days>(to);
  for (year_month month = month_of(from_day); first_of(month) <= last_day; month = step.month_after(month)) {
    MonthMask allowed = mask(month);
    const auto bit_of = [&](LocalDays day) {
      const auto index = (day - first_of(month)).count();
      return index >= 0 && index < 31 ? allowed & MonthMask{1} << index : MonthMask{0};
    };
    // The first and the last day may be cut; the days between count in full.
    if (bit_of(last_day) != 0) total += static_cast<std::uint64_t>(times.count_before(time_in(last_day, to)));
    if (bit_of(from_day) != 0) total -= static_cast<std::uint64_t>(times.count_before(time_in(from_day, from)));
    const auto before = (from_day - first_of(month)).count();
    const auto within = (last_day - first_of(month)).count();
    if (before > 0) allowed &= ~MonthMask{0} << before;
    if (within < 32) allowed &= (MonthMask{1} << within) - 1;
    total += static_cast<std::uint64_t>(std::popcount(allowed)) * static_cast<std::uint64_t>(times.size());
  }
  return total;
}

}  // namespace carillon
