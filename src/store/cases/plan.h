// Schedules and their subjects.
#pragma once

#include "store/cases/context.h"
#include "store/plan_store.h"

namespace carillon {

Result<ScheduleRow> put_schedule_row(Context& context, const NewSchedule& schedule);
Result<ScheduleRow> pause_schedule(Context& context, std::string_view tenant, std::string_view name,
                                   std::optional<Instant> until);
// Its jobs that are not started are cancelled, as far as one step goes.
Result<DeletedSchedule> delete_schedule_row(Context& context, std::string_view tenant, std::string_view name);
Result<ScheduleRow> find_schedule(Context& context, ScheduleId id);
Result<ScheduleRow> find_schedule(Context& context, std::string_view tenant, std::string_view name);
Result<SubjectRow> find_subject(Context& context, ScheduleId schedule, std::string_view subject);
Result<std::vector<std::optional<SubjectRow>>> find_subjects(Context& context, ScheduleId schedule,
                                                             std::span<const std::string_view> names);
// Whether its jobs are to be left alone. (invariant 32)
bool holds_its_jobs(const ScheduleRow& schedule, Instant now);
// One of an earlier life of its schedule does not.
bool lives(const SubjectRow& subject, const ScheduleRow& owner);
// Those of the deleted schedule of `after`, above it.
CancelStep cancel_unstarted_jobs(Context& context, const OutcomeKey& after, std::size_t limit);
// Refused, it may have written: call it inside of a savepoint.
Result<std::vector<PutSubject>> put_subject_rows(Context& context, ScheduleId schedule,
                                                 std::span<const SubjectEdit> edits);
Result<void> delete_subject_row(Context& context, ScheduleId schedule, std::string_view subject);
// Only the position stays behind, and the cursor.
void retire_subject(Context& context, SubjectRow& subject);
// Those that live, by name.
SubjectSlice subjects_of(Context& context, ScheduleId schedule, std::optional<std::string_view> after,
                         std::size_t limit);
std::size_t open_windows_of(Context& context, ScheduleId schedule, std::string_view subject, std::size_t most);
// Earliest first. Those of an earlier life of the schedule are retired on the way.
std::vector<SubjectRow> due_subjects(Context& context, ScheduleId schedule, Instant until, std::size_t limit);

}  // namespace carillon
