// Choosing the ids of jobs. What an id is made of, and its text: carillon/job_id.h.
#pragma once

#include <cstdint>

#include "carillon/job_id.h"
#include "core/time/instant.h"

namespace carillon {

inline constexpr JobId kJobIdMax{INT64_MAX};

// The lowest id that can have been chosen at `at` or later.
JobId first_job_id_at(Instant at);

// Chooses ids, each higher than all before it, also if the clock steps back. More than 8,192 in a millisecond run ahead
// of the clock. Not thread safe.
inline constexpr Duration kJobIdAheadMax = std::chrono::hours(1);

class JobIdSource {
 public:
  explicit JobIdSource(std::uint8_t node, JobId above = {}) : node_(node), last_(above.value) {}
  JobId next(Instant now);
  // An id that was chosen elsewhere comes in; all that follow are higher. False if it lies further ahead than any
  // clock can be: then it counts for nothing.
  bool admit(JobId id, Instant now);

 private:
  std::uint8_t node_;
  std::int64_t last_;
};

}  // namespace carillon
