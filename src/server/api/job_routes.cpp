// Jobs: made, looked at, acted upon.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/json.h"
#include "base/json_writer.h"
#include "core/jobs/job_fields.h"
#include "core/jobs/job_state.h"
#include "engine/calls/job_info.h"
#include "engine/commands/jobs.h"
#include "server/api/job_body.h"
#include "server/api/job_query.h"
#include "server/api/query_fields.h"
#include "server/api/quota_use.h"
#include "server/api/request_body.h"
#include "server/api/services.h"
#include "server/http/response_writer.h"

namespace carillon::server {

namespace {

constexpr std::size_t kBatchBytesMax = std::size_t{32} << 20U;
constexpr std::size_t kJobBytesMax = std::size_t{2} << 20U;  // payload, meta and the rest
constexpr std::int64_t kPageDefault = 50;
constexpr std::size_t kPageStep = 16;  // jobs that are read before it is known how large they are
constexpr std::size_t kPageBytesMax = std::size_t{8} << 20U;  // from which on a page is full
constexpr Duration kWaitMax = std::chrono::seconds(60);

std::string with_deduplicated(std::string job, bool deduplicated) {
  job.pop_back();
  return job + (deduplicated ? R"(,"deduplicated":true})" : R"(,"deduplicated":false})");
}

// ---- Making jobs --------------------------------------------------------------------------------------------------

// Who makes jobs at the page. Those that programs make carry who made them, and that is enough.
Actor by_hand(const RouteCall& call) { return {call.caller.by_session() ? call.caller.actor() : std::string()}; }

// The job that was there already.
void answer_known_job(Services& services, RouteCall call, JobId id) {
  const Reply reply = call.reply;
  const std::string actor = call.caller.actor();
  const bool taken = services.pool.run(actor, [&services, call = std::move(call), id] {
    answer(call, "job", [&]() -> Result<HttpResponse> {
      TRY_ASSIGN(const JobInfo info, services.host.client().job(call.tenant(), id));
      return json_answer(200, with_deduplicated(to_json(info), true));
    });
  });
  if (!taken) reply->send(too_many_wait());
}

void post_job(Services& services, RouteCall call) {
  const std::string actor = call.caller.actor();
  auto body = [&]() -> Result<JobBody> {
    TRY_ASSIGN(const Json json, parse_sent_json(call.request.body));
    TRY_ASSIGN(JobBody job, read_job_body(call.request.body, json,
                                          {.tenant = call.tenant(),
                                           .created_by = actor,
                                           .defaults = services.queries().rules().job_defaults()}));
    return job;
  }();
  if (!body) return call.reply->send(refusal(body.error(), "job"));
  auto charge = std::make_unique<JobCharge>(services.quotas, call.tenant());
  if (auto refused = charge->charge({&*body, 1})) return call.reply->send(*std::move(refused));
  command::EnqueueJob enqueue{
      .job = std::move(body->job), .delay = body->delay, .new_max = charge->new_max(), .by_hand = by_hand(call)};
  services.host.commands().submit(
      std::move(enqueue), [&services, charge = std::move(charge), call = std::move(call)](
                              Result<command::EnqueueJob::Answer> answer, command::EnqueueJob sent) mutable {
        charge->made(answer && !answer->over_quota && !answer->made.deduplicated ? 1 : 0);
        if (answer && answer->over_quota) return call.reply->send(charge->refusal());
        if (!answer) return call.reply->send(refusal(answer.error(), "job"));
        if (answer->made.deduplicated) return answer_known_job(services, std::move(call), answer->made.id);
        const std::size_t bytes = sent.job.payload.size() + sent.job.options.meta.size();
        call.reply->send_made(
            [job = std::move(sent.job), made = std::move(answer->made), now = answer->now] {
              return json_answer(201, with_deduplicated(to_json(info_of_new(job, made, now)), false));
            },
            bytes);
      });
}

std::string to_json(const std::vector<Enqueued>& made) {
  JsonArray items;
  for (const Enqueued& one : made) {
    JsonObject item;
    item.text("id", format_job_id(one.id)).boolean("deduplicated", one.deduplicated);
    items.raw(item.str());
  }
  JsonObject answer;
  answer.raw("items", items.str());
  return answer.str();
}

void post_batch(Services& services, RouteCall call) {
  const std::string actor = call.caller.actor();
  auto read = read_job_batch(
      call.request.body,
      {.tenant = call.tenant(), .created_by = actor, .defaults = services.queries().rules().job_defaults()},
      [&services] { return services.queries().new_job_id(); });
  if (!read) return call.reply->send(refusal(read.error(), "job"));
  auto charge = std::make_unique<JobCharge>(services.quotas, call.tenant());
  if (auto refused = charge->charge(*read)) return call.reply->send(*std::move(refused));
  call.request.body.clear();
  command::EnqueueBatch enqueue{
      .tenant = call.tenant(), .jobs = {}, .delays = {}, .new_max = charge->new_max(), .by_hand = by_hand(call)};
  enqueue.jobs.reserve(read->size());
  enqueue.delays.reserve(read->size());
  for (JobBody& body : *read) {
    enqueue.jobs.push_back(std::move(body.job));
    enqueue.delays.push_back(body.delay);
  }
  services.host.commands().submit(std::move(enqueue), [reply = call.reply, charge = std::move(charge)](
                                                          Result<command::EnqueueBatch::Answer> answer) {
    const auto is_new = [](const Enqueued& one) { return !one.deduplicated; };
    charge->made(answer ? static_cast<std::size_t>(std::ranges::count_if(answer->made, is_new)) : 0);
    if (answer && answer->over_quota) return reply->send(charge->refusal());
    if (!answer) return reply->send(refusal(answer.error(), "job"));
    const std::size_t bytes = answer->made.size() * sizeof(Enqueued);
    reply->send_made([made = std::move(answer->made)] { return json_answer(201, to_json(made)); }, bytes);
  });
}

// ---- Looking ------------------------------------------------------------------------------------------------------

Result<HttpResponse> list_jobs(Services& services, const RouteCall& call) {
  QueryFields fields(call.request);
  TRY_ASSIGN(const JobQuery query, read_job_query(fields, call.tenant()));
  TRY_ASSIGN(const std::int64_t limit, fields.integer("limit", kPageDefault, 1, kPageMax));
  TRY_ASSIGN(const auto cursor, fields.text("cursor"));
  TRY(fields.finish());
  JobId before;
  if (cursor) {
    const auto id = parse_job_id(*cursor);
    if (!id)
      return invalid_field("cursor", fmt::format("query cursor: {} is not one that a list gave", quoted(*cursor)));
    before = *id;
  }
  // In steps, because jobs may be large: a page of those has fewer than were asked for. It is written where it will be
  // sent from, because each copy of it is memory that nobody counts.
  std::string page = R"({"items":[)";
  std::size_t step = kPageStep;
  for (auto left = static_cast<std::size_t>(limit);;) {
    const std::size_t asked = std::min(left, step);
    TRY_ASSIGN(const JobList list, services.host.client().jobs(query, before, asked));
    for (const JobInfo& job : list.jobs) {
      if (page.size() > kPageBytesMax / 64)
        page.reserve(kPageBytesMax + kJobBytesMax);  // else it is copied as it grows
      if (page.back() == '}') page += ',';
      page += to_json(job);
    }
    left -= std::min(left, list.jobs.size());
    before = list.next_before;
    if (!before || left == 0 || list.jobs.size() < asked || page.size() > kPageBytesMax) break;
    if (page.size() < kPageBytesMax / 64) step = static_cast<std::size_t>(kPageMax);
  }
  page +=
      before ? fmt::format(R"(],"next_cursor":{}}})", json_string(format_job_id(before))) : R"(],"next_cursor":null})";
  return json_answer(200, std::move(page));
}

Result<HttpResponse> show_job(Services& services, const RouteCall& call) {
  TRY_ASSIGN(const JobId id, read_job_id(call.params[1]));
  TRY_ASSIGN(const JobInfo info, services.host.client().job(call.tenant(), id));
  return json_answer(200, to_json(info));
}

// A call that waits for its job: answered when that is final, when the time is over, or never, if the client goes.
class JobWait : public std::enable_shared_from_this<JobWait> {
 public:
  JobWait(Services& services, RouteCall call) : services_(services), call_(std::move(call)) {}

  void begin(JobId id, Duration wait) {
    waiter_ = services_.events.when_final(id, [self = shared_from_this()] { self->finish(); });
    timer_ = services_.timers.after(wait, [self = shared_from_this()] { self->finish(); });
    call_.reply->on_gone([self = shared_from_this()] { self->end(); });
    // It may have ended before anybody listened.
    const auto info = services_.host.client().job(call_.tenant(), id);
    if (!info || is_final(info->state)) finish();
  }

 private:
  bool end() {
    if (over_.exchange(true)) return false;
    services_.events.forget(waiter_);
    services_.timers.cancel(timer_);
    return true;
  }
  void finish() {
    if (!end()) return;
    const bool taken = services_.pool.run(call_.caller.actor(), [self = shared_from_this()] {
      answer(self->call_, "job", [&] { return show_job(self->services_, self->call_); });
    });
    if (!taken) call_.reply->send(too_many_wait());
  }

  Services& services_;
  const RouteCall call_;
  std::atomic<bool> over_ = false;
  std::atomic<std::uint64_t> waiter_ = 0;
  std::atomic<std::uint64_t> timer_ = 0;
};

void get_job(Services& services, RouteCall call) {
  QueryFields fields(call.request);
  const auto wait = [&]() -> Result<std::optional<Duration>> {
    TRY_ASSIGN(const auto given, fields.duration("wait"));
    TRY(fields.finish());
    if (given && *given > kWaitMax) return invalid_field("wait", "query wait: at most 60s");
    return given;
  }();
  if (!wait) return call.reply->send(refusal(wait.error(), "job"));
  const auto id = read_job_id(call.params[1]);
  const auto info = id ? services.host.client().job(call.tenant(), *id) : std::unexpected(id.error());
  if (!info) return call.reply->send(refusal(info.error(), "job"));
  if (!*wait || is_final(info->state)) return call.reply->send(json_answer(200, to_json(*info)));
  std::make_shared<JobWait>(services, std::move(call))->begin(*id, **wait);
}

Result<HttpResponse> explain_job(Services& services, const RouteCall& call) {
  TRY(QueryFields(call.request).finish());
  TRY_ASSIGN(const JobId id, read_job_id(call.params[1]));
  TRY_ASSIGN(const Explanation explanation, services.host.client().explain(call.tenant(), id));
  return json_answer(200, to_json(explanation));
}

// ---- Acting -------------------------------------------------------------------------------------------------------

using Act = Result<JobState> (NodeClient::*)(std::string_view, JobId);

Result<HttpResponse> act(Services& services, const RouteCall& call, Act what) {
  TRY(expect_no_body(call.request));
  TRY_ASSIGN(const JobId id, read_job_id(call.params[1]));
  NodeClient client = services.client_of(call.caller);
  TRY((client.*what)(call.tenant(), id));
  return show_job(services, call);
}

Result<HttpResponse> run_job(Services& services, const RouteCall& call) {
  return act(services, call, &NodeClient::run_now);
}

Result<HttpResponse> rerun_job(Services& services, const RouteCall& call) {
  TRY(expect_no_body(call.request));
  TRY_ASSIGN(const JobId id, read_job_id(call.params[1]));
  if (auto refused = job_over_quota(services, call.tenant())) return *std::move(refused);
  TRY_ASSIGN(const EnqueuedJob made, services.client_of(call.caller).rerun(call.tenant(), id));
  TRY_ASSIGN(const JobInfo info, services.host.client().job(call.tenant(), made.id));
  return json_answer(201, to_json(info));
}

Result<HttpResponse> patch_job(Services& services, const RouteCall& call) {
  TRY_ASSIGN(const JobId id, read_job_id(call.params[1]));
  TRY_ASSIGN(const Client::JobChange change, read_job_change(call.request.body));
  TRY(services.client_of(call.caller).change(call.tenant(), id, change));
  return show_job(services, call);
}

using Work = Result<HttpResponse> (*)(Services&, const RouteCall&);

}  // namespace

void add_job_routes(RouteTable& table, Services& services) {
  const auto plain = [&services](std::string_view thing, Work work) {
    return
        [&services, thing, work](const RouteCall& call) { answer(call, thing, [&] { return work(services, call); }); };
  };
  const auto acts = [&services](Act what) {
    return [&services, what](const RouteCall& call) { answer(call, "job", [&] { return act(services, call, what); }); };
  };
  constexpr std::string_view kGroup = "Jobs";
  table.push_back({.method = Method::post,
                   .path = "/v1/tenants/{tenant}/jobs",
                   .needs = Needs::tenant,
                   .runs = Runs::on_net,
                   .doc = {.group = kGroup,
                           .summary = "Make a job. A known idempotency key answers 200 with the job that is there.",
                           .body = "NewJob",
                           .answers = {{201, "EnqueuedJob"}, {200, "EnqueuedJob"}},
                           .errors = {{409, "idempotency_conflict"},
                                      {409, "quota_exceeded"},
                                      {422, "dependency_not_met"},
                                      {429, "quota_exceeded"}}},
                   .call = [&services](RouteCall call) { post_job(services, std::move(call)); },
                   .body_max = kJobBytesMax});
  table.push_back({.method = Method::post,
                   .path = "/v1/tenants/{tenant}/jobs/batch",
                   .needs = Needs::tenant,
                   .doc = {.group = kGroup,
                           .summary = "Make up to 10,000 jobs, all or none.",
                           .body = "JobBatch",
                           .answers = {{201, "BatchAnswer"}},
                           .errors = {{409, "idempotency_conflict"},
                                      {409, "quota_exceeded"},
                                      {422, "dependency_not_met"},
                                      {429, "quota_exceeded"}}},
                   .call = [&services](RouteCall call) { post_batch(services, std::move(call)); },
                   .body_max = kBatchBytesMax});
  table.push_back({.method = Method::get,
                   .path = "/v1/tenants/{tenant}/jobs",
                   .needs = Needs::read,
                   .doc = {.group = kGroup,
                           .summary = "Jobs, newest first.",
                           .answers = {{200, "JobList"}},
                           .query = {"state", "type", "queue", "schedule", "subject", "tag", "text", "since", "until",
                                     "limit", "cursor"}},
                   .call = plain("job", list_jobs),
                   .writes = false});
  table.push_back({.method = Method::get,
                   .path = "/v1/tenants/{tenant}/jobs/{id}",
                   .needs = Needs::read,
                   .doc = {.group = kGroup,
                           .summary = "One job with its attempts; with wait, once it is final.",
                           .answers = {{200, "Job"}},
                           .query = {"wait"}},
                   .call = [&services](RouteCall call) { get_job(services, std::move(call)); },
                   .writes = false,
                   .lasts = true});
  table.push_back({.method = Method::patch,
                   .path = "/v1/tenants/{tenant}/jobs/{id}",
                   .needs = Needs::tenant,
                   .doc = {.group = kGroup,
                           .summary = "Change a job that is queued or waits: its priority, time, payload, retry or "
                                      "limits. What is left out stays, null means the default.",
                           .body = "JobPatch",
                           .answers = {{200, "Job"}},
                           .errors = {{409, "conflict"}, {409, "job_already_running"}, {422, "invalid_configuration"}}},
                   .call = plain("job", patch_job),
                   .body_max = kJobBytesMax});
  table.push_back(
      {.method = Method::get,
       .path = "/v1/tenants/{tenant}/jobs/{id}/explain",
       .needs = Needs::read,
       .doc = {.group = kGroup, .summary = "Why it ran, did not run, or waits.", .answers = {{200, "Explanation"}}},
       .call = plain("job", explain_job),
       .writes = false});
  const auto add_act = [&](std::string_view path, std::string_view summary, std::vector<ErrorDoc> errors,
                           std::function<void(RouteCall)> call) {
    table.push_back(
        {.method = Method::post,
         .path = path,
         .needs = Needs::tenant,
         .doc = {.group = kGroup, .summary = summary, .answers = {{200, "Job"}}, .errors = std::move(errors)},
         .call = std::move(call)});
  };
  add_act("/v1/tenants/{tenant}/jobs/{id}/cancel", "Cancel it; one that runs is asked to stop.", {{409, "conflict"}},
          acts(&NodeClient::cancel));
  add_act("/v1/tenants/{tenant}/jobs/{id}/retry", "Let a parked job try again.",
          {{409, "conflict"}, {409, "job_already_running"}}, acts(&NodeClient::retry));
  add_act("/v1/tenants/{tenant}/jobs/{id}/discard", "Give a parked job up.", {{409, "conflict"}},
          acts(&NodeClient::discard));
  add_act("/v1/tenants/{tenant}/jobs/{id}/run", "Run it now, whatever its time.",
          {{409, "conflict"}, {409, "job_already_running"}, {503, "scheduler_disabled"}}, plain("job", run_job));
  table.push_back({.method = Method::post,
                   .path = "/v1/tenants/{tenant}/jobs/{id}/rerun",
                   .needs = Needs::tenant,
                   .doc = {.group = kGroup, .summary = "A new job like this one.", .answers = {{201, "Job"}}},
                   .call = plain("job", rerun_job)});
}

}  // namespace carillon::server
