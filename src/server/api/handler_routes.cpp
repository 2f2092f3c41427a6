// Webhook handlers of a tenant's types.
#include <fmt/format.h>

#include <utility>

#include "base/json_writer.h"
#include "core/jobs/job.h"
#include "engine/commands/documents.h"
#include "server/api/documents.h"
#include "server/api/query_fields.h"
#include "server/api/quota_use.h"
#include "server/api/services.h"

namespace carillon::server {

namespace {

Result<HttpResponse> get_handler(Services& services, const RouteCall& call) {
  TRY(QueryFields(call.request).finish());
  if (services.handlers.is_own(call.tenant(), call.params[1])) return json_answer(200, R"({"kind":"operator"})");
  const auto config = services.handlers.webhook(call.tenant(), call.params[1]);
  if (!config) {
    return failed(ErrorCode::not_found, fmt::format("type {} has no handler here", quoted(call.params[1])));
  }
  // Who may not set it sees where it goes, not what may be a password.
  const bool may_set = call.caller.scope >= Scope::tenant;
  return json_answer(200, write_webhook(*config, may_set ? UrlShown::whole : UrlShown::masked));
}

Result<HttpResponse> put_handler(Services& services, const RouteCall& call) {
  const std::string& type = call.params[1];
  TRY(check_name("type", type));
  if (services.handlers.is_own(call.tenant(), type)) {
    return failed(ErrorCode::conflict, fmt::format("type {} is served by the operator's configuration", quoted(type)));
  }
  TRY_ASSIGN(WebhookConfig given, parse_webhook(call.request.body, *services.guard.get()));
  const std::optional<WebhookConfig> before = services.handlers.webhook(call.tenant(), type);
  // In a round: right after a start the limits have to be read first.
  TRY(services.host.commands().ask(command::CheckLimits{
      .tenant = call.tenant(), .names = given.limits, .before = before ? before->limits : std::vector<std::string>()}));
  TRY_ASSIGN(auto refused, thing_over_quota(services, call.tenant(), Quota::handlers, !before));
  if (refused) return *std::move(refused);
  const bool makes_secret = given.signing.secret.empty() && !before;
  WebhookConfig config = replaced(before, std::move(given), services.now());
  TRY(put_document(services, call, kHandlerKind, write_stored_webhook(config)));
  HttpResponse response = json_answer(200, makes_secret ? write_webhook_with_secret(config) : write_webhook(config));
  services.handlers.put(call.tenant(), type, std::move(config));
  TRY(services.serving_changed(call.tenant()));
  return response;
}

Result<HttpResponse> delete_handler(Services& services, const RouteCall& call) {
  TRY(delete_document(services, call, kHandlerKind));
  services.handlers.remove(call.tenant(), call.params[1]);
  TRY(services.serving_changed(call.tenant()));
  return HttpResponse{.status = 204};
}

using Work = Result<HttpResponse> (*)(Services&, const RouteCall&);

}  // namespace

void add_handler_routes(RouteTable& table, Services& services) {
  const auto add = [&](Method method, RouteDoc doc, Work work) {
    doc.group = "Handlers";
    table.push_back(
        {.method = method,
         .path = "/v1/tenants/{tenant}/handlers/{type}",
         .needs = method == Method::get ? Needs::read : Needs::tenant,
         .doc = std::move(doc),
         .call = [&services,
                  work](const RouteCall& call) { answer(call, "handler", [&] { return work(services, call); }); },
         .writes = method == Method::put});
  };
  add(Method::get, {.summary = "Who serves a type, without secrets.", .answers = {{200, "Handler"}}}, get_handler);
  add(Method::put,
      {.summary = "Call this URL for each job of the type. Without a secret one is made, and shown once.",
       .body = "HandlerRequest",
       .answers = {{200, "Handler"}},
       .errors = {{409, "conflict"}, {409, "quota_exceeded"}, {422, "invalid_configuration"}}},
      put_handler);
  add(Method::remove, {.summary = "Its jobs wait for workers again.", .answers = {{204, ""}}}, delete_handler);
}

}  // namespace carillon::server
