// The client's questions of why and when: explanations and previews.
#include "core/preview.h"
#include "engine/explain.h"
#include "engine/job_info.h"
#include "engine/node_client.h"
#include "engine/subject_view.h"

namespace carillon {

namespace {

constexpr std::size_t kOutcomesExplained = 20;

PreviewTime time_of(const PreviewItem& item, const Zone& zone) {
  PreviewTime time{.at = item.at, .note = std::string(to_string(item.note))};
  if (item.note == DstNote::none) time.note.clear();
  if (item.at) time.local = format_with_offset(*item.at, zone.offset_at(*item.at));
  if (item.day) {
    time.day = format_date(*item.day);
    time.cutoff = item.end;
  } else if (item.begin && item.end) {
    time.window_start = item.begin;
    time.window_end = item.end;
  }
  return time;
}

}  // namespace

Result<std::vector<PreviewTime>> NodeClient::preview(std::string_view tenant, std::string_view name, std::size_t count,
                                                     std::string_view subject) {
  TRY_ASSIGN(const ScheduleRow row, node_.store().reader().schedule(tenant, name));
  TRY_ASSIGN(const SubjectView view, view_subject(node_.store().reader(), node_.rules(), row, subject));
  // Has no times: the timetable knows the words for it.
  if (after_of(view.schedule)) TRY(timetable_in(view.schedule, view.zone, row.created_at));
  std::vector<PreviewTime> times;
  const PlanFacts facts = view.facts(node_.store().jobs().now());
  for (const PreviewItem& item : carillon::preview(facts, std::min(count, kPreviewMax))) {
    times.push_back(time_of(item, view.zone));
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
        facts.schedule_is = standstill_of(*row, now);
        const auto subject = node_.store().reader().subject(row->id, view.row.subject);
        facts.subject_is_disabled = subject && !subject->enabled;
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

Result<Explanation> NodeClient::explain_schedule(std::string_view tenant, std::string_view name,
                                                 std::string_view subject) {
  StoreReader& reader = node_.store().reader();
  TRY_ASSIGN(const ScheduleRow row, reader.schedule(tenant, name));
  TRY_ASSIGN(SubjectView view, view_subject(reader, node_.rules(), row, subject));
  const Instant now = node_.store().jobs().now();
  ScheduleFacts facts{.row = row, .schedule = view.schedule, .now = now};
  if (view.subject) {
    facts.state = view.state;
    facts.open_windows = view.open_windows;
    TRY_ASSIGN(facts.outcomes, reader.last_outcomes(row.id, subject, kOutcomesExplained));
    if (const auto times = carillon::preview(view.facts(now), 1); !times.empty()) facts.next = times.front();
    if (view.subject->open_job) {
      // One that has just ended is among the outcomes.
      if (auto job = explain(tenant, view.subject->open_job)) facts.open_job = *std::move(job);
    }
    facts.subject = std::move(view.subject);
  } else {
    // Of many subjects: the first that is due.
    const SubjectFilter any{.schedule = row.id, .due_until = kInstantMax};
    TRY_ASSIGN(const SubjectPage first, reader.subjects(any, std::nullopt, 1));
    if (!first.subjects.empty()) facts.first_due = first.subjects.front();
  }
  return carillon::explain_schedule(facts);
}

}  // namespace carillon
