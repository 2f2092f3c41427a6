// Which jobs are meant, in lists and bulk work.
#pragma once

#include <carillon/job_state.h>
#include <carillon/time.h>

#include <optional>
#include <string>
#include <vector>

namespace carillon {

// All that is given must match. The tenant is always given: no query crosses tenants (invariant 28).
struct JobQuery {
  std::string tenant = "default";
  std::vector<JobState> states;  // empty: any
  std::optional<std::string> type;
  std::optional<std::string> queue;
  std::optional<std::string> schedule;
  std::optional<std::string> subject;
  std::optional<std::string> tag;
  std::optional<std::string> text;  // in the payload, as bytes
  std::optional<Instant> since;     // created then or later
  std::optional<Instant> until;     // created before
};

}  // namespace carillon
