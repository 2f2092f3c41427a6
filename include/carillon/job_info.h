// A job as it stands, with everything that is known of it.
#pragma once

#include <carillon/attempt_result.h>
#include <carillon/job.h>
#include <carillon/job_id.h>
#include <carillon/job_state.h>
#include <carillon/time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace carillon {

struct AttemptInfo {
  std::uint32_t number = 1;  // goes on when an operator has the job retried
  std::string trigger;       // the job's origin for the first one, then `retry`
  std::string worker;
  Instant started_at;
  Instant finished_at;
  AttemptResult result = AttemptResult::ok;
  std::string error_class;
  std::string error;
};

struct JobInfo {
  JobId id;
  std::string tenant;
  std::string queue;
  std::string type;
  std::string payload;
  int priority = 3;
  JobState state = JobState::queued;
  std::string reason;
  Origin origin = Origin::api;
  JobId parent;
  std::string schedule;  // of its occurrence, or of the one that it tells of
  std::string subject;
  std::optional<Instant> slot;
  SlotKind slot_kind = SlotKind::instant;
  std::string key;
  std::string idempotency_key;
  Instant run_at;
  std::optional<Instant> deadline;
  std::uint32_t attempt = 0;  // used so far
  std::optional<std::uint32_t> max_attempts;
  std::int64_t token = 0;
  std::string worker;
  std::optional<Instant> lease_until;
  Duration timeout{};
  std::vector<std::string> limits;
  bool notifies = false;
  std::uint32_t deferrals = 0;
  std::optional<Instant> deferred_until;
  std::string defer_reason;
  bool cancel_requested = false;
  std::vector<JobId> depends_on;  // all that it was to wait for
  std::vector<JobId> waits_for;   // those of them that have not ended; not in lists
  std::vector<std::string> tags;
  std::string meta;
  std::string created_by;
  std::string progress;
  std::string output;
  std::string stderr_text;  // of a program that succeeded
  std::string last_error_code;
  std::string last_error;
  Instant created_at;
  std::optional<Instant> started_at;  // of the attempt that runs; of a finished job: of its last one
  std::optional<Instant> finished_at;
  std::optional<Instant> last_seen_at;
  std::vector<AttemptInfo> attempts;
};

// The object `job` of the documentation.
std::string to_json(const JobInfo& job);

}  // namespace carillon
