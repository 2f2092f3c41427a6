// Objectives: how each one stands.
#include "server/api/query_fields.h"
#include "server/api/services.h"

namespace carillon::server {

namespace {

// Nothing: the store cannot say.
std::optional<std::uint64_t> parked_of(Services& services, const std::vector<std::string>& tenants) {
  std::int64_t parked = 0;
  for (const std::string& tenant : tenants) {
    const auto counts = services.queries().counts(tenant);
    if (!counts) return std::nullopt;
    for (const StateCount& count : *counts) parked += count.state == JobState::dlq ? count.count : 0;
  }
  return static_cast<std::uint64_t>(std::max<std::int64_t>(parked, 0));
}

Result<HttpResponse> get_slo(Services& services, const RouteCall& call) {
  TRY(QueryFields(call.request).finish());
  const TenantSet& tenants = call.reach.tenants();
  if (tenants.is_all()) return json_answer(200, services.slo());
  return json_answer(200, services.slo_of(tenants.names(), parked_of(services, tenants.names())));
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
                   "Each objective as of the last evaluation: its value over the window, and whether it is breached. A "
                   "key of some tenants gets those that are about jobs, of its own jobs, measured now.",
               .answers = {{200, "Slo"}}},
       .call = [&services](const RouteCall& call) { answer(call, "slo", [&] { return get_slo(services, call); }); },
       .writes = false});
}

}  // namespace carillon::server
