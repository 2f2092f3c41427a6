// Occurrences: a subject moves on, and what of it is still open.
#pragma once

#include "store/cases/context.h"
#include "store/cases/owners.h"
#include "store/plan_store.h"

namespace carillon {

Result<Advanced> advance_subject(Context& context, Owners& owners, const Advance& advance);
// Whether it may have written when it is refused: then call it inside of a savepoint.
bool may_be_refused_late(const Advance& advance);
// The last job, if it is live, after those of the same subject that it waits for.
std::vector<OpenJobRow> open_jobs_of(Context& context, ScheduleId schedule, std::string_view subject);
// All jobs of its occurrences that wait or are queued, newest first.
std::vector<JobId> unstarted_jobs_of(Context& context, ScheduleId schedule, std::string_view subject);

}  // namespace carillon
