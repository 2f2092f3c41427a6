// The ids of a store's jobs, chosen by it or given by callers. Any thread.
#pragma once

#include <mutex>

#include "core/jobs/job_id.h"

namespace carillon {

class JobIds {
 public:
  JobIds(std::uint8_t node, JobId above) : source_(node, above) {}
  JobId next(Instant now) {
    const std::scoped_lock lock(mutex_);
    return source_.next(now);
  }
  bool admit(JobId id, Instant now) {
    const std::scoped_lock lock(mutex_);
    return source_.admit(id, now);
  }

 private:
  std::mutex mutex_;
  JobIdSource source_;
};

}  // namespace carillon
