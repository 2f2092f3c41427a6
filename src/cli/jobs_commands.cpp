#include "cli/jobs_commands.h"

#include <fmt/format.h>

#include "cli/input.h"
#include "cli/listing.h"
#include "core/time/duration.h"

namespace carillon {

namespace {

Cell state_of(const JsonValue& item) { return state_cell(item.at("state").as_string("-")); }

Cell attempts_of(const JsonValue& item) {
  return {.text = fmt::format("{}/{}", item.at("attempt").as_int(), item.at("max_attempts").as_int())};
}

Cell reason_of(const JsonValue& item) {
  const JsonValue error = item.at("last_error");
  if (item.at("state").as_string() == "dlq" && error.is_object()) return {.text = shown_value(error.at("message"))};
  const JsonValue held = item.at("defer_reason");
  return {.text = shown_value(item.at("reason").is_null() ? held : item.at("reason"))};
}

const std::vector<FieldColumn>& job_columns() {
  static const std::vector<FieldColumn> columns{{.title = "ID", .show = field<"id">, .may_be_cut = false},
                                                {.title = "STATE", .show = state_of, .may_be_cut = false},
                                                {.title = "TYPE", .show = field<"type">},
                                                {.title = "QUEUE", .show = field<"queue">},
                                                {.title = "PRIO", .show = field<"priority">, .may_be_cut = false},
                                                {.title = "RUN AT", .show = field<"run_at">, .may_be_cut = false},
                                                {.title = "ATTEMPT", .show = attempts_of, .may_be_cut = false},
                                                {.title = "REASON", .show = reason_of}};
  return columns;
}

const std::vector<FieldColumn>& attempt_columns() {
  static const std::vector<FieldColumn> columns{{.title = "#", .show = field<"number">, .may_be_cut = false},
                                                {.title = "TRIGGER", .show = field<"trigger">},
                                                {.title = "WORKER", .show = field<"worker">},
                                                {.title = "STARTED", .show = field<"started_at">, .may_be_cut = false},
                                                {.title = "MS", .show = field<"duration_ms">, .may_be_cut = false},
                                                {.title = "RESULT", .show = field<"result">, .may_be_cut = false},
                                                {.title = "ERROR", .show = field<"error">}};
  return columns;
}

CliResult<Session::Page> fetch(Session& session, const JobsListRequest& request) {
  TRY_ASSIGN(auto since, read_time("--since", request.since));
  TRY_ASSIGN(auto until, read_time("--until", request.until));
  Query query{{"state", request.state},       {"type", request.type},       {"queue", request.queue},
              {"schedule", request.schedule}, {"subject", request.subject}, {"tag", request.tag},
              {"text", request.text},         {"since", std::move(since)},  {"until", std::move(until)}};
  return session.list(session.tenant_path({"jobs"}), std::move(query), request.paging);
}

}  // namespace

CliResult<Printout> list_jobs(Session& session, const JobsListRequest& request) {
  TRY_ASSIGN(const Session::Page page, fetch(session, request));
  return print_list(session, page, job_columns(), "no jobs");
}

CliResult<Printout> list_dlq(Session& session, JobsListRequest request) {
  request.state = "dlq";
  TRY_ASSIGN(const Session::Page page, fetch(session, request));
  return print_list(session, page, job_columns(), "nothing is parked");
}

CliResult<Printout> show_job(Session& session, const std::string& id, const std::optional<std::string>& wait) {
  ApiRequest request;
  request.path = session.tenant_path({"jobs", id}) + query_text({{"wait", wait}});
  if (wait) {
    TRY_ASSIGN(const Duration duration, as_cli(parse_duration(*wait)));
    request.timeout += std::chrono::ceil<std::chrono::milliseconds>(duration);
  }
  TRY_ASSIGN(const JsonValue job, session.call(request));
  Printout out = print_object(session, job, {"attempts"});
  const JsonValue attempts = job.at("attempts");
  if (session.json() || attempts.size() == 0) return out;
  std::vector<JsonValue> rows;
  for (std::size_t i = 0; i < attempts.size(); ++i) rows.push_back(attempts.at(i));
  out.text += "\n" + render_items(rows, attempt_columns());
  return out;
}

CliResult<Printout> act_on_job(Session& session, const std::string& id, std::string_view action) {
  TRY_ASSIGN(const JsonValue job, session.post(session.tenant_path({"jobs", id, action})));
  const std::string new_id = job.at("id").as_string(id);
  return print_done(session, job, fmt::format("{} {}", new_id, job.at("state").as_string("done")));
}

}  // namespace carillon
