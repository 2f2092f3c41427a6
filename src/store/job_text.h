// The two JSON texts of a job's row. Both hold only what differs from the defaults, so most jobs have none.
//
// Read leniently: a member that this version does not know was written by a later one, and is kept out of the way.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "core/jobs/job.h"
#include "store/job_detail.h"

namespace carillon {

// "" if everything is at its default.
std::string write_options(const JobOptions& options);
Result<JobOptions> read_options(std::string_view text);

std::string write_detail(const JobDetail& detail);
Result<JobDetail> read_detail(std::string_view text);

}  // namespace carillon
