#include "cli/schedules_commands.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "cli/bulk.h"
#include "cli/input.h"
#include "cli/listing.h"
#include "core/jobs/job.h"
#include "core/triggers/trigger_kind.h"

namespace carillon {

namespace {

Cell enabled_of(const JsonValue& item) {
  if (!item.at("enabled").as_bool(true)) return {.text = "disabled", .colour = Colour::grey};
  if (!item.at("paused_until").is_null()) return {.text = "paused", .colour = Colour::yellow};
  return {.text = "on", .colour = Colour::green};
}

Cell trigger_of(const JsonValue& item) {
  const JsonValue trigger = item.at("trigger");
  const std::string kind = trigger.at("kind").as_string();
  const TriggerKind* const known = find_kind(kind);
  if (known == nullptr || trigger.at(known->shown_field).is_null()) return {.text = kind};
  return {.text = kind + " " + shown_value(trigger.at(known->shown_field))};
}

Cell last_of(const JsonValue& item) { return outcome_cell(item.at("last_outcome").as_string()); }

Cell type_of(const JsonValue& item) { return {.text = shown_value(item.at("job").at("type"))}; }

const std::vector<FieldColumn>& columns() {
  static const std::vector<FieldColumn> all{{.title = "NAME", .show = field<"name">},
                                            {.title = "STATUS", .show = enabled_of, .may_be_cut = false},
                                            {.title = "TRIGGER", .show = trigger_of},
                                            {.title = "ZONE", .show = field<"timezone">},
                                            {.title = "TYPE", .show = type_of},
                                            {.title = "NEXT", .show = field<"next_at">, .may_be_cut = false},
                                            {.title = "LAST", .show = last_of, .may_be_cut = false},
                                            {.title = "ERRORS", .show = field<"error_count">, .may_be_cut = false},
                                            {.title = "LAST ERROR", .show = field<"last_error">}};
  return all;
}

const std::vector<FieldColumn>& preview_columns() {
  static const std::vector<FieldColumn> all{{.title = "LOCAL", .show = field<"local">, .may_be_cut = false},
                                            {.title = "UTC", .show = field<"at">, .may_be_cut = false},
                                            {.title = "CLOCK CHANGE", .show = field<"note">}};
  return all;
}

const std::vector<FieldColumn>& delivery_columns() {
  static const std::vector<FieldColumn> all{{.title = "DAY", .show = field<"day">, .may_be_cut = false},
                                            {.title = "LOCAL", .show = field<"local">, .may_be_cut = false},
                                            {.title = "UTC", .show = field<"at">, .may_be_cut = false},
                                            {.title = "CUTOFF", .show = field<"cutoff">, .may_be_cut = false},
                                            {.title = "CLOCK CHANGE", .show = field<"note">}};
  return all;
}

const std::vector<FieldColumn>& window_columns() {
  static const std::vector<FieldColumn> all{{.title = "WINDOW", .show = field<"window_start">, .may_be_cut = false},
                                            {.title = "UNTIL", .show = field<"window_end">, .may_be_cut = false},
                                            {.title = "DUE", .show = field<"at">, .may_be_cut = false}};
  return all;
}

// By what the first one is of.
const std::vector<FieldColumn>& columns_of(const JsonValue& times) {
  const JsonValue first = times.at(std::size_t{0});
  if (!first.at("day").is_null()) return delivery_columns();
  return first.at("window_start").is_null() ? preview_columns() : window_columns();
}

}  // namespace

CliResult<Printout> list_schedules(Session& session, const Paging& paging) {
  TRY_ASSIGN(const Session::Page page, session.list(session.tenant_path({"schedules"}), {}, paging));
  return print_list(session, page, columns(), "no schedules");
}

CliResult<Printout> put_schedule(Session& session, const SchedulePutRequest& request) {
  const std::string argument = request.file == "-" ? "-" : "@" + request.file;
  TRY_ASSIGN(const std::string text, read_json_argument(request.file, argument));
  TRY_ASSIGN(const JsonValue schedule, as_cli(JsonValue::parse(text)));
  const std::string name = request.name.value_or(schedule.at("name").as_string());
  if (name.empty()) {
    return cli_error(ExitCode::usage, fmt::format("{}: has no \"name\"; give one with --name", quoted(request.file)));
  }
  TRY(as_cli(check_name("schedule", name)));
  ApiRequest call{.method = "PUT", .path = session.tenant_path({"schedules", name}), .body = text};
  if (request.if_match) {
    TRY(as_cli(check_name("--if-match", *request.if_match)));
    call.headers.push_back("If-Match: " + *request.if_match);
  }
  TRY_ASSIGN(const JsonValue answer, session.call(call));
  return print_done(session, answer,
                    fmt::format("{} revision {}, next {}", name, shown_value(answer.at("revision")),
                                shown_value(answer.at("next_at"))));
}

CliResult<Printout> show_schedule(Session& session, const std::string& name) {
  TRY_ASSIGN(const JsonValue schedule, session.get(session.tenant_path({"schedules", name})));
  return print_object(session, schedule);
}

CliResult<Printout> pause_schedule(Session& session, const std::string& name, const std::optional<std::string>& until) {
  TRY_ASSIGN(const auto at, read_time("--until", until));
  JsonObject body;
  if (at) body.text("until", *at);
  TRY_ASSIGN(const JsonValue answer, session.post(session.tenant_path({"schedules", name, "pause"}), body.str()));
  return print_done(session, answer, fmt::format("{} paused{}", name, at ? " until " + *at : ""));
}

CliResult<Printout> resume_schedule(Session& session, const std::string& name) {
  TRY_ASSIGN(const JsonValue answer, session.post(session.tenant_path({"schedules", name, "resume"})));
  return print_done(session, answer, fmt::format("{} resumed, next {}", name, shown_value(answer.at("next_at"))));
}

CliResult<Printout> trigger_schedule(Session& session, const TriggerRequest& request) {
  JsonObject body;
  if (request.subject) body.text("subject", *request.subject);
  if (request.payload) {
    TRY_ASSIGN(const std::string payload, read_json_argument("--payload", *request.payload));
    body.raw("payload", payload);
  }
  if (request.priority) body.integer("priority", *request.priority);
  TRY_ASSIGN(const auto window_start, read_time("--window-start", request.window_start));
  TRY_ASSIGN(const auto window_end, read_time("--window-end", request.window_end));
  if (window_start) body.text("window_start", *window_start);
  if (window_end) body.text("window_end", *window_end);
  TRY_ASSIGN(const JsonValue job,
             session.post(session.tenant_path({"schedules", request.schedule, "trigger"}), body.str()));
  return print_done(session, job, job.at("id").as_string());
}

CliResult<Printout> backfill_schedule(Session& session, const BackfillCommand& request) {
  JsonObject body;
  if (request.subject) body.text("subject", *request.subject);
  TRY_ASSIGN(const auto from, read_time("--from", request.from));
  TRY_ASSIGN(const auto to, read_time("--to", request.to));
  body.text("from", *from).text("to", *to);
  TRY_ASSIGN(const JsonValue bulk,
             session.post(session.tenant_path({"schedules", request.schedule, "backfill"}), body.str()));
  return finish_bulk(session, bulk, {.action = "backfill", .detach = request.detach});
}

CliResult<Printout> delete_schedule(Session& session, const std::string& name) {
  TRY_ASSIGN(const JsonValue answer, session.remove(session.tenant_path({"schedules", name})));
  return print_done(session, answer, name + " deleted");
}

CliResult<Printout> preview_schedule(Session& session, const std::string& name, const std::string& count) {
  return print_preview(session, session.tenant_path({"schedules", name, "preview"}) + query_text({{"count", count}}));
}

CliResult<Printout> print_preview(Session& session, const std::string& path) {
  TRY_ASSIGN(const JsonValue answer, session.get(path));
  if (session.json()) return Printout{.text = std::string(answer.raw()) + "\n"};
  Session::Page page;
  for (std::size_t i = 0; i < answer.at("items").size(); ++i) page.items.push_back(answer.at("items").at(i));
  Printout out = print_list(session, page, columns_of(answer.at("items")), "no more times");
  const std::string still = answer.at("standstill").as_string();
  if (!still.empty()) {
    const std::string until = answer.at("standstill_until").as_string();
    out.text += fmt::format("{}{}: these are the times if it went on now\n", harmless(still),
                            until.empty() ? "" : " until " + harmless(until));
  }
  return out;
}

}  // namespace carillon
