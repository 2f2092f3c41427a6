#include "server/api/schedule_json.h"

#include <optional>
#include <string_view>

#include "base/json.h"
#include "base/json_writer.h"
#include "core/jobs/job_fields.h"
#include "core/jobs/job_id.h"
#include "core/jobs/json_members.h"

namespace carillon::server {

namespace {

constexpr std::size_t kDateLength = 10;  // 2026-03-29

std::string gaps_json(const std::vector<WindowGap>& gaps) {
  JsonArray array;
  for (const WindowGap& gap : gaps) {
    JsonObject object;
    put(object, "start", gap.start);
    put(object, "end", gap.end);
    object.text("outcome", gap.outcome);
    put(object, "reason", gap.reason);
    put(object, "job_id", gap.job ? format_job_id(gap.job) : std::string());
    array.raw(object.str());
  }
  return array.str();
}

// What a subject says otherwise than its schedule; null: nothing.
void put_overrides(JsonObject& object, const std::string& overrides) {
  const auto json = parse_json(overrides);
  for (const std::string_view name :
       {"due", "timezone", "start", "interval", "mode", "priority", "limits", "payload"}) {
    const Json* const said = json ? json->find(name) : nullptr;
    object.raw(name, said == nullptr ? "null" : json_slice(overrides, *said));
  }
}

void put_state(JsonObject& object, const SubjectInfo& info) {
  object.integer("attempts", info.attempts);
  put(object, "next_at", info.next_at);
  put(object, "open_job", info.open_job ? format_job_id(info.open_job) : std::string());
  // Slots of other kinds are instants, which belong to no day.
  put(object, "last_date", info.last_slot.size() == kDateLength ? info.last_slot : std::string());
  put(object, "status", info.status);
  put(object, "last_run_at", info.last_run_at);
  put(object, "cursor_end", info.cursor_end);
  put(object, "planned_end", info.planned_end);
  object.raw("gaps", gaps_json(info.gaps));
  put(object, "expected_at", info.expected_at);
  put(object, "cadence_state", info.cadence_state);
  put(object, "last_status", info.last_status);
  put(object, "last_checked_at", info.last_checked_at);
  put(object, "last_available_at", info.last_available_at);
  object.integer("error_count", info.error_count);
  put(object, "last_error", info.last_error);
}

std::string state_json(const std::optional<SubjectInfo>& state) {
  if (!state) return "null";
  JsonObject object;
  put_state(object, *state);
  return object.str();
}

std::string replanning_json(const ScheduleInfo& info) {
  if (!info.replanned) return "null";
  JsonObject object;
  object.integer("done", *info.replanned).integer("total", info.subjects);
  return object.str();
}

}  // namespace

std::string to_json(const ScheduleInfo& info) {
  JsonObject standing;
  const auto definition = parse_json(info.definition);
  if (!definition || definition->find("fan_out") == nullptr) standing.boolean("fan_out", info.fan_out);
  standing.integer("revision", info.revision);
  put(standing, "paused_until", info.paused_until);
  put(standing, "next_at", info.next_at);
  put(standing, "last_outcome", info.last_outcome);
  standing.integer("error_count", info.error_count);
  put(standing, "last_error", info.last_error);
  standing.raw("subjects", info.fan_out ? std::to_string(info.subjects) : "null");
  JsonArray missing;
  for (const std::string& limit : info.missing_limits) missing.raw(json_string(limit));
  standing.raw("missing_limits", missing.str());
  standing.raw("replanning", replanning_json(info)).raw("state", state_json(info.state));
  put(standing, "created_at", info.created_at);
  put(standing, "updated_at", info.updated_at);
  std::string whole = info.definition;
  whole.pop_back();
  return whole + "," + standing.str().substr(1);
}

std::string to_json(const SubjectInfo& info) {
  JsonObject object;
  object.text("subject", info.subject).boolean("enabled", info.enabled);
  put_overrides(object, info.overrides);
  put_state(object, info);
  return object.str();
}

std::string to_json(const Preview& preview) {
  JsonArray items;
  for (const PreviewTime& time : preview.times) {
    JsonObject item;
    put(item, "at", time.at);
    put(item, "local", time.local);
    put(item, "note", time.note);
    if (!time.day.empty()) {
      item.text("day", time.day);
      put(item, "cutoff", time.cutoff);
    } else if (time.window_start) {
      put(item, "window_start", time.window_start);
      put(item, "window_end", time.window_end);
    }
    items.raw(item.str());
  }
  JsonObject answer;
  answer.raw("items", items.str());
  put(answer, "standstill", preview.standstill);
  put(answer, "standstill_until", preview.standstill_until);
  return answer.str();
}

}  // namespace carillon::server
