// The clock of a rehearsal: where it is, and moving it.
#include <fmt/format.h>

#include <utility>

#include "base/json.h"
#include "base/json_writer.h"
#include "core/jobs/job_fields.h"
#include "core/settings/audit_detail.h"
#include "core/triggers/trigger.h"
#include "engine/commands/documents.h"
#include "server/api/query_fields.h"
#include "server/api/services.h"

namespace carillon::server {

namespace {

std::unexpected<Error> not_rehearsing() {
  return failed(ErrorCode::conflict,
                "this server does not rehearse: its clock is the machine's; start one with --clock START@SPEED");
}

std::string now_json(Instant now) {
  JsonObject answer;
  answer.text("now", format_instant(now));
  return answer.str();
}

Result<HttpResponse> get_clock(Services& services, const RouteCall& call) {
  TRY(QueryFields(call.request).finish());
  if (services.rehearsal == nullptr) return not_rehearsing();
  JsonObject answer;
  answer.text("now", format_instant(services.now()));
  answer.raw("speed", fmt::format("{}", services.rehearsal->clock().speed()));
  return json_answer(200, answer.str());
}

Result<Rehearsal::Move> read_move(const std::string& text) {
  TRY_ASSIGN(const Json json, parse_json_object(text));
  static constexpr auto kFields = field_names("advance", "to", "jump");
  TRY_ASSIGN(JsonFields fields, JsonFields::of(text, json, "", kFields));
  Rehearsal::Move move;
  TRY_ASSIGN(const std::optional<Duration> by, read_duration_field(text, fields, "advance"));
  const Json* const to = fields.optional("to");
  if (by.has_value() == (to != nullptr)) {
    return invalid_field("advance", "give one of advance (a duration like \"1h\") and to (an instant)");
  }
  if (by) {
    move.to = *by;
  } else {
    TRY_ASSIGN(move.to, read_json_instant(text, *to, "to"));
  }
  TRY_ASSIGN(const Json* const jump, fields.optional("jump", JsonType::boolean));
  move.jump = jump != nullptr && jump->boolean;
  return move;
}

// Who moved it, and how far. A move that led nowhere leaves nothing.
void note_move(EngineHost& host, const std::string& actor, Instant from, Instant to,
               std::function<void(Result<void>)> done) {
  JsonObject before;
  before.text("now", format_instant(from));
  JsonObject after;
  after.text("now", format_instant(to));
  const auto detail = changed_fields(before.str(), after.str());
  if (!detail) return done({});
  host.commands().submit(
      command::AppendAudit{.word = {.tenant = {}, .actor = actor, .action = "clock.move", .target = "clock"},
                           .detail = *detail},
      std::move(done));
}

void move_clock(Services& services, const RouteCall& call) {
  if (services.rehearsal == nullptr) return call.reply->send(refusal(not_rehearsing().error(), "clock"));
  auto move = read_move(call.request.body);
  if (!move) return call.reply->send(refusal(move.error(), "clock"));
  EngineHost& host = services.host;
  services.rehearsal->move(*move, [&host, from = services.now(), actor = call.caller.actor(),
                                   reply = call.reply](const Result<Instant>& now) {
    if (!now) return reply->send(refusal(now.error(), "clock"));
    note_move(host, actor, from, *now, [reply, to = *now](const Result<void>& noted) {
      reply->send(noted ? json_answer(200, now_json(to)) : refusal(noted.error(), "clock"));
    });
  });
  host.wake();
}

}  // namespace

void add_clock_routes(RouteTable& table, Services& services) {
  table.push_back(
      {.method = Method::get,
       .path = "/v1/clock",
       .about = About::nothing,
       .needs = Needs::read,
       .runs = Runs::in_pool,
       .doc = {.group = "Rehearsal",
               .summary = "Where the clock of a rehearsal is, and how fast it runs.",
               .answers = {{200, "Clock"}},
               .errors = {{409, "conflict"}}},
       .call = [&services](const RouteCall& call) { answer(call, "clock", [&] { return get_clock(services, call); }); },
       .writes = false});
  table.push_back(
      {.method = Method::post,
       .path = "/v1/clock",
       .about = About::server,
       .needs = Needs::admin,
       .runs = Runs::on_net,
       .doc = {.group = "Rehearsal",
               .summary = "Move the clock of a rehearsal; answers when all that was due on the way is done.",
               .body = "ClockMove",
               .answers = {{200, "ClockNow"}},
               .errors = {{409, "conflict"}}},
       .call = [&services](const RouteCall& call) { move_clock(services, call); },
       .writes = false});
}

}  // namespace carillon::server
