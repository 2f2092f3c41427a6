#include "core/time/dst.h"

#include <fmt/format.h>

#include "base/check.h"

namespace carillon {

Result<DstGap> parse_dst_gap(std::string_view text) {
  for (const DstGap gap : {DstGap::shift, DstGap::skip, DstGap::next_valid}) {
    if (text == to_string(gap)) return gap;
  }
  return invalid_request(fmt::format("dst gap policy {}, column 1: allowed are shift, skip, next_valid", quoted(text)));
}

Result<DstOverlap> parse_dst_overlap(std::string_view text) {
  for (const DstOverlap overlap : {DstOverlap::first, DstOverlap::second, DstOverlap::both}) {
    if (text == to_string(overlap)) return overlap;
  }
  return invalid_request(fmt::format("dst overlap policy {}, column 1: allowed are first, second, both", quoted(text)));
}

std::string_view to_string(DstGap gap) {
  switch (gap) {
    case DstGap::shift: return "shift";
    case DstGap::skip: return "skip";
    case DstGap::next_valid: return "next_valid";
  }
  UNREACHABLE();
}

std::string_view to_string(DstOverlap overlap) {
  switch (overlap) {
    case DstOverlap::first: return "first";
    case DstOverlap::second: return "second";
    case DstOverlap::both: return "both";
  }
  UNREACHABLE();
}

std::string_view to_string(DstNote note) {
  switch (note) {
    case DstNote::none: return "none";
    case DstNote::gap_shifted: return "gap_shifted";
    case DstNote::gap_next_valid: return "gap_next_valid";
    case DstNote::gap_skipped: return "gap_skipped";
    case DstNote::overlap_first: return "overlap_first";
    case DstNote::overlap_second: return "overlap_second";
  }
  UNREACHABLE();
}

}  // namespace carillon
