// From a handler's word to what the store is told.
#pragma once

#include <carillon/outcome.h>

#include "core/settings/job_defaults.h"
#include "engine/attempts/finished.h"
#include "engine/pulls/pull.h"
#include "store/job_store.h"

namespace carillon {

// A job as a program asked for it, as the store takes it. A delay counts from `now`; what it does not say is
// `defaults`.
NewJob new_job_of(JobRequest request, Instant now, const JobDefaults& defaults);

Instant instant_of(const RunAt& when, Instant now);

// When a rate-limited job comes again: the time given, at most an hour ahead, else after a minute.
Instant rate_limited_until(const Outcome& outcome, Instant now);

// `defaults`: of the jobs that follow.
Settlement settlement_of(const Finished& finished, Instant now, const JobDefaults& defaults);
// What a worker outside said about its attempt.
Settlement settlement_of(const PullWord& word, Instant now);
// The node ends an attempt itself.
Settlement timeout_of(const Run& run);
Settlement release_of(const Run& run, bool started);

}  // namespace carillon
