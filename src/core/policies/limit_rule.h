// What a limit allows the jobs that name it: so many starts in a time, so many at once, or both.
//
//   {.rate = 10, .per = 1s, .burst = 20}   ten starts per second, twenty at once after a pause
//   {.concurrency = 4}                     four at any instant, however often they start
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "core/time/duration.h"

namespace carillon {

// The most that `rate` and `burst` may be.
inline constexpr double kRateMax = 1e9;

// At least one of `rate` and `concurrency` is there; `per` and `burst` mean something only beside a rate.
struct LimitRule {
  std::optional<double> rate;  // starts in each `per`, above 0
  Duration per = std::chrono::seconds(1);
  std::optional<double> burst;               // starts that may be saved up, 1 or more
  std::optional<std::uint32_t> concurrency;  // 1 or more

  // The burst in force: without one of its own, what one `per` allows, and never less than a single start.
  double burst_or_default() const { return std::max(1.0, burst.value_or(rate.value_or(1.0))); }

  friend bool operator==(const LimitRule&, const LimitRule&) = default;
};

}  // namespace carillon
