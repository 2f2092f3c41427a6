// A worker takes jobs.
#pragma once

#include "store/cases/context.h"

namespace carillon {

Claimed claim_jobs(Context& context, const ClaimRequest& request);
// Jobs that workers outside hold.
std::vector<OutsideLease> leases_outside(Context& context);
// How those of them stand that are queued.
std::vector<ReadyJob> queued_of(Context& context, std::span<const JobId> jobs);
// What has to be known of jobs before they are claimed. Those that are not live are left out.
std::vector<JobTraits> traits_of(Context& context, std::span<const JobId> jobs);

}  // namespace carillon
