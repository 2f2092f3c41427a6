// From what is stored to what people see of a job.
#pragma once

#include <carillon/job_info.h>

#include "base/error.h"
#include "engine/rule_book.h"
#include "store/store_reader.h"

namespace carillon {

// A due job behind a closed gate reads with the gate's reason and time, though nothing was written. (semantics: Gates)
Result<JobInfo> job_info_of(const JobView& view, const RuleBook& rules, Instant now);

}  // namespace carillon
