#include "cli/when.h"

#include "core/time/local_time.h"

namespace carillon {

Result<Instant> parse_when(std::string_view text, const Zone& zone) {
  constexpr std::size_t kDateLength = 10;
  const bool begins_with_date = text.size() >= kDateLength && text[4] == '-' && text[7] == '-';
  const std::string_view after_date = begins_with_date ? text.substr(kDateLength) : std::string_view();
  const bool names_offset = after_date.find_first_of("Zz+-") != std::string_view::npos;
  if (!begins_with_date || names_offset) return parse_instant(text);

  LocalSeconds local;
  if (after_date.empty()) {
    TRY_ASSIGN(local, parse_date(text));
  } else {
    TRY_ASSIGN(local, parse_local_seconds(text));
  }
  const Instant at(zone.resolve(local).first);
  if (at < kInstantMin || at > kInstantMax) {
    return TextCursor("time", text).fail("outside the years 0001 to 9999 in UTC");
  }
  return at;
}

}  // namespace carillon
