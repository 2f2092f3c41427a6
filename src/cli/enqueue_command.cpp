#include "cli/enqueue_command.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "cli/input.h"

namespace carillon {

namespace {

void put(JsonObject& body, std::string_view name, const std::optional<std::string>& text) {
  if (text) body.text(name, *text);
}

void put(JsonObject& body, std::string_view name, const std::optional<int>& number) {
  if (number) body.integer(name, *number);
}

void put(JsonObject& body, std::string_view name, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  JsonArray list;
  for (const std::string& text : texts) list.raw(json_string(text));
  body.raw(name, list.str());
}

}  // namespace

CliResult<Printout> enqueue(Session& session, const EnqueueRequest& request, bool whole_job) {
  JsonObject body;
  body.text("type", request.type);
  if (request.payload) {
    TRY_ASSIGN(const std::string payload, read_json_argument("--payload", *request.payload));
    body.raw("payload", payload);
  }
  put(body, "queue", request.queue);
  put(body, "priority", request.priority);
  TRY_ASSIGN(const auto run_at, read_time("--at", request.at));
  put(body, "run_at", run_at);
  put(body, "delay", request.in);
  put(body, "idempotency_key", request.key);
  put(body, "max_attempts", request.max_attempts);
  put(body, "timeout", request.timeout);
  TRY_ASSIGN(const auto deadline, read_time("--deadline", request.deadline));
  put(body, "deadline", deadline);
  put(body, "subject", request.subject);
  put(body, "depends_on", request.depends_on);
  put(body, "tags", request.tags);
  put(body, "limits", request.limits);

  TRY_ASSIGN(const JsonValue job, session.post(session.tenant_path({"jobs"}), body.str()));
  if (whole_job) return Printout{.text = std::string(job.raw()) + "\n"};
  return Printout{.text = job.at("id").as_string() + "\n"};
}

}  // namespace carillon
