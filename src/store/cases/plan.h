// Schedules and their subjects.
#pragma once

#include "store/cases/context.h"
#include "store/plan_store.h"

namespace carillon {

Result<ScheduleRow> put_schedule_row(Context& context, const NewSchedule& schedule);
Result<ScheduleRow> pause_schedule(Context& context, std::string_view tenant, std::string_view name,
                                   std::optional<Instant> until);
// Its jobs that are not started are cancelled.
Result<DeletedSchedule> delete_schedule_row(Context& context, std::string_view tenant, std::string_view name);
Result<ScheduleRow> find_schedule(Context& context, ScheduleId id);
Result<ScheduleRow> find_schedule(Context& context, std::string_view tenant, std::string_view name);
Result<SubjectRow> find_subject(Context& context, ScheduleId schedule, std::string_view subject);
// Whether its jobs are to be left alone. (invariant 32)
bool holds_its_jobs(const ScheduleRow& schedule, Instant now);
// One of an earlier life of its schedule does not.
bool lives(const SubjectRow& subject, const ScheduleRow& owner);
Result<SubjectRow> put_subject_row(Context& context, ScheduleId schedule, const SubjectEdit& edit);
Result<void> delete_subject_row(Context& context, ScheduleId schedule, std::string_view subject);
// Only the position stays behind, and the cursor.
void retire_subject(Context& context, SubjectRow& subject);
// Earliest first. Those of an earlier life of the schedule are retired on the way.
std::vector<SubjectRow> due_subjects(Context& context, ScheduleId schedule, Instant until, std::size_t limit);

}  // namespace carillon
