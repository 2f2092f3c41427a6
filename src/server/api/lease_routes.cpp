// Workers outside of the process: they lease jobs, keep them, and say how they ended.
#include <fmt/format.h>

#include <utility>

#include "base/json.h"
#include "base/json_writer.h"
#include "core/jobs/json_members.h"
#include "engine/calls/job_info.h"
#include "server/api/job_body.h"
#include "server/api/pull_body.h"
#include "server/api/query_fields.h"
#include "server/api/services.h"
#include "server/http/response_writer.h"

namespace carillon::server {

namespace {

constexpr std::size_t kSettleBytesMax = std::size_t{32} << 20U;

PullSender sender_of(const Services& services, const RouteCall& call) {
  return {.tenants = call.reach.tenants(),
          .is_of_all_tenants = call.caller.tenants.is_all(),
          .actor = call.caller.actor(),
          .defaults = services.queries().rules().job_defaults()};
}

HttpResponse told(const Error& error) { return refusal(error, "job"); }

// ---- Leasing ------------------------------------------------------------------------------------------------------

// {"items": […]}, with what is asked for of each of them.
Result<std::string> leased_body(std::vector<PulledJob> jobs, const ItemFields& fields) {
  RunningJobMaker maker({.options = fields.need_options(), .detail = fields.need_detail()});
  std::string body = R"({"items":[)";
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    TRY_ASSIGN(const RunningJob job, maker.make(std::move(jobs[i].job)));
    if (i > 0) body += ',';
    body += to_json(job, fields);
  }
  body += "]}";
  return body;
}

std::size_t bytes_of(const std::vector<PulledJob>& jobs) {
  std::size_t bytes = jobs.size() * sizeof(PulledJob);
  for (const PulledJob& one : jobs) bytes += one.job.payload.size() + one.job.options.bytes() + one.job.detail.bytes();
  return bytes;
}

void lease(Services& services, const RouteCall& call) {
  auto body = read_lease_request(call.request.body, sender_of(services, call));
  if (!body) return call.reply->send(refusal(body.error(), "job"));
  const Reply reply = call.reply;
  const std::uint64_t number = services.host.pulls().lease(
      std::move(body->request), [reply, fields = body->fields](Result<std::vector<PulledJob>> jobs) {
        if (!jobs && is_for_want_of_place(jobs.error())) {
          return reply->send(busy_response(429, "too_many_filters", jobs.error().message));
        }
        if (!jobs) return reply->send(told(jobs.error()));
        const std::size_t bytes = bytes_of(*jobs);
        reply->send_made(
            [jobs = *std::move(jobs), fields]() mutable {
              auto answer = leased_body(std::move(jobs), fields);
              return answer ? json_answer(200, *std::move(answer)) : told(answer.error());
            },
            bytes);
      });
  reply->on_gone([&services, number] { services.host.pulls().forget(number); });
}

// ---- Words --------------------------------------------------------------------------------------------------------

// What a refusal says, without the body's {"error": …} around it.
std::string error_json(const Error& error) {
  const HttpResponse response = told(error);
  constexpr std::string_view kBefore = R"({"error":)";
  return response.body.substr(kBefore.size(), response.body.size() - kBefore.size() - 1);
}

std::string to_json(const FollowedUp& one) {
  JsonObject object;
  if (one.error) {
    object.raw("error", error_json(*one.error));
  } else {
    object.text("id", format_job_id(one.id)).boolean("deduplicated", one.deduplicated);
  }
  return object.str();
}

std::string to_json(const WordAnswer& answer) {
  JsonObject object;
  object.text("id", format_job_id(answer.id)).text("state", to_string(answer.state));
  put(object, "run_at", answer.run_at);
  if (answer.then) {
    JsonArray then;
    for (const FollowedUp& one : *answer.then) then.raw(to_json(one));
    object.raw("then", then.str());
  }
  return object.str();
}

void say(Services& services, const RouteCall& call, std::string_view kind) {
  auto word = [&]() -> Result<PullWord> {
    TRY_ASSIGN(const JobId id, read_job_id(call.params.back()));
    TRY_ASSIGN(PullWord read, read_word(kind, call.request.body, sender_of(services, call)));
    read.job = id;
    return read;
  }();
  if (!word) return call.reply->send(refusal(word.error(), "job"));
  services.host.pulls().settle({*std::move(word)}, [reply = call.reply](std::vector<Result<WordAnswer>> answers) {
    const std::size_t bytes = sizeof(WordAnswer);
    reply->send_made(
        [answer = std::move(answers.front())] {
          return answer ? json_answer(200, to_json(*answer)) : told(answer.error());
        },
        bytes);
  });
}

// An item of a bulk answer that was refused.
std::string refused_item(const std::string& id, const Error& error) {
  JsonObject item;
  item.text("id", id).raw("error", error_json(error));
  return item.str();
}

void settle_many(Services& services, const RouteCall& call) {
  auto read = read_words(call.request.body, sender_of(services, call));
  if (!read) return call.reply->send(refusal(read.error(), "job"));
  services.host.pulls().settle(std::move(read->words), [reply = call.reply, ids = std::move(read->ids)](
                                                           std::vector<Result<WordAnswer>> answers) mutable {
    const std::size_t bytes = answers.size() * sizeof(answers.front());
    reply->send_made(
        [answers = std::move(answers), ids = std::move(ids)] {
          JsonArray items;
          for (std::size_t i = 0; i < answers.size(); ++i) {
            items.raw(answers[i] ? to_json(*answers[i]) : refused_item(ids[i], answers[i].error()));
          }
          JsonObject answer;
          answer.raw("items", items.str());
          return json_answer(200, answer.str());
        },
        bytes);
  });
}

// ---- Keeping ------------------------------------------------------------------------------------------------------

std::string to_json(const BeatAnswer& answer) {
  JsonObject object;
  put(object, "lease_until", answer.lease_until);
  object.boolean("cancel_requested", answer.cancel_requested);
  if (answer.gate) {
    JsonObject gate;
    gate.text("reason", answer.gate->reason);
    put(gate, "until", answer.gate->until);
    object.raw("gate", gate.str());
  } else {
    object.raw("gate", "null");
  }
  return object.str();
}

void beat(Services& services, const RouteCall& call) {
  auto read = [&]() -> Result<PullBeat> {
    TRY_ASSIGN(const JobId id, read_job_id(call.params.back()));
    TRY_ASSIGN(PullBeat one, read_beat(call.request.body, sender_of(services, call)));
    one.job = id;
    return one;
  }();
  if (!read) return call.reply->send(refusal(read.error(), "job"));
  services.host.pulls().extend({*std::move(read)}, [reply = call.reply](std::vector<Result<BeatAnswer>> answers) {
    const std::size_t bytes = sizeof(BeatAnswer);
    reply->send_made(
        [answer = std::move(answers.front())] {
          return answer ? json_answer(200, to_json(*answer)) : told(answer.error());
        },
        bytes);
  });
}

void extend_many(Services& services, const RouteCall& call) {
  auto read = read_beats(call.request.body, sender_of(services, call));
  if (!read) return call.reply->send(refusal(read.error(), "job"));
  services.host.pulls().extend(std::move(read->beats), [reply = call.reply, ids = std::move(read->ids)](
                                                           std::vector<Result<BeatAnswer>> answers) mutable {
    const std::size_t bytes = answers.size() * sizeof(answers.front());
    reply->send_made(
        [answers = std::move(answers), ids = std::move(ids)] {
          JsonArray items;
          for (std::size_t i = 0; i < answers.size(); ++i) {
            if (!answers[i]) {
              items.raw(refused_item(ids[i], answers[i].error()));
              continue;
            }
            std::string item = to_json(*answers[i]);
            item.replace(0, 1, fmt::format(R"({{"id":{},)", json_string(ids[i])));
            items.raw(item);
          }
          JsonObject answer;
          answer.raw("items", items.str());
          return json_answer(200, answer.str());
        },
        bytes);
  });
}

// ---- Effects ------------------------------------------------------------------------------------------------------

Result<HttpResponse> claim_effect(Services& services, const RouteCall& call) {
  TRY_ASSIGN(const EffectBody body, read_effect(call.request.body, EffectCall::claim));
  TRY_ASSIGN(const EffectClaim claim,
             services.host.pulls().claim_effect(call.tenant(), call.params[1], body.job, body.token));
  JsonObject answer;
  switch (claim.kind) {
    case EffectClaim::Kind::first: answer.text("claim", "first"); break;
    case EffectClaim::Kind::unknown: answer.text("claim", "unknown"); break;
    case EffectClaim::Kind::done:
      answer.text("claim", "done").raw("result", claim.result.empty() ? "null" : claim.result);
      break;
  }
  return json_answer(200, answer.str());
}

Result<HttpResponse> finish_effect(Services& services, const RouteCall& call) {
  TRY_ASSIGN(const EffectBody body, read_effect(call.request.body, EffectCall::done));
  TRY(services.host.pulls().effect_done(call.tenant(), call.params[1], body.job, body.token, body.result));
  return json_answer(200, "{}");
}

Result<HttpResponse> undo_effect(Services& services, const RouteCall& call) {
  TRY_ASSIGN(const EffectBody body, read_effect(call.request.body, EffectCall::undo));
  TRY(services.host.pulls().effect_undone(call.tenant(), call.params[1], body.job, body.token));
  return json_answer(200, "{}");
}

Result<HttpResponse> list_workers(Services& services, const RouteCall& call) {
  TRY(QueryFields(call.request).finish());
  JsonArray items;
  for (const PullWorker& worker : services.host.pulls().workers({call.tenant()})) {
    JsonObject item;
    item.text("worker", worker.name).integer("leases", static_cast<std::int64_t>(worker.leases));
    put(item, "last_seen_at", worker.last_seen);
    items.raw(item.str());
  }
  return list_answer(items);
}

using Work = Result<HttpResponse> (*)(Services&, const RouteCall&);

}  // namespace

void add_lease_routes(RouteTable& table, Services& services) {
  constexpr std::string_view kGroup = "Workers";
  // Some are there twice: for a tenant, and for all of the key.
  struct Place {
    std::string_view path;
    About about = About::one_tenant;
  };
  const auto add = [&](Place place, std::string_view summary, std::string_view body, std::string_view schema,
                       std::vector<ErrorDoc> errors, std::function<void(RouteCall)> call) {
    table.push_back({.method = Method::post,
                     .path = place.path,
                     .about = place.about,
                     .needs = Needs::worker,
                     .runs = Runs::on_net,
                     .doc = {.group = kGroup,
                             .summary = summary,
                             .body = body,
                             .answers = {{200, schema}},
                             .errors = std::move(errors)},
                     .call = std::move(call),
                     .body_max = kSettleBytesMax});
  };
  for (const Place place : {Place{"/v1/tenants/{tenant}/leases"}, Place{"/v1/leases", About::key_tenants}}) {
    add(place, "Lease due jobs, waiting for the first up to `wait`.", "LeaseRequest", "LeasedJobs",
        {{429, "too_many_filters"}, {503, "scheduler_disabled"}},
        [&services](const RouteCall& call) { lease(services, call); });
    table.back().lasts = true;
  }
  for (const Place place :
       {Place{"/v1/tenants/{tenant}/leases/settle"}, Place{"/v1/leases/settle", About::key_tenants}}) {
    add(place, "Say how many attempts ended.", "SettleRequest", "SettleAnswer", {},
        [&services](const RouteCall& call) { settle_many(services, call); });
  }
  for (const Place place :
       {Place{"/v1/tenants/{tenant}/leases/extend"}, Place{"/v1/leases/extend", About::key_tenants}}) {
    add(place, "Keep many leases.", "ExtendRequest", "ExtendAnswer", {},
        [&services](const RouteCall& call) { extend_many(services, call); });
  }
  add({"/v1/tenants/{tenant}/jobs/{id}/heartbeat"}, "Keep a lease, and say how far it is.", "Heartbeat",
      "HeartbeatAnswer", {{409, "stale_token"}}, [&services](const RouteCall& call) { beat(services, call); });
  const auto add_word = [&](std::string_view path, std::string_view summary, std::string_view body,
                            std::string_view kind) {
    add({path}, summary, body, "WordAnswer", {{409, "stale_token"}, {409, "conflict"}},
        [&services, kind](const RouteCall& call) { say(services, call, kind); });
  };
  add_word("/v1/tenants/{tenant}/jobs/{id}/complete",
           "The attempt is done. Said again in the same words it is answered as the first time; in others: conflict.",
           "Complete", "complete");
  add_word("/v1/tenants/{tenant}/jobs/{id}/fail", "The attempt has failed.", "Fail", "fail");
  add_word("/v1/tenants/{tenant}/jobs/{id}/defer", "Come again later: no failure, no attempt used.", "Defer", "defer");
  add_word("/v1/tenants/{tenant}/jobs/{id}/release", "Put it back as it was.", "Release", "release");

  const auto plain = [&services](std::string_view thing, Work work) {
    return
        [&services, thing, work](const RouteCall& call) { answer(call, thing, [&] { return work(services, call); }); };
  };
  table.push_back(
      {.method = Method::put,
       .path = "/v1/tenants/{tenant}/effects/{key}",
       .needs = Needs::worker,
       .doc = {.group = kGroup,
               .summary = "Claim an effect that must happen once. One that another attempt has left without a "
                          "word is unknown, and yours from then on.",
               .body = "EffectClaim",
               .answers = {{200, "EffectAnswer"}},
               .errors = {{409, "stale_token"}}},
       .call = plain("job", claim_effect)});
  table.push_back({.method = Method::post,
                   .path = "/v1/tenants/{tenant}/effects/{key}/done",
                   .needs = Needs::worker,
                   .doc = {.group = kGroup,
                           .summary = "It has happened. Only the attempt that has the claim can say so.",
                           .body = "EffectDone",
                           .answers = {{200, "Empty"}},
                           .errors = {{404, "effect_not_found"}, {409, "conflict"}, {409, "stale_token"}}},
                   .call = plain("effect", finish_effect)});
  table.push_back({.method = Method::post,
                   .path = "/v1/tenants/{tenant}/effects/{key}/undo",
                   .needs = Needs::worker,
                   .doc = {.group = kGroup,
                           .summary = "It surely did not happen. Only the attempt that has the claim can say so.",
                           .body = "EffectClaim",
                           .answers = {{200, "Empty"}},
                           .errors = {{404, "effect_not_found"}, {409, "conflict"}, {409, "stale_token"}}},
                   .call = plain("effect", undo_effect)});
  table.push_back({.method = Method::get,
                   .path = "/v1/tenants/{tenant}/workers",
                   .needs = Needs::read,
                   .doc = {.group = kGroup, .summary = "Workers that ask for jobs.", .answers = {{200, "WorkerList"}}},
                   .call = plain("worker", list_workers),
                   .writes = false});
}

}  // namespace carillon::server
