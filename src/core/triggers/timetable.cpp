#include "core/triggers/timetable.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/triggers/trigger_kind.h"

namespace carillon {

namespace {

// How often a search steps over excluded times: a day at once, but one by one what a gap moved.
constexpr int kExcludedStepsMax = 400'000;
constexpr std::size_t kSkippedMax = 10'000;

// What spreading one range may cost: some 100 ms at most.
constexpr std::int64_t kSpreadSteps = 1'000'000;

// Up to where, from an occurrence on, every other one belongs to the same day, hour or minute of the local clock: its
// end, or the next change of the clocks. Right after a change lie times from before it that a gap moved there: each of
// these is alone.
template <typename Cell>
Instant end_of_same(const Zone& zone, const Occurrence& occurrence) {
  const auto at = std::chrono::floor<std::chrono::seconds>(occurrence.at);
  const Stretch stretch = zone.stretch_at(at);
  const auto cell = std::chrono::floor<Cell>(stretch.to_local(at));
  const bool moved = at < stretch.begin + std::max(stretch.offset - stretch.offset_before, std::chrono::seconds(0));
  if (moved || cell != std::chrono::floor<Cell>(occurrence.local)) return occurrence.at;
  return Instant(std::min(stretch.to_utc(cell + Cell(1)), stretch.end)) - Duration(1);
}

}  // namespace

Result<Timetable> Timetable::make(const Trigger& trigger, Options options) {
  if (options.starts_at && options.ends_at && *options.ends_at < *options.starts_at) {
    return invalid_configuration(fmt::format("ends_at {} lies before starts_at {}", format_instant(*options.ends_at),
                                             format_instant(*options.starts_at)));
  }
  const TriggerKind& kind = kind_of(trigger);
  if (!kind.times) {
    return invalid_configuration(
        fmt::format("{}: each subject has times of its own, there is no timetable", kind.name));
  }
  TRY_ASSIGN(Source source, kind.times(trigger, options));
  Timetable timetable(std::move(source), std::move(options));
  const Options& given = timetable.options_;
  const bool narrowed = !std::holds_alternative<Recurrence>(timetable.source_) || given.starts_at || given.ends_at ||
                        !given.exclude_dates.empty();
  if (narrowed && !timetable.next(kInstantMin)) {
    return invalid_configuration("never fires: the calendar, starts_at, ends_at and exclude_dates leave no time");
  }
  return timetable;
}

Occurrence Timetable::plain(Instant at) const {
  return {.at = at, .local = options_.zone.to_local(at), .note = DstNote::none};
}

std::optional<Occurrence> Timetable::next_of_source(Instant after, StepBudget& budget) const {
  if (const auto* once = std::get_if<Once>(&source_)) {
    return once->at > after ? std::optional(plain(once->at)) : std::nullopt;
  }
  if (const auto* every = std::get_if<Every>(&source_)) {
    std::int64_t k = every->first;
    if (after >= every->anchor) k = std::max(k, (after - every->anchor) / every->every + 1);
    std::int64_t ahead = 0;
    if (__builtin_mul_overflow(k, every->every.count(), &ahead)) return std::nullopt;
    if (kInstantMax - every->anchor < Duration(ahead)) return std::nullopt;
    return plain(every->anchor + Duration(ahead));
  }
  return std::get<Recurrence>(source_).next(after, budget);
}

std::optional<std::uint64_t> Timetable::count_of_source(Instant after, Instant upto, StepBudget& budget) const {
  if (after >= upto) return 0;
  if (const auto* once = std::get_if<Once>(&source_)) return once->at > after && once->at <= upto ? 1 : 0;
  if (const auto* every = std::get_if<Every>(&source_)) {
    const auto until = [&](Instant t) {
      return t < every->anchor ? 0 : std::max<std::int64_t>(0, (t - every->anchor) / every->every + 1 - every->first);
    };
    return static_cast<std::uint64_t>(until(upto) - until(after));
  }
  return std::get<Recurrence>(source_).count(after, upto, budget);
}

bool Timetable::is_excluded(const Occurrence& occurrence) const {
  return !options_.exclude_dates.empty() &&
         options_.exclude_dates.contains(std::chrono::floor<std::chrono::days>(occurrence.local));
}

std::optional<Occurrence> Timetable::next(Instant after) const { return next(after, nullptr); }

std::optional<Occurrence> Timetable::next(Instant after, StepBudget* budget) const {
  if (options_.starts_at) after = std::max(after, *options_.starts_at - Duration(1));
  for (int i = 0; i < kExcludedStepsMax; ++i) {
    StepBudget own;
    const auto found = next_of_source(after, budget ? *budget : own);
    if (!found || (options_.ends_at && found->at > *options_.ends_at)) return std::nullopt;
    if (!is_excluded(*found)) return found;
    after = end_of_same<std::chrono::days>(options_.zone, *found);
  }
  return std::nullopt;
}

Spread Timetable::spread(const SpreadRange& range) const {
  const Instant after = std::max(range.after, range.oldest - Duration(1));
  Spread spread;
  if (after >= range.upto) return spread;
  const auto minutes = static_cast<std::uint64_t>((range.upto - after) / std::chrono::minutes(1));
  const bool by_hour = minutes > kSpreadMinutesMax && count(after, range.upto).value_or(0) > kSpreadMinutesMax;
  StepBudget budget{.steps = kSpreadSteps};
  auto found = next(after, &budget);
  while (found && found->at <= range.upto && spread.minutes.size() < kSpreadMinutesMax) {
    const Instant end = by_hour ? end_of_same<std::chrono::hours>(options_.zone, *found)
                                : end_of_same<std::chrono::minutes>(options_.zone, *found);
    const Instant last = std::min(end, range.upto);
    auto following = next(found->at, &budget);
    std::int64_t count = 1;
    if (following && following->at <= last) {
      // All of them have the date of the first, which is not excluded.
      if (const auto counted = count_of_source(found->at - Duration(1), last, budget)) {
        count = static_cast<std::int64_t>(*counted);
        following = next(last, &budget);
      }
    }
    spread.add(local_minute_of(found->local), count);
    found = following;
  }
  spread.is_whole = budget.steps > 0 && (!found || found->at > range.upto);
  return spread;
}

std::optional<Occurrence> Timetable::newest(Instant after, Instant upto) const {
  auto found = next(after);
  if (!found || found->at > upto) return std::nullopt;
  // found->at <= the newest one < bound, and no occurrence lies in [bound, upto].
  Instant bound = upto + Duration(1);
  while (true) {
    const auto following = next(found->at);
    if (!following || following->at >= bound) return found;
    const Instant middle = found->at + (bound - found->at) / 2;
    const auto beyond = next(middle);
    if (beyond && beyond->at <= upto) {
      found = beyond;
    } else {
      bound = middle + Duration(1);
      found = following;
    }
  }
}

std::optional<std::uint64_t> Timetable::count(Instant after, Instant upto) const {
  if (options_.starts_at) after = std::max(after, *options_.starts_at - Duration(1));
  if (options_.ends_at) upto = std::min(upto, *options_.ends_at);
  if (after >= upto) return 0;
  StepBudget budget{.steps = kCountSteps};
  auto total = count_of_source(after, upto, budget);
  int steps = 0;
  const auto next_in_source = [this](Instant from) {
    StepBudget own;
    return next_of_source(from, own);
  };
  for (const LocalDays day : options_.exclude_dates) {
    if (!total) break;
    // Two days earlier: the day before may not exist.
    const Instant begin = Instant(options_.zone.resolve(day - std::chrono::days(2)).first);
    if (begin > upto) break;
    Instant end;
    for (auto found = next_in_source(std::max(after, begin)); total && found && found->at <= upto;
         found = next_in_source(end)) {
      const auto date = std::chrono::floor<std::chrono::days>(found->local);
      if (date > day + std::chrono::days(1)) break;
      end = end_of_same<std::chrono::days>(options_.zone, *found);
      if (date == day) {
        StepBudget own{.steps = kCountSteps};
        const auto excluded = count_of_source(found->at - Duration(1), std::min(upto, end), own);
        total = excluded ? std::optional(*total - *excluded) : std::nullopt;
      }
      if (++steps > kExcludedStepsMax) return std::nullopt;
    }
  }
  return total;
}

std::vector<Occurrence> Timetable::skipped(Instant after, Instant upto, std::size_t most) const {
  const auto* recurrence = std::get_if<Recurrence>(&source_);
  if (recurrence == nullptr) return {};
  if (options_.starts_at) after = std::max(after, *options_.starts_at - Duration(1));
  if (options_.ends_at) upto = std::min(upto, *options_.ends_at);
  std::vector<Occurrence> lost = recurrence->skipped(after, upto, options_.exclude_dates.empty() ? most : kSkippedMax);
  std::erase_if(lost, [&](const Occurrence& occurrence) { return is_excluded(occurrence); });
  if (lost.size() > most) lost.resize(most);
  return lost;
}

}  // namespace carillon
