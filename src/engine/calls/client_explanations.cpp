// The client's questions of why and when: explanations and previews.
#include <fmt/format.h>

#include "core/jobs/job_state.h"
#include "core/triggers/preview.h"
#include "engine/calls/explain.h"
#include "engine/calls/job_info.h"
#include "engine/calls/node_client.h"
#include "engine/calls/subject_view.h"
#include "engine/commands/operations.h"

namespace carillon {

namespace {

constexpr std::size_t kOutcomesExplained = 20;

// A limit that is gone holds nothing, and that is worth knowing.
void tell_missing(Explanation& explanation, const std::vector<std::string>& limits) {
  for (const std::string& limit : limits) {
    explanation.summary += fmt::format("; there is no limit {}: it runs without", quoted(limit));
  }
}

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

Result<Preview> NodeClient::preview(std::string_view tenant, std::string_view name, std::size_t count,
                                    std::string_view subject) {
  TRY_ASSIGN(const ScheduleRow row, node_.store().reader().schedule(tenant, name));
  TRY_ASSIGN(const SubjectView view, view_subject(node_.store().reader(), node_.rules(), row, subject));
  // Has no times: the timetable knows the words for it.
  if (followed_by(view.schedule)) TRY(timetable_in(view.schedule, view.zone, row.created_at));
  const PlanFacts facts = view.facts(node_.store().jobs().now());
  Preview preview;
  if (const auto hold = standstill_of(row, facts.now)) {
    preview.standstill = hold->why;
    preview.standstill_until = hold->until;
  } else if (!facts.overrides.enabled) {
    preview.standstill = "subject_disabled";
  }
  const Stands stands = preview.standstill.empty() ? Stands::as_it_is : Stands::still;
  for (const PreviewItem& item : carillon::preview(facts, std::min(count, kPreviewMax), stands)) {
    preview.times.push_back(time_of(item, view.zone));
  }
  return preview;
}

Result<Explanation> NodeClient::explain(std::string_view tenant, JobId id) {
  TRY_ASSIGN(const JobView view, node_.store().reader().job(tenant, id));
  const Instant now = node_.store().jobs().now();
  TRY_ASSIGN(JobInfo info, job_info_of(view, node_.rules(), now));
  JobFacts facts{.job = std::move(info), .now = now};
  TRY_ASSIGN(const JobDetail detail, view.row.detail.read());
  facts.deferrals = deferrals_of(view, detail, facts.job.notifies, node_.rules(), now).recent;
  if (view.state == JobState::queued || view.state == JobState::waiting) {
    HoldFacts held{.now = now};
    if (!view.schedule.empty()) {
      if (auto row = node_.store().reader().schedule(tenant, view.schedule)) {
        const auto subject = node_.store().reader().subject(row->id, view.row.subject);
        held.subject_is_disabled = subject && !subject->enabled;
        held.schedule = *std::move(row);
      }
    }
    // As of one instant, in a round: what was set before it holds, and nothing is half done.
    TRY_ASSIGN(command::ReadHolds::Answer now_held,
               commands_.ask(command::ReadHolds{.tenant = view.lane.tenant, .job = facts.job, .type = view.row.type}));
    held.rules = std::move(now_held.rules);
    held.place = std::move(now_held.place);
    held.now = now_held.now;
    facts.now = held.now;
    facts.holds = holds_of(facts.job, held);
    facts.waits_for_slot = held.place.is_served;
  }
  Explanation explanation = explain_job(facts);
  if (!is_final(view.state)) {
    tell_missing(explanation, node_.rules().missing_limits(view.lane.tenant, facts.job.limits));
  }
  return explanation;
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
    facts.trouble = {
        .last_outcome = view.state.status, .error_count = view.state.error_count, .last_error = view.state.last_error};
    facts.open_windows = view.open_windows;
    TRY_ASSIGN(facts.outcomes, reader.last_outcomes(row.id, subject, kOutcomesExplained));
    if (view.subject->enabled) {
      if (const auto times = carillon::preview(view.facts(now), 1); !times.empty()) facts.next = times.front();
    }
    if (view.subject->open_job) {
      // One that has just ended is among the outcomes.
      if (auto job = explain(tenant, view.subject->open_job)) facts.open_job = *std::move(job);
    }
    facts.subject = std::move(view.subject);
  } else {
    facts.trouble = {.last_outcome = row.results.last_outcome,
                     .error_count = row.results.error_count,
                     .last_error = row.results.last_error};
    // Of many subjects: the first that is due.
    const SubjectFilter any{.schedule = row.id, .due_until = kInstantMax};
    TRY_ASSIGN(const SubjectPage first, reader.subjects(any, std::nullopt, 1));
    if (!first.subjects.empty()) facts.first_due = first.subjects.front();
  }
  Explanation explanation = carillon::explain_schedule(facts);
  tell_missing(explanation, missing_limits_of(row.tenant, view.schedule));
  return explanation;
}

}  // namespace carillon
