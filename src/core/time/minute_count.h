// Where occurrences are counted: by the minute that the local clock showed, days since 1970 × 1,440 + minute of the
// day.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/time/instant.h"
#include "core/time/local_time.h"

namespace carillon {

// Minutes since 1970 as a clock in that zone showed them.
inline std::int64_t local_minute_of(LocalSeconds local) {
  return std::chrono::floor<std::chrono::minutes>(local.time_since_epoch()).count();
}

// How many occurrences belong to one local minute.
struct MinuteCount {
  std::int64_t local_minute = 0;
  std::int64_t count = 1;
  friend bool operator==(const MinuteCount&, const MinuteCount&) = default;
};

// The occurrences of a range, in order. A minute that the clock shows twice may be here twice.
struct Spread {
  std::vector<MinuteCount> minutes;
  bool is_whole = true;  // else it cost too much, and the rest is missing

  void add(std::int64_t local_minute, std::int64_t count) {
    if (!minutes.empty() && minutes.back().local_minute == local_minute) {
      minutes.back().count += count;
    } else {
      minutes.push_back({.local_minute = local_minute, .count = count});
    }
  }
  std::int64_t total() const {
    std::int64_t sum = 0;
    for (const MinuteCount& minute : minutes) sum += minute.count;
    return sum;
  }
};

// A range of more minutes than these (five weeks of them) is counted by the hour, at the first minute that it has
// there: the days stay exact, and what is written stays bounded.
inline constexpr std::size_t kSpreadMinutesMax = 50'000;

// Counts by day are kept for so long; what lies before is not counted any more.
inline constexpr Duration kOutcomeCountsKept = std::chrono::days(400);
// The local date may be another one than that of UTC.
inline Instant oldest_counted(Instant now) { return add_clamped(now, -(kOutcomeCountsKept + std::chrono::days(2))); }

}  // namespace carillon
