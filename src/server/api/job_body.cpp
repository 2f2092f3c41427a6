#include "server/api/job_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/jobs/job_fields.h"
#include "core/policies/retry_json.h"
#include "core/schedules/job_template.h"
#include "server/api/tenants.h"

namespace carillon::server {

namespace {

constexpr auto kJobFields =
    joined_fields(kTemplateFields, field_names("run_at", "delay", "deadline", "idempotency_key", "unique_until",
                                               "depends_on", "run_anyway", "subject"));
constexpr auto kChangeFields = field_names("priority", "run_at", "payload", "retry", "limits");
constexpr auto kBatchFields = field_names("jobs");

Result<KeyHold> read_key_hold(std::string_view text, const JsonFields& fields) {
  constexpr std::string_view kName = "unique_until";
  TRY_ASSIGN(const Json* const value, fields.optional(kName, JsonType::string));
  if (value == nullptr) return KeyHold{};
  if (fields.optional("idempotency_key") == nullptr) {
    return fields.fail(*value, kName, "says how long an idempotency_key is held, and there is none");
  }
  if (value->text == "pruned") return KeyHold{};
  if (value->text == "done") return KeyHold{.until = KeyHold::Until::done};
  const auto length = parse_duration(value->text);
  if (!length) {
    return json_error(text, value->offset, fields.path_of(kName),
                      fmt::format("{} is neither pruned, done nor a duration", quoted(value->text)));
  }
  return KeyHold{.until = KeyHold::Until::elapsed, .duration = *length};
}

Result<JobId> read_dependency(std::string_view text, const Json& item, const std::string& path,
                              std::span<const JobId> earlier) {
  if (item.type != JsonType::string) {
    return json_error(text, item.offset, path, fmt::format("expected the id of a job, found {}", describe(item.type)));
  }
  if (item.text.starts_with('#')) {
    std::size_t number = 0;
    const char* const end = item.text.data() + item.text.size();
    const auto [stopped, error] = std::from_chars(item.text.data() + 1, end, number);
    if (error != std::errc() || stopped != end || number >= earlier.size()) {
      return json_error(text, item.offset, path,
                        fmt::format("{} names no earlier job of the same batch", quoted(item.text)));
    }
    return earlier[number];
  }
  const auto id = parse_job_id(item.text);
  if (!id) return json_error(text, item.offset, path, fmt::format("{} is not the id of a job", quoted(item.text)));
  return *id;
}

// What the engine would refuse, said of the field of the body.
Result<void> check_body(std::string_view text, const Json& object, const JobBodyPlace& place, NewJob job) {
  if (job.tenant.empty()) job.tenant = kDefaultTenant;  // a follow-up's comes from the job before it
  const auto checked = check_new_job(job);
  if (checked) return {};
  const std::string& field = checked.error().field;
  const Json* const value = object.find(field);
  return json_error(text, value == nullptr ? object.offset : value->offset,
                    place.path.empty() ? field : fmt::format("{}.{}", place.path, field), checked.error().message);
}

}  // namespace

Result<JobBody> read_job_body(std::string_view text, const Json& object, const JobBodyPlace& place) {
  if (object.type != JsonType::object) {
    return json_error(text, object.offset, place.path, fmt::format("expected a job, found {}", describe(object.type)));
  }
  TRY_ASSIGN(JsonFields fields, JsonFields::of(text, object, place.path, kJobFields));
  TRY_ASSIGN(JobTemplate job, read_template_fields(text, fields));
  fill(job, place.defaults);
  JobBody body;
  body.job = job_of(job, place.tenant);
  TRY_ASSIGN(body.job.run_at, read_instant_field(text, fields, "run_at"));
  TRY_ASSIGN(body.delay, read_duration_field(text, fields, "delay"));
  if (body.job.run_at && body.delay) {
    return fields.fail(*object.find("delay"), "delay", "a job has either run_at or delay, not both");
  }
  TRY_ASSIGN(body.job.deadline, read_instant_field(text, fields, "deadline"));
  TRY_ASSIGN(const Json* const key, fields.optional("idempotency_key", JsonType::string));
  if (key != nullptr) body.job.options.idempotency_key = key->text;
  TRY_ASSIGN(body.job.options.unique_until, read_key_hold(text, fields));
  TRY_ASSIGN(const Json* const depends_on, fields.optional("depends_on", JsonType::array));
  if (depends_on != nullptr) {
    for (const Json& item : depends_on->items) {
      TRY_ASSIGN(const JobId id, read_dependency(text, item, fields.path_of("depends_on"), place.earlier));
      body.job.depends_on.push_back(id);
    }
  }
  TRY_ASSIGN(body.job.options.run_anyway, read_flag_field(fields, "run_anyway", false));
  TRY_ASSIGN(const Json* const subject, fields.optional("subject", JsonType::string));
  if (subject != nullptr) body.job.subject = subject->text;
  body.job.options.created_by = place.created_by;
  TRY(check_body(text, object, place, body.job));
  return body;
}

Result<std::vector<JobBody>> read_job_batch(std::string_view text, const JobBodyPlace& place,
                                            const std::function<JobId()>& new_id) {
  TRY_ASSIGN(const Json json, parse_sent_json(text));
  if (json.type != JsonType::object) return json_error(text, json.offset, "", "expected {\"jobs\": [...]}");
  TRY_ASSIGN(const JsonFields fields, JsonFields::of(text, json, "", kBatchFields));
  TRY_ASSIGN(const Json* const list, fields.required("jobs", JsonType::array));
  if (list->items.size() > kBatchMax) {
    return invalid_field(
        "jobs", fmt::format("jobs has {} items; at most {} fit into one batch", list->items.size(), kBatchMax));
  }
  std::vector<JobBody> jobs;
  std::vector<JobId> ids;
  bool names_earlier = false;
  jobs.reserve(list->items.size());
  ids.reserve(list->items.size());
  JobBodyPlace one = place;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    one.path = fmt::format("jobs[{}]", i);
    one.earlier = ids;
    TRY_ASSIGN(JobBody job, read_job_body(text, list->items[i], one));
    names_earlier = names_earlier || std::ranges::any_of(job.job.depends_on,
                                                         [&](JobId id) { return std::ranges::binary_search(ids, id); });
    ids.push_back(new_id());
    jobs.push_back(std::move(job));
  }
  // Of a job that comes with an id the store first looks whether it is there already.
  for (std::size_t i = 0; names_earlier && i < jobs.size(); ++i) jobs[i].job.id = ids[i];
  return jobs;
}

Result<Client::JobChange> read_job_change(const std::string& text) {
  TRY_ASSIGN(const Json json, parse_json_object(text));
  TRY_ASSIGN(const JsonFields fields, JsonFields::of(text, json, "", kChangeFields));
  Client::JobChange change;
  TRY_ASSIGN(change.priority, read_priority_field(text, fields));
  if (says_null(json, "priority")) change.priority = kPriorityDefault;
  TRY_ASSIGN(change.run_at, read_instant_field(text, fields, "run_at"));
  if (fields.has("payload")) change.payload = read_payload_field(text, fields);
  if (fields.has("retry")) {
    change.retry.emplace();
    if (const Json* const retry = fields.optional("retry")) {
      TRY_ASSIGN(RetryJson given, read_retry_json(text, *retry, "retry"));
      *change.retry = std::move(given.policy);
      change.max_attempts = given.max_attempts;
    }
  }
  if (fields.has("limits")) {
    TRY_ASSIGN(change.limits, read_texts_field(fields, "limits"));
  }
  const bool is_empty = !change.priority && !change.run_at && !change.payload && !change.retry && !change.limits;
  if (is_empty) {
    return invalid_field("priority",
                         "nothing to change: one of priority, run_at, payload, retry and limits is to be given");
  }
  return change;
}

JobRequest request_of(JobBody body) {
  NewJob& job = body.job;
  JobRequest request{.type = std::move(job.type),
                     .tenant = std::move(job.tenant),
                     .queue = std::move(job.queue),
                     .payload = std::move(job.payload),
                     .priority = job.priority,
                     .deadline = job.deadline,
                     .idempotency_key = std::move(job.options.idempotency_key),
                     .unique_until = job.options.unique_until,
                     .retry = job.options.retry,
                     .max_attempts = job.options.max_attempts,
                     .timeout = job.options.timeout,
                     .lease = job.options.lease,
                     .limits = std::move(job.options.limits),
                     .notifies = job.options.notifies,
                     .on_ambiguous = job.options.on_ambiguous,
                     .depends_on = std::move(job.depends_on),
                     .run_anyway = job.options.run_anyway,
                     .subject = std::move(job.subject),
                     .tags = std::move(job.options.tags),
                     .meta = std::move(job.options.meta),
                     .created_by = std::move(job.options.created_by)};
  if (job.run_at) request.run_at = *job.run_at;
  if (body.delay) request.run_at = in(*body.delay);
  return request;
}

Result<JobId> read_job_id(const std::string& text) {
  const auto id = parse_job_id(text);
  if (!id) return failed(ErrorCode::not_found, fmt::format("there is no job {}", quoted(text)));
  return *id;
}

}  // namespace carillon::server
