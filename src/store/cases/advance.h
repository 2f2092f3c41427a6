// Occurrences: a subject moves on, and what of it is still open.
#pragma once

#include "store/cases/context.h"
#include "store/plan_store.h"

namespace carillon {

// Refused, it may have written: call it inside of a savepoint.
Result<Advanced> advance_subject(Context& context, const Advance& advance);
// The last job, if it is live, after those of the same subject that it waits for.
std::vector<OpenJobRow> open_jobs_of(Context& context, ScheduleId schedule, std::string_view subject);

}  // namespace carillon
