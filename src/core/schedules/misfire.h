// What to do with occurrences that were seen too late: the engine was down, or busy, or the clock jumped ahead.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/schedules/overlap.h"
#include "core/time/duration.h"
#include "core/triggers/timetable.h"

namespace carillon {

enum class MisfireKind : std::uint8_t {
  latest,  // of all that is due only the newest runs
  skip,    // none that is late runs
  all,     // the newest `max` late ones run, none older than `max_age`
};

struct MisfirePolicy {
  MisfireKind kind = MisfireKind::latest;
  std::uint32_t max = 6;
  std::optional<Duration> max_age;
  Duration grace = std::chrono::seconds(60);  // later than this is late
};

inline constexpr std::uint32_t kMisfireMaxMax = 1000;

Result<MisfireKind> parse_misfire_kind(std::string_view text);
std::string_view to_string(MisfireKind kind);
// A policy that cannot work is refused: `all` goes only with `allow`, max is 1 to 1000, durations are not negative.
Result<void> check_misfire(const MisfirePolicy& policy, OverlapPolicy overlap);

struct DueSlot {
  Occurrence occurrence;
  bool backfilled = false;  // late, run all the same
};

// Occurrences that will not run, as one range. Both ends are occurrences.
struct MissedRange {
  Occurrence first;
  Instant last;
  std::optional<std::uint64_t> count;  // nothing if counting would cost too much
};

struct DuePlan {
  std::vector<DueSlot> run;  // oldest first
  std::optional<MissedRange> missed;
  Instant planned_until;  // where the next plan goes on; before `now` if there was more than fits
};

// At most so many on-time occurrences are planned at once.
inline constexpr std::size_t kDueSlotsMax = 1000;

// Sorts all occurrences in (after, now] into those that run and those that are missed. Every one is in exactly one of
// the two, or lies after planned_until. (invariant 3)
DuePlan plan_due(const Timetable& timetable, Instant after, Instant now, const MisfirePolicy& policy);

}  // namespace carillon
