// When a failed attempt is followed by another one: a policy is one of four shapes.
//
//   RetryPolicy policy = RetryExponential{.base = std::chrono::seconds(30), .jitter = 0.2};
#pragma once

#include <chrono>
#include <cstdint>
#include <variant>
#include <vector>

#include "carillon/time.h"

namespace carillon {

// Delays by the number of failures so far; the last one repeats.
struct RetryTable {
  std::vector<Duration> delays{std::chrono::minutes(1), std::chrono::minutes(5), std::chrono::minutes(15),
                               std::chrono::minutes(60)};
  double jitter = 0.1;  // ± this part of the delay
  friend bool operator==(const RetryTable&, const RetryTable&) = default;
};

// base · 2^(n - 1), at most 32 · base.
struct RetryExponential {
  Duration base = std::chrono::seconds(60);
  double jitter = 0;
  friend bool operator==(const RetryExponential&, const RetryExponential&) = default;
};

// A steady beat: the planned time moves on by `delay` from the last planned one, not from when the attempt ended.
struct RetryFixed {
  Duration delay = std::chrono::minutes(10);
  friend bool operator==(const RetryFixed&, const RetryFixed&) = default;
};

struct RetryNone {
  friend bool operator==(const RetryNone&, const RetryNone&) = default;
};

using RetryPolicy = std::variant<RetryTable, RetryExponential, RetryFixed, RetryNone>;

inline constexpr std::uint32_t kMaxAttemptsDefault = 5;

}  // namespace carillon
