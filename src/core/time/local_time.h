// What a wall clock and a calendar show, without a zone: dates, times of day, and the two together.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text_cursor.h"

namespace carillon {

using LocalDays = std::chrono::local_days;
using LocalSeconds = std::chrono::local_seconds;

inline constexpr int kYearMin = 1;
inline constexpr int kYearMax = 9999;
inline constexpr std::int64_t kSecondsPerDay = 86400;

// Seconds since local midnight, below 86,400.
struct TimeOfDay {
  std::int32_t seconds = 0;
  friend auto operator<=>(TimeOfDay, TimeOfDay) = default;
};

// Days of the week, Monday first, as ISO 8601 and RFC 5545's default week start have it.
enum class Weekday : std::uint8_t { monday, tuesday, wednesday, thursday, friday, saturday, sunday };

inline Weekday weekday_of(LocalDays day) { return static_cast<Weekday>(std::chrono::weekday(day).iso_encoding() - 1); }

// "mon" … "sunday", any case. The error names the column in `cursor`.
Result<Weekday> parse_weekday(TextCursor& cursor);
// "mon", "tue", …
std::string_view short_name(Weekday day);

// `HH:MM` or `HH:MM:SS`, 00:00 to 23:59:59.
Result<TimeOfDay> parse_time_of_day(std::string_view text);
Result<TimeOfDay> read_time_of_day(TextCursor& cursor);
std::string format_time_of_day(TimeOfDay time);

// `YYYY-MM-DD`, years 0001 to 9999.
Result<LocalDays> parse_date(std::string_view text);
Result<LocalDays> read_date(TextCursor& cursor);
std::string format_date(LocalDays day);

// `YYYY-MM-DDTHH:MM[:SS]`; a space may replace the T.
Result<LocalSeconds> parse_local_seconds(std::string_view text);
std::string format_local_seconds(LocalSeconds time);

}  // namespace carillon
