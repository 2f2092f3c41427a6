// Schedules: defined, looked at, paused, triggered.
#include <fmt/format.h>

#include <utility>

#include "base/json.h"
#include "base/json_writer.h"
#include "core/jobs/job_fields.h"
#include "core/schedules/schedule.h"
#include "core/settings/merge_patch.h"
#include "server/api/query_fields.h"
#include "server/api/quota_use.h"
#include "server/api/request_body.h"
#include "server/api/schedule_json.h"
#include "server/api/services.h"
#include "server/api/trigger_body.h"

namespace carillon::server {

namespace {

constexpr std::int64_t kPageDefault = 50;
constexpr std::int64_t kPreviewDefault = 10;
constexpr std::int64_t kPreviewMost = 1000;

HttpResponse shown(int status, const ScheduleInfo& info) {
  HttpResponse response = json_answer(status, to_json(info));
  response.headers.push_back({.name = "etag", .value = fmt::format("\"{}\"", info.revision)});
  return response;
}

// The object with `members` behind its own: what stands in the body stays where it is, and an error can point at it.
std::string with_members(const std::string& text, const Json& json, std::string_view members) {
  const bool joins = !json.members.empty() && !members.empty();
  return fmt::format("{}{}{}}}", text.substr(0, text.rfind('}')), joins ? "," : "", members);
}

// The body with the name of the path in it; one of its own must be the same.
Result<std::string> named(const RouteCall& call) {
  const std::string& text = call.request.body;
  const std::string& name = call.params[1];
  TRY_ASSIGN(const Json json, parse_sent_json(text));
  if (json.type != JsonType::object) return json_error(text, json.offset, "", "expected a schedule");
  if (const Json* const given = json.find("name")) {
    if (given->type != JsonType::string || given->text != name) {
      return json_error(text, given->offset, "name", fmt::format("the path says {}", quoted(name)));
    }
    return text;
  }
  return with_members(text, json, fmt::format("\"name\":{}", json_string(name)));
}

// The queue and the type that a definition names, if they are new to the tenant.
Result<std::optional<HttpResponse>> template_over_quota(Services& services, const std::string& tenant,
                                                        std::string_view definition) {
  TRY_ASSIGN(const Json json, parse_json(definition));
  const Json* const job = json.find("job");
  if (job == nullptr || job->type != JsonType::object) return std::nullopt;  // it is refused for that
  const auto text_of = [job](std::string_view field) {
    const Json* const found = job->find(field);
    return found != nullptr && found->type == JsonType::string ? std::string_view(found->text) : std::string_view();
  };
  return names_over_quota(services, tenant, {.queue = text_of("queue"), .type = text_of("type")});
}

Result<HttpResponse> put_schedule(Services& services, const RouteCall& call) {
  TRY_ASSIGN(const auto revision, if_match_of(call.request));
  TRY_ASSIGN(const std::string definition, named(call));
  const bool is_new = !services.host.client().schedule(call.tenant(), call.params[1]).has_value();
  TRY_ASSIGN(auto refused, thing_over_quota(services, call.tenant(), Quota::schedules, is_new));
  if (refused) return *std::move(refused);
  TRY_ASSIGN(refused, template_over_quota(services, call.tenant(), definition));
  if (refused) return *std::move(refused);
  TRY_ASSIGN(const ScheduleInfo info,
             services.client_of(call.caller).put_schedule(call.tenant(), definition, revision));
  return shown(is_new ? 201 : 200, info);
}

// RFC 7396, over the definition as it is stored.
Result<HttpResponse> patch_schedule(Services& services, const RouteCall& call) {
  const std::string& text = call.request.body;
  TRY_ASSIGN(const auto revision, if_match_of(call.request));
  TRY_ASSIGN(const ScheduleInfo before, services.host.client().schedule(call.tenant(), call.params[1]));
  TRY_ASSIGN(const std::string definition, patched_schedule(before.definition, text));
  TRY_ASSIGN(auto refused, template_over_quota(services, call.tenant(), definition));
  if (refused) return *std::move(refused);
  const auto info =
      services.client_of(call.caller).put_schedule(call.tenant(), definition, revision.value_or(before.revision));
  if (!info) return std::unexpected(about_patch(info.error(), text));
  return shown(200, *info);
}

Result<HttpResponse> get_schedule(Services& services, const RouteCall& call) {
  TRY(QueryFields(call.request).finish());
  TRY_ASSIGN(const ScheduleInfo info, services.host.client().schedule(call.tenant(), call.params[1]));
  return shown(200, info);
}

Result<HttpResponse> list_schedules(Services& services, const RouteCall& call) {
  QueryFields fields(call.request);
  TRY_ASSIGN(const std::int64_t limit, fields.integer("limit", kPageDefault, 1, kPageMax));
  TRY_ASSIGN(const auto cursor, fields.text("cursor"));
  TRY(fields.finish());
  TRY_ASSIGN(const std::vector<ScheduleInfo> infos,
             services.host.client().schedules(call.tenant(), cursor.value_or(""), static_cast<std::size_t>(limit)));
  JsonArray items;
  for (const ScheduleInfo& info : infos) items.raw(to_json(info));
  return list_answer(items, std::ssize(infos) == limit ? infos.back().name : std::string());
}

Result<HttpResponse> delete_schedule(Services& services, const RouteCall& call) {
  TRY(services.client_of(call.caller).delete_schedule(call.tenant(), call.params[1]));
  return HttpResponse{.status = 204};
}

Result<HttpResponse> pause_schedule(Services& services, const RouteCall& call) {
  TRY_ASSIGN(const auto json, optional_body(call.request));
  std::optional<Instant> until;
  if (json) {
    static constexpr auto kFields = field_names("until");
    TRY_ASSIGN(JsonFields fields, JsonFields::of(call.request.body, *json, "", kFields));
    TRY_ASSIGN(until, read_instant_field(call.request.body, fields, "until"));
  }
  TRY_ASSIGN(const ScheduleInfo info, services.client_of(call.caller).pause(call.tenant(), call.params[1], until));
  return shown(200, info);
}

Result<HttpResponse> resume_schedule(Services& services, const RouteCall& call) {
  TRY(expect_no_body(call.request));
  TRY_ASSIGN(const ScheduleInfo info, services.client_of(call.caller).resume(call.tenant(), call.params[1]));
  return shown(200, info);
}

Result<HttpResponse> trigger_schedule(Services& services, const RouteCall& call) {
  TRY_ASSIGN(const Client::TriggerOptions options, read_trigger(call.request, SubjectNamed::by_body));
  if (auto refused = job_over_quota(services, call.tenant())) return *std::move(refused);
  TRY_ASSIGN(const EnqueuedJob made, services.client_of(call.caller).trigger(call.tenant(), call.params[1], options));
  TRY_ASSIGN(const JobInfo job, services.host.client().job(call.tenant(), made.id));
  return json_answer(made.deduplicated ? 200 : 201, to_json(job));
}

Result<HttpResponse> preview_schedule(Services& services, const RouteCall& call) {
  QueryFields fields(call.request);
  TRY_ASSIGN(const std::int64_t count, fields.integer("count", kPreviewDefault, 1, kPreviewMost));
  TRY(fields.finish());
  TRY_ASSIGN(const Preview preview,
             services.host.client().preview(call.tenant(), call.params[1], static_cast<std::size_t>(count), {}));
  return json_answer(200, to_json(preview));
}

Result<HttpResponse> explain_schedule(Services& services, const RouteCall& call) {
  TRY(QueryFields(call.request).finish());
  TRY_ASSIGN(const Explanation explanation, services.host.client().explain_schedule(call.tenant(), call.params[1], {}));
  return json_answer(200, to_json(explanation));
}

using Work = Result<HttpResponse> (*)(Services&, const RouteCall&);

}  // namespace

void add_schedule_routes(RouteTable& table, Services& services) {
  constexpr std::string_view kGroup = "Schedules";
  constexpr std::string_view kOne = "/v1/tenants/{tenant}/schedules/{name}";
  const auto add = [&](Method method, std::string_view path, RouteDoc doc, Work work) {
    const bool reads = method == Method::get;
    doc.group = kGroup;
    table.push_back({.method = method,
                     .path = path,
                     .needs = reads ? Needs::read : Needs::tenant,
                     .doc = std::move(doc),
                     .call =
                         [&services, work](const RouteCall& call) {
                           answer_about_subject(services, call, [&] { return work(services, call); });
                         },
                     .writes = !reads});
  };
  add(Method::get, "/v1/tenants/{tenant}/schedules",
      {.summary = "Schedules, by name.", .answers = {{200, "ScheduleList"}}, .query = {"limit", "cursor"}},
      list_schedules);
  add(Method::put, kOne,
      {.summary = "Define a schedule; the same again changes nothing. If-Match guards against lost edits.",
       .body = "ScheduleDefinition",
       .answers = {{201, "Schedule"}, {200, "Schedule"}},
       .errors = {{409, "conflict"}, {409, "quota_exceeded"}, {422, "invalid_configuration"}}},
      put_schedule);
  add(Method::get, kOne, {.summary = "One schedule.", .answers = {{200, "Schedule"}}}, get_schedule);
  add(Method::patch, kOne,
      {.summary =
           "Change some fields (RFC 7396): objects are merged, null clears; payload and meta are replaced whole, "
           "and so is a trigger or a retry that gets another kind.",
       .body = "SchedulePatch",
       .answers = {{200, "Schedule"}},
       .errors = {{409, "conflict"}, {422, "invalid_configuration"}}},
      patch_schedule);
  add(Method::remove, kOne,
      {.summary =
           "Delete it; its jobs that have not started are cancelled, its outcomes stay as long as they are kept. "
           "409 while subjects are imported into it.",
       .answers = {{204, ""}},
       .errors = {{409, "conflict"}}},
      delete_schedule);
  add(Method::post, "/v1/tenants/{tenant}/schedules/{name}/pause",
      {.summary = "No occurrences until a time, or until resumed.", .body = "Pause", .answers = {{200, "Schedule"}}},
      pause_schedule);
  add(Method::post, "/v1/tenants/{tenant}/schedules/{name}/resume",
      {.summary = "Go on from now, without a burst.", .answers = {{200, "Schedule"}}}, resume_schedule);
  add(Method::post, "/v1/tenants/{tenant}/schedules/{name}/trigger",
      {.summary =
           "Run it now, besides its occurrences; with fan_out the subject that is named, of windows the one that "
           "is named. Never moves a cursor. 201: a job was made; 200: one that was open already runs now. 409 "
           "job_already_running if that one runs, or if its overlap is skip and it runs.",
       .body = "Trigger",
       .answers = {{201, "Job"}, {200, "Job"}},
       .errors = {{404, "subject_not_found"},
                  {409, "conflict"},
                  {409, "job_already_running"},
                  {422, "invalid_configuration"},
                  {429, "quota_exceeded"},
                  {503, "scheduler_disabled"}}},
      trigger_schedule);
  add(Method::get, "/v1/tenants/{tenant}/schedules/{name}/preview",
      {.summary = "Its next times.", .answers = {{200, "Preview"}}, .query = {"count"}}, preview_schedule);
  add(Method::get, "/v1/tenants/{tenant}/schedules/{name}/explain",
      {.summary = "Why it ran, did not run, or waits.", .answers = {{200, "Explanation"}}}, explain_schedule);
}

}  // namespace carillon::server
