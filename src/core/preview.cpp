#include "core/preview.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"

namespace carillon {

std::vector<PreviewItem> preview(const Timetable& timetable, Instant from, std::size_t count) {
  std::vector<PreviewItem> items;
  Instant after = from == kInstantMin ? from : from - Duration(1);
  while (items.size() < count) {
    const auto found = timetable.next(after);
    // Past the last occurrence a skipped one may still follow; a year ahead is far enough to show it.
    const Instant upto = found ? found->at : add_clamped(after, std::chrono::days(366));
    for (const Occurrence& lost : timetable.skipped(after, upto, count - items.size())) {
      items.push_back({.at = {}, .asked = lost.local, .note = lost.note});
    }
    if (!found || items.size() == count) break;
    items.push_back({.at = found->at, .asked = found->local, .note = found->note});
    after = found->at;
  }
  return items;
}

std::string to_json(const PreviewItem& item, const Zone& zone) {
  const std::string note = item.note == DstNote::none ? "null" : fmt::format("\"{}\"", to_string(item.note));
  if (!item.at)
    return fmt::format(R"({{"at": null, "local": "{}", "note": {}}})", format_local_seconds(item.asked), note);
  return fmt::format(R"({{"at": "{}", "local": "{}", "note": {}}})", format_instant(*item.at),
                     format_with_offset(*item.at, zone.offset_at(*item.at)), note);
}

}  // namespace carillon
