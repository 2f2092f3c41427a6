// What a retry policy decides: the time of the next attempt. The policies themselves: carillon/retry.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "carillon/retry.h"
#include "core/time/duration.h"
#include "core/time/instant.h"

namespace carillon {

struct RetryQuestion {
  std::string_view job;        // its id: jitter is a hash of it and the attempt, the same after a restart
  std::uint32_t failures = 1;  // failed attempts so far, this one included
  Instant planned_at;          // when the attempt that failed was planned
  Instant now;
};

// When the next attempt is due, in whole milliseconds; nothing if the policy does not retry. Never before `now`, and
// never past the calendar, whatever the number of failures. (invariant 15)
std::optional<Instant> next_attempt_at(const RetryPolicy& policy, const RetryQuestion& question);

// The bounds that the delay keeps to after `failures`, jitter included. For RetryFixed: from the planned time.
struct DelayBounds {
  Duration min;
  Duration max;
};
std::optional<DelayBounds> delay_bounds(const RetryPolicy& policy, std::uint32_t failures);

}  // namespace carillon
