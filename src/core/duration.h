// How long: a span of absolute time, written `90s`, `10m`, `4h`, `7d`, `1h30m`, `250ms`.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/error.h"

namespace carillon {

using Duration = std::chrono::microseconds;

// The longest span that may be written: 400 years, the horizon of every rule.
inline constexpr Duration kDurationMax = std::chrono::days{146097};

// Whole numbers with the units d, h, m, s, ms, largest first, each at most once. Never negative.
Result<Duration> parse_duration(std::string_view text);

// The shortest form that reads back as the same: 90 s is "1m30s", nothing is "0s". Below a millisecond is cut.
std::string format_duration(Duration duration);

}  // namespace carillon
