// What the end of an attempt makes of its job. How it can end: carillon/attempt_result.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "carillon/attempt_result.h"
#include "core/jobs/job_state.h"
#include "core/policies/retry.h"
#include "core/time/instant.h"

namespace carillon {

// An attempt is counted at its claim: a worker that dies must still use one up. These results give it back.
bool gives_attempt_back(AttemptResult result);

// In a row, of one job: the 10th release of a started attempt and the 20th rate_limited use up an attempt after all.
// (invariant 16)
inline constexpr std::uint32_t kReleasesPerAttempt = 10;
inline constexpr std::uint32_t kRateLimitsPerAttempt = 20;

inline constexpr Duration kRateLimitedDefault = std::chrono::seconds(60);
inline constexpr Duration kRateLimitedMax = std::chrono::hours(1);

// What of a processing job the decision depends on.
struct AttemptFacts {
  std::string_view job;                                             // its id
  std::uint32_t attempts = 1;                                       // used so far, the one that ended included
  std::optional<std::uint32_t> max_attempts = kMaxAttemptsDefault;  // nothing: only the deadline ends it
  RetryPolicy retry;
  Instant planned_at;               // when this attempt was planned
  std::optional<Instant> deadline;  // not final by then: cutoff_reached
  bool cancel_requested = false;
  // In a row before this attempt:
  std::uint32_t losses = 0;
  bool lost_ahead = false;  // one of these losses cost no attempt
  std::uint32_t releases = 0;
  std::uint32_t rate_limits = 0;
};

struct AttemptEnd {
  AttemptResult result = AttemptResult::ok;
  bool skipped = false;             // of ok: the handler had nothing to do
  bool permanent = false;           // of error: trying again is pointless
  bool started = true;              // of released: the handler had been entered
  bool ahead = false;               // of lease_lost: claimed ahead of a free slot, and not known to have begun
  std::optional<Instant> retry_at;  // of error: instead of the policy's time; of rate_limited: when to come again
};

enum class VerdictReason : std::uint8_t {
  none,
  execution_failed,      // dlq: the handler said permanent
  max_retries_exceeded,  // dlq: all attempts are used up
  cancelled,             // a cancellation had been asked for
  deadline,              // cutoff_reached
  gated,                 // cutoff_reached while a gate was closed
  paused,                // cutoff_reached while its schedule, queue or tenant was paused
};

std::string_view to_string(VerdictReason reason);

struct Verdict {
  JobState state = JobState::queued;
  Instant run_at;              // of queued
  std::uint32_t attempts = 0;  // used, after what was given back
  std::uint32_t losses = 0;
  bool lost_ahead = false;
  std::uint32_t releases = 0;
  std::uint32_t rate_limits = 0;
  VerdictReason reason = VerdictReason::none;
};

// What becomes of a job whose attempt has ended. The state is one that a processing job may move to.
Verdict after_attempt(const AttemptFacts& facts, const AttemptEnd& end, Instant now);

}  // namespace carillon
