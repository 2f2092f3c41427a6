// When, and how long. An Instant is a point of absolute time in UTC, a Duration a span of it, both in microseconds.
//
//   parse_instant("2026-03-29T02:00:00+01:00")   // the same instant as 2026-03-29T01:00:00Z
//   parse_duration("1h30m")                      // 90 minutes
//
// There is no clock here: who needs the present time is given it.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "carillon/error.h"

namespace carillon {

using Duration = std::chrono::microseconds;

// The longest span that may be written: 400 years, the horizon of every rule.
inline constexpr Duration kDurationMax = std::chrono::days{146097};

// Whole numbers with the units d, h, m, s, ms, largest first, each at most once: `90s`, `10m`, `1h30m`, `250ms`. Never
// negative.
Result<Duration> parse_duration(std::string_view text);

// The shortest form that reads back as the same: 90 s is "1m30s", nothing is "0s". Below a millisecond is cut.
std::string format_duration(Duration duration);

using Instant = std::chrono::sys_time<std::chrono::microseconds>;

// The years 0001 to 9999: what RFC 3339 can write.
inline constexpr Instant kInstantMin = std::chrono::sys_days(std::chrono::year(1) / 1 / 1);
inline constexpr Instant kInstantMax =
    std::chrono::sys_days(std::chrono::year(9999) / 12 / 31) + std::chrono::days(1) - std::chrono::microseconds(1);

// `2026-03-29T01:00:00.000Z`, `2026-03-29T02:00:00+01:00`, or Unix milliseconds `1774746000000`. Digits finer than a
// microsecond are cut. A leap second is refused.
Result<Instant> parse_instant(std::string_view text);

// With milliseconds, rounded up: `2026-03-29T01:00:00.000Z`. What is to happen then has happened by what is shown.
std::string format_instant(Instant instant);

// `instant + duration`, held at the ends of the calendar instead of overflowing.
Instant add_clamped(Instant instant, Duration duration);

}  // namespace carillon
