// Subjects of a schedule with fan_out: put, looked at, imported, exported, run by hand.
#include <fmt/format.h>

#include <utility>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/percent.h"
#include "core/jobs/job_fields.h"
#include "core/jobs/job_id.h"
#include "core/jobs/job_state.h"
#include "core/schedules/subject.h"
#include "engine/calls/subject_view.h"
#include "server/api/query_fields.h"
#include "server/api/quota_use.h"
#include "server/api/request_body.h"
#include "server/api/schedule_json.h"
#include "server/api/services.h"
#include "server/api/trigger_body.h"

namespace carillon::server {

namespace {

constexpr std::size_t kImportBytesMax = std::size_t{32} << 20U;
constexpr std::size_t kSubjectBytesMax = std::size_t{2} << 20U;  // payload and the rest
constexpr std::int64_t kSubjectsDefault = 50;
constexpr std::int64_t kTimesDefault = 10;
constexpr std::int64_t kTimesMost = 1000;
// A page of an export ends with the line that brings it to this.
constexpr std::size_t kExportBytesMax = std::size_t{4} << 20U;

const std::string& schedule_of(const RouteCall& call) { return call.params[1]; }
const std::string& subject_of(const RouteCall& call) { return call.params[2]; }

HttpResponse shown(int status, const SubjectInfo& info) {
  HttpResponse response = json_answer(status, to_json(info));
  response.headers.push_back({.name = "etag", .value = fmt::format("\"{}\"", info.version)});
  return response;
}

// As it is now, gaps and all; what was written stands, whatever has become of it since.
HttpResponse shown_after_write(Services& services, const RouteCall& call, const PutSubjectAnswer& put) {
  const auto info = services.host.client().subject(call.tenant(), schedule_of(call), subject_of(call));
  HttpResponse response = shown(put.created ? 201 : 200, info ? *info : put.info);
  if (put.triggered) {
    response.body.pop_back();
    response.body += fmt::format(R"(,"triggered":{}}})", json_string(format_job_id(put.triggered)));
  }
  return response;
}

// Whether the body of a PUT runs the subject too. What cannot be read is refused by who reads all of it.
bool asks_to_run(const std::string& body) {
  const auto json = parse_sent_json(body);
  const Json* const trigger = json && json->type == JsonType::object ? json->find("trigger") : nullptr;
  return trigger != nullptr && trigger->type == JsonType::boolean && trigger->boolean;
}

Result<HttpResponse> put_subject(Services& services, const RouteCall& call) {
  TRY_ASSIGN(const auto version, if_match_of(call.request));
  const bool runs = asks_to_run(call.request.body);
  if (runs) TRY(services.queries().rules().check_enabled());
  TRY_ASSIGN(auto refused, subject_over_quota(services, call.tenant(), schedule_of(call), subject_of(call)));
  if (refused) return *std::move(refused);
  if (runs) refused = job_over_quota(services, call.tenant());
  if (refused) return *std::move(refused);
  TRY_ASSIGN(const PutSubjectAnswer put,
             services.client_of(call.caller)
                 .put_subject(call.tenant(), schedule_of(call), subject_of(call), call.request.body, version));
  if (put.created) services.quotas.made_subjects(call.tenant(), 1);
  return shown_after_write(services, call, put);
}

Result<HttpResponse> patch_subject(Services& services, const RouteCall& call) {
  TRY_ASSIGN(const auto version, if_match_of(call.request));
  TRY_ASSIGN(const PutSubjectAnswer put,
             services.client_of(call.caller)
                 .patch_subject(call.tenant(), schedule_of(call), subject_of(call), call.request.body, version));
  return shown_after_write(services, call, put);
}

Result<HttpResponse> get_subject(Services& services, const RouteCall& call) {
  TRY(QueryFields(call.request).finish());
  TRY_ASSIGN(const SubjectInfo info,
             services.host.client().subject(call.tenant(), schedule_of(call), subject_of(call)));
  return shown(200, info);
}

Result<HttpResponse> delete_subject(Services& services, const RouteCall& call) {
  TRY(services.client_of(call.caller).delete_subject(call.tenant(), schedule_of(call), subject_of(call)));
  return HttpResponse{.status = 204};
}

// ---- Lists ----------------------------------------------------------------------------------------------------------

// A final state as a subject shows it, dlq, or none.
Result<std::optional<std::string>> status_field(QueryFields& fields) {
  TRY_ASSIGN(auto given, fields.text("status"));
  if (!given) return std::nullopt;
  if (*given == "none") return std::string();
  for (const JobState state : {JobState::done, JobState::skipped, JobState::cancelled, JobState::cutoff_reached,
                               JobState::missed, JobState::dlq}) {
    if (subject_status_text(state) == *given) return given;
  }
  return invalid_field("status", fmt::format("query status: {} is none of success, skipped, cancelled, cutoff_reached, "
                                             "missed, dlq, none",
                                             quoted(*given)));
}

Result<SubjectQuery> read_query(QueryFields& fields) {
  SubjectQuery query;
  TRY_ASSIGN(const auto prefix, fields.text("prefix"));
  query.prefix = prefix.value_or("");
  TRY_ASSIGN(query.enabled, fields.flag("enabled"));
  TRY_ASSIGN(query.status, status_field(fields));
  TRY_ASSIGN(query.due_until, fields.instant("due_until"));
  return query;
}

Result<HttpResponse> list_subjects(Services& services, const RouteCall& call) {
  QueryFields fields(call.request);
  TRY_ASSIGN(const SubjectQuery query, read_query(fields));
  TRY_ASSIGN(const std::int64_t limit, fields.integer("limit", kSubjectsDefault, 1, kPageMax));
  TRY_ASSIGN(const auto cursor, fields.text("cursor"));
  TRY(fields.finish());
  TRY_ASSIGN(const SubjectList list,
             services.host.client().subjects(call.tenant(), schedule_of(call), query, cursor.value_or(""),
                                             static_cast<std::size_t>(limit)));
  JsonArray items;
  for (const SubjectInfo& info : list.subjects) items.raw(to_json(info));
  return list_answer(items, list.next_cursor);
}

// ---- Many at once ---------------------------------------------------------------------------------------------------

Result<HttpResponse> import_subjects(Services& services, const RouteCall& call) {
  TRY_ASSIGN(auto refused, import_over_quota(services, call.tenant(), schedule_of(call), call.request.body));
  if (refused) return *std::move(refused);
  TRY_ASSIGN(const ImportedSubjects imported,
             services.client_of(call.caller).import_subjects(call.tenant(), schedule_of(call), call.request.body));
  services.quotas.made_subjects(call.tenant(), imported.created);
  JsonObject answer;
  answer.integer("created", static_cast<std::int64_t>(imported.created));
  answer.integer("updated", static_cast<std::int64_t>(imported.updated));
  answer.integer("unchanged", static_cast<std::int64_t>(imported.unchanged));
  return json_answer(200, answer.str());
}

enum class Cursors : std::uint8_t { written, left_out };

// What an import reads as the same subject; without its cursor also once that has gone on.
Result<std::string> line_of(const SubjectInfo& info, Cursors cursors) {
  SubjectText text{.subject = info.subject};
  TRY_ASSIGN(text.overrides, read_overrides(info.overrides));
  text.overrides.enabled = info.enabled;
  if (info.expected_at) text.expected_at = info.expected_at;
  if (cursors == Cursors::written) text.cursor_end = info.cursor_end;
  return write_subject_line(text) + "\n";
}

// Page by page: nothing grows with the number of subjects, here or there.
Result<HttpResponse> export_subjects(Services& services, const RouteCall& call) {
  QueryFields fields(call.request);
  TRY_ASSIGN(const std::int64_t limit, fields.integer("limit", kPageMax, 1, kPageMax));
  TRY_ASSIGN(const auto cursor, fields.text("cursor"));
  TRY_ASSIGN(const auto wants_cursors, fields.flag("cursors"));
  TRY(fields.finish());
  const Cursors cursors = wants_cursors.value_or(true) ? Cursors::written : Cursors::left_out;
  HttpResponse response{.type = "application/x-ndjson"};
  std::string next = cursor.value_or("");
  for (std::int64_t left = limit; left > 0 && response.body.size() < kExportBytesMax;) {
    // In small steps, because one may be long.
    const std::int64_t step = std::min<std::int64_t>(left, 100);
    TRY_ASSIGN(const SubjectList list, services.host.client().subjects(call.tenant(), schedule_of(call), {}, next,
                                                                       static_cast<std::size_t>(step)));
    for (const SubjectInfo& info : list.subjects) {
      TRY_ASSIGN(const std::string line, line_of(info, cursors));
      response.body += line;
    }
    next = list.next_cursor;
    if (next.empty()) return response;
    left -= std::ssize(list.subjects);
  }
  response.headers.push_back({.name = "next-cursor", .value = percent_encoded(next)});
  return response;
}

// ---- One by hand ----------------------------------------------------------------------------------------------------

Result<HttpResponse> trigger_subject(Services& services, const RouteCall& call) {
  TRY_ASSIGN(Client::TriggerOptions options, read_trigger(call.request, SubjectNamed::by_path));
  options.subject = subject_of(call);
  if (auto refused = job_over_quota(services, call.tenant())) return *std::move(refused);
  TRY_ASSIGN(const EnqueuedJob made,
             services.client_of(call.caller).trigger(call.tenant(), schedule_of(call), options));
  TRY_ASSIGN(const JobInfo job, services.host.client().job(call.tenant(), made.id));
  return json_answer(made.deduplicated ? 200 : 201, to_json(job));
}

Result<HttpResponse> preview_subject(Services& services, const RouteCall& call) {
  QueryFields fields(call.request);
  TRY_ASSIGN(const std::int64_t count, fields.integer("count", kTimesDefault, 1, kTimesMost));
  TRY(fields.finish());
  TRY_ASSIGN(const Preview preview, services.host.client().preview(call.tenant(), schedule_of(call),
                                                                   static_cast<std::size_t>(count), subject_of(call)));
  return json_answer(200, to_json(preview));
}

Result<HttpResponse> explain_subject(Services& services, const RouteCall& call) {
  TRY(QueryFields(call.request).finish());
  TRY_ASSIGN(const Explanation explanation,
             services.host.client().explain_schedule(call.tenant(), schedule_of(call), subject_of(call)));
  return json_answer(200, to_json(explanation));
}

using Work = Result<HttpResponse> (*)(Services&, const RouteCall&);

}  // namespace

void add_subject_routes(RouteTable& table, Services& services) {
  constexpr std::string_view kAll = "/v1/tenants/{tenant}/schedules/{name}/subjects";
  constexpr std::string_view kOne = "/v1/tenants/{tenant}/schedules/{name}/subjects/{subject}";
  const auto add = [&](Method method, std::string_view path, RouteDoc doc, Work work) -> Route& {
    const bool reads = method == Method::get;
    doc.group = "Subjects";
    doc.errors.push_back({404, "schedule_not_found"});
    doc.errors.push_back({409, "conflict"});
    if (!reads) doc.errors.push_back({409, "quota_exceeded"});
    return table.emplace_back(Route{.method = method,
                                    .path = path,
                                    .needs = reads ? Needs::read : Needs::tenant,
                                    .doc = std::move(doc),
                                    .call =
                                        [&services, work](const RouteCall& call) {
                                          answer_about_subject(services, call, [&] { return work(services, call); });
                                        },
                                    .writes = !reads});
  };
  add(Method::get, kAll,
      {.summary = "Subjects, by name; with due_until those whose next time is no later, earliest first. 409 if the "
                  "schedule has no fan_out.",
       .answers = {{200, "SubjectList"}},
       .query = {"prefix", "enabled", "status", "due_until", "limit", "cursor"}},
      list_subjects);
  // Not below subjects/, where every word is the name of one.
  add(Method::get, "/v1/tenants/{tenant}/schedules/{name}/subjects.ndjson",
      {.summary =
           "Subjects as lines that an import reads, by name, 500 at a time. There are more if the answer has the "
           "header next-cursor: pass it as cursor, as it is. With cursors=false without cursor_end, which an import "
           "refuses (409) once the cursor has gone on.",
       .answers = {{200, "SubjectLines"}},
       .query = {"cursors", "limit", "cursor"}},
      export_subjects);
  add(Method::post, "/v1/tenants/{tenant}/schedules/{name}/subjects/import",
      {.summary =
           "Put many subjects, all or none: a JSON object a line, each a subject's body plus its name. A bad line "
           "is told in details.line. 32 MiB a call. More than 5,000 lines are written in parts, so that nothing else "
           "waits; until all are there the schedule is neither edited nor deleted (409).",
       .body = "SubjectLines",
       .answers = {{200, "ImportedSubjects"}},
       .errors = {{422, "invalid_configuration"}}},
      import_subjects)
      .body_max = kImportBytesMax;
  add(Method::put, kOne,
      {.summary =
           "Make or replace a subject: what the body leaves out is as the schedule has it. The same again changes "
           "nothing. If-Match with its etag guards against lost edits. With trigger it also runs now, as by its "
           "trigger; if it cannot, nothing is changed.",
       .body = "SubjectRequest",
       .answers = {{201, "Subject"}, {200, "Subject"}},
       .errors = {{409, "job_already_running"},
                  {422, "invalid_configuration"},
                  {429, "quota_exceeded"},
                  {503, "scheduler_disabled"}}},
      put_subject)
      .body_max = kSubjectBytesMax;
  add(Method::get, kOne,
      {.summary = "One subject: what it says otherwise than its schedule, and how it stands.",
       .answers = {{200, "Subject"}}},
      get_subject);
  add(Method::patch, kOne,
      {.summary = "Change some fields of a subject (RFC 7396); null takes them away, the payload is replaced whole.",
       .body = "SubjectPatch",
       .answers = {{200, "Subject"}},
       .errors = {{422, "invalid_configuration"}}},
      patch_subject)
      .body_max = kSubjectBytesMax;
  add(Method::remove, kOne,
      {.summary = "Delete it; its jobs that have not started are cancelled.", .answers = {{204, ""}}}, delete_subject);
  add(Method::post, "/v1/tenants/{tenant}/schedules/{name}/subjects/{subject}/trigger",
      {.summary = "Run it now: the open job of a delivery's day or of a check, else one of its own; of windows the one "
                  "that is named. Never moves a cursor. 201: a job was made; 200: one that was open already runs now.",
       .body = "SubjectTrigger",
       .answers = {{201, "Job"}, {200, "Job"}},
       .errors = {{409, "job_already_running"},
                  {422, "invalid_configuration"},
                  {429, "quota_exceeded"},
                  {503, "scheduler_disabled"}}},
      trigger_subject);
  add(Method::get, "/v1/tenants/{tenant}/schedules/{name}/subjects/{subject}/preview",
      {.summary = "Its next times.", .answers = {{200, "Preview"}}, .query = {"count"}}, preview_subject);
  add(Method::get, "/v1/tenants/{tenant}/schedules/{name}/subjects/{subject}/explain",
      {.summary = "Why it ran, did not run, or waits.", .answers = {{200, "Explanation"}}}, explain_subject);
}

}  // namespace carillon::server
