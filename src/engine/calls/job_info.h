// From what is stored to what people see of a job.
#pragma once

#include <carillon/job_context.h>
#include <carillon/job_info.h>

#include "base/error.h"
#include "engine/attempts/run.h"
#include "engine/upkeep/rule_book.h"
#include "store/job_detail.h"
#include "store/job_store.h"
#include "store/store_reader.h"

namespace carillon {

// What put it back so far and what gates have held it, oldest first, each closing once.
struct DeferralsSoFar {
  std::uint32_t count = 0;
  std::vector<DeferralRecord> recent;
};
DeferralsSoFar deferrals_of(const JobView& view, const JobDetail& detail, bool notifies, const RuleBook& rules,
                            Instant now);

// Of the attempt that comes after those that are in it. Numbers go on when an operator has the job retried, though what
// it has used is counted anew; `attempt` is its number in that count. What was given back was no try.
std::uint32_t next_number(const JobInfo& job);
std::string next_trigger(const JobInfo& job, std::uint32_t attempt);

// A due job behind a closed gate reads with the gate's reason and time, though nothing was written. (semantics: Gates)
Result<JobInfo> job_info_of(const JobView& view, const RuleBook& rules, Instant now);

// One that was stored this moment, without reading it back.
JobInfo info_of_new(const NewJob& job, const Enqueued& made, Instant now);

// As its holder gets it. What stands in a text that is not to be read is left at its default.
struct TextsRead {
  bool options = true;
  bool detail = true;
};
// Many, one after the other: jobs that come together mostly have the same options, which are then read once.
class RunningJobMaker {
 public:
  explicit RunningJobMaker(TextsRead texts = {}) : texts_(texts) {}
  Result<RunningJob> make(LeasedJob job);

 private:
  TextsRead texts_;
  StoredOptions read_last_;
  JobOptions options_;
};
Result<RunningJob> running_job_of(const Run& run);

}  // namespace carillon
