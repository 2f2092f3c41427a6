// What a tenant may have, and has.
#include <utility>

#include "base/json_writer.h"
#include "engine/commands/documents.h"
#include "server/api/audit_word.h"
#include "server/api/query_fields.h"
#include "server/api/quota_use.h"
#include "server/api/services.h"

namespace carillon::server {

namespace {

DocumentKey quotas_key(const RouteCall& call) {
  return {.tenant = call.tenant(), .kind = std::string(kQuotasKind), .name = {}};
}

Result<HttpResponse> show_quotas(Services& services, const RouteCall& call) {
  const Quotas quotas = services.quotas.of(call.tenant());
  JsonObject answer;
  for (const Quota quota : kQuotas) {
    const auto allowed = quotas.of(quota);
    JsonObject one;
    one.raw("allowed", allowed ? std::to_string(*allowed) : "null");
    if (quota != Quota::calls_per_second) {
      TRY_ASSIGN(const std::int64_t used, use_of(services, call.tenant(), quota));
      one.integer("used", used);
    }
    answer.raw(to_string(quota), one.str());
  }
  return json_answer(200, answer.str());
}

Result<HttpResponse> get_quotas(Services& services, const RouteCall& call) {
  TRY(QueryFields(call.request).finish());
  return show_quotas(services, call);
}

Result<HttpResponse> put_quotas(Services& services, const RouteCall& call) {
  const DocumentKey key = quotas_key(call);
  const auto known = services.queries().document(key);
  if (!known && known.error().code != ErrorCode::not_found) return std::unexpected(known.error());
  TRY_ASSIGN(const std::string merged, merged_quotas(call.request.body, known ? known->body : "{}"));
  TRY_ASSIGN(const Quotas quotas, read_quotas(merged));
  TRY(services.host.commands().ask(command::PutDocument{
      .key = key, .body = merged, .word = word_of(call.caller, call.tenant(), "quotas.put", call.tenant())}));
  services.quotas.put(call.tenant(), quotas);
  TRY(count_tenant(services, call.tenant()));
  return show_quotas(services, call);
}

}  // namespace

void add_quota_routes(RouteTable& table, Services& services) {
  constexpr std::string_view kPath = "/v1/tenants/{tenant}/quotas";
  constexpr std::string_view kGroup = "Settings";
  table.push_back(
      {.method = Method::get,
       .path = kPath,
       .needs = Needs::read,
       .doc = {.group = kGroup, .summary = "What the tenant may have, and has.", .answers = {{200, "Quotas"}}},
       .call =
           [&services](const RouteCall& call) { answer(call, "quota", [&] { return get_quotas(services, call); }); },
       .writes = false});
  table.push_back({.method = Method::put,
                   .path = kPath,
                   .needs = Needs::admin,
                   .doc = {.group = kGroup,
                           .summary = "Set what the tenant may have: the fields given are replaced; null: the default.",
                           .body = "QuotasRequest",
                           .answers = {{200, "Quotas"}}},
                   .call = [&services](const RouteCall& call) {
                     answer(call, "quota", [&] { return put_quotas(services, call); });
                   }});
}

}  // namespace carillon::server
