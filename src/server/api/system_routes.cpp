// The process itself: health, status, metrics, events, previews, the reference and the plain page.
#include <carillon/version.h>
#include <fmt/format.h>

#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "base/json.h"
#include "base/json_writer.h"
#include "core/jobs/job_fields.h"
#include "core/schedules/schedule.h"
#include "core/triggers/preview.h"
#include "engine/commands/operations.h"
#include "server/api/openapi.h"
#include "server/api/page.h"
#include "server/api/pull_body.h"
#include "server/api/query_fields.h"
#include "server/api/readiness.h"
#include "server/api/services.h"

namespace carillon::server {

namespace {

constexpr std::int64_t kPreviewDefault = 10;
constexpr std::int64_t kPreviewMost = 1000;
constexpr std::chrono::milliseconds kPatience = std::chrono::seconds(2);
constexpr std::string_view kStreamRetrySeconds = "5";

Result<HttpResponse> health(Services& /*services*/, const RouteCall& /*call*/) {
  return json_answer(200, R"({"status":"ok"})");
}

// For everybody: whether it is, and nothing of why not.
HttpResponse ready(ReadinessCheck& check) {
  if (check.look().is_ready()) return json_answer(200, R"({"status":"ready"})");
  return refusal(503, "not_ready", "the server is not ready");
}

Result<HttpResponse> readiness_of(ReadinessCheck& check, const RouteCall& call) {
  TRY(QueryFields(call.request).finish());
  const Readiness readiness = check.look();
  if (readiness.is_ready()) {
    JsonObject answer;
    answer.text("status", "ready").boolean("loaded", readiness.loaded).raw("checks", checks_json(readiness));
    return json_answer(200, answer.str());
  }
  JsonObject details;
  details.raw("checks", checks_json(readiness));
  const bool is_store = readiness.store && !readiness.planner;
  return refusal(503, is_store ? "store_unavailable" : "not_ready", readiness.message(), details.str());
}

std::int64_t number(std::uint64_t value) { return static_cast<std::int64_t>(value); }

// Of these tenants, over all queues.
Result<std::string> counts_json(Services& services, const TenantSet& tenants) {
  std::map<JobState, std::int64_t> counts;
  for (const JobState state : {JobState::waiting, JobState::queued, JobState::processing, JobState::dlq}) {
    counts[state] = 0;
  }
  for (const std::string& tenant : services.tenants.all()) {
    if (!tenants.has(tenant)) continue;
    TRY_ASSIGN(const std::vector<StateCount> of_tenant, services.queries().counts(tenant));
    for (const StateCount& count : of_tenant) counts[count.state] += count.count;
  }
  JsonObject out;
  for (const auto& [state, count] : counts) out.integer(to_string(state), count);
  return out.str();
}

// What the engine says of itself, or of these tenants alone.
Result<NodeLevels> levels_of(EngineHost& host, const TenantSet& tenants) {
  command::ReadLevels levels;
  if (!tenants.is_all()) levels.tenants = tenants.names();
  const auto asked = host.commands().ask_within(std::move(levels), kPatience);
  if (!asked) return failed(ErrorCode::unavailable, "the engine has not answered in time");
  return *asked;
}

JsonObject totals_json(const Counters& counters) {
  JsonObject totals;
  totals.integer("picked", number(counters.picked)).integer("succeeded", number(counters.succeeded));
  totals.integer("failed", number(counters.failed)).integer("deferred", number(counters.deferred));
  totals.integer("dlq", number(counters.dlq)).integer("stalled", number(counters.stalled));
  totals.integer("missed", number(counters.missed));
  return totals;
}

std::string all_totals_json(const Counters& counters) {
  JsonObject totals = totals_json(counters);
  totals.integer("store_failures", number(counters.store_failures));
  totals.integer("swept", number(counters.swept)).integer("repaired", number(counters.repaired));
  return totals.str();
}

// A key of some tenants is told of these alone: how busy the server is, and what else it does, is not theirs to know.
Result<HttpResponse> status(Services& services, const RouteCall& call) {
  TRY(QueryFields(call.request).finish());
  const TenantSet& tenants = call.reach.tenants();
  const auto asked = levels_of(services.host, tenants);
  if (!asked) return refusal(503, "not_ready", asked.error().message);
  const NodeLevels& levels = *asked;
  TRY_ASSIGN(const std::string counts, counts_json(services, tenants));
  std::string totals = "null";
  if (tenants.is_all()) {
    totals = all_totals_json(services.host.counters());
  } else if (const auto own = services.totals_of(tenants.names())) {
    totals = totals_json(*own).str();
  }
  const Instant now = services.now();
  JsonObject lag;
  lag.raw("planner", tenants.is_all() ? json_string(format_duration(levels.planner_lag)) : "null");
  lag.raw("oldest_due", levels.oldest_due
                            ? json_string(format_duration(std::max(Duration::zero(), now - *levels.oldest_due)))
                            : "null");
  const auto uptime = std::chrono::steady_clock::now() - services.began;
  JsonObject answer;
  answer.text("version", version()).text("now", format_instant(now));
  answer.text("uptime", format_duration(std::chrono::duration_cast<Duration>(uptime)));
  answer.text("store", services.store_kind).boolean("enabled", services.queries().rules().is_enabled());
  answer.boolean("loaded", levels.loaded).integer("ready", number(levels.ready));
  answer.integer("in_flight", number(levels.in_flight));
  answer.raw("max_concurrency", tenants.is_all() ? std::to_string(levels.max_concurrency) : "null");
  answer.integer("leases", number(levels.leases));
  answer.integer("workers", std::ssize(services.host.pulls().workers(engine_list(tenants))));
  answer.raw("lag", lag.str()).raw("counts", counts).raw("totals", totals);
  return json_answer(200, answer.str());
}

Result<HttpResponse> metrics(Services& services, const RouteCall& /*call*/) {
  return HttpResponse{.type = "text/plain; version=0.0.4", .body = services.metrics()};
}

template <typename T>
Result<T> about(std::string_view field, Result<T> result) {
  if (!result) return std::unexpected(about_field(field, std::move(result).error()));
  return result;
}

// What a schedule of his without a zone would go by: his tenant's, or where he has several, that of the configuration.
Zone zone_of_caller(Services& services, const Caller& caller) {
  const std::vector<std::string> tenants =
      caller.tenants.is_all() ? std::vector<std::string>() : caller.tenants.names();
  return services.queries().rules().zone_of(tenants.size() == 1 ? tenants.front() : std::string());
}

Result<HttpResponse> preview_trigger(Services& services, const RouteCall& call) {
  const std::string& text = call.request.body;
  TRY_ASSIGN(const Json json, parse_json_object(text));
  static constexpr auto kFields = field_names("trigger", "timezone", "from", "count", "dst");
  TRY_ASSIGN(const JsonFields fields, JsonFields::of(text, json, "", kFields));
  const Json* const trigger = fields.optional("trigger");
  if (trigger == nullptr) return fields.missing("trigger", "an object like {\"kind\": \"daily\", \"at\": \"08:00\"}");
  Schedule schedule{.name = "preview"};
  if (trigger->type == JsonType::string) {
    TRY_ASSIGN(schedule.trigger, about("trigger", parse_trigger_text(trigger->text)));
  } else {
    TRY_ASSIGN(schedule.trigger, parse_trigger_json(text, *trigger, "trigger"));
  }
  TRY_ASSIGN(const Json* const timezone, fields.optional("timezone", JsonType::string));
  Zone zone = zone_of_caller(services, call.caller);
  if (timezone != nullptr) {
    TRY_ASSIGN(zone, about("timezone", Zone::load(timezone->text)));
  }
  Instant from = services.now();
  if (const Json* const given = fields.optional("from")) {
    TRY_ASSIGN(from, read_json_instant(text, *given, "from"));
  }
  std::int64_t count = kPreviewDefault;
  if (fields.has("count")) {
    TRY_ASSIGN(count, fields.integer("count", {1, kPreviewMost}));
  }
  TRY_ASSIGN(const Json* const dst, fields.optional("dst", JsonType::object));
  if (dst != nullptr) {
    TRY_ASSIGN(schedule.dst, read_dst_json(text, *dst, "dst"));
  }
  if (!has_times(schedule)) {
    return about("trigger", Result<HttpResponse>(invalid_configuration("the trigger after has no times of its own")));
  }
  TRY_ASSIGN(const std::vector<PreviewItem> times,
             about("trigger", preview(schedule.trigger, {.zone = zone, .dst = schedule.dst, .created_at = from}, from,
                                      static_cast<std::size_t>(count))));
  JsonArray items;
  for (const PreviewItem& item : times) items.raw(to_json(item, zone));
  JsonObject answer;
  answer.raw("items", items.str());
  return json_answer(200, answer.str());
}

void events(Services& services, const RouteCall& call) {
  if (const auto finished = QueryFields(call.request).finish(); !finished) {
    return call.reply->send(refusal(finished.error(), "event"));
  }
  const EventHub::Room room = services.events.add(call.caller, [&call] {
    HttpResponse head{.type = "text/event-stream"};
    head.headers.push_back({.name = "cache-control", .value = "no-store"});
    return call.reply->stream(std::move(head));
  });
  if (room == EventHub::Room::found) return;
  const EventHub::Options& bounds = services.events.options();
  const bool by_key = room == EventHub::Room::key_has_enough;
  HttpResponse refused =
      refusal(429, "too_many_streams",
              fmt::format("{} streams of events are open{}, as many as are allowed",
                          by_key ? bounds.streams_of_key : bounds.streams_max, by_key ? " with this key" : ""));
  refused.headers.push_back({.name = "retry-after", .value = std::string(kStreamRetrySeconds)});
  call.reply->send(std::move(refused));
}

HttpResponse html(std::string body) {
  HttpResponse response{.type = "text/html; charset=utf-8", .body = std::move(body)};
  response.headers.push_back({.name = "content-security-policy",
                              .value = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
                                       "img-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'"});
  response.headers.push_back({.name = "referrer-policy", .value = "no-referrer"});
  return response;
}

using Work = Result<HttpResponse> (*)(Services&, const RouteCall&);

}  // namespace

void add_system_routes(RouteTable& table, Services& services) {
  const auto add = [&](Method method, std::string_view path, About about, Needs needs, Runs runs, RouteDoc doc,
                       Work work) {
    doc.group = "System";
    table.push_back(
        {.method = method,
         .path = path,
         .about = about,
         .needs = needs,
         .runs = runs,
         .doc = std::move(doc),
         .call = [&services,
                  work](const RouteCall& call) { answer(call, "thing", [&] { return work(services, call); }); },
         .writes = false});
  };
  add(Method::get, "/healthz", About::nothing, Needs::nothing, Runs::on_net,
      {.summary = "The process answers.", .answers = {{200, "Health"}}}, health);
  table.back().is_vital = true;
  const auto check = std::make_shared<ReadinessCheck>(services.host);
  table.push_back({.method = Method::get,
                   .path = "/readyz",
                   .about = About::nothing,
                   .needs = Needs::nothing,
                   .runs = Runs::in_pool,
                   .doc = {.group = "System",
                           .summary = "Whether the server can do its work; 200 or 503, and nothing more.",
                           .answers = {{200, "Ready"}},
                           .errors = {{503, "not_ready"}}},
                   .call = [check](const RouteCall& call) { call.reply->send(ready(*check)); },
                   .writes = false,
                   .is_vital = true});
  table.push_back(
      {.method = Method::get,
       .path = "/v1/readiness",
       .about = About::server,
       .needs = Needs::read,
       .runs = Runs::in_pool,
       .doc = {.group = "System",
               .summary = "The store takes writes, the planner is alive and not behind; else 503 says which.",
               .answers = {{200, "Readiness"}},
               .errors = {{503, "not_ready"}, {503, "store_unavailable"}}},
       .call = [check](const RouteCall& call) { answer(call, "thing", [&] { return readiness_of(*check, call); }); },
       .writes = false,
       .is_vital = true});
  add(Method::get, "/v1/status", About::key_tenants, Needs::read, Runs::in_pool,
      {.summary =
           "What waits, what runs, how late it is, and totals since the start. A key of some tenants gets its own; "
           "what is the whole server's is null.",
       .answers = {{200, "Status"}}},
      status);
  add(Method::get, "/metrics", About::server, Needs::read, Runs::in_pool,
      {.summary = "Metrics in the text format of Prometheus.", .answers = {{200, "Text"}}}, metrics);
  add(Method::post, "/v1/preview", About::nothing, Needs::read, Runs::in_pool,
      {.summary = "The next times of a trigger.",
       .body = "PreviewRequest",
       .answers = {{200, "Preview"}},
       .errors = {{422, "invalid_configuration"}}},
      preview_trigger);
  table.push_back(
      {.method = Method::get,
       .path = "/v1/events",
       .about = About::key_tenants,
       .needs = Needs::read,
       .runs = Runs::on_net,
       .doc = {.group = "System",
               .summary = "Events as they happen (SSE). A stream that was not told all is told events.lost.",
               .answers = {{200, "Text"}},
               .errors = {{429, "too_many_streams"}}},
       .call = [&services](const RouteCall& call) { events(services, call); },
       .writes = false,
       .lasts = true});
  table.push_back(
      {.method = Method::get,
       .path = "/openapi.json",
       .about = About::nothing,
       .needs = Needs::read,
       .runs = Runs::on_net,
       .doc = {.group = "System", .summary = "This reference as OpenAPI 3.1.", .answers = {{200, "Object"}}},
       // Written once, when it is first asked for: the table is whole by then, and the net thread has other calls.
       .call =
           [&table, text = std::make_shared<std::string>()](const RouteCall& call) {
             if (text->empty()) *text = openapi_of(table);
             call.reply->send(json_answer(200, *text));
           },
       .writes = false});
  for (const std::string_view path : {"/", "/page.css", "/page.js"}) {
    table.push_back({.method = Method::get,
                     .path = path,
                     .about = About::nothing,
                     .needs = Needs::nothing,
                     .runs = Runs::on_net,
                     .doc = {.group = "System", .summary = "The page.", .answers = {{200, "Text"}}},
                     .call =
                         [path](const RouteCall& call) {
                           if (path == "/") return call.reply->send(html(std::string(page_html())));
                           const bool is_css = path == "/page.css";
                           HttpResponse file{.type = is_css ? "text/css" : "text/javascript",
                                             .body = std::string(is_css ? page_css() : page_js())};
                           file.headers.push_back({.name = "cache-control", .value = "no-cache"});
                           call.reply->send(std::move(file));
                         },
                     .writes = false});
  }
}

}  // namespace carillon::server
