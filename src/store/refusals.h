// What is not there, or not the caller's, is refused in the same words everywhere.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "core/jobs/job_id.h"
#include "core/jobs/job_state.h"
#include "core/time/instant.h"

namespace carillon {

std::unexpected<Error> absent(std::string_view what, std::string_view name);
std::unexpected<Error> absent_job(JobId id);

// Why a word under a token is refused: how the job stands, and what ended the attempt.
struct StaleWhy {
  std::string text;  // the end of a sentence
  JobState state = JobState::queued;
  std::string reason;
  std::optional<Instant> when;
};
std::unexpected<Error> stale_word(JobId job, std::int64_t token, const StaleWhy& why);
// The same of a job that is absent, or somebody else's: they cannot be told apart (invariant 28).
std::unexpected<Error> stale_word(JobId job, std::int64_t token);

}  // namespace carillon
