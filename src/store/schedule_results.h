// What outcomes do to the results of their schedule. Those of one transaction add up to a single change, so that a
// thousand jobs that end together write their schedule once.
#pragma once

#include <string>

#include "store/rows.h"

namespace carillon {

// An occurrence of a subject has ended, or is parked.
struct EndedOccurrence {
  ScheduleId schedule;
  std::int64_t generation = 1;        // of its subject
  JobState outcome = JobState::done;  // dlq: it is parked
  bool failed = false;  // one that was left out, or called off before it failed, is neither this nor a success
  std::string error;
};

class ResultsChange {
 public:
  void add(const EndedOccurrence& ended) {
    last_outcome_ = ended.outcome;
    if (ended.outcome == JobState::done) {
      clears_ = true;
      errors_ = 0;
    } else if (ended.failed) {
      ++errors_;
      last_error_ = ended.error;
    }
  }
  void apply_to(ScheduleResults& results) const {
    results.last_outcome = last_outcome_;
    if (clears_) {
      results.error_count = 0;
      results.last_error.clear();
    }
    results.error_count += errors_;
    if (errors_ > 0) results.last_error = last_error_;
  }

  JobState last_outcome() const { return last_outcome_; }
  bool clears() const { return clears_; }
  std::int64_t errors() const { return errors_; }
  const std::string& last_error() const { return last_error_; }

 private:
  JobState last_outcome_ = JobState::done;
  bool clears_ = false;      // there was a success: what went wrong before it counts no more
  std::int64_t errors_ = 0;  // since then
  std::string last_error_;   // of them
};

}  // namespace carillon
