#include "engine/attempts/settlement.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/json_hash.h"
#include "store/job_text.h"

namespace carillon {

namespace {

Settlement settlement_for(const Run& run) {
  Settlement settlement{.job = run.job.id, .token = run.job.token};
  const Instant started_at = run.started_at;
  if (started_at != Instant{}) settlement.started_at = started_at;
  return settlement;
}

void add_follow_ups(Settlement& settlement, const Outcome& outcome, Instant now, const JobDefaults& defaults) {
  settlement.then.reserve(outcome.follow_ups.size());
  for (const JobRequest& request : outcome.follow_ups) settlement.then.push_back(new_job_of(request, now, defaults));
  if (outcome.expected_at || outcome.status || outcome.forgets_expected_at) {
    settlement.subject = Settlement::SubjectChange{.expected_at = outcome.expected_at,
                                                   .status = outcome.status,
                                                   .forgets_expected_at = outcome.forgets_expected_at};
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
      settlement.end = {.result = outcome.timed_out ? AttemptResult::timeout : AttemptResult::error,
                        .permanent = outcome.kind == Outcome::Kind::permanent};
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

// All that a word says, as one number. Times that count from now count from the same now each time.
class WordHash {
 public:
  void add(std::string_view text) { add_number(stable_hash(0, text)); }
  void add_number(std::uint64_t number) { hash_ = stable_hash(0, {hash_, number}); }
  void add_json(std::string_view json) { add_number(json.empty() ? 0 : json_hash(json)); }
  void add_time(std::optional<Instant> at) {
    add_number(at ? 1 : 0);
    add_number(at ? static_cast<std::uint64_t>(at->time_since_epoch().count()) : 0);
  }
  void add_job(const JobRequest& request) {
    NewJob job = new_job_of(request, Instant(), JobDefaults());
    add(job.queue);
    add(job.type);
    add_json(job.payload);
    add_number(static_cast<std::uint64_t>(job.priority));
    add_time(job.run_at);
    add_time(job.deadline);
    add_number(job.depends_on.size());
    for (const JobId parent : job.depends_on) add_number(static_cast<std::uint64_t>(parent.value));
    add(job.subject);
    add_json(std::exchange(job.options.meta, {}));
    job.options.created_by.clear();  // who said it is not what was said
    add(write_options(job.options));
  }

  std::int64_t value() const { return static_cast<std::int64_t>(hash_ == 0 ? 1 : hash_); }

 private:
  std::uint64_t hash_ = 0;
};

// 0 for nothing but that it is done, which is what most say.
std::int64_t said_by(const Outcome& outcome) {
  const bool says_nothing = outcome.kind == Outcome::Kind::done && outcome.output.empty() && outcome.reason.empty() &&
                            outcome.follow_ups.empty() && !outcome.expected_at && !outcome.status;
  if (says_nothing) return 0;
  WordHash hash;
  hash.add_number(static_cast<std::uint64_t>(outcome.kind));
  hash.add_json(outcome.output);
  hash.add(outcome.reason);
  hash.add(outcome.error);
  hash.add(outcome.error_class);
  hash.add_time(outcome.again ? std::optional(instant_of(*outcome.again, Instant())) : std::nullopt);
  hash.add(outcome.limit);
  hash.add_number(outcome.follow_ups.size());
  for (const JobRequest& follow_up : outcome.follow_ups) hash.add_job(follow_up);
  hash.add_time(outcome.expected_at);
  hash.add_number(outcome.status ? 1 : 0);
  hash.add(outcome.status.value_or(""));
  return hash.value();
}

}  // namespace

Instant instant_of(const RunAt& when, Instant now) { return when.at ? *when.at : add_clamped(now, when.delay); }

NewJob new_job_of(JobRequest request, Instant now, const JobDefaults& defaults) {
  NewJob job{.tenant = std::move(request.tenant),
             .queue = std::move(request.queue),
             .type = std::move(request.type),
             .payload = std::move(request.payload),
             .priority = request.priority.value_or(kPriorityDefault),
             .deadline = request.deadline,
             .options = {.retry = request.retry ? request.retry : defaults.retry,
                         .max_attempts = request.max_attempts == 0U ? defaults.max_attempts : request.max_attempts,
                         .timeout = request.timeout.value_or(defaults.timeout),
                         .lease = request.lease.value_or(defaults.lease),
                         .limits = std::move(request.limits),
                         .notifies = request.notifies,
                         .run_anyway = request.run_anyway,
                         .on_ambiguous = request.on_ambiguous,
                         .tags = std::move(request.tags),
                         .meta = std::move(request.meta),
                         .created_by = std::move(request.created_by),
                         .idempotency_key = std::move(request.idempotency_key),
                         .unique_until = request.unique_until},
             .depends_on = std::move(request.depends_on),
             .subject = std::move(request.subject)};
  if (request.run_at.at || request.run_at.delay != Duration::zero()) job.run_at = instant_of(request.run_at, now);
  return job;
}

Instant rate_limited_until(const Outcome& outcome, Instant now) {
  const Instant asked = outcome.again ? instant_of(*outcome.again, now) : add_clamped(now, kRateLimitedDefault);
  return std::clamp(asked, now, add_clamped(now, kRateLimitedMax));
}

Settlement settlement_of(const Finished& finished, Instant now, const JobDefaults& defaults) {
  Settlement settlement = settlement_for(*finished.run);
  switch (finished.how) {
    case Finished::How::returned:
      say(settlement, finished.outcome, now);
      add_follow_ups(settlement, finished.outcome, now, defaults);
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
  add_follow_ups(settlement, word.outcome, now, JobDefaults());  // its reader has filled them in
  settlement.said = said_by(word.outcome);
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

}  // namespace carillon
