// When a failed attempt is followed by another one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "core/duration.h"
#include "core/instant.h"

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

struct RetryQuestion {
  std::string_view job;        // its id: jitter is a hash of it and the attempt, the same after a restart
  std::uint32_t failures = 1;  // failed attempts so far, this one included
  Instant planned_at;          // when the attempt that failed was planned
  Instant now;
};

// When the next attempt is due; nothing if the policy does not retry. Never before `now`, and never past the calendar,
// whatever the number of failures. (invariant 15)
std::optional<Instant> next_attempt_at(const RetryPolicy& policy, const RetryQuestion& question);

// The bounds that the delay keeps to after `failures`, jitter included. For RetryFixed: from the planned time.
struct DelayBounds {
  Duration min;
  Duration max;
};
std::optional<DelayBounds> delay_bounds(const RetryPolicy& policy, std::uint32_t failures);

}  // namespace carillon
