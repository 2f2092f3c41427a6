// Workers outside of the process: they lease jobs, keep them, and say how they ended.
#include <fmt/format.h>

#include <utility>

#include "base/json.h"
#include "base/json_writer.h"
#include "core/job_fields.h"
#include "server/api/job_body.h"
#include "server/api/query_fields.h"
#include "server/api/services.h"
#include "store/job_text.h"

namespace carillon::server {

namespace {

constexpr std::int64_t kLeaseLimitMax = 1000;
constexpr Duration kWaitMax = std::chrono::seconds(60);
constexpr std::size_t kSettleMax = 1000;
constexpr std::size_t kSettleBytesMax = std::size_t{32} << 20U;
constexpr std::int64_t kTokenMax = INT64_MAX;

// Whose jobs the call may touch: of the route's tenant, or of all that the key may see.
std::vector<std::string> tenants_of(const RouteCall& call) {
  if (!call.params.empty() && call.request.path.starts_with("/v1/tenants/")) return {call.tenant()};
  return call.caller.tenants;
}

Result<JobId> id_of(const std::string& text) {
  const auto id = parse_job_id(text);
  if (!id) return failed(ErrorCode::not_found, fmt::format("there is no job {}", quoted(text)));
  return *id;
}

HttpResponse told(const Error& error) {
  if (error.code == ErrorCode::unavailable && error.message.find("disabled") != std::string::npos) {
    return refusal(503, "scheduler_disabled", error.message);
  }
  return refusal(error, "job");
}

void put(JsonObject& object, std::string_view name, const std::optional<Instant>& at) {
  if (at) {
    object.text(name, format_instant(*at));
  } else {
    object.raw(name, "null");
  }
}

// ---- Leasing ------------------------------------------------------------------------------------------------------

Result<PullRequest> read_lease_request(const RouteCall& call) {
  const std::string& text = call.request.body;
  TRY_ASSIGN(const Json json, parse_json(text));
  if (json.type != JsonType::object) return json_error(text, json.offset, "", "expected an object");
  JsonFields fields(text, json, "");
  PullRequest request;
  request.filter.tenants = tenants_of(call);
  TRY_ASSIGN(request.worker, fields.string("worker"));
  TRY(check_name("worker", request.worker));
  TRY_ASSIGN(request.filter.queues, read_texts_field(fields, "queues"));
  TRY_ASSIGN(request.filter.types, read_texts_field(fields, "types"));
  if (fields.has("limit")) {
    TRY_ASSIGN(const std::int64_t limit, fields.integer("limit", {1, kLeaseLimitMax}));
    request.limit = static_cast<std::size_t>(limit);
  }
  TRY_ASSIGN(request.lease, read_duration_field(text, fields, "lease"));
  if (request.lease && (*request.lease < kLeaseMin || *request.lease > kLeaseMax)) {
    return fields.fail(*json.find("lease"), "lease",
                       fmt::format("{} is not between {} and {}", format_duration(*request.lease),
                                   format_duration(kLeaseMin), format_duration(kLeaseMax)));
  }
  TRY_ASSIGN(const auto wait, read_duration_field(text, fields, "wait"));
  if (wait && *wait > kWaitMax) {
    return fields.fail(*json.find("wait"), "wait", fmt::format("{} is longer than 60s", format_duration(*wait)));
  }
  request.wait = wait.value_or(Duration::zero());
  TRY(fields.finish());
  return request;
}

Origin origin_of(const LeasedJob& job) {
  if (job.options.empty()) return job.schedule.empty() ? Origin::api : Origin::scheduled;
  const auto options = read_options(job.options);
  return options ? options->origin : Origin::api;
}

std::string to_json(const PulledJob& pulled) {
  const LeasedJob& job = pulled.job;
  JsonObject object;
  object.text("id", format_job_id(job.id)).text("tenant", job.tenant).text("queue", job.queue).text("type", job.type);
  object.raw("payload", job.payload).integer("priority", job.priority).text("state", "processing");
  if (job.schedule.empty()) {
    object.raw("schedule", "null");
  } else {
    object.text("schedule", job.schedule);
  }
  object.text("subject", job.subject);
  put(object, "slot", job.slot);
  put(object, "run_at", job.run_at);
  put(object, "deadline", job.deadline);
  object.integer("attempt", job.attempt).integer("token", job.token);
  put(object, "lease_until", pulled.lease_until);
  object.text("timeout", format_duration(job.timeout));
  object.text("trigger", job.attempt > 1 ? "retry" : to_string(origin_of(job)));
  return object.str();
}

void lease(Services& services, RouteCall call) {
  auto request = read_lease_request(call);
  if (!request) return call.reply->send(refusal(request.error(), "job"));
  const Reply reply = call.reply;
  const std::uint64_t number =
      services.host.pulls().lease(*std::move(request), [reply](const Result<std::vector<PulledJob>>& jobs) {
        if (!jobs) return reply->send(told(jobs.error()));
        JsonArray items;
        for (const PulledJob& job : *jobs) items.raw(to_json(job));
        JsonObject answer;
        answer.raw("items", items.str());
        reply->send(json_answer(200, answer.str()));
      });
  reply->on_gone([&services, number] { services.host.pulls().forget(number); });
}

// ---- Words --------------------------------------------------------------------------------------------------------

// "90s" from now, or an instant.
Result<RunAt> read_when(std::string_view text, const Json& value, const std::string& path) {
  if (value.type == JsonType::string) {
    if (const auto delay = parse_duration(value.text)) return in(*delay);
    if (const auto at = parse_instant(value.text)) return RunAt(*at);
  }
  return json_error(text, value.offset, path, "expected a duration like 90s or an instant like 2026-03-29T01:00:00Z");
}

// What a worker says at the end of an attempt, by the name of the call: complete, fail, defer, release.
class WordReader {
 public:
  WordReader(Services& services, const RouteCall& call, std::string_view text)
      : call_(call), text_(text), defaults_(services.host.node().rules().job_defaults()) {}

  Result<PullWord> read(std::string_view kind, const Json& json, const std::string& path) {
    if (json.type != JsonType::object) return json_error(text_, json.offset, path, "expected an object");
    JsonFields fields(text_, json, path);
    PullWord word{.tenants = tenants_of(call_)};
    if (fields.has("token")) {
      TRY_ASSIGN(word.token, fields.integer("token", {0, kTokenMax}));
    } else if (path.empty()) {
      return fields.missing("token", "the number that came with the lease");
    }
    if (kind == "complete") TRY(complete(fields, word.outcome));
    if (kind == "fail") TRY(fail(fields, word.outcome));
    if (kind == "defer") TRY(defer(fields, word.outcome));
    word.release = kind == "release";
    TRY(fields.finish());
    return word;
  }

 private:
  Result<std::string> text_field(JsonFields& fields, std::string_view name) {
    TRY_ASSIGN(const Json* const value, fields.optional(name, JsonType::string));
    return value == nullptr ? std::string() : value->text;
  }

  Result<void> complete(JsonFields& fields, Outcome& outcome) {
    if (const Json* const output = fields.optional("output")) outcome.output = json_slice(text_, *output);
    TRY_ASSIGN(const bool skipped, read_flag_field(fields, "skipped", false));
    TRY_ASSIGN(outcome.reason, text_field(fields, "reason"));
    if (skipped) outcome.kind = Outcome::Kind::skipped;
    TRY_ASSIGN(const Json* const then, fields.optional("then", JsonType::array));
    if (then != nullptr) {
      for (std::size_t i = 0; i < then->items.size(); ++i) {
        TRY_ASSIGN(JobBody body, read_job_body(text_, then->items[i],
                                               {.tenant = tenants_of(call_).empty() ? "" : tenants_of(call_).front(),
                                                .created_by = call_.caller.id,
                                                .path = fields.path_of(fmt::format("then[{}]", i)),
                                                .defaults = defaults_}));
        outcome.follow_ups.push_back(request_of(std::move(body)));
      }
    }
    TRY_ASSIGN(const Json* const subject, fields.optional("subject", JsonType::object));
    if (subject != nullptr) {
      JsonFields about(text_, *subject, fields.path_of("subject"));
      TRY_ASSIGN(const Json* const expected, about.optional("expected_at", JsonType::string));
      if (expected != nullptr) {
        const auto at = parse_instant(expected->text);
        if (!at) return json_error(text_, expected->offset, about.path_of("expected_at"), at.error().message);
        outcome.expected_at = *at;
      }
      TRY_ASSIGN(const Json* const status, about.optional("status", JsonType::string));
      if (status != nullptr) outcome.status = status->text;
      TRY(about.finish());
    }
    return {};
  }

  Result<void> fail(JsonFields& fields, Outcome& outcome) {
    TRY_ASSIGN(outcome.error, fields.string("error"));
    TRY_ASSIGN(outcome.error_class, text_field(fields, "error_class"));
    if (outcome.error_class.empty()) outcome.error_class = "unknown";
    TRY_ASSIGN(const bool permanent, read_flag_field(fields, "permanent", false));
    outcome.kind = permanent ? Outcome::Kind::permanent : Outcome::Kind::failed;
    if (const Json* const after = fields.optional("retry_after")) {
      TRY_ASSIGN(outcome.again, read_when(text_, *after, fields.path_of("retry_after")));
    }
    if (const Json* const limited = fields.optional("rate_limited")) {
      if (limited->type == JsonType::string) {
        outcome.limit = limited->text;
      } else if (limited->type != JsonType::boolean) {
        return fields.fail(*limited, "rate_limited", "expected true or the name of a limit");
      }
      if (limited->type == JsonType::string || limited->boolean) outcome.kind = Outcome::Kind::rate_limited;
    }
    return {};
  }

  Result<void> defer(JsonFields& fields, Outcome& outcome) {
    const Json* const until = fields.optional("until");
    if (until == nullptr) return fields.missing("until", "when it is to come again");
    TRY_ASSIGN(outcome.again, read_when(text_, *until, fields.path_of("until")));
    TRY_ASSIGN(outcome.reason, text_field(fields, "reason"));
    outcome.kind = Outcome::Kind::deferred;
    return {};
  }

  static JobRequest request_of(JobBody body) {
    NewJob& job = body.job;
    JobRequest request{.type = std::move(job.type),
                       .tenant = std::move(job.tenant),
                       .queue = std::move(job.queue),
                       .payload = std::move(job.payload),
                       .priority = job.priority,
                       .deadline = job.deadline,
                       .idempotency_key = std::move(job.options.idempotency_key),
                       .unique_until = job.options.unique_until,
                       .retry = job.options.retry,
                       .max_attempts = job.options.max_attempts,
                       .timeout = job.options.timeout,
                       .lease = job.options.lease,
                       .limits = std::move(job.options.limits),
                       .notifies = job.options.notifies,
                       .on_ambiguous = job.options.on_ambiguous,
                       .depends_on = std::move(job.depends_on),
                       .run_anyway = job.options.run_anyway,
                       .subject = std::move(job.subject),
                       .tags = std::move(job.options.tags),
                       .meta = std::move(job.options.meta),
                       .created_by = std::move(job.options.created_by)};
    if (job.run_at) request.run_at = *job.run_at;
    if (body.delay) request.run_at = in(*body.delay);
    return request;
  }

  const RouteCall& call_;
  const std::string_view text_;
  const JobDefaults defaults_;
};

std::string to_json(const WordAnswer& answer) {
  JsonObject object;
  object.text("id", format_job_id(answer.id)).text("state", to_string(answer.state));
  put(object, "run_at", answer.run_at);
  return object.str();
}

void say(Services& services, const RouteCall& call, std::string_view kind) {
  auto word = [&]() -> Result<PullWord> {
    TRY_ASSIGN(const JobId id, id_of(call.params.back()));
    const std::string_view text = call.request.body.empty() ? std::string_view("{}") : call.request.body;
    TRY_ASSIGN(const Json json, parse_json(text));
    TRY_ASSIGN(PullWord read, WordReader(services, call, text).read(kind, json, ""));
    read.job = id;
    return read;
  }();
  if (!word) return call.reply->send(refusal(word.error(), "job"));
  services.host.pulls().settle({*std::move(word)}, [reply = call.reply](std::vector<Result<WordAnswer>> answers) {
    const Result<WordAnswer>& answer = answers.front();
    reply->send(answer ? json_answer(200, to_json(*answer)) : told(answer.error()));
  });
}

// An item of a bulk answer that was refused.
std::string refused_item(const std::string& id, const Error& error) {
  const HttpResponse response = told(error);
  JsonObject item;
  // The body is {"error": …}: its value goes beside the id.
  constexpr std::string_view kBefore = R"({"error":)";
  item.text("id", id).raw(
      "error", std::string_view(response.body).substr(kBefore.size(), response.body.size() - kBefore.size() - 1));
  return item.str();
}

Result<std::vector<const Json*>> read_items(std::string_view text, const Json& json) {
  if (json.type != JsonType::object) return json_error(text, json.offset, "", "expected {\"items\": [...]}");
  JsonFields fields(text, json, "");
  TRY_ASSIGN(const Json* const list, fields.required("items", JsonType::array));
  TRY(fields.finish());
  if (list->items.size() > kSettleMax) {
    return invalid_field(
        "items", fmt::format("items has {} entries; at most {} fit into one call", list->items.size(), kSettleMax));
  }
  std::vector<const Json*> items;
  for (const Json& item : list->items) items.push_back(&item);
  return items;
}

Result<std::vector<PullWord>> read_words(Services& services, const RouteCall& call, std::vector<std::string>& ids) {
  const std::string& text = call.request.body;
  TRY_ASSIGN(const Json json, parse_json(text));
  TRY_ASSIGN(const std::vector<const Json*> items, read_items(text, json));
  WordReader reader(services, call, text);
  std::vector<PullWord> words;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string path = fmt::format("items[{}]", i);
    if (items[i]->type != JsonType::object) return json_error(text, items[i]->offset, path, "expected an object");
    JsonFields fields(text, *items[i], path);
    TRY_ASSIGN(const std::string id, fields.string("id"));
    TRY_ASSIGN(const std::int64_t token, fields.integer("token", {0, kTokenMax}));
    std::optional<PullWord> word;
    for (const std::string_view kind : {"complete", "fail", "defer", "release"}) {
      const Json* const said = fields.optional(kind);
      if (said == nullptr) continue;
      if (word) return fields.fail(*said, kind, "an item says one of complete, fail, defer, release");
      TRY_ASSIGN(word, reader.read(kind, *said, fields.path_of(kind)));
    }
    if (!word) return fields.missing("complete", "one of complete, fail, defer, release");
    TRY(fields.finish());
    word->job = parse_job_id(id).value_or(JobId{});
    word->token = token;
    ids.push_back(id);
    words.push_back(*std::move(word));
  }
  return words;
}

void settle_many(Services& services, const RouteCall& call) {
  std::vector<std::string> ids;
  auto words = read_words(services, call, ids);
  if (!words) return call.reply->send(refusal(words.error(), "job"));
  services.host.pulls().settle(
      *std::move(words), [reply = call.reply, ids = std::move(ids)](std::vector<Result<WordAnswer>> answers) {
        JsonArray items;
        for (std::size_t i = 0; i < answers.size(); ++i) {
          items.raw(answers[i] ? to_json(*answers[i]) : refused_item(ids[i], answers[i].error()));
        }
        JsonObject answer;
        answer.raw("items", items.str());
        reply->send(json_answer(200, answer.str()));
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
    const std::string& text = call.request.body;
    PullBeat one{.tenants = tenants_of(call)};
    TRY_ASSIGN(one.job, id_of(call.params.back()));
    TRY_ASSIGN(const Json json, parse_json(text));
    if (json.type != JsonType::object) return json_error(text, json.offset, "", "expected an object");
    JsonFields fields(text, json, "");
    TRY_ASSIGN(one.token, fields.integer("token", {0, kTokenMax}));
    if (const Json* const progress = fields.optional("progress")) one.progress = json_slice(text, *progress);
    TRY(fields.finish());
    return one;
  }();
  if (!read) return call.reply->send(refusal(read.error(), "job"));
  services.host.pulls().extend({*std::move(read)}, [reply = call.reply](std::vector<Result<BeatAnswer>> answers) {
    const Result<BeatAnswer>& answer = answers.front();
    reply->send(answer ? json_answer(200, to_json(*answer)) : told(answer.error()));
  });
}

void extend_many(Services& services, const RouteCall& call) {
  std::vector<std::string> ids;
  auto beats = [&]() -> Result<std::vector<PullBeat>> {
    const std::string& text = call.request.body;
    TRY_ASSIGN(const Json json, parse_json(text));
    TRY_ASSIGN(const std::vector<const Json*> items, read_items(text, json));
    std::vector<PullBeat> read;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::string path = fmt::format("items[{}]", i);
      if (items[i]->type != JsonType::object) return json_error(text, items[i]->offset, path, "expected an object");
      JsonFields fields(text, *items[i], path);
      PullBeat one{.tenants = tenants_of(call)};
      TRY_ASSIGN(const std::string id, fields.string("id"));
      TRY_ASSIGN(one.token, fields.integer("token", {0, kTokenMax}));
      TRY(fields.finish());
      one.job = parse_job_id(id).value_or(JobId{});
      ids.push_back(id);
      read.push_back(std::move(one));
    }
    return read;
  }();
  if (!beats) return call.reply->send(refusal(beats.error(), "job"));
  services.host.pulls().extend(*std::move(beats),
                               [reply = call.reply, ids = std::move(ids)](std::vector<Result<BeatAnswer>> answers) {
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
                                 reply->send(json_answer(200, answer.str()));
                               });
}

// ---- Effects ------------------------------------------------------------------------------------------------------

struct EffectBody {
  JobId job;
  std::int64_t token = 0;
  std::string result = "null";
};

Result<EffectBody> read_effect(const RouteCall& call, bool with_result) {
  const std::string& text = call.request.body;
  TRY_ASSIGN(const Json json, parse_json(text));
  if (json.type != JsonType::object) return json_error(text, json.offset, "", "expected an object");
  JsonFields fields(text, json, "");
  EffectBody body;
  TRY_ASSIGN(const std::string id, fields.string("job"));
  TRY_ASSIGN(body.job, id_of(id));
  TRY_ASSIGN(body.token, fields.integer("token", {0, kTokenMax}));
  if (with_result) {
    if (const Json* const result = fields.optional("result")) body.result = json_slice(text, *result);
  }
  TRY(fields.finish());
  return body;
}

Result<HttpResponse> claim_effect(Services& services, const RouteCall& call) {
  TRY_ASSIGN(const EffectBody body, read_effect(call, false));
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
  TRY_ASSIGN(const EffectBody body, read_effect(call, true));
  TRY(services.host.pulls().effect_done(call.tenant(), call.params[1], body.job, body.token, body.result));
  return json_answer(200, "{}");
}

Result<HttpResponse> undo_effect(Services& services, const RouteCall& call) {
  TRY_ASSIGN(const EffectBody body, read_effect(call, false));
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
  JsonObject answer;
  answer.raw("items", items.str()).raw("next_cursor", "null");
  return json_answer(200, answer.str());
}

using Work = Result<HttpResponse> (*)(Services&, const RouteCall&);

}  // namespace

void add_lease_routes(RouteTable& table, Services& services) {
  constexpr std::string_view kGroup = "Workers";
  const auto add = [&](std::string_view path, std::string_view summary, std::string_view body, std::string_view schema,
                       std::function<void(RouteCall)> call) {
    table.push_back({.method = Method::post,
                     .path = path,
                     .needs = Needs::worker,
                     .runs = Runs::on_net,
                     .doc = {.group = kGroup, .summary = summary, .body = body, .answers = {{200, schema}}},
                     .call = std::move(call),
                     .body_max = kSettleBytesMax});
  };
  for (const std::string_view path : {"/v1/tenants/{tenant}/leases", "/v1/leases"}) {
    add(path, "Lease due jobs, waiting for the first up to `wait`.", "LeaseRequest", "LeasedJobs",
        [&services](RouteCall call) { lease(services, std::move(call)); });
  }
  for (const std::string_view path : {"/v1/tenants/{tenant}/leases/settle", "/v1/leases/settle"}) {
    add(path, "Say how many attempts ended.", "SettleRequest", "SettleAnswer",
        [&services](const RouteCall& call) { settle_many(services, call); });
  }
  for (const std::string_view path : {"/v1/tenants/{tenant}/leases/extend", "/v1/leases/extend"}) {
    add(path, "Keep many leases.", "ExtendRequest", "ExtendAnswer",
        [&services](const RouteCall& call) { extend_many(services, call); });
  }
  add("/v1/tenants/{tenant}/jobs/{id}/heartbeat", "Keep a lease, and say how far it is.", "Heartbeat",
      "HeartbeatAnswer", [&services](const RouteCall& call) { beat(services, call); });
  const auto add_word = [&](std::string_view path, std::string_view summary, std::string_view body,
                            std::string_view kind) {
    add(path, summary, body, "WordAnswer", [&services, kind](const RouteCall& call) { say(services, call, kind); });
  };
  add_word("/v1/tenants/{tenant}/jobs/{id}/complete", "The attempt is done.", "Complete", "complete");
  add_word("/v1/tenants/{tenant}/jobs/{id}/fail", "The attempt has failed.", "Fail", "fail");
  add_word("/v1/tenants/{tenant}/jobs/{id}/defer", "Come again later: no failure, no attempt used.", "Defer", "defer");
  add_word("/v1/tenants/{tenant}/jobs/{id}/release", "Put it back as it was.", "Release", "release");

  const auto plain = [&services](std::string_view thing, Work work) {
    return
        [&services, thing, work](const RouteCall& call) { answer(call, thing, [&] { return work(services, call); }); };
  };
  table.push_back({.method = Method::put,
                   .path = "/v1/tenants/{tenant}/effects/{key}",
                   .needs = Needs::worker,
                   .doc = {.group = kGroup,
                           .summary = "Claim an effect that must happen once.",
                           .body = "EffectClaim",
                           .answers = {{200, "EffectAnswer"}}},
                   .call = plain("job", claim_effect)});
  table.push_back(
      {.method = Method::post,
       .path = "/v1/tenants/{tenant}/effects/{key}/done",
       .needs = Needs::worker,
       .doc = {.group = kGroup, .summary = "It has happened.", .body = "EffectDone", .answers = {{200, "Empty"}}},
       .call = plain("effect", finish_effect)});
  table.push_back({.method = Method::post,
                   .path = "/v1/tenants/{tenant}/effects/{key}/undo",
                   .needs = Needs::worker,
                   .doc = {.group = kGroup,
                           .summary = "It surely did not happen.",
                           .body = "EffectClaim",
                           .answers = {{200, "Empty"}}},
                   .call = plain("effect", undo_effect)});
  table.push_back({.method = Method::get,
                   .path = "/v1/tenants/{tenant}/workers",
                   .needs = Needs::read,
                   .doc = {.group = kGroup, .summary = "Workers that ask for jobs.", .answers = {{200, "WorkerList"}}},
                   .call = plain("worker", list_workers),
                   .writes = false});
}

}  // namespace carillon::server
