#include "server/api/event_text.h"

#include <fmt/format.h>

#include <variant>

#include "base/json_writer.h"
#include "core/jobs/job_id.h"

namespace carillon::server {

namespace {

constexpr std::string_view kLostName = "events.lost";

// The event log's line; a job that changed is named beside it, where those look who follow jobs alone.
std::string data_of(const Event& event) {
  std::string line = to_json_line(event);
  const auto* const changed = std::get_if<JobChanged>(&event.body);
  if (changed == nullptr) return line;
  JsonObject job;
  job.text("id", format_job_id(changed->job)).text("tenant", changed->tenant).text("state", to_string(changed->state));
  line.pop_back();
  return line + "," + job.str().substr(1);
}

std::string framed(std::string_view name, std::string_view data) {
  return fmt::format("event: {}\ndata: {}\n\n", name, data);
}

std::string one_text(const Event& event) { return framed(name_of(event), data_of(event)); }

}  // namespace

std::string_view tenant_of(const Event& event) {
  return std::visit(
      [](const auto& body) -> std::string_view {
        if constexpr (requires { body.tenant; }) {
          return body.tenant;
        } else {
          return {};
        }
      },
      event.body);
}

std::string stream_text(const Event& event) {
  std::string text = one_text(event);
  if (const auto* const picked = std::get_if<JobPicked>(&event.body)) {
    text += one_text({.at = event.at,
                      .body = JobChanged{.job = picked->job, .tenant = picked->tenant, .state = JobState::processing}});
  }
  return text;
}

std::string lost_text(Instant at) {
  JsonObject line;
  line.text("event", kLostName).text("at", format_instant(at)).raw("measurements", "{}").raw("metadata", "{}");
  return framed(kLostName, line.str());
}

}  // namespace carillon::server
