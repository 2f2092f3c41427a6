// Spreading jobs that fall due together: a delay from a hash, so that it is the same after a restart.
#pragma once

#include <string_view>

#include "core/time/duration.h"
#include "core/time/instant.h"

namespace carillon {

struct JitterKey {
  std::string_view tenant;
  std::string_view schedule;
  std::string_view subject;
  Instant slot;
};

// From nothing to `jitter`, both inclusive, in whole milliseconds unless `jitter` ends between two. It moves when the
// job runs, never the occurrence.
Duration jitter_of(const JitterKey& key, Duration jitter);

}  // namespace carillon
