// A subject as it stands, read for people: all that pure decisions about it ask for, at one moment.
#pragma once

#include <optional>
#include <string_view>

#include "core/schedules/plan.h"
#include "core/schedules/schedule.h"
#include "core/schedules/subject.h"
#include "engine/upkeep/rule_book.h"
#include "store/store_reader.h"
#include "store/subject_state.h"

namespace carillon {

struct SubjectView {
  ScheduleRow row;
  Schedule schedule;                  // filled with its defaults
  std::optional<SubjectRow> subject;  // nothing: of one with fan_out no subject was named
  SubjectState state;
  SubjectOverrides overrides;
  Zone zone = Zone::utc();
  std::optional<Timetable> timetable;  // of one that has it, in the subject's zone
  std::size_t open_windows = 0;        // of windows

  // Points into this; it may be asked for what comes, and not planned with.
  PlanFacts facts(Instant now) const;
};

// The subject `name` of a schedule with fan_out, or the only one of another. With fan_out and without a name: as the
// schedule alone says. A name without fan_out is `conflict`.
Result<SubjectView> view_subject(StoreReader& reader, const RuleBook& rules, const ScheduleRow& row,
                                 std::string_view name);

// The schedule of a call about subjects: `conflict` if it has none of its own.
Result<Schedule> schedule_with_subjects(const ScheduleRow& row);

}  // namespace carillon
