#include "engine/job_info.h"

#include "base/json.h"
#include "base/json_writer.h"
#include "core/json_members.h"
#include "core/slot_text.h"
#include "store/job_text.h"

namespace carillon {

namespace {

void put_json(JsonObject& object, std::string_view name, std::string_view json, std::string_view otherwise) {
  object.raw(name, json.empty() ? otherwise : json);
}

std::string list(const std::vector<std::string>& texts) {
  JsonArray array;
  for (const std::string& text : texts) array.raw(json_string(text));
  return array.str();
}

std::string list(const std::vector<JobId>& ids) {
  JsonArray array;
  for (const JobId id : ids) array.raw(json_string(format_job_id(id)));
  return array.str();
}

std::string to_json(const AttemptInfo& attempt) {
  JsonObject object;
  object.integer("number", attempt.number).text("trigger", attempt.trigger).text("worker", attempt.worker);
  put(object, "started_at", attempt.started_at);
  put(object, "finished_at", attempt.finished_at);
  const auto took =
      std::chrono::duration_cast<std::chrono::milliseconds>(attempt.finished_at - attempt.started_at).count();
  object.integer("duration_ms", took).text("result", to_string(attempt.result));
  put(object, "error_class", attempt.error_class);
  put(object, "error", attempt.error);
  return object.str();
}

std::string trigger_of(Origin origin, std::uint32_t number) {
  return number <= 1 ? std::string(to_string(origin)) : "retry";
}

void add_attempts(JobInfo& info, const JobView& view) {
  for (const AttemptRow& row : view.attempts) {
    info.attempts.push_back({.number = row.number,
                             .trigger = trigger_of(info.origin, row.number),
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
  if (!is_final(view.state) || view.attempts.empty()) return std::nullopt;
  const Instant started = view.attempts.back().started_at;
  return started >= view.row.run_at ? std::optional(started) : std::nullopt;
}

}  // namespace

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
  JobOptions options;
  JobDetail detail;
  if (!row.options.empty()) {
    TRY_ASSIGN(options, read_options(row.options));
  }
  if (!row.detail.empty()) {
    TRY_ASSIGN(detail, read_detail(row.detail));
  }
  JobInfo info{.id = row.id,
               .tenant = view.lane.tenant,
               .queue = view.lane.queue,
               .type = view.type,
               .payload = view.payload,
               .priority = row.priority,
               .state = view.state,
               .reason = detail.reason,
               .origin = options.origin,
               .parent = options.parent,
               .schedule = view.schedule,
               .subject = row.subject,
               .slot = row.slot,
               .key = options.key,
               .idempotency_key = options.idempotency_key.value_or(""),
               .run_at = row.run_at,
               .deadline = row.deadline,
               .attempt = view.lease ? view.lease->attempt : row.attempts,
               .max_attempts = attempts_allowed(options),
               .token = view.lease ? view.lease->token : row.token,
               .worker = view.lease ? view.lease->worker : std::string(),
               .lease_until = view.lease_until,
               .timeout = options.timeout,
               .limits = options.limits,
               .notifies = options.notifies,
               .deferrals = deferrals_of(view, detail, options.notifies, rules, now).count,
               .deferred_until = detail.deferred_until,
               .defer_reason = detail.defer_reason,
               .cancel_requested = detail.cancel_requested,
               .depends_on = detail.depends_on.empty() ? view.waits_for : detail.depends_on,
               .waits_for = view.waits_for,
               .tags = options.tags,
               .meta = options.meta,
               .created_by = options.created_by,
               .progress = detail.progress,
               .output = detail.output,
               .stderr_text = detail.stderr_text,
               .last_error_code = detail.last_error ? detail.last_error->code : std::string(),
               .last_error = detail.last_error ? detail.last_error->message : std::string(),
               .created_at = made_at(row.id),
               .finished_at = view.finished_at,
               .last_seen_at = detail.last_seen_at};
  if (view.lease) info.started_at = view.lease->claimed_at;
  if (view.state != JobState::queued || (info.deferred_until && *info.deferred_until <= now)) {
    info.deferred_until.reset();
    info.defer_reason.clear();
  }
  add_attempts(info, view);
  add_gate(info, rules, now);
  return info;
}

std::string to_json(const JobInfo& job) {
  JsonObject object;
  object.text("id", format_job_id(job.id)).text("tenant", job.tenant).text("queue", job.queue).text("type", job.type);
  put_json(object, "payload", job.payload, "null");
  object.integer("priority", job.priority).text("state", to_string(job.state));
  put(object, "reason", job.reason);
  object.text("origin", to_string(job.origin));
  put(object, "parent_id", job.parent ? format_job_id(job.parent) : std::string());
  put(object, "schedule", job.schedule);
  object.text("subject", job.subject);
  put(object, "slot", job.slot ? slot_text(*job.slot, job.deadline) : std::string());
  put(object, "key", job.key);
  put(object, "idempotency_key", job.idempotency_key);
  put(object, "run_at", job.run_at);
  put(object, "deadline", job.deadline);
  object.integer("attempt", job.attempt);
  if (job.max_attempts) {
    object.integer("max_attempts", *job.max_attempts);
  } else {
    object.raw("max_attempts", "null");
  }
  object.integer("token", job.token);
  put(object, "worker", job.worker);
  put(object, "lease_until", job.lease_until);
  object.text("timeout", format_duration(job.timeout)).raw("limits", list(job.limits));
  object.boolean("notifies", job.notifies).integer("deferrals", job.deferrals);
  put(object, "deferred_until", job.deferred_until);
  put(object, "defer_reason", job.defer_reason);
  object.boolean("cancel_requested", job.cancel_requested).raw("depends_on", list(job.depends_on));
  object.raw("tags", list(job.tags));
  put_json(object, "meta", job.meta, "{}");
  put(object, "created_by", job.created_by);
  put_json(object, "progress", job.progress, "null");
  put_json(object, "output", job.output, "null");
  if (!job.stderr_text.empty()) object.text("stderr", job.stderr_text);
  if (job.last_error_code.empty()) {
    object.raw("last_error", "null");
  } else {
    JsonObject error;
    error.text("code", job.last_error_code).text("message", job.last_error);
    object.raw("last_error", error.str());
  }
  put(object, "created_at", job.created_at);
  put(object, "started_at", job.started_at);
  put(object, "finished_at", job.finished_at);
  put(object, "last_seen_at", job.last_seen_at);
  JsonArray attempts;
  for (const AttemptInfo& attempt : job.attempts) attempts.raw(to_json(attempt));
  object.raw("attempts", attempts.str());
  return object.str();
}

}  // namespace carillon
