// Leases: a worker keeps jobs, and says how they ended; or does not, and the store ends the attempt.
#pragma once

#include "store/cases/context.h"

namespace carillon {

// Handlers have been entered: their leases are ahead no longer.
void lift_ahead(Context& context, std::span<const LeaseKey> leases);
Result<Extended> extend_lease(Context& context, const Extension& extension);
Result<Settled> settle_attempt(Context& context, const Settlement& settlement);
std::vector<Reaped> reap_leases(Context& context, std::size_t limit);

// Ends a job whose deadline has passed, whatever its state. Nothing if it is gone.
// `waiting`: why it has not started, if it is queued and its own schedule does not hold it.
std::optional<Changed> finish_overdue_job(Context& context, JobId id, VerdictReason waiting = VerdictReason::deadline);

// The lease with this token, if it is the current one; else `stale_token`.
Result<LeaseRow> current_lease(Context& context, JobId job, std::int64_t token);

}  // namespace carillon
