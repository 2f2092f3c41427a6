// Schedules, subjects, and their occurrences.
#pragma once

#include "store/cases/context.h"
#include "store/plan_store.h"

namespace carillon {

Result<ScheduleRow> put_schedule_row(Context& context, const NewSchedule& schedule);
Result<ScheduleRow> pause_schedule(Context& context, std::string_view tenant, std::string_view name,
                                   std::optional<Instant> until);
Result<void> delete_schedule_row(Context& context, std::string_view tenant, std::string_view name);
Result<SubjectRow> put_subject_row(Context& context, ScheduleId schedule, const SubjectEdit& edit);
Result<void> delete_subject_row(Context& context, ScheduleId schedule, std::string_view subject);
// Only the position stays behind, and the cursor.
void retire_subject(Context& context, SubjectRow& subject);
// Earliest first. Those of an earlier life of the schedule are retired on the way.
std::vector<SubjectRow> due_subjects(Context& context, ScheduleId schedule, Instant until, std::size_t limit);
// Refused, it may have written: call it inside of a savepoint.
Result<Advanced> advance_subject(Context& context, const Advance& advance);

}  // namespace carillon
