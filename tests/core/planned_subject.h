// A subject that is planned and anchored by hand: what the store keeps of it, and a ledger of what became of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/schedules/plan.h"
#include "core/times.h"

namespace carillon::test {

struct PlannedSubject {
  Schedule schedule;
  SubjectOverrides overrides{};
  Zone zone = Zone::utc();
  std::optional<Instant> next_at;
  std::optional<Instant> position;
  std::optional<Instant> cursor;
  std::optional<Instant> expected_at;
  std::size_t open_windows = 0;
  std::vector<OpenJob> open;
  std::optional<ClosedRange> last_closed;
  std::string name = "ada";

  PlanFacts facts(Instant now) const {
    return {.tenant = "acme",
            .schedule = schedule,
            .timetable = nullptr,
            .subject = name,
            .next_at = next_at,
            .position = position,
            .now = now,
            .open = open,
            .new_job_id = [] { return JobId{1}; },
            .overrides = overrides,
            .zone = zone,
            .cursor = cursor,
            .open_windows = open_windows,
            .expected_at = expected_at,
            .last_closed = last_closed};
  }

  SubjectPlan plan(Instant now) { return keep(plan_subject(facts(now))); }

  SubjectPlan anchor(SubjectChange::What what, Instant at, std::optional<Instant> cursor_end = {}) {
    return keep(anchor_subject(facts(at), {.what = what, .at = at, .cursor_end = cursor_end}));
  }
  SubjectPlan make(Instant at) { return anchor(SubjectChange::What::made, at); }
  SubjectPlan edit(Instant at) { return anchor(SubjectChange::What::edited, at); }
  SubjectPlan resume(Instant at) { return anchor(SubjectChange::What::resumed, at); }

  // As the store would.
  SubjectPlan keep(SubjectPlan plan) {
    next_at = plan.next_at;
    if (plan.position && (!position || *position < *plan.position)) position = plan.position;
    if (plan.cursor) cursor = plan.cursor;
    for (const ClosedOccurrences& closed : plan.closed) {
      last_closed =
          ClosedRange{.first = closed.first, .last = closed.until.value_or(closed.first), .reason = closed.reason};
    }
    if (!plan.jobs.empty()) last_closed.reset();
    return plan;
  }
};

inline PlannedSubject subject_of(std::string_view schedule_json, std::string_view zone_name = "UTC") {
  PlannedSubject subject{.schedule = value_of(parse_schedule(schedule_json))};
  subject.zone = zone(zone_name);
  return subject;
}

}  // namespace carillon::test
