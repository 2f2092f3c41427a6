// What workers outside of this process say and are told: they lease jobs, keep their leases, and settle them.
#pragma once

#include <carillon/outcome.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "core/jobs/job_id.h"
#include "core/jobs/job_state.h"
#include "core/policies/gate.h"
#include "core/time/duration.h"
#include "engine/pulls/name_set.h"
#include "store/job_store.h"

namespace carillon {

// What a worker takes. An empty list: any; but no type named means those that no handler here serves.
struct PullFilter {
  NameSet tenants;
  NameSet queues;
  NameSet types;
  friend auto operator<=>(const PullFilter&, const PullFilter&) = default;
};

// Whether a call for jobs was refused because very many wait with other filters: it may come again later.
inline bool is_for_want_of_place(const Error& error) {
  return error.code == ErrorCode::unavailable && error.field == "types";
}

struct PullRequest {
  std::string worker;
  PullFilter filter;
  std::size_t limit = 1;
  std::optional<Duration> lease;  // else each job's own
  Duration wait{};                // for the first job
};

struct PulledJob {
  LeasedJob job;
  Instant lease_until;  // by the wall clock
};

struct PullBeat {
  std::vector<std::string> tenants;  // whose jobs the caller may name; empty: anybody's
  JobId job;
  std::int64_t token = 0;
  std::optional<std::string> progress;  // JSON; anything else is kept as text
};

struct BeatAnswer {
  Instant lease_until;
  bool cancel_requested = false;
  std::optional<Closing> gate;  // that is closed before the job's tenant now
};

struct PullWord {
  std::vector<std::string> tenants;  // as in PullBeat
  JobId job;
  std::int64_t token = 0;
  Outcome outcome;
  bool release = false;         // instead of the outcome: put back as it is
  bool speaks_for_all = false;  // of a key of all tenants: what it says of a global limit holds for all
};

struct WordAnswer {
  JobId id;
  JobState state = JobState::done;
  std::optional<Instant> run_at;  // of queued
  // What became of the follow-ups that were asked for, in their order; none if the job has not ended as done or
  // skipped.
  std::optional<std::vector<FollowedUp>> then;
};

struct PullWorker {
  std::string name;
  std::size_t leases = 0;
  Instant last_seen;
};

}  // namespace carillon
