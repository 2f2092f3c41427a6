#include "engine/settlement.h"

#include <algorithm>

#include "base/check.h"

namespace carillon {

namespace {

Settlement settlement_for(const Run& run) {
  Settlement settlement{.job = run.job.id, .token = run.job.token};
  const Instant started_at = run.started_at;
  if (started_at != Instant{}) settlement.started_at = started_at;
  return settlement;
}

void add_follow_ups(Settlement& settlement, const Outcome& outcome, Instant now) {
  settlement.then.reserve(outcome.follow_ups.size());
  for (const JobRequest& request : outcome.follow_ups) settlement.then.push_back(new_job_of(request, now));
  if (outcome.expected_at || outcome.status) {
    settlement.subject = Settlement::SubjectChange{.expected_at = outcome.expected_at, .status = outcome.status};
  }
}

void say(Settlement& settlement, const Outcome& outcome, Instant now) {
  switch (outcome.kind) {
    case Outcome::Kind::done:
      settlement.end.result = AttemptResult::ok;
      settlement.output = outcome.output;
      settlement.stderr_text = outcome.stderr_text;
      return;
    case Outcome::Kind::skipped:
      settlement.end = {.result = AttemptResult::ok, .skipped = true};
      settlement.reason = outcome.reason;
      return;
    case Outcome::Kind::failed:
    case Outcome::Kind::permanent:
      settlement.end = {.result = AttemptResult::error, .permanent = outcome.kind == Outcome::Kind::permanent};
      if (outcome.again) settlement.end.retry_at = instant_of(*outcome.again, now);
      settlement.error = {.message = outcome.error, .error_class = outcome.error_class};
      return;
    case Outcome::Kind::deferred:
      settlement.defer =
          Settlement::Deferral{.until = outcome.again ? std::optional(instant_of(*outcome.again, now)) : std::nullopt,
                               .reason = outcome.reason};
      return;
    case Outcome::Kind::rate_limited:
      settlement.end = {.result = AttemptResult::rate_limited, .retry_at = rate_limited_until(outcome, now)};
      settlement.error = {.message = "rate limited", .error_class = "rate_limited"};
      return;
  }
  UNREACHABLE();
}

}  // namespace

Instant instant_of(const RunAt& when, Instant now) { return when.at ? *when.at : add_clamped(now, when.delay); }

NewJob new_job_of(const JobRequest& request, Instant now) {
  NewJob job{.tenant = request.tenant,
             .queue = request.queue,
             .type = request.type,
             .payload = request.payload,
             .priority = request.priority.value_or(kPriorityDefault),
             .deadline = request.deadline,
             .options = {.retry = request.retry,
                         .max_attempts = request.max_attempts,
                         .timeout = request.timeout,
                         .lease = request.lease,
                         .limits = request.limits,
                         .notifies = request.notifies,
                         .run_anyway = request.run_anyway,
                         .on_ambiguous = request.on_ambiguous,
                         .tags = request.tags,
                         .meta = request.meta,
                         .created_by = request.created_by,
                         .idempotency_key = request.idempotency_key,
                         .unique_until = request.unique_until},
             .depends_on = request.depends_on,
             .subject = request.subject};
  if (request.run_at.at || request.run_at.delay != Duration::zero()) job.run_at = instant_of(request.run_at, now);
  return job;
}

Instant rate_limited_until(const Outcome& outcome, Instant now) {
  const Instant asked = outcome.again ? instant_of(*outcome.again, now) : add_clamped(now, kRateLimitedDefault);
  return std::clamp(asked, now, add_clamped(now, kRateLimitedMax));
}

Settlement settlement_of(const Finished& finished, Instant now) {
  Settlement settlement = settlement_for(*finished.run);
  switch (finished.how) {
    case Finished::How::returned:
      say(settlement, finished.outcome, now);
      add_follow_ups(settlement, finished.outcome, now);
      return settlement;
    case Finished::How::held:
      say(settlement, finished.outcome, now);
      settlement.hold = true;
      return settlement;
    case Finished::How::not_started: return release_of(*finished.run, false);
    case Finished::How::gated: {
      const Closing& closing = finished.closing.value();
      // All that one gate held would else start in the same instant.
      const auto until = closing.until ? std::optional(add_clamped(*closing.until, release_delay(finished.run->job.id)))
                                       : std::nullopt;
      settlement.defer = Settlement::Deferral{.until = until, .reason = closing.reason};
      return settlement;
    }
  }
  UNREACHABLE();
}

Settlement settlement_of(const PullWord& word, Instant now) {
  Settlement settlement{.job = word.job, .token = word.token};
  if (word.release) {
    settlement.end = {.result = AttemptResult::released, .started = true};
    return settlement;
  }
  say(settlement, word.outcome, now);
  add_follow_ups(settlement, word.outcome, now);
  return settlement;
}

Settlement timeout_of(const Run& run) {
  Settlement settlement = settlement_for(run);
  settlement.end.result = AttemptResult::timeout;
  settlement.error = {.message = "the attempt took longer than its timeout", .error_class = "timeout"};
  return settlement;
}

Settlement release_of(const Run& run, bool started) {
  Settlement settlement = settlement_for(run);
  settlement.end = {.result = AttemptResult::released, .started = started};
  return settlement;
}

bool was_not_started(const Finished& finished) {
  return finished.how == Finished::How::not_started || finished.how == Finished::How::gated;
}

}  // namespace carillon
