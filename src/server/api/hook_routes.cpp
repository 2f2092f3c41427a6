// Hooks: senders outside push, signed, and a schedule runs.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "core/jobs/job.h"
#include "core/jobs/job_fields.h"
#include "engine/commands/schedules.h"
#include "server/api/documents.h"
#include "server/api/hook_config.h"
#include "server/api/query_fields.h"
#include "server/api/quota_use.h"
#include "server/api/services.h"
#include "server/handlers/signature.h"

namespace carillon::server {

namespace {

constexpr std::size_t kWebhookIdBytesMax = 256;
constexpr std::size_t kHookNameBytesMax = kNameBytesMax - 5;  // its jobs are created by "hook:NAME"

Result<HttpResponse> get_hook(Services& services, const RouteCall& call) {
  TRY(QueryFields(call.request).finish());
  const auto hook = services.hooks.find(call.tenant(), call.params[1]);
  if (!hook) return failed(ErrorCode::not_found, fmt::format("there is no hook {}", quoted(call.params[1])));
  return json_answer(200, write_hook(*hook));
}

Result<HttpResponse> put_hook(Services& services, const RouteCall& call) {
  const std::string& name = call.params[1];
  TRY(check_name("hook", name));
  if (name.size() > kHookNameBytesMax) {
    return invalid_request(fmt::format("hook has {} bytes; at most {} are allowed", name.size(), kHookNameBytesMax));
  }
  TRY_ASSIGN(HookConfig hook, parse_hook(call.request.body));
  const auto known = services.host.client().schedule(call.tenant(), hook.schedule);
  if (!known && known.error().code == ErrorCode::not_found) {
    return invalid_configuration(
        fmt::format("hook {} names schedule {}, which there is not", quoted(name), quoted(hook.schedule)));
  }
  if (!known) return std::unexpected(known.error());
  TRY_ASSIGN(const Schedule schedule, parse_schedule(known->definition));
  TRY(check_hook(hook, schedule));
  const auto before = services.hooks.find(call.tenant(), name);
  TRY_ASSIGN(auto refused, thing_over_quota(services, call.tenant(), Quota::hooks, !before));
  if (refused) return *std::move(refused);
  if (before) {
    hook.signing = replaced(before->signing, std::move(hook.signing.secret), Services::real_now());
  }
  TRY(put_document(services, call, kHookKind, write_stored_hook(hook)));
  HttpResponse response = json_answer(200, write_hook(hook, warnings_of(hook, schedule)));
  services.hooks.put(call.tenant(), name, std::move(hook));
  return response;
}

Result<HttpResponse> delete_hook(Services& services, const RouteCall& call) {
  TRY(delete_document(services, call, kHookKind));
  services.hooks.remove(call.tenant(), call.params[1]);
  return HttpResponse{.status = 204};
}

std::string_view header_or_none(const CallRequest& request, std::string_view name) {
  const std::string* const header = request.header(name);
  return header == nullptr ? std::string_view() : std::string_view(*header);
}

// The hook that has signed the call. One that does not exist answers like one whose secret is not known to the sender,
// after the same work: names cannot be probed.
std::expected<HookConfig, HttpResponse> signed_hook(const Services& services, const RouteCall& call) {
  static const std::vector<std::string> nobodys{make_secret()};
  auto hook = services.hooks.find(call.tenant(), call.params[1]);
  // Senders sign by the real time, also for a server that rehearses.
  const Instant now = Services::real_now();
  const auto verified = verify(hook ? valid_at(hook->signing, now) : nobodys,
                               {.id = header_or_none(call.request, "webhook-id"),
                                .timestamp = header_or_none(call.request, "webhook-timestamp"),
                                .signature = header_or_none(call.request, "webhook-signature")},
                               call.request.body, now);
  if (!verified) return std::unexpected(refusal(401, "unauthorized", verified.error().message));
  CHECK(hook);  // nobody has seen the other secret
  return *std::move(hook);
}

Result<HttpResponse> push(Services& services, const RouteCall& call) {
  const auto hook = signed_hook(services, call);
  if (!hook) return hook.error();
  const std::string& name = call.params[1];
  const std::string_view id = header_or_none(call.request, "webhook-id");
  if (id.size() > kWebhookIdBytesMax) {
    return invalid_request(fmt::format("webhook-id may have {} bytes, not {}", kWebhookIdBytesMax, id.size()));
  }
  TRY(services.queries().rules().check_enabled());
  TRY_ASSIGN(const HookPush said, read_push(*hook, call.request.body));
  if (auto refused = job_over_quota(services, call.tenant())) return *std::move(refused);
  JsonObject about;
  about.text("name", name).text("webhook_id", id);
  if (hook->subject) about.text("subject", said.subject);
  TRY_ASSIGN(const EnqueuedJob made,
             services.host.commands().ask(command::PushToSchedule{.tenant = call.tenant(),
                                                                  .schedule = hook->schedule,
                                                                  .body = call.request.body,
                                                                  .subject = said.subject,
                                                                  .priority = hook->priority,
                                                                  .key = fmt::format("hook:{}:{}", name, id),
                                                                  .created_by = fmt::format("hook:{}", name),
                                                                  .about = about.str(),
                                                                  .expected_at = said.expected_at}));
  // Who pushes learns which job it became, not what else is in it.
  JsonObject answer;
  answer.text("id", format_job_id(made.id)).boolean("deduplicated", made.deduplicated);
  if (made.deduplicated) return json_answer(200, answer.str());
  // It waits until the check ends that runs now.
  return json_answer(made.state == JobState::waiting ? 202 : 201, answer.str());
}

// What is not there may be the hook's schedule, or the subject that the push is about.
void answer_push(Services& services, const RouteCall& call) {
  const auto hook = services.hooks.find(call.tenant(), call.params[1]);
  const std::string schedule = hook ? hook->schedule : std::string();
  answer_about_subject(services, call, schedule, [&] { return push(services, call); });
}

using Work = Result<HttpResponse> (*)(Services&, const RouteCall&);
using Answer = void (*)(Services&, const RouteCall&);

template <Work work>
void answer_about_hook(Services& services, const RouteCall& call) {
  answer(call, "hook", [&] { return work(services, call); });
}

}  // namespace

void add_hook_routes(RouteTable& table, Services& services) {
  const auto add = [&](Method method, Needs needs, RouteDoc doc, Answer answers) {
    doc.group = "Hooks";
    table.push_back({.method = method,
                     .path = "/v1/tenants/{tenant}/hooks/{name}",
                     .needs = needs,
                     .doc = std::move(doc),
                     .call = [&services, answers](const RouteCall& call) { answers(services, call); },
                     .writes = method == Method::put});
  };
  add(Method::put, Needs::tenant,
      {.summary =
           "Let a sender trigger a schedule by signed calls. The secret is not shown again; one that is replaced "
           "stays good for a day.",
       .body = "HookRequest",
       .answers = {{200, "Hook"}},
       .errors = {{409, "quota_exceeded"}, {422, "invalid_configuration"}}},
      answer_about_hook<put_hook>);
  add(Method::get, Needs::read, {.summary = "One hook, without its secret.", .answers = {{200, "Hook"}}},
      answer_about_hook<get_hook>);
  add(Method::remove, Needs::tenant, {.summary = "No more pushes.", .answers = {{204, ""}}},
      answer_about_hook<delete_hook>);
  add(Method::post, Needs::signature,
      {.summary =
           "A push: signed as Standard Webhooks says, it runs the hook's schedule now, with the body as payload; "
           "with fan_out the subject that it names, with the body added to its job as payload.push. While a check of "
           "an "
           "adaptive subject runs, one more is queued behind it: 202. The same webhook-id again answers 200.",
       .body = "HookPush",
       .answers = {{201, "HookAnswer"}, {200, "HookAnswer"}, {202, "HookAnswer"}},
       .errors = {{404, "schedule_not_found"},
                  {404, "subject_not_found"},
                  {409, "idempotency_conflict"},
                  {409, "job_already_running"},
                  {429, "quota_exceeded"},
                  {503, "scheduler_disabled"}}},
      answer_push);
}

}  // namespace carillon::server
