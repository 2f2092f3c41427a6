#include "cli/subjects_commands.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "cli/explain_command.h"
#include "cli/input.h"
#include "cli/listing.h"
#include "cli/schedules_commands.h"
#include "core/jobs/job.h"

namespace carillon {

namespace {

Cell subject_enabled(const JsonValue& item) {
  if (!item.at("enabled").as_bool(true)) return {.text = "disabled", .colour = Colour::grey};
  return {.text = "on", .colour = Colour::green};
}

Cell subject_status(const JsonValue& item) { return outcome_cell(item.at("status").as_string()); }

// Of whatever kind: by when, how far, or how often.
Cell subject_terms(const JsonValue& item) {
  std::string text;
  for (const std::string_view name : {"due", "timezone", "interval", "mode", "cadence_state"}) {
    if (item.at(name).is_null()) continue;
    if (!text.empty()) text += ' ';
    text += shown_value(item.at(name));
  }
  return {.text = text.empty() ? "-" : text, .colour = Colour::none};
}

const std::vector<FieldColumn>& subject_columns() {
  static const std::vector<FieldColumn> all{{.title = "SUBJECT", .show = field<"subject">},
                                            {.title = "ON", .show = subject_enabled, .may_be_cut = false},
                                            {.title = "TERMS", .show = subject_terms},
                                            {.title = "NEXT", .show = field<"next_at">, .may_be_cut = false},
                                            {.title = "LAST", .show = subject_status, .may_be_cut = false},
                                            {.title = "LAST RUN", .show = field<"last_run_at">, .may_be_cut = false},
                                            {.title = "ERRORS", .show = field<"error_count">, .may_be_cut = false}};
  return all;
}

std::string subject_path(const Session& session, const SubjectName& name) {
  return session.tenant_path({"schedules", name.schedule, "subjects", name.subject});
}

CliResult<std::string> body_of_options(const SubjectWrite& request) {
  JsonObject body;
  if (request.enabled || request.disabled) body.boolean("enabled", request.enabled);
  const auto text = [&](std::string_view name, const std::optional<std::string>& value) {
    if (value) body.text(name, *value);
  };
  text("due", request.due);
  text("timezone", request.timezone);
  text("interval", request.interval);
  text("mode", request.mode);
  if (request.priority) body.integer("priority", *request.priority);
  if (!request.limits.empty()) {
    JsonArray limits;
    for (const std::string& limit : request.limits) limits.raw(json_string(limit));
    body.raw("limits", limits.str());
  }
  if (request.payload) {
    TRY_ASSIGN(const std::string payload, read_json_argument("--payload", *request.payload));
    body.raw("payload", payload);
  }
  TRY_ASSIGN(const auto expected_at, read_time("--expected-at", request.expected_at));
  text("expected_at", expected_at);
  TRY_ASSIGN(const auto cursor_end, read_time("--cursor-end", request.cursor_end));
  text("cursor_end", cursor_end);
  return body.str();
}

CliResult<Printout> write_subject(Session& session, const std::string& method, const SubjectWrite& request) {
  TRY_ASSIGN(std::string body, body_of_options(request));
  if (request.body) {
    if (body != "{}") return cli_error(ExitCode::usage, "give the body as JSON, or by the options; not both");
    TRY_ASSIGN(body, read_json_argument("body", *request.body));
  }
  ApiRequest call{.method = method, .path = subject_path(session, request.name), .body = body};
  if (request.if_match) {
    TRY(as_cli(check_name("--if-match", *request.if_match)));
    call.headers.push_back("If-Match: " + *request.if_match);
  }
  TRY_ASSIGN(const JsonValue answer, session.call(call));
  return print_done(
      session, answer,
      fmt::format("{}/{} next {}", request.name.schedule, request.name.subject, shown_value(answer.at("next_at"))));
}

CliResult<JsonValue> change_subject(Session& session, const SubjectName& name, std::string body) {
  return session.call({.method = "PATCH", .path = subject_path(session, name), .body = std::move(body)});
}

}  // namespace

CliResult<Printout> list_subjects(Session& session, const SubjectsListRequest& request) {
  TRY_ASSIGN(const auto due_until, read_time("--due-until", request.due_until));
  Query query{{"prefix", request.prefix}, {"status", request.status}, {"due_until", due_until}};
  if (request.enabled || request.disabled) query.emplace_back("enabled", request.enabled ? "true" : "false");
  TRY_ASSIGN(const Session::Page page,
             session.list(session.tenant_path({"schedules", request.schedule, "subjects"}), query, request.paging));
  return print_list(session, page, subject_columns(), "no subjects");
}

CliResult<Printout> show_subject(Session& session, const SubjectName& name) {
  TRY_ASSIGN(const JsonValue subject, session.get(subject_path(session, name)));
  return print_object(session, subject);
}

CliResult<Printout> put_subject(Session& session, const SubjectWrite& request) {
  return write_subject(session, "PUT", request);
}

CliResult<Printout> patch_subject(Session& session, const SubjectWrite& request) {
  return write_subject(session, "PATCH", request);
}

CliResult<Printout> pause_subject(Session& session, const SubjectName& name) {
  TRY_ASSIGN(const JsonValue answer, change_subject(session, name, R"({"enabled":false})"));
  return print_done(session, answer, fmt::format("{}/{} paused", name.schedule, name.subject));
}

CliResult<Printout> resume_subject(Session& session, const SubjectName& name) {
  TRY_ASSIGN(const JsonValue answer, change_subject(session, name, R"({"enabled":true})"));
  return print_done(
      session, answer,
      fmt::format("{}/{} resumed, next {}", name.schedule, name.subject, shown_value(answer.at("next_at"))));
}

CliResult<Printout> delete_subject(Session& session, const SubjectName& name) {
  TRY_ASSIGN(const JsonValue answer, session.remove(subject_path(session, name)));
  return print_done(session, answer, fmt::format("{}/{} deleted", name.schedule, name.subject));
}

CliResult<Printout> explain_subject(Session& session, const SubjectName& name) {
  return explain(session, name.schedule + "/" + name.subject);
}

CliResult<Printout> preview_subject(Session& session, const SubjectName& name, const std::string& count) {
  return print_preview(session, subject_path(session, name) + "/preview" + query_text({{"count", count}}));
}

}  // namespace carillon
