// The next times of a trigger, with what clock changes did to them: for people who want to see before they trust.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/schedules/plan.h"
#include "core/triggers/timetable.h"

namespace carillon {

struct PreviewItem {
  std::optional<Instant> at;  // nothing: a clock change made this time impossible, and the policy skips it
  LocalSeconds asked;         // what the rule asked for
  DstNote note = DstNote::none;
  std::optional<LocalDays> day;  // of a delivery
  // Of a delivery: from `at` until its cutoff. Of windows: the window itself, which is over at `at`.
  std::optional<Instant> begin;
  std::optional<Instant> end;
};

inline constexpr std::size_t kPreviewMax = 10'000;

// At most `count` items from `from` on (inclusive), in order of time; skipped ones are among them.
std::vector<PreviewItem> preview(const Timetable& timetable, Instant from, std::size_t count);

// Those of one subject as it is, all of them after `facts.now`, if all its jobs end in time.
// Of one that is paused or disabled: as if it went on now.
enum class Stands : std::uint8_t { as_it_is, still };
std::vector<PreviewItem> preview(PlanFacts facts, std::size_t count, Stands stands = Stands::as_it_is);

// Those of a trigger alone, as of a schedule that is made at `from`. Refuses what never fires or has no times.
Result<std::vector<PreviewItem>> preview(const Trigger& trigger, Timetable::Options options, Instant from,
                                         std::size_t count);

// {"at": "2026-03-29T01:30:00.000Z", "local": "2026-03-29T02:30:00+01:00", "note": "gap_shifted"}; of a delivery also
// `day` and `cutoff`, of windows `window_start` and `window_end`.
std::string to_json(const PreviewItem& item, const Zone& zone);

}  // namespace carillon
