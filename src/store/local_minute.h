// The minute of an occurrence by its local clock: days since 1970 × 1,440 + minute of the day. By it outcomes are
// counted.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "core/time/instant.h"

namespace carillon {

inline constexpr std::int64_t kMinutesOfDay = 1440;

// What an occurrence has that says nothing else.
inline std::int64_t utc_minute_of(Instant slot) {
  return std::chrono::floor<std::chrono::minutes>(slot).time_since_epoch().count();
}

inline std::int64_t local_minute_of(Instant slot, std::optional<std::int64_t> local_minute) {
  return local_minute ? *local_minute : utc_minute_of(slot);
}

struct DayMinute {
  std::int64_t day = 0;  // since 1970
  int minute = 0;
};

// Local days, both of them included.
struct DayRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

inline DayMinute day_minute_of(std::int64_t local_minute) {
  const std::int64_t minute = ((local_minute % kMinutesOfDay) + kMinutesOfDay) % kMinutesOfDay;
  return {.day = (local_minute - minute) / kMinutesOfDay, .minute = static_cast<int>(minute)};
}

}  // namespace carillon
