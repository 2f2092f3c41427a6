#include "core/jobs/attempt.h"

#include <algorithm>

#include "base/check.h"
#include "base/mutant.h"

namespace carillon {

namespace {

Verdict moved(Verdict verdict, JobState state, VerdictReason reason = VerdictReason::none) {
  verdict.state = state;
  verdict.reason = reason;
  return verdict;
}

Verdict queued_at(Verdict verdict, Instant run_at) {
  verdict.run_at = up_to_millisecond(run_at);
  return moved(verdict, JobState::queued);
}

bool used_up(const AttemptFacts& facts, const Verdict& verdict) {
  return facts.max_attempts && verdict.attempts >= *facts.max_attempts;
}

Verdict park(const Verdict& verdict) { return moved(verdict, JobState::dlq, VerdictReason::max_retries_exceeded); }

Verdict retry_or_park(const AttemptFacts& facts, const AttemptEnd& end, Verdict verdict, Instant now) {
  if (used_up(facts, verdict)) return park(verdict);
  const auto planned = next_attempt_at(
      facts.retry, {.job = facts.job, .failures = verdict.attempts, .planned_at = facts.planned_at, .now = now});
  if (!planned) return park(verdict);
  const bool handler_chose = end.result == AttemptResult::error && end.retry_at;
  return queued_at(verdict, handler_chose ? std::max(now, *end.retry_at) : *planned);
}

// Gives the attempt back, unless this is the `limit`-th time in a row.
bool interrupted_too_often(Verdict& verdict, std::uint32_t& in_a_row, std::uint32_t limit) {
  ++in_a_row;
  if (in_a_row >= limit) {
    in_a_row = 0;
    return true;
  }
  --verdict.attempts;
  return false;
}

// A claim that was made ahead of a free slot and never began. Once in a row: a job that is lost again and again must
// end, whenever that happens. (invariant 12)
bool is_free_loss(const AttemptFacts& facts, const AttemptEnd& end) {
  return end.result == AttemptResult::lease_lost && end.ahead && !facts.lost_ahead &&
         !mutant(Mutant::ahead_loss_costs_an_attempt);
}

}  // namespace

std::string_view to_string(AttemptResult result) {
  switch (result) {
    case AttemptResult::ok: return "ok";
    case AttemptResult::error: return "error";
    case AttemptResult::timeout: return "timeout";
    case AttemptResult::lease_lost: return "lease_lost";
    case AttemptResult::released: return "released";
    case AttemptResult::cancelled: return "cancelled";
    case AttemptResult::rate_limited: return "rate_limited";
  }
  UNREACHABLE();
}

bool gives_attempt_back(AttemptResult result) {
  return result == AttemptResult::released || result == AttemptResult::rate_limited;
}

std::string_view to_string(VerdictReason reason) {
  switch (reason) {
    case VerdictReason::none: return "none";
    case VerdictReason::execution_failed: return "execution_failed";
    case VerdictReason::max_retries_exceeded: return "max_retries_exceeded";
    case VerdictReason::cancelled: return "cancelled";
    case VerdictReason::deadline: return "deadline";
    case VerdictReason::gated: return "gated";
    case VerdictReason::paused: return "paused";
  }
  UNREACHABLE();
}

Verdict after_attempt(const AttemptFacts& facts, const AttemptEnd& end, Instant now) {
  CHECK(facts.attempts >= 1);
  Verdict verdict;
  verdict.attempts = facts.attempts;
  if (end.result == AttemptResult::lease_lost) {
    verdict.losses = facts.losses + 1;
    verdict.lost_ahead = facts.lost_ahead || is_free_loss(facts, end);
  }
  const bool costs_none = gives_attempt_back(end.result) || is_free_loss(facts, end);

  const Instant over = mutant(Mutant::cutoff_off_by_one) ? now - Duration(1) : now;
  if (facts.deadline && over >= *facts.deadline) {
    if (costs_none) --verdict.attempts;
    return moved(verdict, JobState::cutoff_reached, VerdictReason::deadline);
  }
  // The holder's report decides: what it completed is done, whatever somebody asked for meanwhile.
  if (end.result == AttemptResult::ok) return moved(verdict, end.skipped ? JobState::skipped : JobState::done);
  if (facts.cancel_requested || end.result == AttemptResult::cancelled) {
    if (costs_none) --verdict.attempts;
    return moved(verdict, JobState::cancelled, VerdictReason::cancelled);
  }

  switch (end.result) {
    case AttemptResult::error:
      if (end.permanent) return moved(verdict, JobState::dlq, VerdictReason::execution_failed);
      return retry_or_park(facts, end, verdict, now);
    case AttemptResult::timeout: return retry_or_park(facts, end, verdict, now);
    case AttemptResult::lease_lost:
      if (costs_none || mutant(Mutant::loss_not_counted)) --verdict.attempts;
      // Once is bad luck. A job that kills its worker again and again must slow down and end.
      if (facts.losses == 0 && !used_up(facts, verdict)) return queued_at(verdict, now);
      return retry_or_park(facts, end, verdict, now);
    case AttemptResult::released:
      verdict.releases = facts.releases;
      if (!end.started) {
        // Nothing happened: no row of bad luck ends here, and none goes on.
        --verdict.attempts;
        verdict.losses = facts.losses;
        verdict.lost_ahead = facts.lost_ahead;
        verdict.rate_limits = facts.rate_limits;
        return queued_at(verdict, now);
      }
      if (interrupted_too_often(verdict, verdict.releases, kReleasesPerAttempt) && used_up(facts, verdict)) {
        return park(verdict);
      }
      return queued_at(verdict, now);
    case AttemptResult::rate_limited: {
      verdict.rate_limits = facts.rate_limits;
      if (interrupted_too_often(verdict, verdict.rate_limits, kRateLimitsPerAttempt) && used_up(facts, verdict)) {
        return park(verdict);
      }
      const Instant asked = end.retry_at.value_or(add_clamped(now, kRateLimitedDefault));
      return queued_at(verdict, std::clamp(asked, now, add_clamped(now, kRateLimitedMax)));
    }
    case AttemptResult::ok:
    case AttemptResult::cancelled: break;
  }
  UNREACHABLE();
}

}  // namespace carillon
