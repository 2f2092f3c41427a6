#include "server/api/api.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/hole.h"
#include "core/jobs/job.h"
#include "net/digest.h"
#include "server/api/first_write.h"
#include "server/api/keyed_reply.h"
#include "server/api/quota_use.h"
#include "server/auth/own_page.h"
#include "server/http/response_writer.h"

namespace carillon::server {

namespace {

// Larger bodies are not read on the net thread: who sends without waiting for answers would fill it.
constexpr std::size_t kNetBodyMax = std::size_t{8} << 10U;
// Larger ones are not read where smaller ones wait for their turn.
constexpr std::size_t kSmallBodyMax = std::size_t{64} << 10U;
// Of a call without a key.
constexpr std::size_t kOpenBodyMax = std::size_t{4} << 10U;
constexpr std::chrono::milliseconds kSilentMax = std::chrono::seconds(1);

bool suffices(Scope scope, Needs needs) {
  switch (needs) {
    case Needs::nothing:
    case Needs::signature:
    case Needs::read: return true;
    case Needs::worker: return scope != Scope::read;
    case Needs::tenant: return scope == Scope::tenant || scope == Scope::admin;
    case Needs::admin: return scope == Scope::admin;
  }
  return false;
}

// A page of another origin cannot act with the cookie: it knows no token, and browsers say where a request is from.
bool is_our_own_page(const HttpRequest& request, const Sessions::Session& session) {
  const std::string* const token = request.header("x-csrf-token");
  return token != nullptr && equal_in_constant_time(*token, session.csrf) && is_from_own_page(request.headers);
}

// A signature is looked at by the route: until then tenants, known or not, are all the same.
bool is_of_tenant(const Route& route) { return route.about == About::one_tenant && route.needs != Needs::signature; }

// Of those that the key is for: what its holder knows anyway.
constexpr std::size_t kTenantsTold = 5;

// The same of one that is there and of one that is not. (invariant 28)
HttpResponse no_tenant(std::string_view tenant, const Caller& caller) {
  const std::vector<std::string>& own = caller.tenants.names();
  std::string message = fmt::format("there is no tenant {}", quoted(tenant));
  if (!caller.tenants.is_all() && !own.empty()) {
    const auto told = std::span(own).first(std::min(own.size(), kTenantsTold));
    message += fmt::format("; your key is for {}", fmt::join(told, ", "));
    if (own.size() > told.size()) message += fmt::format(" and {} more", own.size() - told.size());
  }
  return refusal(404, "tenant_not_found", message);
}

HttpResponse beyond_scope(Scope scope) {
  return refusal(403, "forbidden", fmt::format("a key of scope {} may not do this", to_string(scope)));
}

HttpResponse tenant_goes(std::string_view tenant) {
  return refusal(
      409, "conflict",
      fmt::format("tenant {} is being deleted: nothing is written under it until that is over", quoted(tenant)));
}

// What is left of a tenant that is being deleted can be looked at. To delete it once more is to ask whether it is done.
bool writes_under_tenant(const Route& route, const std::vector<std::string>& params) {
  const bool looks = route.method == Method::get || route.method == Method::head;
  return is_of_tenant(route) && (route.writes || (!looks && params.size() > 1));
}

// Whether nobody waits for the answer any more. Who only says that he sends nothing more may still read: he is believed
// while lines are short.
bool is_abandoned(ClientState client, std::chrono::steady_clock::duration waited) {
  if (reopened(Hole::login_in_shared_pool)) return false;
  return client == ClientState::gone || (client == ClientState::silent && waited > kSilentMax);
}

// Who has looked at a key within this need not look again.
constexpr std::chrono::milliseconds kFresh(500);

// How often keys that have become too old are looked for; what they have open ends within this.
constexpr std::chrono::milliseconds kOldKeys(500);

// Until the calls are gone, which is before all others are.
void end_calls_of_old_keys(const std::weak_ptr<OpenCalls>& calls, const Services& services) {
  services.timers.after(kOldKeys, [calls, &services] {
    const auto open = calls.lock();
    if (!open) return;
    open->end_unless([&, now = services.now()](const OpenCalls::Owner& owner) {
      const bool is_signed_in = owner.session.empty() || reopened(Hole::session_outlives_key) ||
                                services.sessions.stands(owner.session, Services::real_now());
      return is_signed_in && services.keys.caller(owner.key, now).has_value();
    });
    end_calls_of_old_keys(calls, services);
  });
}

HttpResponse unauthorized(std::string_view message) { return refusal(401, "unauthorized", message); }

}  // namespace

Api::Api(Services& services) : services_(services) {
  add_job_routes(table_, services_);
  add_bulk_routes(table_, services_);
  add_handler_routes(table_, services_);
  add_hook_routes(table_, services_);
  add_lease_routes(table_, services_);
  add_quota_routes(table_, services_);
  add_schedule_routes(table_, services_);
  add_subject_routes(table_, services_);
  add_outcome_routes(table_, services_);
  add_setting_routes(table_, services_);
  add_admin_routes(table_, services_);
  add_login_routes(table_, services_);
  add_tenant_routes(table_, services_);
  add_clock_routes(table_, services_);
  add_slo_routes(table_, services_);
  add_system_routes(table_, services_);
  for (Route& route : table_) {
    // What a route is about and what its path names must agree.
    CHECK((route.about == About::one_tenant) == route.path.starts_with("/v1/tenants/{tenant}"));
    // Whoever adds a call that needs no key gets this with it.
    if (route.needs == Needs::nothing && !reopened(Hole::login_in_shared_pool)) {
      route.body_max = std::min(route.body_max, kOpenBodyMax);
    }
  }
  router_.emplace(table_);
  services_.keys.on_change([&sessions = services_.sessions, calls = calls_](std::string_view id) {
    sessions.end_of_key(id);
    calls->end(id);
  });
  services_.sessions.on_end([calls = calls_](std::string_view id) { calls->end_session(id); });
  end_calls_of_old_keys(calls_, services_);
}

std::expected<Caller, HttpResponse> Api::caller_of(const HttpRequest& request, Shown shown) const {
  const Instant now = services_.now();
  if (const std::string* const header = request.header("authorization")) {
    constexpr std::string_view kScheme = "Bearer ";
    if (!header->starts_with(kScheme)) {
      return std::unexpected(unauthorized("the header Authorization must be: Bearer KEY"));
    }
    auto caller = services_.keys.check(std::string_view(*header).substr(kScheme.size()), now);
    if (!caller) return std::unexpected(unauthorized("the key is not known, was revoked, or is too old"));
    return *std::move(caller);
  }
  if (const auto cookie = cookie_of(request.headers, services_.session_cookie())) {
    const auto session = services_.sessions.find(*cookie, Services::real_now());
    // What the session may is what its key may now.
    auto caller = session ? services_.keys.caller(session->key, now) : std::nullopt;
    if (reopened(Hole::session_outlives_key) && session && !caller) caller = session->copy;
    if (!caller) return std::unexpected(unauthorized("the session is over: sign in again"));
    const bool looks = request.method == Method::get || request.method == Method::head;
    if (!looks && shown == Shown::by_page && !is_our_own_page(request, *session)) {
      return std::unexpected(refusal(403, "forbidden", "a write with a session needs its token and our own origin"));
    }
    caller->session = session->id;
    return *std::move(caller);
  }
  return std::unexpected(unauthorized("a key is needed: Authorization: Bearer KEY"));
}

std::expected<Api::Admitted, HttpResponse> Api::admit(const HttpRequest& request, Charge charge) const {
  const Looked looked{.key_changes = services_.keys.changes(),  // before the look at the key
                      .at = std::chrono::steady_clock::now()};
  Router::Match match = router_->match(request);
  if (match.route == nullptr) {
    // Which calls there are is not told to everybody. Nothing is done here, so that a cookie is enough.
    if (auto caller = caller_of(request, Shown::by_anybody); !caller) return std::unexpected(std::move(caller.error()));
    if (match.allowed.empty()) return std::unexpected(refusal(404, "route_not_found", "there is no such call"));
    HttpResponse response = refusal(405, "method_not_allowed", fmt::format("this path takes {}", match.allowed));
    response.headers.push_back({.name = "allow", .value = match.allowed});
    return std::unexpected(std::move(response));
  }
  const Route& route = *match.route;
  const bool asks_for_key = route.needs != Needs::nothing && route.needs != Needs::signature;
  auto caller = asks_for_key ? caller_of(request, Shown::by_page) : std::expected<Caller, HttpResponse>();
  if (!caller) return std::unexpected(std::move(caller.error()));
  auto reach = reach_of(route, request.path, match.params, *caller);
  if (!reach) return std::unexpected(std::move(reach.error()));
  if (!suffices(caller->scope, route.needs)) return std::unexpected(beyond_scope(caller->scope));
  if (is_of_tenant(route) && services_.tenants.is_being_deleted(reach->tenant())) {
    if (writes_under_tenant(route, match.params)) return std::unexpected(tenant_goes(reach->tenant()));
  } else {
    const bool may_make = caller->scope == Scope::admin && route.writes;
    if (is_of_tenant(route) && !may_make && !services_.tenants.has(reach->tenant())) {
      return std::unexpected(no_tenant(reach->tenant(), *caller));
    }
  }
  // An admin may always put a quota right.
  if (charge == Charge::once && is_of_tenant(route) && caller->scope != Scope::admin) {
    const auto refused = services_.quotas.call(reach->tenant(), QuotaBook::Clock::now());
    if (refused) return std::unexpected(over_quota(*refused));
  }
  return Admitted{.route = &route,
                  .params = std::move(match.params),
                  .caller = *std::move(caller),
                  .reach = *std::move(reach),
                  .looked = looked};
}

std::expected<Reach, HttpResponse> Api::reach_of(const Route& route, std::string_view path,
                                                 const std::vector<std::string>& params, const Caller& caller) {
  switch (route.about) {
    case About::nothing: return Reach();
    case About::server:
      if (caller.tenants.is_all()) return Reach::server();
      return std::unexpected(
          refusal(403, "forbidden", "this is about the whole server: it takes a key of all tenants"));
    case About::key_tenants:
      if (!caller.tenants.is_nobody()) return Reach::several(caller.tenants);
      return std::unexpected(refusal(403, "forbidden", "none of the tenants of this key is there any more"));
    case About::one_tenant:
      // Foreign and absent look the same. (invariant 28)
      if (is_of_tenant(route) && !caller.may_see(params.front())) {
        return std::unexpected(no_tenant(params.front(), caller));
      }
      if (reopened(Hole::raw_path) && !path.starts_with("/v1/tenants/")) {
        return Reach::misread(params.front(), caller.tenants);
      }
      return Reach::one(params.front());
  }
  UNREACHABLE();
}

std::optional<HttpResponse> Api::on_head(HttpRequest& head, std::size_t& body_max) const {
  auto admitted = admit(head, Charge::once);
  if (!admitted) {
    if (services_.on_request && services_.wants_requests()) {
      services_.on_request({.method = head.method, .path = head.path, .status = admitted.error().status});
    }
    return admitted.error();
  }
  body_max = admitted->route->body_max;
  head.is_vital = admitted->route->is_vital;
  if (!admitted->caller.id.empty()) head.payer = admitted->caller.actor();
  head.admitted = std::make_shared<Admitted>(*std::move(admitted));
  return std::nullopt;
}

void Api::dispatch(HttpRequest request, Reply reply) const {
  if (services_.on_request && services_.wants_requests()) {
    reply = watched(request, std::move(reply), services_.on_request);
  }
  const auto admitted = std::static_pointer_cast<Admitted>(std::exchange(request.admitted, nullptr));
  CHECK(admitted);
  // A body may have taken its time, and the key may be gone since its head was looked at.
  if (is_old(admitted->looked)) {
    auto again = admit(request, Charge::not_again);
    if (!again) return reply->send(std::move(again.error()));
    *admitted = *std::move(again);
  }
  const Route& route = *admitted->route;
  RouteCall made{.request = {.query = std::move(request.query),
                             .headers = std::move(request.headers),
                             .body = std::move(request.body),
                             .peer = request.peer,
                             .held = std::move(request.held)},
                 .caller = std::move(admitted->caller),
                 .reach = std::move(admitted->reach),
                 .params = std::move(admitted->params),
                 .reply = std::move(reply)};
  call(route, std::move(made), admitted->looked, request.payer.empty() ? request.peer : request.payer);
}

WorkPool* Api::pool_of(const Route& route, const CallRequest& request) const {
  const bool is_quick = route.runs == Runs::on_net;
  if (!reopened(Hole::login_in_shared_pool)) {
    if (route.needs == Needs::nothing && !is_quick && !route.is_vital) return &services_.open_pool;
    if (route.needs == Needs::signature) return &services_.hook_pool;
  }
  if (!is_quick) return &services_.pool;
  if (request.body.size() <= kNetBodyMax || reopened(Hole::parse_on_net)) return nullptr;
  return request.body.size() <= kSmallBodyMax ? &services_.body_pool : &services_.large_pool;
}

bool Api::is_old(const Looked& looked) const {
  return services_.keys.changes() != looked.key_changes || std::chrono::steady_clock::now() - looked.at > kFresh;
}

std::optional<Caller> Api::caller_now(const Caller& caller) const {
  if (caller.by_session()) {
    if (reopened(Hole::session_outlives_key)) return caller;
    if (!services_.sessions.stands(caller.session, Services::real_now())) return std::nullopt;
  }
  auto now = services_.keys.caller(caller.id, services_.now());
  if (now) now->session = caller.session;
  return now;
}

std::optional<HttpResponse> Api::look_again(const Route& route, RouteCall& call) const {
  auto caller = caller_now(call.caller);
  if (!caller) {
    return unauthorized("the key was revoked, has become too old, or has signed out, while the call waited");
  }
  if (*caller == call.caller) return std::nullopt;
  auto reach = reach_of(route, route.path, call.params, *caller);
  if (!reach) return std::move(reach.error());
  if (!suffices(caller->scope, route.needs)) return beyond_scope(caller->scope);
  call.caller = *std::move(caller);
  call.reach = *std::move(reach);
  return std::nullopt;
}

std::optional<HttpResponse> Api::enter_tenant(const Route& route, RouteCall& call) const {
  if (!writes_under_tenant(route, call.params)) return std::nullopt;
  Tenants::Entered entered = services_.tenants.enter(call.tenant());
  if (entered.fate == Tenants::Fate::being_deleted) return tenant_goes(call.tenant());
  // One that is parked writes nothing by itself.
  if (!route.lasts) call.reply = writing_under(std::move(entered.held), std::move(call.reply));
  if (entered.fate == Tenants::Fate::there) return std::nullopt;
  if (call.caller.scope != Scope::admin || !route.writes) return no_tenant(call.tenant(), call.caller);
  if (const auto checked = check_name("tenant", call.tenant()); !checked) return refusal(checked.error(), "tenant");
  call.reply = making_tenant(services_, call.tenant(), call.caller.actor(), std::move(call.reply));
  return std::nullopt;
}

void Api::begin(const Route& route, RouteCall call, const Looked& looked) const {
  const bool has_key = !call.caller.id.empty();
  if (has_key && (call.caller.by_session() || is_old(looked))) {
    if (auto refused = look_again(route, call)) return call.reply->send(*std::move(refused));
  }
  if (route.lasts && has_key) {
    const auto stands = [this, caller = call.caller] { return caller_now(caller) == caller; };
    call.reply =
        ending_with_key(calls_, {.key = call.caller.id, .session = call.caller.session}, stands, std::move(call.reply));
  }
  if (auto refused = enter_tenant(route, call)) return call.reply->send(*std::move(refused));
  route.call(std::move(call));
}

void Api::call(const Route& route, RouteCall call, const Looked& looked, std::string_view whose) const {
  WorkPool* const pool = pool_of(route, call.request);
  if (pool == nullptr) return begin(route, std::move(call), looked);
  if (reopened(Hole::login_in_shared_pool)) whose = {};  // one line for all
  const Reply reply = call.reply;
  auto held = std::make_shared<RouteCall>(std::move(call));
  const bool taken = pool->run(whose, [this, &route, held, looked, since = std::chrono::steady_clock::now()] {
    if (is_abandoned(held->reply->client(), std::chrono::steady_clock::now() - since)) {
      return held->reply->send(refusal(503, "client_gone", "the client was gone before its call began"));
    }
    begin(route, std::move(*held), looked);
  });
  if (!taken) reply->send(too_many_wait());
}

}  // namespace carillon::server
