#include "engine/calls/subject_view.h"

#include <fmt/format.h>

namespace carillon {

namespace {

std::unexpected<Error> has_no_fan_out(std::string_view schedule) {
  return failed(ErrorCode::conflict,
                fmt::format("schedule {} has no fan_out, and so no named subjects: where it stands is its own state",
                            quoted(schedule)));
}

// From the cursor on, neither closed nor parked.
Result<std::size_t> count_open_windows(StoreReader& reader, const SubjectRow& subject) {
  StoreReader::OutcomeQuery query;
  query.schedule = subject.schedule;
  query.subject = subject.subject;
  query.from = subject.cursor.value_or(kInstantMin);
  std::size_t open = 0;
  std::optional<OutcomeMark> after;
  // A range may stand among them, so there may be a few more rows than windows can be open.
  for (std::size_t pages = 0; pages < 2 + (kMaxBackfillMax / kPageMax); ++pages) {
    TRY_ASSIGN(const OutcomePage page, reader.outcome_page(query, after));
    for (const OutcomeRow& row : page.outcomes) {
      if (!row.outcome && !row.parked) ++open;
    }
    after = page.next;
    if (!after) break;
  }
  return open;
}

}  // namespace

PlanFacts SubjectView::facts(Instant now) const {
  PlanFacts facts{.tenant = row.tenant,
                  .schedule = schedule,
                  .timetable = timetable ? &*timetable : nullptr,
                  .now = now,
                  .overrides = overrides,
                  .zone = zone,
                  .open_windows = open_windows,
                  .expected_at = state.expected_at};
  if (subject) {
    facts.subject = subject->subject;
    facts.next_at = subject->next_at;
    facts.position = subject->position;
    facts.cursor = subject->cursor;
    facts.overrides.enabled = subject->enabled;
  }
  return facts;
}

Result<Schedule> schedule_with_subjects(const ScheduleRow& row) {
  TRY_ASSIGN(Schedule schedule, parse_schedule(row.definition));
  if (!schedule.fan_out) return has_no_fan_out(row.name);
  return schedule;
}

Result<SubjectView> view_subject(StoreReader& reader, const RuleBook& rules, const ScheduleRow& row,
                                 std::string_view name) {
  SubjectView view{.row = row};
  TRY_ASSIGN(view.schedule, parse_schedule(row.definition));
  if (!name.empty() && !view.schedule.fan_out) return has_no_fan_out(row.name);
  TRY(settle_times(view.schedule, rules.zone_of(row.tenant)));
  fill(view.schedule, rules.windows());
  fill(view.schedule.job, rules.job_defaults());
  if (!name.empty() || !view.schedule.fan_out) {
    auto subject = reader.subject(row.id, name);
    // The only one of a schedule that never had a time is not there.
    if (!subject && (!name.empty() || subject.error().code != ErrorCode::not_found)) {
      return std::unexpected(std::move(subject).error());
    }
    if (subject) view.subject = *std::move(subject);
  }
  if (view.subject) {
    TRY_ASSIGN(view.state, read_subject_state(*view.subject));
    TRY_ASSIGN(view.overrides, read_overrides(view.subject->overrides));
    if (traits_of(view.schedule).keeps_cursor) {
      TRY_ASSIGN(view.open_windows, count_open_windows(reader, *view.subject));
    }
  }
  TRY_ASSIGN(view.zone, zone_of(view.schedule, view.overrides, rules.zone_of(row.tenant)));
  if (has_timetable(view.schedule)) {
    TRY_ASSIGN(view.timetable, timetable_for(view.schedule, view.overrides, view.zone, row.created_at));
  }
  return view;
}

}  // namespace carillon
