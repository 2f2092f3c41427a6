// The next times of a timetable, with what clock changes did to them: for people who want to see before they trust.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/timetable.h"

namespace carillon {

struct PreviewItem {
  std::optional<Instant> at;  // nothing: a clock change made this time impossible, and the policy skips it
  LocalSeconds asked;         // what the rule asked for
  DstNote note = DstNote::none;
};

inline constexpr std::size_t kPreviewMax = 10'000;

// At most `count` items from `from` on (inclusive), in order of time; skipped ones are among them.
std::vector<PreviewItem> preview(const Timetable& timetable, Instant from, std::size_t count);

// {"at": "2026-03-29T01:30:00.000Z", "local": "2026-03-29T02:30:00+01:00", "note": "gap_shifted"}
std::string to_json(const PreviewItem& item, const Zone& zone);

}  // namespace carillon
