#include "cli/schedules_commands.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "cli/input.h"
#include "cli/listing.h"
#include "core/job.h"

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
  for (const std::string_view detail : {"cron", "rrule", "every", "at", "schedule"}) {
    if (!trigger.at(detail).is_null()) return {.text = kind + " " + shown_value(trigger.at(detail))};
  }
  return {.text = kind};
}

Cell type_of(const JsonValue& item) { return {.text = shown_value(item.at("job").at("type"))}; }

const std::vector<FieldColumn>& columns() {
  static const std::vector<FieldColumn> all{{.title = "NAME", .show = field<"name">},
                                            {.title = "STATUS", .show = enabled_of, .may_be_cut = false},
                                            {.title = "TRIGGER", .show = trigger_of},
                                            {.title = "ZONE", .show = field<"timezone">},
                                            {.title = "TYPE", .show = type_of},
                                            {.title = "NEXT", .show = field<"next_at">, .may_be_cut = false},
                                            {.title = "LAST", .show = field<"last_outcome">}};
  return all;
}

const std::vector<FieldColumn>& preview_columns() {
  static const std::vector<FieldColumn> all{{.title = "LOCAL", .show = field<"local">, .may_be_cut = false},
                                            {.title = "UTC", .show = field<"at">, .may_be_cut = false},
                                            {.title = "CLOCK CHANGE", .show = field<"note">}};
  return all;
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

CliResult<Printout> trigger_schedule(Session& session, const ScheduleTriggerRequest& request) {
  JsonObject body;
  if (request.subject) body.text("subject", *request.subject);
  if (request.payload) {
    TRY_ASSIGN(const std::string payload, read_json_argument("--payload", *request.payload));
    body.raw("payload", payload);
  }
  if (request.priority) body.integer("priority", *request.priority);
  TRY_ASSIGN(const JsonValue job,
             session.post(session.tenant_path({"schedules", request.name, "trigger"}), body.str()));
  return print_done(session, job, job.at("id").as_string());
}

CliResult<Printout> delete_schedule(Session& session, const std::string& name) {
  TRY_ASSIGN(const JsonValue answer, session.remove(session.tenant_path({"schedules", name})));
  return print_done(session, answer, name + " deleted");
}

CliResult<Printout> preview_schedule(Session& session, const std::string& name, const std::string& count) {
  const std::string path = session.tenant_path({"schedules", name, "preview"}) + query_text({{"count", count}});
  TRY_ASSIGN(const JsonValue answer, session.get(path));
  if (session.json()) return Printout{.text = std::string(answer.raw()) + "\n"};
  Session::Page page;
  for (std::size_t i = 0; i < answer.at("items").size(); ++i) page.items.push_back(answer.at("items").at(i));
  return print_list(session, page, preview_columns(), "no more times");
}

}  // namespace carillon
