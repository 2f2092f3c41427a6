// What tenants and operators set: settings, queues, limits, maintenance, and the scheduler's configuration.
#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/json.h"
#include "base/json_writer.h"
#include "core/jobs/job.h"
#include "engine/commands/operations.h"
#include "engine/upkeep/rule_book.h"
#include "server/api/query_fields.h"
#include "server/api/quota_use.h"
#include "server/api/services.h"

namespace carillon::server {

namespace {

constexpr std::size_t kListed = 500;

Result<std::string> document(Services& services, const DocumentKey& key, std::string otherwise) {
  const auto found = services.queries().document(key);
  if (found) return found->body;
  if (found.error().code == ErrorCode::not_found) return otherwise;
  return std::unexpected(found.error());
}

// ---- Settings -----------------------------------------------------------------------------------------------------

// As they hold, with what the operator lets the tenant have at most.
Result<HttpResponse> get_settings(Services& services, const RouteCall& call) {
  TRY(QueryFields(call.request).finish());
  TRY_ASSIGN(const std::string own, document(services, {call.tenant(), std::string(kSettingsKind), {}}, "{}"));
  const TenantSettings settings = parse_tenant_settings(own).value_or(TenantSettings{});
  TRY_ASSIGN(const std::string stored, document(services, {call.tenant(), std::string(kBoundsKind), {}},
                                                write_tenant_bounds(bounds_of(settings))));
  const TenantBounds bounds = parse_tenant_bounds(stored).value_or(TenantBounds{});
  std::string body = write_tenant_settings(bounded(settings, bounds, services.queries().config().retention));
  body.pop_back();
  return json_answer(200, body + R"(,"bounds":)" + write_tenant_bounds(bounds) + "}");
}

Result<HttpResponse> put_settings(Services& services, const RouteCall& call) {
  auto client = services.client_of(call.caller);
  if (call.caller.scope == Scope::admin) {
    TRY(client.put_settings(call.tenant(), call.request.body));
  } else {
    TRY(client.put_own_settings(call.tenant(), call.request.body));
  }
  return get_settings(services, call);
}

// ---- Queues -------------------------------------------------------------------------------------------------------

std::string with_name(std::string_view field, std::string_view called, std::string_view body) {
  JsonObject named;
  named.text(field, called);
  std::string whole = named.str();
  if (body == "{}") return whole;
  whole.pop_back();
  return whole + "," + std::string(body.substr(1));
}

Result<HttpResponse> list_queues(Services& services, const RouteCall& call) {
  TRY(QueryFields(call.request).finish());
  struct Queue {
    std::string settings = "{}";
    std::map<JobState, std::int64_t> counts;
  };
  std::map<std::string, Queue> queues;
  queues["default"];
  TRY_ASSIGN(const std::vector<StateCount> counts, services.queries().counts(call.tenant()));
  for (const StateCount& count : counts) queues[count.lane.queue].counts[count.state] += count.count;
  TRY_ASSIGN(const std::vector<Document> documents,
             services.queries().documents(call.tenant(), kQueueKind, "", kListed));
  for (const Document& one : documents) queues[one.key.name].settings = one.body;
  JsonArray items;
  for (const auto& [name, queue] : queues) {
    JsonObject by_state;
    for (const JobState state : {JobState::waiting, JobState::queued, JobState::processing, JobState::dlq}) {
      const auto found = queue.counts.find(state);
      by_state.integer(to_string(state), found == queue.counts.end() ? 0 : found->second);
    }
    std::string item = with_name("queue", name, queue.settings);
    item.pop_back();
    items.raw(item + R"(,"counts":)" + by_state.str() + "}");
  }
  return list_answer(items);
}

Result<HttpResponse> put_queue(Services& services, const RouteCall& call) {
  TRY(check_name("queue", call.params[1]));
  const bool is_new =
      !services.queries().document({call.tenant(), std::string(kQueueKind), call.params[1]}).has_value();
  if (is_new) {
    TRY_ASSIGN(auto refused, names_over_quota(services, call.tenant(), {.queue = call.params[1], .type = {}}));
    if (refused) return *std::move(refused);
  }
  TRY(services.client_of(call.caller).put_queue(call.tenant(), call.params[1], call.request.body));
  TRY_ASSIGN(const std::string body,
             document(services, {call.tenant(), std::string(kQueueKind), call.params[1]}, "{}"));
  return json_answer(200, with_name("queue", call.params[1], body));
}

// ---- Limits -------------------------------------------------------------------------------------------------------

Result<HttpResponse> list_limits(Services& services, const RouteCall& call) {
  QueryFields fields(call.request);
  TRY_ASSIGN(const std::int64_t limit, fields.integer("limit", 50, 1, kListed));
  TRY_ASSIGN(const auto cursor, fields.text("cursor"));
  TRY(fields.finish());
  TRY_ASSIGN(const std::vector<Document> documents,
             services.queries().documents(call.reach.owner(), kLimitKind, cursor.value_or(""),
                                          static_cast<std::size_t>(limit)));
  JsonArray items;
  for (const Document& one : documents) items.raw(with_name("limit", one.key.name, one.body));
  return list_answer(items, std::ssize(documents) == limit ? documents.back().key.name : std::string());
}

Result<HttpResponse> get_limit(Services& services, const RouteCall& call) {
  TRY(QueryFields(call.request).finish());
  TRY_ASSIGN(const Document found,
             services.queries().document({call.reach.owner(), std::string(kLimitKind), call.params.back()}));
  return json_answer(200, with_name("limit", call.params.back(), found.body));
}

Result<HttpResponse> put_limit(Services& services, const RouteCall& call) {
  const std::string& owner = call.reach.owner();
  if (!owner.empty()) {
    const bool is_new = !services.queries().document({owner, std::string(kLimitKind), call.params.back()});
    TRY_ASSIGN(auto refused, thing_over_quota(services, owner, Quota::limits, is_new));
    if (refused) return *std::move(refused);
  }
  TRY(services.client_of(call.caller).put_limit(call.reach.owner(), call.params.back(), call.request.body));
  return get_limit(services, call);
}

Result<HttpResponse> delete_limit(Services& services, const RouteCall& call) {
  TRY(services.queries().document({call.reach.owner(), std::string(kLimitKind), call.params.back()}));
  TRY(services.client_of(call.caller).put_limit(call.reach.owner(), call.params.back(), std::nullopt));
  return HttpResponse{.status = 204};
}

// ---- Maintenance --------------------------------------------------------------------------------------------------

Result<HttpResponse> get_maintenance(Services& services, const RouteCall& call) {
  TRY(QueryFields(call.request).finish());
  TRY_ASSIGN(std::string body, document(services, {call.reach.owner(), std::string(kMaintenanceKind), {}}, "null"));
  if (body == "null") return json_answer(200, R"({"active":false})");
  // One that is over stays as it was set, and holds nothing.
  const auto set = parse_maintenance(body);
  JsonObject answer;
  answer.boolean("active", set && (!set->until || *set->until > services.now())).text("state", "maintenance");
  std::string whole = answer.str();
  whole.pop_back();
  return json_answer(200, body == "{}" ? whole + "}" : whole + "," + body.substr(1));
}

Result<HttpResponse> put_maintenance(Services& services, const RouteCall& call) {
  const std::string_view body = call.request.body.empty() ? std::string_view("{}") : call.request.body;
  TRY(services.client_of(call.caller).put_maintenance(call.reach.owner(), body));
  return get_maintenance(services, call);
}

Result<HttpResponse> delete_maintenance(Services& services, const RouteCall& call) {
  TRY(services.client_of(call.caller).put_maintenance(call.reach.owner(), std::nullopt));
  return HttpResponse{.status = 204};
}

// ---- Configuration ------------------------------------------------------------------------------------------------

Result<HttpResponse> get_config(Services& services, const RouteCall& call) {
  TRY(QueryFields(call.request).finish());
  // In a round: right after a start what is stored has to be read first. A store that does not answer is no reason not
  // to say what is in force.
  const auto in_force = services.host.commands().ask(command::ReadConfig{});
  return json_answer(200, write_engine_config(in_force ? *in_force : services.queries().config()));
}

Result<HttpResponse> put_config(Services& services, const RouteCall& call) {
  TRY_ASSIGN(const Json json, parse_json(call.request.body));
  for (const JsonMember& member : json.members) {
    const auto pin = services.pins.find(member.key);
    if (pin == services.pins.end()) continue;
    JsonObject details;
    details.text("field", member.key).text("pinned_by", pin->second);
    return refusal(409, "conflict", fmt::format("{} is pinned by {}", member.key, pin->second), details.str());
  }
  TRY(services.client_of(call.caller).put_config(call.request.body));
  return get_config(services, call);
}

using Work = Result<HttpResponse> (*)(Services&, const RouteCall&);

// Where a route stands: some are there twice, for a tenant and for all.
struct Place {
  std::string_view path;
  About about = About::one_tenant;
};

}  // namespace

void add_setting_routes(RouteTable& table, Services& services) {
  const auto add = [&](Method method, Place place, std::string_view thing, RouteDoc doc, Work work) {
    const bool reads = method == Method::get;
    doc.group = "Settings";
    table.push_back({.method = method,
                     .path = place.path,
                     .about = place.about,
                     .needs = place.about == About::server ? Needs::admin
                              : reads                      ? Needs::read
                                                           : Needs::tenant,
                     .doc = std::move(doc),
                     .call = [&services, thing, work](
                                 const RouteCall& call) { answer(call, thing, [&] { return work(services, call); }); },
                     .writes = !reads});
  };
  add(Method::get, {"/v1/tenants/{tenant}/settings"}, "setting",
      {.summary = "A tenant's settings as they hold, and the bounds that the operator has set.",
       .answers = {{200, "SettingsAnswer"}}},
      get_settings);
  add(Method::put, {"/v1/tenants/{tenant}/settings"}, "setting",
      {.summary =
           "Replace the fields given; null clears. What an admin key sets of max_concurrency, weight and retention "
           "is also the most that a key of the tenant may set.",
       .body = "Settings",
       .answers = {{200, "SettingsAnswer"}},
       .errors = {{422, "invalid_configuration"}}},
      put_settings);
  add(Method::get, {"/v1/tenants/{tenant}/queues"}, "queue",
      {.summary = "Queues, with what is in them.", .answers = {{200, "QueueList"}}}, list_queues);
  add(Method::put, {"/v1/tenants/{tenant}/queues/{queue}"}, "queue",
      {.summary = "Cap or pause a queue.",
       .body = "QueueSettings",
       .answers = {{200, "Queue"}},
       .errors = {{409, "quota_exceeded"}}},
      put_queue);
  for (const Place place : {Place{"/v1/tenants/{tenant}/limits"}, Place{"/v1/limits", About::server}}) {
    add(Method::get, place, "limit",
        {.summary = "Limits, by name.", .answers = {{200, "LimitList"}}, .query = {"limit", "cursor"}}, list_limits);
  }
  for (const Place place : {Place{"/v1/tenants/{tenant}/limits/{name}"}, Place{"/v1/limits/{name}", About::server}}) {
    add(Method::get, place, "limit", {.summary = "One limit.", .answers = {{200, "Limit"}}}, get_limit);
    add(Method::put, place, "limit",
        {.summary = "So many starts in a time, so many at once.",
         .body = "LimitRule",
         .answers = {{200, "Limit"}},
         .errors = {{409, "quota_exceeded"}}},
        put_limit);
    add(Method::remove, place, "limit", {.summary = "Remove a limit.", .answers = {{204, ""}}}, delete_limit);
  }
  for (const Place place : {Place{"/v1/tenants/{tenant}/maintenance"}, Place{"/v1/maintenance", About::server}}) {
    add(Method::get, place, "maintenance",
        {.summary = "Whether maintenance holds jobs.", .answers = {{200, "Maintenance"}}}, get_maintenance);
    add(Method::put, place, "maintenance",
        {.summary = "Hold jobs until a time, or until lifted.",
         .body = "MaintenanceRequest",
         .answers = {{200, "Maintenance"}}},
        put_maintenance);
    add(Method::remove, place, "maintenance", {.summary = "Let jobs go again.", .answers = {{204, ""}}},
        delete_maintenance);
  }
  add(Method::get, {"/v1/config", About::server}, "config",
      {.summary = "The scheduler's configuration.", .answers = {{200, "Config"}}}, get_config);
  add(Method::put, {"/v1/config", About::server}, "config",
      {.summary = "Replace the fields given; those that flags, environment or file pin are refused.",
       .body = "Config",
       .answers = {{200, "Config"}},
       .errors = {{409, "conflict"}, {422, "invalid_configuration"}}},
      put_config);
}

}  // namespace carillon::server
