// What routes work with.
#pragma once

#include <carillon/events.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/replaceable.h"
#include "core/time/instant.h"
#include "engine/commands/tenants.h"
#include "engine/host/engine_host.h"
#include "net/address_guard.h"
#include "server/api/answer.h"
#include "server/api/event_hub.h"
#include "server/api/handler_book.h"
#include "server/api/hook_config.h"
#include "server/api/quotas.h"
#include "server/api/request_watch.h"
#include "server/api/route.h"
#include "server/api/tenant_book.h"
#include "server/api/tenants.h"
#include "server/api/timers.h"
#include "server/api/work_pool.h"
#include "server/auth/failed_sign_ins.h"
#include "server/auth/key_ring.h"
#include "server/auth/own_page.h"
#include "server/auth/sessions.h"

namespace carillon::server {

struct Services {
  // NOLINTBEGIN(cppcoreguidelines-avoid-const-or-ref-data-members): made once, never assigned
  EngineHost& host;
  KeyRing& keys;
  Sessions& sessions;
  Tenants& tenants;
  EventHub& events;
  WorkPool& pool;
  WorkPool& body_pool;   // for calls with bodies that the net thread has no time for, and that need no pool otherwise
  WorkPool& large_pool;  // for those with large ones
  WorkPool& open_pool;   // for calls without a key
  WorkPool& hook_pool;   // for pushes, of which nobody knows who sends them until they are looked at
  Timers& timers;
  HandlerBook& handlers;
  TenantBook<HookConfig>& hooks;
  QuotaBook& quotas;
  // NOLINTEND(cppcoreguidelines-avoid-const-or-ref-data-members)
  const Replaceable<AddressGuard>& guard;                // of webhooks
  std::map<std::string, std::string, std::less<>> pins;  // fields of the configuration, and what has set them for good
  std::function<std::string()> metrics;                  // in the text format of Prometheus
  std::function<std::string()> slo;                      // how objectives stand, as JSON
  // The same figures of some tenants alone: objectives, with so many of their jobs parked; and totals since the start,
  // nothing where there are too many tenants to know.
  std::function<std::string(const std::vector<std::string>&, std::optional<std::uint64_t> parked)> slo_of;
  std::function<std::optional<Counters>(const std::vector<std::string>&)> totals_of;
  Rehearsal* rehearsal = nullptr;        // only if this server rehearses
  std::string store_kind;                // sqlite, memory
  bool behind_proxy = false;             // browsers come by TLS
  std::function<std::uint16_t()> port;   // that it listens on
  RequestWatch on_request;               // nobody, if it is empty
  std::function<bool()> wants_requests;  // whether it is to be told now
  FailedSignIns failed_sign_ins;
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();

  // Types of this tenant are served by somebody else from now on.
  Result<void> serving_changed(const std::string& tenant) const {
    return host.commands().ask(command::ServingChanged{.tenant = tenant});
  }
  Queries queries() const { return host.queries(); }
  // When things are due; in a rehearsal not the machine's time.
  Instant now() const { return host.queries().now(); }
  // For how long sign-ins last.
  static Instant real_now() { return system_now(); }
  // The name of the page's cookie.
  std::string session_cookie() const { return server::session_cookie(port ? port() : 0); }
  // Writes in the name of the caller.
  NodeClient client_of(const Caller& caller) const { return host.client_of(caller.actor()); }
};

// Answers with what `work` gives: a response, or an error about a `thing`.
template <typename Work>
void answer(const RouteCall& call, std::string_view thing, Work work) {
  Result<HttpResponse> response = work();
  call.reply->send(response ? *std::move(response) : refusal(response.error(), thing));
}

// The same about a subject of `schedule`: what is not there may be either of them.
template <typename Work>
void answer_about_subject(const Services& services, const RouteCall& call, std::string_view schedule, Work work) {
  Result<HttpResponse> response = work();
  if (response) return call.reply->send(*std::move(response));
  const bool has_schedule = response.error().code == ErrorCode::not_found && !schedule.empty() &&
                            services.queries().schedule(call.tenant(), schedule).has_value();
  call.reply->send(refusal(response.error(), has_schedule ? "subject" : "schedule"));
}

// Of the schedule that the path names.
template <typename Work>
void answer_about_subject(const Services& services, const RouteCall& call, Work work) {
  const std::string_view schedule = call.params.size() > 1 ? std::string_view(call.params[1]) : std::string_view();
  answer_about_subject(services, call, schedule, std::move(work));
}

// The parts of the table, one a resource.
void add_job_routes(RouteTable& table, Services& services);
void add_bulk_routes(RouteTable& table, Services& services);
void add_handler_routes(RouteTable& table, Services& services);
void add_hook_routes(RouteTable& table, Services& services);
void add_lease_routes(RouteTable& table, Services& services);
void add_quota_routes(RouteTable& table, Services& services);
void add_login_routes(RouteTable& table, Services& services);
void add_schedule_routes(RouteTable& table, Services& services);
void add_subject_routes(RouteTable& table, Services& services);
void add_outcome_routes(RouteTable& table, Services& services);
void add_setting_routes(RouteTable& table, Services& services);
void add_admin_routes(RouteTable& table, Services& services);
void add_clock_routes(RouteTable& table, Services& services);
void add_slo_routes(RouteTable& table, Services& services);
void add_system_routes(RouteTable& table, Services& services);
void add_tenant_routes(RouteTable& table, Services& services);

}  // namespace carillon::server
