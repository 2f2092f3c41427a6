// The client's half about schedules.
#include <algorithm>
#include <iterator>

#include "core/settings/merge_patch.h"
#include "engine/calls/explain.h"
#include "engine/calls/node_client.h"
#include "engine/calls/schedule_request.h"
#include "engine/commands/schedules.h"
#include "engine/planning/replan.h"
#include "store/subject_state.h"

namespace carillon {

std::vector<std::string> NodeClient::missing_limits_of(std::string_view tenant, const Schedule& schedule) {
  std::vector<std::string> named = schedule.job.options.limits;
  if (schedule.on_cutoff) std::ranges::copy(schedule.on_cutoff->options.limits, std::back_inserter(named));
  std::ranges::sort(named);
  named.erase(std::ranges::unique(named).begin(), named.end());
  return node_.rules().missing_limits(tenant, named);
}

Result<ScheduleInfo> NodeClient::info_of(const ScheduleRow& row) {
  StoreReader& reader = node_.store().reader();
  const Instant now = node_.store().jobs().now();
  ScheduleInfo info{.tenant = row.tenant,
                    .name = row.name,
                    .definition = row.definition,
                    .revision = row.revision,
                    .enabled = row.enabled,
                    .created_at = row.created_at,
                    .updated_at = row.updated_at};
  // One that has passed stays behind: subjects are anchored anew by it.
  if (row.paused_until && *row.paused_until > now) info.paused_until = row.paused_until;
  const auto schedule = parse_schedule(row.definition);
  if (!schedule) return info;
  info.fan_out = schedule->fan_out;
  info.missing_limits = missing_limits_of(row.tenant, *schedule);
  if (info.fan_out) {
    info.subjects = row.subjects;
    info.last_outcome = std::string(subject_status_text(row.results.last_outcome));
    info.error_count = static_cast<std::uint32_t>(row.results.error_count);
    info.last_error = row.results.last_error;
    if (const auto replan = reader.document(replan_key(row.tenant, row.name))) {
      TRY_ASSIGN(const Replan state, read_replan(*replan));
      info.replanned = state.done;
    }
    if (standstill_of(row, now)) return info;
    const SubjectFilter any{.schedule = row.id, .due_until = kInstantMax};
    TRY_ASSIGN(const SubjectPage first, reader.subjects(any, std::nullopt, 1));
    if (!first.subjects.empty()) info.next_at = first.subjects.front().next_at;
    return info;
  }
  const auto subject = reader.subject(row.id, "");
  if (!subject) return info;
  TRY_ASSIGN(info.state, info_of(row, *schedule, *subject));
  TRY(add_gaps(row, *schedule, *info.state));
  // The state's own may be the next attempt of a job that is open.
  if (subject->enabled && !standstill_of(row, now)) info.next_at = subject->next_at;
  info.last_outcome = info.state->status;
  info.error_count = info.state->error_count;
  info.last_error = info.state->last_error;
  return info;
}

Result<ScheduleInfo> NodeClient::schedule_recurring(const ScheduleRequest& request) {
  TRY_ASSIGN(const std::string definition, definition_of(request));
  return put_schedule(request.tenant, definition, std::nullopt);
}

Result<ScheduleInfo> NodeClient::put_schedule(std::string_view tenant, std::string_view definition,
                                              std::optional<std::int64_t> if_revision) {
  TRY_ASSIGN(const ScheduleRow row, commands_.ask(command::PutSchedule{.tenant = std::string(tenant),
                                                                       .definition = std::string(definition),
                                                                       .if_revision = if_revision,
                                                                       .by = actor_}));
  return info_of(row);
}

Result<ScheduleInfo> NodeClient::patch_schedule(std::string_view tenant, std::string_view name, std::string_view patch,
                                                std::optional<std::int64_t> if_revision) {
  TRY_ASSIGN(const ScheduleRow before, node_.store().reader().schedule(tenant, name));
  TRY_ASSIGN(const std::string definition, patched_schedule(before.definition, patch));
  auto info = put_schedule(tenant, definition, if_revision.value_or(before.revision));
  if (!info) return std::unexpected(about_patch(info.error(), patch));
  return info;
}

Result<ScheduleInfo> NodeClient::schedule(std::string_view tenant, std::string_view name) {
  TRY_ASSIGN(const ScheduleRow row, node_.store().reader().schedule(tenant, name));
  return info_of(row);
}

Result<std::vector<ScheduleInfo>> NodeClient::schedules(std::string_view tenant, std::string_view after,
                                                        std::size_t limit) {
  TRY_ASSIGN(const std::vector<ScheduleRow> rows, node_.store().reader().schedules(tenant, after, limit));
  std::vector<ScheduleInfo> infos;
  for (const ScheduleRow& row : rows) {
    TRY_ASSIGN(ScheduleInfo info, info_of(row));
    infos.push_back(std::move(info));
  }
  return infos;
}

Result<ScheduleInfo> NodeClient::pause(std::string_view tenant, std::string_view name, std::optional<Instant> until) {
  TRY_ASSIGN(const ScheduleRow row,
             commands_.ask(command::PauseSchedule{
                 .tenant = std::string(tenant), .name = std::string(name), .until = until, .by = actor_}));
  return info_of(row);
}

Result<ScheduleInfo> NodeClient::resume(std::string_view tenant, std::string_view name) {
  TRY_ASSIGN(const ScheduleRow row, commands_.ask(command::ResumeSchedule{
                                        .tenant = std::string(tenant), .name = std::string(name), .by = actor_}));
  return info_of(row);
}

Result<void> NodeClient::delete_schedule(std::string_view tenant, std::string_view name) {
  return commands_.ask(command::DeleteSchedule{.tenant = std::string(tenant), .name = std::string(name), .by = actor_});
}

}  // namespace carillon
