#include "core/recurrence/recurrence.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "core/recurrence/lowering.h"

namespace carillon {

using std::chrono::seconds;

namespace {

// Small counts are walked; larger ones are found by bisection over `count`.
constexpr std::uint64_t kWalkedCountMax = 1000;
constexpr Duration kFirstCountedSpan = std::chrono::days(1);
// No zone changes its clocks more often than this in the horizon of a search.
constexpr int kStretchesMax = 4000;

Occurrence occurrence(UnixSeconds at, LocalSeconds local, DstNote note) {
  return {.at = Instant(at), .local = local, .note = note};
}

// The part of a stretch's local time that the overlap policy leaves to it.
struct LocalSpan {
  LocalSeconds begin;
  LocalSeconds end;
};

LocalSpan own_span(const Stretch& stretch, DstOverlap overlap) {
  LocalSpan span{stretch.local_begin(), stretch.local_end()};
  if (overlap == DstOverlap::first) span.begin = std::max(span.begin, stretch.local_before_begin());
  if (overlap == DstOverlap::second) span.end = std::min(span.end, stretch.local_after_end());
  return span;
}

DstNote overlap_note(const Stretch& stretch, LocalSeconds local) {
  if (local < stretch.local_before_begin()) return DstNote::overlap_second;
  if (local >= stretch.local_after_end()) return DstNote::overlap_first;
  return DstNote::none;
}

bool begins_with_gap(const Stretch& stretch) { return stretch.local_before_begin() < stretch.local_begin(); }

// The first occurrence after `after` among those that the gap at the beginning of `stretch` moved into it.
std::optional<Occurrence> next_from_gap(const WallRule& rule, const Stretch& stretch, UnixSeconds after,
                                        DstGap policy) {
  const UnixSeconds gap_over = stretch.to_utc(stretch.local_begin()) + (stretch.offset - stretch.offset_before);
  if (policy == DstGap::skip || !begins_with_gap(stretch) || after >= gap_over) return std::nullopt;

  const LocalSeconds lost_begin = stretch.local_before_begin();
  if (policy == DstGap::next_valid) {
    if (after >= stretch.begin) return std::nullopt;
    const auto lost = rule.next(lost_begin - seconds(1));
    if (!lost || *lost >= stretch.local_begin()) return std::nullopt;
    return occurrence(stretch.begin, *lost, DstNote::gap_next_valid);
  }
  const LocalSeconds as_before(after.time_since_epoch() + stretch.offset_before);
  const auto lost = rule.next(std::max(lost_begin - seconds(1), as_before));
  if (!lost || *lost >= stretch.local_begin()) return std::nullopt;
  return occurrence(UnixSeconds(lost->time_since_epoch() - stretch.offset_before), *lost, DstNote::gap_shifted);
}

}  // namespace

Result<Recurrence> Recurrence::make(const RecurrenceRule& rule, const Frame& frame) {
  Recurrence recurrence(lower(rule, frame.start, frame.zone, frame.dst), frame);
  const auto mapping = frame.zone.resolve(frame.start);
  // Before anything that the start, even one in a gap, can be mapped to.
  const Instant before_start = std::max(Instant(mapping.first) - kOffsetSlack, kInstantMin);

  if (rule.until) {
    recurrence.last_ = *rule.until;
  } else if (rule.until_local && std::holds_alternative<AbsoluteRule>(recurrence.rule_)) {
    // A local time that exists twice means the first one (RFC 5545, 3.3.5), but a day ends only once.
    const auto until = frame.zone.resolve(*rule.until_local);
    recurrence.last_ = Instant(rule.until_whole_day ? until.second : until.first);
  }
  if (!recurrence.next(before_start)) {
    if ((rule.until && *rule.until < Instant(mapping.first)) || (rule.until_local && *rule.until_local < frame.start)) {
      return invalid_configuration(
          fmt::format("never fires: UNTIL lies before the start {}", format_local_seconds(frame.start)));
    }
    return invalid_configuration(rule.until || rule.until_local
                                     ? "never fires: no date and time matches it before UNTIL"
                                     : "never fires: no date and time matches it");
  }
  if (rule.count) {
    TRY_ASSIGN(recurrence.last_, recurrence.nth(*rule.count, before_start));
  }
  return recurrence;
}

std::optional<Occurrence> Recurrence::next(Instant after) const {
  StepBudget budget;
  return next(after, budget);
}

std::optional<Occurrence> Recurrence::next(Instant after, StepBudget& budget) const {
  after = std::max(after, frame_.after);
  if (after >= last_) return std::nullopt;
  const UnixSeconds second = std::chrono::floor<seconds>(std::max(after, kInstantMin));
  std::optional<Occurrence> found;
  if (const auto* wall = std::get_if<WallRule>(&rule_)) {
    found = next_wall(*wall, second);
  } else if (const auto at = std::get<AbsoluteRule>(rule_).next(second, frame_.zone, budget)) {
    found = occurrence(*at, frame_.zone.to_local(Instant(*at)), DstNote::none);
  }
  return found && found->at <= last_ ? found : std::nullopt;
}

std::optional<Occurrence> Recurrence::next_wall(const WallRule& rule, UnixSeconds after) const {
  Stretch stretch = frame_.zone.stretch_at(after + seconds(1));
  for (int i = 0; i < kStretchesMax; ++i) {
    const LocalSpan span = own_span(stretch, frame_.dst.overlap);
    const LocalSeconds searched = std::max(stretch.to_local(after), span.begin - seconds(1));
    const auto local = rule.next(searched);

    std::optional<Occurrence> found = next_from_gap(rule, stretch, after, frame_.dst.gap);
    if (local && *local < span.end && (!found || Instant(stretch.to_utc(*local)) <= found->at)) {
      found = occurrence(stretch.to_utc(*local), *local, overlap_note(stretch, *local));
    }
    if (found) return found;
    after = stretch.end - seconds(1);
    if (searched < stretch.local_after_end()) {
      // No local time before the search comes again, so nothing matches before *local in any stretch.
      if (!local) return std::nullopt;
      after = std::max(after, stretch.to_utc(*local) - kOffsetSlack);
    }
    stretch = frame_.zone.stretch_at(after + seconds(1));
  }
  return std::nullopt;
}

std::optional<std::uint64_t> Recurrence::count(Instant after, Instant upto) const {
  StepBudget budget{.steps = kCountSteps};
  return count(after, upto, budget);
}

std::optional<std::uint64_t> Recurrence::count(Instant after, Instant upto, StepBudget& budget) const {
  after = std::max(after, frame_.after);
  const Instant end = std::min(upto, last_);
  if (after >= end) return 0;
  // Occurrences are whole seconds: (after, end] is the same as [from, to).
  const UnixSeconds from = std::chrono::floor<seconds>(after) + seconds(1);
  const UnixSeconds to = std::chrono::floor<seconds>(end) + seconds(1);
  if (const auto* wall = std::get_if<WallRule>(&rule_)) return count_wall(*wall, from, to, budget);
  return std::get<AbsoluteRule>(rule_).count(from, to, frame_.zone, budget);
}

std::optional<std::uint64_t> Recurrence::count_wall(const WallRule& rule, UnixSeconds from, UnixSeconds to,
                                                    StepBudget& budget) const {
  std::uint64_t total = 0;
  while (from < to) {
    const Stretch stretch = frame_.zone.stretch_at(from);
    const UnixSeconds end = std::min(stretch.end, to);
    const LocalSpan span = own_span(stretch, frame_.dst.overlap);
    const auto fires_itself = [&](UnixSeconds t) {
      const LocalSeconds local = stretch.to_local(t);
      return local >= span.begin && local < span.end && rule.count(local, local + seconds(1)) > 0;
    };
    total += rule.count(std::max(stretch.to_local(from), span.begin), std::min(stretch.to_local(end), span.end));
    // Moved out of a gap, unless it lands on an occurrence that is there anyway.
    for (auto moved = next_from_gap(rule, stretch, from - seconds(1), frame_.dst.gap);
         moved && moved->at < Instant(end);) {
      if (!budget.take()) return std::nullopt;
      const auto at = std::chrono::floor<seconds>(moved->at);
      if (!fires_itself(at)) ++total;
      moved = next_from_gap(rule, stretch, at, frame_.dst.gap);
    }
    from = end;
  }
  return total;
}

Result<Instant> Recurrence::nth(std::uint64_t n, Instant from) const {
  const auto too_large = [&] {
    return invalid_configuration(
        fmt::format("COUNT={} takes too long to follow for this rule; give an end with UNTIL instead", n));
  };
  StepBudget budget{.steps = kCountSteps};
  if (n <= kWalkedCountMax) {
    for (std::uint64_t i = 0; i < n; ++i) {
      const auto found = next(from, budget);
      if (budget.steps <= 0) return too_large();
      if (!found) break;  // the calendar ends before the count does
      from = found->at;
    }
    return from;
  }
  // Spans of growing length are counted until the n-th lies in one; then that one is halved until it is found.
  Instant low = from;
  std::uint64_t before = 0;  // in (from, low]
  for (Duration length = kFirstCountedSpan;; length *= 2) {
    if (low >= last_) return last_;
    Instant high = std::min(last_, add_clamped(low, length));
    auto counted = count(low, high, budget);
    if (!counted) return too_large();
    if (before + *counted < n) {
      before += *counted;
      low = high;
      continue;
    }
    while (high - low > seconds(1)) {
      const Instant middle = std::chrono::floor<seconds>(low + (high - low) / 2);
      counted = count(low, middle, budget);
      if (!counted) return too_large();
      if (before + *counted >= n) {
        high = middle;
      } else {
        low = middle;
        before += *counted;
      }
    }
    return std::chrono::floor<seconds>(high);
  }
}

std::vector<Occurrence> Recurrence::skipped(Instant after, Instant upto, std::size_t most) const {
  std::vector<Occurrence> lost;
  const auto* wall = std::get_if<WallRule>(&rule_);
  if (wall == nullptr || frame_.dst.gap != DstGap::skip) return lost;
  after = std::max(after, frame_.after);
  const Instant end = std::min(upto, last_);
  for (Stretch stretch = frame_.zone.stretch_at(std::chrono::floor<seconds>(after));
       Instant(stretch.end) <= end && lost.size() < most;) {
    stretch = frame_.zone.stretch_at(stretch.end);
    if (!begins_with_gap(stretch)) continue;
    LocalSeconds local = stretch.local_before_begin() - seconds(1);
    while (lost.size() < most) {
      const auto found = wall->next(local);
      if (!found || *found >= stretch.local_begin()) break;
      lost.push_back(occurrence(stretch.begin, *found, DstNote::gap_skipped));
      local = *found;
    }
  }
  return lost;
}

}  // namespace carillon
