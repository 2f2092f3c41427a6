// How an attempt ended, as workers that pull and targets of webhooks say it: the same words, read once.
#pragma once

#include <carillon/outcome.h>

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "core/settings/job_defaults.h"

namespace carillon::server {

// What a check says of its subject.
inline constexpr std::size_t kStatusBytesMax = 200;
inline constexpr std::size_t kFollowUpsMax = 1000;

// Who says it, for the jobs of `then`.
struct OutcomeSender {
  std::string_view tenant;  // "": that of the job
  std::string_view created_by;
  const JobDefaults* defaults = nullptr;
};

// Of a success: output, reason, then (jobs) and subject ({expected_at, status}). Whether it was skipped the caller
// reads.
inline constexpr auto kCompleteFields = field_names("output", "skipped", "reason", "then", "subject");
Result<void> read_completion(std::string_view text, const JsonFields& fields, const OutcomeSender& sender,
                             Outcome& outcome);

// Of a failure, whose text the caller has read: its class, whether another attempt is pointless, and when it is due.
inline constexpr auto kFailFields = field_names("error", "error_class", "permanent", "retry_after", "rate_limited");
Result<void> read_failure(std::string_view text, const JsonFields& fields, Outcome& outcome);

// "90s" from now, or an instant as RFC 3339 or Unix milliseconds. A small number is neither, and is told so.
Result<RunAt> read_when(std::string_view text, const Json& value, const std::string& path);

}  // namespace carillon::server
