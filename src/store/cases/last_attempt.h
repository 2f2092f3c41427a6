// Whether the next attempt of a job is the last that it has.
#pragma once

#include <cstdint>

#include "core/jobs/job.h"

namespace carillon {

// Of a job that says nothing of its attempts, which is most of them.
inline bool is_last_plain_attempt(std::uint32_t used) { return used + 1 >= kMaxAttemptsDefault; }

inline bool is_last_attempt(std::uint32_t used, const JobOptions& options) {
  const auto most = attempts_allowed(options);
  return most && used + 1 >= *most;
}

}  // namespace carillon
