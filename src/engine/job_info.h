// From what is stored to what people see of a job.
#pragma once

#include <carillon/job_info.h>

#include "base/error.h"
#include "engine/rule_book.h"
#include "store/job_text.h"
#include "store/store_reader.h"

namespace carillon {

// What put it back so far and what gates have held it, oldest first, each closing once.
struct DeferralsSoFar {
  std::uint32_t count = 0;
  std::vector<DeferralRecord> recent;
};
DeferralsSoFar deferrals_of(const JobView& view, const JobDetail& detail, bool notifies, const RuleBook& rules,
                            Instant now);

// A due job behind a closed gate reads with the gate's reason and time, though nothing was written. (semantics: Gates)
Result<JobInfo> job_info_of(const JobView& view, const RuleBook& rules, Instant now);

}  // namespace carillon
