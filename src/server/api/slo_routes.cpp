// Objectives: how each one stands.
#include "server/api/query_fields.h"
#include "server/api/services.h"

namespace carillon::server {

namespace {

Result<HttpResponse> get_slo(Services& services, const RouteCall& call) {
  TRY(QueryFields(call.request).finish());
  return json_answer(200, services.slo());
}

}  // namespace

void add_slo_routes(RouteTable& table, Services& services) {
  table.push_back(
      {.method = Method::get,
       .path = "/v1/slo",
       .about = About::key_tenants,
       .needs = Needs::read,
       .runs = Runs::in_pool,
       .doc = {.group = "System",
               .summary =
                   "Each objective as of the last evaluation: its value over the window, and whether it is breached.",
               .answers = {{200, "Slo"}}},
       .call = [&services](const RouteCall& call) { answer(call, "slo", [&] { return get_slo(services, call); }); },
       .writes = false});
}

}  // namespace carillon::server
