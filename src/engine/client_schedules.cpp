// The client's half about schedules, and both explanations.
#include "core/preview.h"
#include "engine/explain.h"
#include "engine/job_info.h"
#include "engine/node_client.h"
#include "engine/schedule_request.h"
#include "store/subject_text.h"

namespace carillon {

namespace {

constexpr std::size_t kOutcomesExplained = 20;
constexpr Duration kOutcomesExplainedBack = std::chrono::days(7);

std::optional<std::string> state_of_schedule(const ScheduleRow& row, Instant now) {
  if (!row.enabled) return "disabled";
  if (row.paused_until && *row.paused_until > now) return "paused";
  return std::nullopt;
}

}  // namespace

Result<ScheduleInfo> NodeClient::info_of(const ScheduleRow& row) {
  ScheduleInfo info{.tenant = row.tenant,
                    .name = row.name,
                    .definition = row.definition,
                    .revision = row.revision,
                    .enabled = row.enabled,
                    .paused_until = row.paused_until,
                    .created_at = row.created_at,
                    .updated_at = row.updated_at};
  const auto subject = node_.store().reader().subject(row.id, "");
  if (!subject) return info;
  TRY_ASSIGN(const SubjectState state, read_subject_state(*subject));
  if (!state_of_schedule(row, node_.store().jobs().now())) info.next_at = subject->next_at;
  info.last_outcome = subject_status_text(state.status);
  info.error_count = state.error_count;
  info.last_error = state.last_error;
  return info;
}

Result<ScheduleInfo> NodeClient::schedule_recurring(const ScheduleRequest& request) {
  TRY_ASSIGN(const std::string definition, definition_of(request));
  return put_schedule(request.tenant, definition, std::nullopt);
}

Result<ScheduleInfo> NodeClient::put_schedule(std::string_view tenant, std::string_view definition,
                                              std::optional<std::int64_t> if_revision) {
  TRY_ASSIGN(const ScheduleRow row, node_.call<ScheduleRow>([&](Round& round) -> Result<ScheduleRow> {
    TRY_ASSIGN(ScheduleRow put,
               node_.planner().put(round, {.tenant = tenant, .definition = definition, .if_revision = if_revision}));
    TRY(note({tenant, "schedule.put", put.name}, round.now));
    return put;
  }));
  return info_of(row);
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
             write<ScheduleRow>({tenant, "schedule.pause", std::string(name)}, [&](Round& round) {
               node_.take_back_of(round, tenant, name);
               return node_.planner().pause(round, tenant, name, until);
             }));
  return info_of(row);
}

Result<ScheduleInfo> NodeClient::resume(std::string_view tenant, std::string_view name) {
  TRY_ASSIGN(const ScheduleRow row,
             write<ScheduleRow>({tenant, "schedule.resume", std::string(name)},
                                [&](Round& round) { return node_.planner().resume(round, tenant, name); }));
  return info_of(row);
}

Result<void> NodeClient::delete_schedule(std::string_view tenant, std::string_view name) {
  return write<void>({tenant, "schedule.delete", std::string(name)}, [&](Round& round) -> Result<void> {
    TRY(node_.planner().remove(round, tenant, name));
    return {};
  });
}

Result<std::vector<PreviewTime>> NodeClient::preview(std::string_view tenant, std::string_view name,
                                                     std::size_t count) {
  TRY_ASSIGN(const ScheduleRow row, node_.store().reader().schedule(tenant, name));
  TRY_ASSIGN(const Schedule schedule, parse_schedule(row.definition));
  TRY_ASSIGN(const Timetable timetable, timetable_of(schedule, node_.rules().zone_of(tenant), row.created_at));
  std::vector<PreviewTime> times;
  for (const PreviewItem& item :
       carillon::preview(timetable, node_.store().jobs().now(), std::min(count, kPreviewMax))) {
    PreviewTime time{.at = item.at, .note = std::string(to_string(item.note))};
    if (item.note == DstNote::none) time.note.clear();
    if (item.at) time.local = format_with_offset(*item.at, timetable.zone().offset_at(*item.at));
    times.push_back(std::move(time));
  }
  return times;
}

Result<Explanation> NodeClient::explain(std::string_view tenant, JobId id) {
  TRY_ASSIGN(const JobView view, node_.store().reader().job(tenant, id));
  const Instant now = node_.store().jobs().now();
  TRY_ASSIGN(JobInfo info, job_info_of(view, node_.rules(), now));
  JobFacts facts{.job = std::move(info), .now = now};
  if (!view.row.detail.empty()) {
    TRY_ASSIGN(JobDetail detail, read_detail(view.row.detail));
    facts.deferrals = std::move(detail.recent_deferrals);
  }
  if (view.state == JobState::queued) {
    facts.gate = node_.rules().closed_for(view.lane.tenant, facts.job.notifies, now);
    if (!view.schedule.empty()) {
      if (const auto row = node_.store().reader().schedule(tenant, view.schedule)) {
        facts.schedule_is = state_of_schedule(*row, now);
      }
    }
    const ReadyPlace place{.tenant = view.lane.tenant,
                           .queue = view.lane.queue,
                           .type = view.row.type,
                           .limits = facts.job.limits,
                           .notifies = facts.job.notifies};
    TRY_ASSIGN(facts.held_by, node_.call<std::optional<std::string>>([&](Round& round) {
      if (!node_.rules().is_enabled()) return Result<std::optional<std::string>>("disabled");
      return Result<std::optional<std::string>>(node_.holds(place, round.now));
    }));
  }
  return explain_job(facts);
}

Result<Explanation> NodeClient::explain_schedule(std::string_view tenant, std::string_view name) {
  TRY_ASSIGN(const ScheduleRow row, node_.store().reader().schedule(tenant, name));
  const Instant now = node_.store().jobs().now();
  ScheduleFacts facts{.row = row, .now = now};
  if (auto schedule = parse_schedule(row.definition)) facts.schedule = *std::move(schedule);
  if (auto subject = node_.store().reader().subject(row.id, "")) facts.subject = *std::move(subject);
  TRY_ASSIGN(std::vector<OutcomeRow> outcomes,
             node_.store().reader().outcomes({.schedule = row.id, .from = add_clamped(now, -kOutcomesExplainedBack)}));
  if (outcomes.size() > kOutcomesExplained) {
    outcomes.erase(outcomes.begin(), outcomes.end() - static_cast<std::ptrdiff_t>(kOutcomesExplained));
  }
  facts.outcomes = std::move(outcomes);
  return carillon::explain_schedule(facts);
}

}  // namespace carillon
