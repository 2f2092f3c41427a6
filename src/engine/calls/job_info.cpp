#include "engine/calls/job_info.h"

#include <algorithm>
#include <utility>

#include "store/told_occurrence.h"

namespace carillon {

namespace {

void add_attempts(JobInfo& info, const JobView& view) {
  info.attempts.reserve(view.attempts.size());
  for (const AttemptRow& row : view.attempts) {
    info.attempts.push_back({.number = next_number(info),
                             .trigger = next_trigger(info, row.number),
                             .worker = row.worker,
                             .started_at = row.started_at,
                             .finished_at = row.finished_at,
                             .result = row.result,
                             .error_class = row.error_class,
                             .error = row.error});
  }
}

void add_gate(JobInfo& info, const RuleBook& rules, Instant now) {
  if (info.state != JobState::queued || info.run_at > now) return;
  const auto closing = rules.closed_for(info.tenant, info.notifies, now);
  if (!closing) return;
  info.defer_reason = closing->reason;
  info.deferred_until = closing->until;
}

// Until when it has waited since it was due: what was before stands in its detail.
std::optional<Instant> waited_until(const JobView& view, Instant now) {
  if (view.state == JobState::queued) return now;
  if (view.lease) return view.lease->claimed_at;
  // Its last start: lists know that of one that has ended, and not its attempts.
  if (!is_final(view.state) || !view.started_at || *view.started_at < view.row.run_at) return std::nullopt;
  return view.started_at;
}

// ---- What the two texts of a job's row say of it

void tell_options(JobInfo& info, JobOptions options) {
  info.max_attempts = attempts_allowed(options);
  info.origin = options.origin;
  info.parent = options.parent;
  info.key = std::move(options.key);
  info.idempotency_key = std::move(options.idempotency_key).value_or("");
  info.timeout = options.timeout;
  info.limits = std::move(options.limits);
  info.notifies = options.notifies;
  info.tags = std::move(options.tags);
  info.meta = std::move(options.meta);
  info.created_by = std::move(options.created_by);
}

void tell_detail(JobInfo& info, JobDetail detail) {
  info.reason = std::move(detail.reason);
  info.deferrals = detail.deferrals;
  info.deferred_until = detail.deferred_until;
  info.defer_reason = std::move(detail.defer_reason);
  info.cancel_requested = detail.cancel_requested;
  info.depends_on = std::move(detail.depends_on);
  info.progress = std::move(detail.progress);
  info.output = std::move(detail.output);
  info.stderr_text = std::move(detail.stderr_text);
  if (detail.last_error) {
    info.last_error_code = std::move(detail.last_error->code);
    info.last_error = std::move(detail.last_error->message);
  }
  info.last_seen_at = detail.last_seen_at;
}

}  // namespace

std::uint32_t next_number(const JobInfo& job) { return static_cast<std::uint32_t>(job.attempts.size() + 1); }

std::string next_trigger(const JobInfo& job, std::uint32_t attempt) {
  const bool was_tried =
      std::ranges::any_of(job.attempts, [](const AttemptInfo& one) { return !gives_attempt_back(one.result); });
  return was_tried || attempt > 1 ? "retry" : std::string(to_string(job.origin));
}

DeferralsSoFar deferrals_of(const JobView& view, const JobDetail& detail, bool notifies, const RuleBook& rules,
                            Instant now) {
  DeferralsSoFar so_far{.count = detail.deferrals, .recent = detail.recent_deferrals};
  const auto until = waited_until(view, now);
  if (!until) return so_far;
  const GateWait wait{.job = view.row.id, .notifies = notifies, .due = view.row.run_at, .until = *until};
  const std::vector<GateHeld> all = rules.gates_that_held(view.lane.tenant, wait);
  if (all.empty()) return so_far;
  std::vector<PastDeferral> known;
  for (const DeferralRecord& one : detail.recent_deferrals) known.push_back({.reason = one.reason, .at = one.at});
  const auto records = records_of(all, known);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string name(to_string(all[i].gate));
    if (records[i]) {
      so_far.recent[*records[i]].reason = name;
      continue;
    }
    ++so_far.count;
    so_far.recent.push_back({.at = all[i].from, .until = all[i].until, .reason = name});
  }
  return so_far;
}

Result<JobInfo> job_info_of(const JobView& view, const RuleBook& rules, Instant now) {
  const JobRow& row = view.row;
  TRY_ASSIGN(JobOptions options, row.options.read());
  TRY_ASSIGN(JobDetail detail, row.detail.read());
  ToldOccurrence told = told_by(row, view.schedule, options);
  JobInfo info{.id = row.id,
               .tenant = view.lane.tenant,
               .queue = view.lane.queue,
               .type = view.type,
               .payload = view.payload,
               .priority = row.priority,
               .state = view.state,
               .schedule = std::move(told.schedule),
               .subject = std::move(told.subject),
               .slot = told.slot,
               .slot_kind = told.slot_kind,
               .run_at = row.run_at,
               .deadline = row.deadline,
               .attempt = view.lease ? view.lease->attempt : row.attempts,
               .token = view.lease ? view.lease->token : row.token,
               .worker = view.lease ? view.lease->worker : std::string(),
               .lease_until = view.lease_until,
               .waits_for = view.waits_for,
               .created_at = made_at(row.id),
               .started_at = view.lease ? std::optional(view.lease->claimed_at) : view.started_at,
               .finished_at = view.finished_at};
  const std::uint32_t deferrals = deferrals_of(view, detail, options.notifies, rules, now).count;
  tell_options(info, std::move(options));
  tell_detail(info, std::move(detail));
  info.deferrals = deferrals;
  if (info.depends_on.empty()) info.depends_on = view.waits_for;
  if (view.state != JobState::queued || (info.deferred_until && *info.deferred_until <= now)) {
    info.deferred_until.reset();
    info.defer_reason.clear();
  }
  add_attempts(info, view);
  add_gate(info, rules, now);
  return info;
}

JobInfo info_of_new(const NewJob& job, const Enqueued& made, Instant now) {
  const Cause cause = cause_of(job);
  JobInfo info{.id = made.id,
               .tenant = job.tenant,
               .queue = job.queue,
               .type = job.type,
               .payload = job.payload,
               .priority = job.priority,
               .state = made.state,
               .reason = made.reason,
               .subject = job.subject,
               .run_at = job.run_at.value_or(now),
               .deadline = job.deadline,
               .depends_on = job.depends_on,
               .created_at = now,
               .finished_at = is_final(made.state) ? std::optional(now) : std::nullopt};
  tell_options(info, job.options);
  info.origin = cause.origin;
  info.parent = cause.parent;
  if (!made.error.empty()) {
    info.last_error_code = made.reason;
    info.last_error = made.error;
  }
  return info;
}

Result<RunningJob> RunningJobMaker::make(LeasedJob job) {
  RunningJob running;
  running.id = job.id;
  running.tenant = std::move(job.tenant);
  running.queue = std::move(job.queue);
  running.type = std::move(job.type);
  running.payload = std::move(job.payload);
  running.priority = job.priority;
  running.state = JobState::processing;
  running.schedule = std::move(job.schedule);
  running.subject = std::move(job.subject);
  running.slot = job.slot;
  running.slot_kind = job.slot_kind;
  running.run_at = job.run_at;
  running.deadline = job.deadline;
  running.attempt = job.attempt;
  running.token = job.token;
  running.worker = std::move(job.worker);
  running.lease_until = job.lease_until;
  running.created_at = made_at(job.id);
  running.started_at = job.claimed_at;
  bool was_retried = false;
  if (texts_.options) {
    if (job.options != read_last_) {
      TRY_ASSIGN(options_, job.options.read());
      read_last_ = std::move(job.options);
    }
    tell_options(running, options_);
  }
  if (texts_.detail) {
    TRY_ASSIGN(JobDetail detail, job.detail.read());
    was_retried = detail.retried;
    tell_detail(running, std::move(detail));
    // It waits no longer.
    running.deferred_until.reset();
    running.defer_reason.clear();
  }
  running.deferrals += job.closings;
  running.timeout = job.timeout;
  running.trigger = job.attempt > 1 || was_retried ? "retry" : to_string(running.origin);
  return running;
}

Result<RunningJob> running_job_of(const Run& run) {
  TRY_ASSIGN(RunningJob running, RunningJobMaker().make(run.job));
  const Instant started_at = run.started_at;
  if (started_at != Instant{}) running.started_at = started_at;
  return running;
}

}  // namespace carillon
