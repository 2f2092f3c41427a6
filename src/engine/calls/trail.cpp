#include "engine/calls/trail.h"

#include <iterator>
#include <set>
#include <string>

#include "base/json.h"
#include "core/jobs/job_id.h"
#include "core/jobs/json_members.h"
#include "core/policies/retry_json.h"
#include "engine/calls/bulk.h"
#include "store/subject_state.h"

namespace carillon {

namespace {

// Given, but not to be seen: changed_fields hides it by its name.
constexpr std::string_view kHiddenField = "payload";

std::string json_of(const JobStanding& standing) {
  JsonObject object;
  object.text("state", to_string(standing.state)).integer("priority", standing.priority);
  put(object, "run_at", standing.run_at);
  object.boolean("cancel_requested", standing.cancel_requested);
  if (standing.payload) object.raw(kHiddenField, *standing.payload);
  if (standing.retry) object.raw("retry", *standing.retry ? format_retry_json(**standing.retry) : "null");
  if (standing.max_attempts) object.integer("max_attempts", *standing.max_attempts);
  if (standing.limits) {
    JsonArray limits;
    for (const std::string& limit : *standing.limits) limits.raw(json_string(limit));
    object.raw("limits", limits.str());
  }
  return object.str();
}

std::string json_of_pause(const ScheduleRow& row) {
  JsonObject object;
  if (row.paused_until == kInstantMax) {
    object.text("paused_until", "resumed");
  } else {
    put(object, "paused_until", row.paused_until);
  }
  return object.str();
}

std::string json_of(const SubjectRow& row) {
  JsonObject object;
  object.boolean("enabled", row.enabled);
  if (!row.overrides.empty()) object.raw("overrides", row.overrides);
  put(object, "cursor_end", row.cursor);
  if (const auto state = read_subject_state(row)) put(object, "expected_at", state->expected_at);
  return object.str();
}

void put_if(JsonObject& object, std::string_view name, const std::optional<std::string>& text) {
  if (text) object.text(name, *text);
}

JsonObject json_of(const JobQuery& query) {
  JsonObject object;
  JsonArray states;
  for (const JobState state : query.states) states.raw(json_string(to_string(state)));
  if (!query.states.empty()) object.raw("state", states.str());
  put_if(object, "type", query.type);
  put_if(object, "queue", query.queue);
  put_if(object, "schedule", query.schedule);
  put_if(object, "subject", query.subject);
  put_if(object, "tag", query.tag);
  put_if(object, kHiddenField, query.text);  // it is looked for in payloads
  if (query.since) put(object, "since", query.since);
  if (query.until) put(object, "until", query.until);
  return object;
}

}  // namespace

std::optional<AuditDetail> trail_of(const JobStanding& before, const JobStanding& after) {
  return changed_fields(json_of(before), json_of(after));
}

AuditDetail trail_of(const NewJob& job, const Enqueued& made) {
  JsonObject fields;
  fields.text("job", format_job_id(made.id)).text("type", job.type).text("queue", job.queue);
  fields.integer("priority", job.priority).text("origin", to_string(job.options.origin));
  if (job.run_at) put(fields, "run_at", job.run_at);
  if (job.options.parent) fields.text("parent_id", format_job_id(job.options.parent));
  if (made.deduplicated) fields.boolean("deduplicated", true);
  return new_fields(fields);
}

AuditDetail trail_of_batch(std::span<const NewJob> jobs) {
  constexpr std::size_t kTypesShown = 20;
  std::set<std::string_view> types;
  for (const NewJob& job : jobs) {
    if (types.size() < kTypesShown) types.insert(job.type);
  }
  JsonArray shown;
  for (const std::string_view type : types) shown.raw(json_string(type));
  JsonObject fields;
  fields.integer("jobs", std::ssize(jobs)).raw("types", shown.str());
  return new_fields(fields);
}

AuditDetail trail_of(const BulkRequest& request, const BulkInfo& begun) {
  JsonObject fields;
  fields.text("bulk", begun.id).text("action", to_string(request.action));
  if (request.all) {
    fields.boolean("all", true);
  } else {
    fields.raw("filter", json_of(request.query).str());
  }
  if (begun.total) fields.integer("total", static_cast<std::int64_t>(*begun.total));
  if (request.rate) fields.number("rate", *request.rate);
  return new_fields(fields);
}

std::optional<AuditDetail> trail_of_stop(std::string_view state_before, const BulkInfo& stopped) {
  JsonObject before;
  before.text("state", state_before);
  JsonObject after;
  after.text("state", stopped.state);
  return changed_fields(before.str(), after.str());
}

AuditDetail trail_of(const Client::BackfillRequest& request, const BulkInfo& begun) {
  JsonObject fields;
  fields.text("bulk", begun.id);
  if (!request.subject.empty()) fields.text("subject", request.subject);
  put(fields, "from", std::optional(request.from));
  put(fields, "to", std::optional(request.to));
  return new_fields(fields);
}

AuditDetail trail_of(const Client::TriggerOptions& options, const EnqueuedJob& made) {
  JsonObject fields;
  fields.text("job", format_job_id(made.id)).boolean("was_open", made.deduplicated);
  if (options.priority) fields.integer("priority", *options.priority);
  if (options.payload) fields.raw(kHiddenField, "true");
  if (options.window_start) put(fields, "window_start", options.window_start);
  if (options.window_end) put(fields, "window_end", options.window_end);
  if (options.mode) fields.text("mode", *options.mode);
  return new_fields(fields);
}

std::optional<AuditDetail> trail_of_pause(const ScheduleRow& before, const ScheduleRow& after) {
  return changed_fields(json_of_pause(before), json_of_pause(after));
}

std::optional<AuditDetail> trail_of(const SubjectRow* before, const SubjectRow* after) {
  const std::string was = before == nullptr ? std::string() : json_of(*before);
  const std::string is = after == nullptr ? std::string() : json_of(*after);
  return changed_fields(before == nullptr ? std::nullopt : std::optional<std::string_view>(was),
                        after == nullptr ? std::nullopt : std::optional<std::string_view>(is));
}

std::optional<AuditDetail> trail_of(const ImportedSubjects& imported) {
  if (imported.created + imported.updated == 0) return std::nullopt;
  JsonObject fields;
  fields.integer("created", static_cast<std::int64_t>(imported.created));
  fields.integer("updated", static_cast<std::int64_t>(imported.updated));
  fields.integer("unchanged", static_cast<std::int64_t>(imported.unchanged));
  return new_fields(fields);
}

AuditDetail trail_of_import(std::size_t lines) {
  return new_fields(JsonObject().integer("lines", static_cast<std::int64_t>(lines)));
}

}  // namespace carillon
