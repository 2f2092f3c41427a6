// What becomes of a wall-clock time that a clock change skips or repeats.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace carillon {

// The local time does not exist: 02:30 when clocks go from 02:00 to 03:00.
enum class DstGap : std::uint8_t {
  shift,       // moved forward by the length of the gap: 03:30 (RFC 5545)
  skip,        // no occurrence
  next_valid,  // the first instant after the gap: 03:00
};

// The local time exists twice: 01:30 when clocks go back from 02:00 to 01:00.
enum class DstOverlap : std::uint8_t { first, second, both };

struct DstPolicy {
  DstGap gap = DstGap::shift;
  DstOverlap overlap = DstOverlap::first;
};

// What a transition did to one occurrence.
enum class DstNote : std::uint8_t { none, gap_shifted, gap_next_valid, gap_skipped, overlap_first, overlap_second };

Result<DstGap> parse_dst_gap(std::string_view text);
Result<DstOverlap> parse_dst_overlap(std::string_view text);
std::string_view to_string(DstGap gap);
std::string_view to_string(DstOverlap overlap);
std::string_view to_string(DstNote note);

}  // namespace carillon
