// How an attempt ended, as workers that pull and targets of webhooks say it: the same words, read here alone.
#pragma once

#include <carillon/outcome.h>

#include <optional>
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

// What a worker says, by the name of its call: complete, fail or defer, each with its own fields; release has none.
JsonFields::Names outcome_fields(std::string_view call);
Result<Outcome> read_outcome(std::string_view call, std::string_view text, const JsonFields& fields,
                             const OutcomeSender& sender);

// What a target says with a 2xx: a success, or a failed attempt if there is an `error`. Other members are its own.
Result<Outcome> read_answer(std::string_view text, const Json& object, const OutcomeSender& sender);

// What is said of a failed attempt.
struct FailureSaid {
  std::string error;
  std::string error_class;  // "": not said
  bool permanent = false;   // another attempt is pointless
  std::optional<RunAt> again;
};
// What a target says with any other status. Many have a JSON of their own: what is not as we know it counts as not
// said. `trouble`: what is wrong with what is meant for us alone.
struct RefusalSaid {
  FailureSaid failure;
  std::string trouble;
};
RefusalSaid read_refusal(std::string_view text, const Json& object);

}  // namespace carillon::server
