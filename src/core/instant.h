// When: a point of absolute time, in UTC microseconds. Read as RFC 3339 or Unix milliseconds, written as RFC 3339.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/error.h"
#include "core/duration.h"

namespace carillon {

using Instant = std::chrono::sys_time<std::chrono::microseconds>;

// The years 0001 to 9999: what RFC 3339 can write.
inline constexpr Instant kInstantMin = std::chrono::sys_days(std::chrono::year(1) / 1 / 1);
inline constexpr Instant kInstantMax =
    std::chrono::sys_days(std::chrono::year(9999) / 12 / 31) + std::chrono::days(1) - std::chrono::microseconds(1);

// `2026-03-29T01:00:00.000Z`, `2026-03-29T02:00:00+01:00`, or Unix milliseconds `1774746000000`. Digits finer than a
// microsecond are cut. A leap second is refused.
Result<Instant> parse_instant(std::string_view text);

// With milliseconds: `2026-03-29T01:00:00.000Z`.
std::string format_instant(Instant instant);

// The local clock at `offset` from UTC: `2026-03-29T02:00:00+01:00`.
std::string format_with_offset(Instant instant, std::chrono::seconds offset);

// `instant + duration`, held at the ends of the calendar instead of overflowing.
Instant add_clamped(Instant instant, Duration duration);

}  // namespace carillon
