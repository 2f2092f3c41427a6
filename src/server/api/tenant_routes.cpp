// Tenants: which there are, and how one goes, with all that is its own.
#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/json_writer.h"
#include "engine/upkeep/tenant_erasure.h"
#include "server/api/query_fields.h"
#include "server/api/services.h"

namespace carillon::server {

namespace {

// A small one is gone before the answer; of others it says that it goes on.
constexpr std::chrono::seconds kWaitForDeletion(2);
// For calls that write under it and have begun already.
constexpr std::chrono::seconds kWaitForWriters(5);
constexpr std::size_t kSchedulesNamed = 20;
constexpr std::size_t kKeysAtOnce = 500;
constexpr int kEraseTries = 5;

DocumentKey key_document(std::string id) {
  return {.tenant = {}, .kind = std::string(kKeyKind), .name = std::move(id)};
}

// Of one that is being deleted, how far that is.
Result<std::string> shown_tenant(const Services& services, const std::string& tenant) {
  JsonObject shown;
  shown.text("tenant", tenant);
  if (!services.tenants.is_being_deleted(tenant)) return shown.str();
  const auto document = services.queries().document({.tenant = {}, .kind = std::string(kErasureKind), .name = tenant});
  std::uint64_t erased = 0;
  if (document) {
    TRY_ASSIGN(const ErasureState state, read_erasure(*document));
    erased = state.erased;
  } else if (document.error().code != ErrorCode::not_found) {
    return std::unexpected(document.error());
  }
  return shown.text("state", "deleting").integer("erased", static_cast<std::int64_t>(erased)).str();
}

Result<HttpResponse> list_tenants(Services& services, const RouteCall& call) {
  TRY(QueryFields(call.request).finish());
  JsonArray items;
  for (const auto& names : {services.tenants.all(), services.tenants.being_deleted()}) {
    for (const std::string& tenant : names) {
      if (!call.reach.tenants().has(tenant)) continue;
      TRY_ASSIGN(const std::string item, shown_tenant(services, tenant));
      items.raw(item);
    }
  }
  return list_answer(items);
}

Result<HttpResponse> get_tenant(Services& services, const RouteCall& call) {
  TRY(QueryFields(call.request).finish());
  TRY_ASSIGN(std::string shown, shown_tenant(services, call.tenant()));
  return json_answer(200, std::move(shown));
}

Result<HttpResponse> put_tenant(Services& services, const RouteCall& call) {
  TRY_ASSIGN(std::string shown, shown_tenant(services, call.tenant()));
  return json_answer(200, std::move(shown));  // its first write makes it
}

// ---- The end of one -----------------------------------------------------------------------------------------------

// What nobody may lose by a single call: it has to be ended by hand. Nothing, if there is none of it.
Result<std::optional<HttpResponse>> what_lives(Services& services, const std::string& tenant) {
  std::map<JobState, std::int64_t> jobs;
  TRY_ASSIGN(const std::vector<StateCount> counts, services.queries().counts(tenant));
  for (const StateCount& count : counts) {
    if (count.count > 0 && !is_final(count.state)) jobs[count.state] += count.count;
  }
  TRY_ASSIGN(const std::vector<ScheduleRow> schedules, services.queries().schedules(tenant, "", kSchedulesNamed));
  if (jobs.empty() && schedules.empty()) return std::nullopt;
  JsonObject by_state;
  std::vector<std::string> left;
  for (const auto& [state, count] : jobs) {
    by_state.integer(to_string(state), count);
    left.push_back(fmt::format("{} {} {}", count, to_string(state), count == 1 ? "job" : "jobs"));
  }
  JsonArray names;
  for (const ScheduleRow& row : schedules) {
    names.raw(json_string(row.name));
    left.push_back("schedule " + quoted(row.name));
  }
  JsonObject details;
  details.raw("jobs", by_state.str()).raw("schedules", names.str());
  return refusal(
      409, "conflict",
      fmt::format("tenant {} still has {}{}: delete its schedules, then cancel or discard its jobs", quoted(tenant),
                  fmt::join(left, ", "), schedules.size() == kSchedulesNamed ? " and perhaps more schedules" : ""),
      details.str());
}

// The keys that are for this tenant, among others or alone, and what is left of each without it.
struct KeyEdit {
  ApiKey key;
  command::BeginErasure::Edit edit;
};

Result<std::vector<KeyEdit>> edits_of_keys(Services& services, const std::string& tenant) {
  std::vector<KeyEdit> edits;
  DocumentKey after = key_document("");
  while (true) {
    TRY_ASSIGN(const std::vector<Document> page, services.queries().documents_above(after, kKeysAtOnce));
    for (const Document& document : page) {
      if (!document.key.tenant.empty() || document.key.kind != kKeyKind) return edits;
      TRY_ASSIGN(ApiKey key, read_key(document.key.name, document.body));
      if (key.tenants.is_all() || !key.tenants.has(tenant)) continue;
      key.tenants.remove(tenant);
      const bool goes = key.tenants.is_nobody();
      edits.push_back({.key = key,
                       .edit = {.key = document.key,
                                .revision = document.revision,
                                .body = goes ? std::nullopt : std::optional(write_key(key)),
                                .action = goes ? "key.delete" : "key.change"}});
    }
    if (page.size() < kKeysAtOnce) return edits;
    after = page.back().key;
  }
}

// All of it in one transaction. Memory follows commits in their order.
Result<void> try_to_begin_erasure(Services& services, const RouteCall& call) {
  const std::string& tenant = call.tenant();
  TRY_ASSIGN(const std::vector<KeyEdit> edits, edits_of_keys(services, tenant));
  command::BeginErasure erasure{.tenant = tenant, .edits = {}, .by = {call.caller.actor()}};
  for (const KeyEdit& one : edits) erasure.edits.push_back(one.edit);
  return services.host.commands().ask(std::move(erasure), [&](const Result<void>& begun) {
    if (!begun) return;
    for (const KeyEdit& one : edits) {
      if (one.edit.body) {
        services.keys.put(one.key);
      } else {
        services.keys.remove(one.key.id);
      }
    }
    services.handlers.remove_all(tenant);
    services.hooks.remove_all(tenant);
    services.host.commands().submit(command::ServingChanged{.tenant = tenant}, [](const Result<void>&) {});
  });
}

// No key for it is made meanwhile, as nobody writes under it any more; but one may be revoked.
Result<void> begin_erasure(Services& services, const RouteCall& call) {
  Result<void> begun;
  for (int tries = 0; tries < kEraseTries; ++tries) {
    begun = try_to_begin_erasure(services, call);
    if (begun || begun.error().code != ErrorCode::conflict) break;
  }
  return begun;
}

// First nobody else writes under it, then it is looked at: what came before is seen. Or the refusal.
Result<std::optional<HttpResponse>> end_tenant(Services& services, const RouteCall& call) {
  const std::string& tenant = call.tenant();
  if (!services.tenants.wait_for_writers(tenant, kWaitForWriters)) {
    return refusal(409, "conflict",
                   fmt::format("calls that write under tenant {} are still under way: try again", quoted(tenant)));
  }
  TRY_ASSIGN(auto lives, what_lives(services, tenant));
  if (lives) return lives;
  TRY(begin_erasure(services, call));
  return std::nullopt;
}

Result<HttpResponse> delete_tenant(Services& services, const RouteCall& call) {
  TRY(QueryFields(call.request).finish());
  const std::string& tenant = call.tenant();
  if (tenant == kDefaultTenant) return failed(ErrorCode::conflict, "the tenant default is always there");
  if (services.tenants.begin_deleting(tenant)) {
    auto refused = end_tenant(services, call);
    if (!refused || *refused) {
      services.tenants.keep(tenant);
      if (!refused) return std::unexpected(refused.error());
      return **std::move(refused);
    }
  }
  if (services.tenants.wait_until_deleted(tenant, kWaitForDeletion)) return HttpResponse{.status = 204};
  TRY_ASSIGN(std::string shown, shown_tenant(services, tenant));
  return json_answer(202, std::move(shown));
}

using Work = Result<HttpResponse> (*)(Services&, const RouteCall&);

}  // namespace

void add_tenant_routes(RouteTable& table, Services& services) {
  struct Place {
    std::string_view path;
    About about = About::one_tenant;
  };
  const auto add = [&](Method method, Place place, Needs needs, RouteDoc doc, Work work) {
    doc.group = "Administration";
    table.push_back(
        {.method = method,
         .path = place.path,
         .about = place.about,
         .needs = needs,
         .doc = std::move(doc),
         .call = [&services,
                  work](const RouteCall& call) { answer(call, "tenant", [&] { return work(services, call); }); },
         .writes = method == Method::put});
  };
  add(Method::get, {"/v1/tenants", About::key_tenants}, Needs::read,
      {.summary = "Tenants that the key may see.", .answers = {{200, "TenantList"}}}, list_tenants);
  add(Method::get, {"/v1/tenants/{tenant}"}, Needs::read,
      {.summary = "A tenant, and how far its deletion is.", .answers = {{200, "Tenant"}}}, get_tenant);
  add(Method::put, {"/v1/tenants/{tenant}"}, Needs::admin,
      {.summary = "Make a tenant.", .answers = {{200, "Tenant"}}, .errors = {{409, "conflict"}}}, put_tenant);
  add(Method::remove, {"/v1/tenants/{tenant}"}, Needs::admin,
      {.summary = "Delete a tenant that has no live jobs and no schedules, with all that it leaves: history, keys, "
                  "handlers, hooks, settings, limits, audit trail. What takes long goes on in the background (202).",
       .answers = {{204, ""}, {202, "Tenant"}},
       .errors = {{409, "conflict"}}},
      delete_tenant);
}

}  // namespace carillon::server
