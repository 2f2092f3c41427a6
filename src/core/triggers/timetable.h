// The times of one trigger in one zone: what a planner and a preview ask.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "base/error.h"
#include "core/recurrence/recurrence.h"
#include "core/time/dst.h"
#include "core/time/minute_count.h"
#include "core/time/zone.h"
#include "core/triggers/trigger.h"

namespace carillon {

class Timetable {
 public:
  struct Options {
    Zone zone = Zone::utc();
    DstPolicy dst;
    Instant created_at;  // the anchor and start of what has none of its own
    std::optional<Instant> starts_at;
    std::optional<Instant> ends_at;
    std::set<LocalDays> exclude_dates;  // local dates on which nothing happens
  };

  // What a kind makes of its trigger: an instant, a steady interval, or a rule of the wall clock.
  struct Once {
    Instant at;
  };
  struct Every {
    Instant anchor;
    Duration every;
    std::int64_t first;  // the lowest k of anchor + k · every
  };
  using Source = std::variant<Once, Every, Recurrence>;

  // Refuses what can never fire, with the reason.
  static Result<Timetable> make(const Trigger& trigger, Options options);

  // The first occurrence strictly after `after`. Bounded: nothing is searched further than 400 years ahead.
  std::optional<Occurrence> next(Instant after) const;

  // The newest occurrence in (after, upto], in a number of steps that does not depend on how many there are.
  std::optional<Occurrence> newest(Instant after, Instant upto) const;

  // How many occurrences there are in (after, upto]; nothing if counting would cost too much.
  std::optional<std::uint64_t> count(Instant after, Instant upto) const;

  // On which local minutes the occurrences in (after, upto] fall, from `oldest` on: by what the rule asked for, like
  // each of them by itself. Those of one minute are counted, not walked; bounded by kSpreadMinutesMax.
  struct SpreadRange {
    Instant after;
    Instant upto;
    Instant oldest = kInstantMin;
  };
  Spread spread(const SpreadRange& range) const;

  // Local times in (after, upto] that a gap made impossible and the policy skips, at most `most`, oldest first.
  std::vector<Occurrence> skipped(Instant after, Instant upto, std::size_t most) const;

  const Zone& zone() const { return options_.zone; }

 private:
  Timetable(Source source, Options options) : source_(std::move(source)), options_(std::move(options)) {}

  std::optional<Occurrence> next_of_source(Instant after, StepBudget& budget) const;
  std::optional<std::uint64_t> count_of_source(Instant after, Instant upto, StepBudget& budget) const;
  // Without a given budget each search has its own.
  std::optional<Occurrence> next(Instant after, StepBudget* budget) const;
  bool is_excluded(const Occurrence& occurrence) const;
  Occurrence plain(Instant at) const;

  Source source_;
  Options options_;
};

}  // namespace carillon
