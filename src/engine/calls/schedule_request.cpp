#include "engine/calls/schedule_request.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "core/policies/retry_json.h"

namespace carillon {

namespace {

Result<std::string> trigger_of(const ScheduleRequest& request) {
  JsonArray kinds;
  int given = 0;
  JsonObject trigger;
  const auto kind = [&](bool is_given, std::string_view name) {
    if (!is_given) return false;
    if (++given == 1) trigger.text("kind", name);
    return given == 1;
  };
  if (kind(!request.rrule.empty(), "rrule")) {
    trigger.text("rrule", request.rrule);
    if (!request.start.empty()) trigger.text("start", request.start);
  }
  if (kind(!request.cron.empty(), "cron")) trigger.text("cron", request.cron);
  if (kind(request.every != Duration::zero(), "every")) trigger.text("every", format_duration(request.every));
  if (kind(!request.daily.empty(), "daily")) trigger.text("at", request.daily);
  if (kind(request.once.has_value(), "once")) trigger.text("at", format_instant(*request.once));
  if (kind(!request.after.empty(), "after")) trigger.text("schedule", request.after);
  if (given != 1) {
    return invalid_request(
        fmt::format("schedule {} has {} triggers; exactly one of rrule, cron, every, daily, once, after must be given",
                    quoted(request.name), given));
  }
  return trigger.str();
}

std::string job_of(const ScheduleRequest& request) {
  JsonObject job;
  job.text("type", request.type).text("queue", request.queue).raw("payload", request.payload);
  if (request.priority) job.integer("priority", *request.priority);
  if (request.notifies) job.boolean("notifies", true);
  if (request.retry) job.raw("retry", format_retry_json(*request.retry));
  if (request.max_attempts) job.integer("max_attempts", *request.max_attempts);
  if (request.timeout) job.text("timeout", format_duration(*request.timeout));
  if (!request.limits.empty()) {
    JsonArray limits;
    for (const std::string& limit : request.limits) limits.raw(json_string(limit));
    job.raw("limits", limits.str());
  }
  return job.str();
}

}  // namespace

Result<std::string> definition_of(const ScheduleRequest& request) {
  TRY_ASSIGN(const std::string trigger, trigger_of(request));
  if (auto payload = parse_json(request.payload); !payload) {
    return std::unexpected(with_context("payload", std::move(payload).error()));
  }
  JsonObject definition;
  definition.text("name", request.name).boolean("enabled", request.enabled).raw("trigger", trigger);
  if (!request.timezone.empty()) definition.text("timezone", request.timezone);
  definition.raw("job", job_of(request));
  JsonObject misfire;
  misfire.text("policy", request.misfire);
  definition.raw("misfire", misfire.str()).text("overlap", request.overlap);
  if (request.jitter != Duration::zero()) definition.text("jitter", format_duration(request.jitter));
  return definition.str();
}

}  // namespace carillon
