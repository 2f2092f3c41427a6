#include "cli/queues_commands.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "cli/listing.h"

namespace carillon {

namespace {

template <FieldName kState>
Cell count_of(const JsonValue& item) {
  return {.text = shown_value(item.at("counts").at(std::string_view(kState.value)))};
}

Cell paused_of(const JsonValue& item) {
  return item.at("paused").as_bool() ? Cell{.text = "paused", .colour = Colour::yellow} : Cell{.text = "-"};
}

const std::vector<FieldColumn>& queue_columns() {
  static const std::vector<FieldColumn> all{{.title = "QUEUE", .show = field<"queue">},
                                            {.title = "PAUSED", .show = paused_of},
                                            {.title = "MAX", .show = field<"max_concurrency">},
                                            {.title = "QUEUED", .show = count_of<"queued">},
                                            {.title = "PROCESSING", .show = count_of<"processing">},
                                            {.title = "DLQ", .show = count_of<"dlq">}};
  return all;
}

const std::vector<FieldColumn>& limit_columns() {
  static const std::vector<FieldColumn> all{{.title = "LIMIT", .show = field<"limit">},
                                            {.title = "RATE", .show = field<"rate">},
                                            {.title = "PER", .show = field<"per">},
                                            {.title = "BURST", .show = field<"burst">},
                                            {.title = "CONCURRENCY", .show = field<"concurrency">}};
  return all;
}

std::string limit_path(const Session& session, const LimitRequest& request) {
  return request.global ? Session::path({"limits", request.name}) : session.tenant_path({"limits", request.name});
}

}  // namespace

CliResult<Printout> list_queues(Session& session) {
  TRY_ASSIGN(const Session::Page page, session.list(session.tenant_path({"queues"}), {}, {}));
  return print_list(session, page, queue_columns(), "no queues");
}

CliResult<Printout> change_queue(Session& session, const QueueChange& change) {
  JsonObject body;
  if (change.max_concurrency) {
    const std::string& cap = *change.max_concurrency;
    const bool is_number = !cap.empty() && cap.find_first_not_of("0123456789") == std::string::npos && cap[0] != '0';
    if (!is_number && cap != "none") {
      return cli_error(ExitCode::usage,
                       fmt::format("--max-concurrency {}: must be a number from 1 on, or none", quoted(cap)));
    }
    body.raw("max_concurrency", is_number ? cap : "null");
  }
  if (change.paused) body.boolean("paused", *change.paused);
  if (body.empty()) return cli_error(ExitCode::usage, "nothing to change; give --max-concurrency N or none");
  TRY_ASSIGN(const JsonValue answer, session.put(session.tenant_path({"queues", change.queue}), body.str()));
  const bool only_pauses = change.paused && !change.max_concurrency;
  if (!only_pauses) return print_object(session, answer);
  return print_done(session, answer, fmt::format("{} {}", change.queue, *change.paused ? "paused" : "resumed"));
}

CliResult<Printout> list_limits(Session& session, const Paging& paging, bool global) {
  const std::string path = global ? Session::path({"limits"}) : session.tenant_path({"limits"});
  TRY_ASSIGN(const Session::Page page, session.list(path, {}, paging));
  return print_list(session, page, limit_columns(), "no limits");
}

CliResult<Printout> show_limit(Session& session, const LimitRequest& request) {
  TRY_ASSIGN(const JsonValue limit, session.get(limit_path(session, request)));
  return print_object(session, limit);
}

CliResult<Printout> put_limit(Session& session, const LimitRequest& request) {
  JsonObject body;
  if (request.rate) body.raw("rate", fmt::to_string(*request.rate));
  if (request.per) body.text("per", *request.per);
  if (request.burst) body.raw("burst", fmt::to_string(*request.burst));
  if (request.concurrency) body.integer("concurrency", *request.concurrency);
  TRY_ASSIGN(const JsonValue limit, session.put(limit_path(session, request), body.str()));
  return print_object(session, limit);
}

CliResult<Printout> delete_limit(Session& session, const LimitRequest& request) {
  TRY_ASSIGN(const JsonValue answer, session.remove(limit_path(session, request)));
  return print_done(session, answer, request.name + " deleted");
}

}  // namespace carillon
