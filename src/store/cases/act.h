// What people ask of a job: cancel, retry, discard, run now, change.
#pragma once

#include "store/cases/context.h"

namespace carillon {

Result<Changed> act_on_job(Context& context, std::string_view tenant, JobAction action, JobId id);
Result<Changed> patch_job(Context& context, std::string_view tenant, JobId id, const JobPatch& patch);
BulkStep act_on_matching(Context& context, const JobQuery& query, JobAction action, JobId after, BulkBounds bounds);

// Ends a live job that `state` says is not processing; asks the holder of one that is to stop.
Changed cancel_job(Context& context, const JobRow& row, JobState state, std::string_view reason);
// What became ready by the first of several steps may have been ended by a later one.
void drop_not_ready(Context& context, std::vector<ReadyJob>& ready);

}  // namespace carillon
