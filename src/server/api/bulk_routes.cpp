// Bulk work: retry, cancel or discard all jobs that match, or run a range of windows again.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <utility>

#include "base/json.h"
#include "base/json_writer.h"
#include "core/jobs/job_fields.h"
#include "core/jobs/job_state.h"
#include "server/api/job_query.h"
#include "server/api/query_fields.h"
#include "server/api/quota_use.h"
#include "server/api/request_body.h"
#include "server/api/services.h"
#include "server/api/trigger_body.h"

namespace carillon::server {

namespace {

constexpr auto kBulkFields = field_names("action", "filter", "all", "rate");

std::string to_json(const BulkInfo& bulk) {
  JsonObject object;
  object.text("id", bulk.id).text("action", to_string(bulk.action)).text("state", bulk.state);
  object.raw("total", bulk.total ? std::to_string(*bulk.total) : "null");
  object.integer("done", static_cast<std::int64_t>(bulk.done));
  object.integer("failed", static_cast<std::int64_t>(bulk.failed));
  return object.str();
}

Result<HttpResponse> begin_bulk(Services& services, const RouteCall& call) {
  const std::string& text = call.request.body;
  TRY_ASSIGN(const Json json, parse_json_object(text));
  TRY_ASSIGN(JsonFields fields, JsonFields::of(text, json, "", kBulkFields));
  BulkRequest request{.query = {.tenant = call.tenant()}};
  TRY_ASSIGN(const Json* const action, fields.required("action", JsonType::string));
  constexpr std::array kActions{BulkAction::retry, BulkAction::cancel, BulkAction::discard};
  const auto* const known =
      std::ranges::find_if(kActions, [&](BulkAction one) { return to_string(one) == action->text; });
  if (known == kActions.end()) {
    return fields.fail(*action, "action", fmt::format("{} is none of retry, cancel, discard", quoted(action->text)));
  }
  request.action = *known;
  TRY_ASSIGN(const Json* const filter, fields.optional("filter", JsonType::object));
  if (filter != nullptr) {
    TRY_ASSIGN(request.query, read_job_query(text, *filter, call.tenant()));
  }
  TRY_ASSIGN(request.all, read_flag_field(fields, "all", false));
  TRY_ASSIGN(const Json* const rate, fields.optional("rate", JsonType::number));
  if (rate != nullptr) request.rate = std::strtod(rate->text.c_str(), nullptr);
  TRY_ASSIGN(const BulkInfo bulk, services.client_of(call.caller).bulk(request));
  return json_answer(202, to_json(bulk));
}

Result<HttpResponse> begin_backfill(Services& services, const RouteCall& call) {
  TRY_ASSIGN(const Client::BackfillRequest range, read_backfill(call.request));
  TRY_ASSIGN(auto refused, many_over_quota(services, call.tenant()));
  if (refused) return *std::move(refused);
  TRY_ASSIGN(const BulkInfo bulk, services.client_of(call.caller).backfill(call.tenant(), call.params[1], range));
  return json_answer(202, to_json(bulk));
}

Result<HttpResponse> show_bulk(Services& services, const RouteCall& call) {
  TRY(QueryFields(call.request).finish());
  TRY_ASSIGN(const BulkInfo bulk, services.host.client().bulk_status(call.tenant(), call.params[1]));
  return json_answer(200, to_json(bulk));
}

Result<HttpResponse> stop_bulk(Services& services, const RouteCall& call) {
  TRY(expect_no_body(call.request));
  TRY_ASSIGN(const BulkInfo bulk, services.client_of(call.caller).stop_bulk(call.tenant(), call.params[1]));
  return json_answer(200, to_json(bulk));
}

using Work = Result<HttpResponse> (*)(Services&, const RouteCall&);

}  // namespace

void add_bulk_routes(RouteTable& table, Services& services) {
  const auto plain = [&services](std::string_view thing, Work work) {
    return
        [&services, thing, work](const RouteCall& call) { answer(call, thing, [&] { return work(services, call); }); };
  };
  constexpr std::string_view kGroup = "Jobs";
  table.push_back(
      {.method = Method::post,
       .path = "/v1/tenants/{tenant}/jobs/bulk",
       .needs = Needs::tenant,
       .doc = {.group = kGroup,
               .summary = "Retry, cancel or discard all that match the filter, or every job with `all`; survives a "
                          "restart. Retry and discard mean parked jobs; cancel leaves those alone unless the "
                          "filter's state names dlq.",
               .body = "BulkRequest",
               .answers = {{202, "Bulk"}},
               .errors = {{409, "conflict"}}},
       .call = plain("job", begin_bulk)});
  table.push_back(
      {.method = Method::post,
       .path = "/v1/tenants/{tenant}/schedules/{name}/backfill",
       .needs = Needs::tenant,
       .doc = {.group = "Schedules",
               .summary = "Run every window from one time to another by hand, of one subject or of all; never moves a "
                          "cursor. Goes on in the background, as bulk work.",
               .body = "Backfill",
               .answers = {{202, "Bulk"}},
               .errors = {{404, "subject_not_found"},
                          {409, "conflict"},
                          {422, "invalid_configuration"},
                          {429, "quota_exceeded"},
                          {503, "scheduler_disabled"}}},
       .call = [&services](const RouteCall& call) {
         answer_about_subject(services, call, [&] { return begin_backfill(services, call); });
       }});
  table.push_back({.method = Method::get,
                   .path = "/v1/tenants/{tenant}/bulk/{id}",
                   .needs = Needs::read,
                   .doc = {.group = kGroup, .summary = "How far bulk work is.", .answers = {{200, "Bulk"}}},
                   .call = plain("bulk", show_bulk),
                   .writes = false});
  table.push_back({.method = Method::post,
                   .path = "/v1/tenants/{tenant}/bulk/{id}/stop",
                   .needs = Needs::tenant,
                   .doc = {.group = kGroup, .summary = "Stop bulk work where it is.", .answers = {{200, "Bulk"}}},
                   .call = plain("bulk", stop_bulk)});
}

}  // namespace carillon::server
