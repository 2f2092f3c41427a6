#include "core/recurrence/absolute_rule.h"

#include <algorithm>
#include <numeric>

namespace carillon {

using std::chrono::seconds;

namespace {

std::int64_t floor_divide(std::int64_t value, std::int64_t divisor) {
  const std::int64_t quotient = value / divisor;
  return value % divisor < 0 ? quotient - 1 : quotient;
}

// Answers of AbsoluteRule::can_meet within one search; a zone uses few offsets.
class MeetingMemory {
 public:
  std::optional<bool> find(seconds offset) const {
    for (const auto& [known, answer] : answers_) {
      if (known == offset) return answer;
    }
    return std::nullopt;
  }
  void keep(seconds offset, bool answer) { answers_.emplace_back(offset, answer); }

 private:
  std::vector<std::pair<seconds, bool>> answers_;
};

// A search that has taken this many steps in one stretch asks whether it can end at all.
constexpr int kPatientSteps = 64;

}  // namespace

UnixSeconds AbsoluteRule::period_begin(UnixSeconds t) const {
  return anchor + unit * floor_divide((t - anchor).count(), unit.count());
}

// Whether periods that count and times that the clock allows ever meet while `offset` is in force. Both repeat: the
// periods every unit · interval, the clock every day, so what counts is the remainder by what divides both lengths.
bool AbsoluteRule::can_meet(seconds offset) const {
  const std::int64_t cycle = std::gcd(unit.count() * interval, kSecondsPerDay);
  const std::int64_t local_anchor = (anchor.time_since_epoch() + offset).count();
  for (std::int64_t t = local_anchor - cycle * floor_divide(local_anchor, cycle); t < kSecondsPerDay; t += cycle) {
    const auto member = clock.times.first_from(TimeOfDay{static_cast<std::int32_t>(t)});
    if (member && member->seconds < t + unit.count()) return true;
  }
  // A period may reach over midnight.
  return clock.times.first_from({})->seconds < unit.count();
}

// The first instant from `from` on, in a period that counts, at which the local clock matches.
//
// Two sets are followed at once, each skipping ahead to where the other one is: what the clock allows, and what the
// interval allows.
std::optional<UnixSeconds> AbsoluteRule::next_match(UnixSeconds from, const Zone& zone, StepBudget& budget) const {
  Stretch stretch = zone.stretch_at(from);
  const UnixSeconds horizon = from + kHorizon;
  MeetingMemory memory;
  int steps_in_stretch = 0;
  while (from <= horizon && budget.take()) {
    if (from >= stretch.end) {
      stretch = zone.stretch_at(from);
      steps_in_stretch = memory.find(stretch.offset) ? kPatientSteps : 0;
    }
    if (++steps_in_stretch > kPatientSteps) {
      if (!memory.find(stretch.offset)) memory.keep(stretch.offset, can_meet(stretch.offset));
      if (memory.find(stretch.offset) == false) {
        from = stretch.end;
        continue;
      }
    }
    const auto local = clock.next(stretch.to_local(from) - seconds(1));
    // Where clocks go back, local times from before the search come again.
    const bool come_again = stretch.to_local(from) > stretch.local_after_end();
    if (!local && !come_again) return std::nullopt;
    if (!local || stretch.to_utc(*local) >= stretch.end) {
      from = come_again ? stretch.end : std::max(stretch.end, stretch.to_utc(*local) - kOffsetSlack);
      continue;
    }
    const UnixSeconds candidate = stretch.to_utc(*local);
    const std::int64_t period = floor_divide((candidate - anchor).count(), unit.count());
    const std::int64_t past = period - interval * floor_divide(period, interval);
    if (past == 0) return candidate;
    from = anchor + unit * (period - past + interval);
  }
  return std::nullopt;
}

// The instants of one period, by their index. A period that is a whole hour or minute of the local clock need not be
// listed: the set of times knows its members by number.
class AbsoluteRule::Period {
 public:
  // `first` is a match in the period, so its day is allowed.
  Period(const AbsoluteRule& rule, UnixSeconds first, const Zone& zone, StepBudget& budget) : rule_(&rule) {
    const UnixSeconds begin = rule.period_begin(first);
    const UnixSeconds end = begin + rule.unit;
    const Stretch stretch = zone.stretch_at(begin);
    const LocalSeconds local = stretch.to_local(begin);
    const auto day = std::chrono::floor<std::chrono::days>(local);
    if (end <= stretch.end && (local - day) % rule.unit == seconds(0)) {
      const auto begin_time = static_cast<std::int32_t>((local - day).count());
      const auto end_time = begin_time + static_cast<std::int32_t>(rule.unit.count());
      midnight_ = stretch.to_utc(day);
      base_ = rule.clock.times.count_before(TimeOfDay{begin_time});
      size_ = rule.clock.times.count_before(TimeOfDay{end_time}) - base_;
      return;
    }
    for (auto match = rule.next_match(begin, zone, budget); match && *match < end;
         match = rule.next_match(*match + seconds(1), zone, budget)) {
      listed_.push_back(*match);
    }
    size_ = static_cast<std::int64_t>(listed_.size());
  }

  std::int64_t size() const { return size_; }
  UnixSeconds at(std::int64_t index) const {
    if (!listed_.empty()) return listed_[static_cast<std::size_t>(index)];
    return midnight_ + seconds(rule_->clock.times.at(base_ + index).seconds);
  }

 private:
  const AbsoluteRule* rule_;
  std::int64_t size_ = 0;
  UnixSeconds midnight_;
  std::int64_t base_ = 0;
  std::vector<UnixSeconds> listed_;
};

// The instants that set_positions pick from the period of `first`, in order; none if the budget ends on the way.
std::vector<UnixSeconds> AbsoluteRule::picked(UnixSeconds first, const Zone& zone, StepBudget& budget) const {
  const Period period(*this, first, zone, budget);
  std::vector<UnixSeconds> found;
  if (budget.steps <= 0) return found;
  for (const int position : set_positions) {
    const std::int64_t index = position > 0 ? position - 1 : period.size() + position;
    if (index >= 0 && index < period.size()) found.push_back(period.at(index));
  }
  std::ranges::sort(found);
  return found;
}

std::optional<UnixSeconds> AbsoluteRule::next_by_position(UnixSeconds from, const Zone& zone,
                                                          StepBudget& budget) const {
  // A period holds at most as many instants as an hour has matching minutes × seconds.
  const std::int64_t hours = std::popcount(clock.times.masks().hours);
  const std::int64_t largest = std::min<std::int64_t>(unit.count(), clock.times.size() / hours);
  if (std::ranges::all_of(set_positions, [&](int p) { return std::abs(p) > largest; })) return std::nullopt;

  UnixSeconds search = period_begin(from);
  while (const auto match = next_match(search, zone, budget)) {
    const std::vector<UnixSeconds> candidates = picked(*match, zone, budget);
    const auto found = std::ranges::lower_bound(candidates, from);
    if (found != candidates.end()) return *found;
    search = period_begin(*match) + unit;
  }
  return std::nullopt;
}

std::optional<UnixSeconds> AbsoluteRule::next(UnixSeconds after, const Zone& zone, StepBudget& budget) const {
  const UnixSeconds from = std::max(after + seconds(1), start);
  return set_positions.empty() ? next_match(from, zone, budget) : next_by_position(from, zone, budget);
}

std::optional<std::uint64_t> AbsoluteRule::count(UnixSeconds from, UnixSeconds to, const Zone& zone,
                                                 StepBudget& budget) const {
  from = std::max(from, start);
  if (from >= to) return 0;
  if (set_positions.empty() && interval == 1) {
    std::uint64_t total = 0;
    while (from < to) {
      const Stretch stretch = zone.stretch_at(from);
      const UnixSeconds end = std::min(stretch.end, to);
      total += clock.count(stretch.to_local(from), stretch.to_local(end));
      from = end;
    }
    return total;
  }
  if (set_positions.empty() && unit == seconds(1) && clock.allowed_days.restricts_nothing() &&
      clock.times.is_whole_day()) {
    const auto before = [&](UnixSeconds t) { return floor_divide((t - anchor).count() + interval - 1, interval); };
    return static_cast<std::uint64_t>(before(to) - before(from));
  }
  std::uint64_t total = 0;
  for (auto found = next(from - seconds(1), zone, budget); found && *found < to; found = next(*found, zone, budget)) {
    ++total;
  }
  return budget.steps > 0 ? std::optional(total) : std::nullopt;
}

}  // namespace carillon
