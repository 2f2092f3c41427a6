// What a job gets that says nothing about it. Decided when the job is made: later changes are for later jobs.
#pragma once

#include <cstdint>
#include <optional>

#include "carillon/job.h"
#include "carillon/retry.h"

namespace carillon {

struct JobDefaults {
  Duration timeout = kTimeoutDefault;
  Duration lease = kLeaseDefault;
  std::uint32_t max_attempts = kMaxAttemptsDefault;
  std::optional<RetryPolicy> retry;  // nothing: RetryTable
  friend bool operator==(const JobDefaults&, const JobDefaults&) = default;
};

// Which options were given, of those that have a default. (A retry that was not is nothing.)
struct SaidOptions {
  bool max_attempts = false;
  bool timeout = false;
  bool lease = false;
  friend bool operator==(const SaidOptions&, const SaidOptions&) = default;
};

}  // namespace carillon
