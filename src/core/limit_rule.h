// A named budget shared by jobs: how many may start in a span of time, and how many may run at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "core/duration.h"

namespace carillon {

struct LimitRule {
  std::optional<double> rate;  // starts in each `per`; nothing: any number
  Duration per = std::chrono::seconds(1);
  std::optional<double> burst;               // starts at once after a rest; nothing: max(1, rate)
  std::optional<std::uint32_t> concurrency;  // attempts at once; nothing: any number
  friend bool operator==(const LimitRule&, const LimitRule&) = default;
};

}  // namespace carillon
