// What gates have done to a job while nothing was written of it.
#pragma once

#include "store/cases/context.h"

namespace carillon {

// The job stops waiting as it did: it ends, or its time is another one from now on. What gates did to it until then
// stands in its detail, each closing once; those that are closed still are told as well.
void fold_closings(Context& context, const JobRow& row, JobDetail& detail, Instant until);
// How many closings have held it until then that its detail does not tell of.
std::uint32_t closings_beside(Context& context, const JobRow& row, bool notifies, Instant until);
// When the last of the gates that held it until then opened; nothing: none held it, or it is closed still.
std::optional<Instant> last_opening(Context& context, const JobRow& row, bool notifies, Instant until);
// Adds one more, and keeps the last 20.
void add_deferral(JobDetail& detail, DeferralRecord deferral);

}  // namespace carillon
