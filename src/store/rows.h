// What is kept, row by row, as every backend keeps it. Only use cases and backends see these; callers of the seam do
// not.
//
// A live job is one row, plus a lease while a worker has it. A finished one is one row of the archive. Names of lanes
// and types are interned. What most jobs do not have stands in two JSON texts: `options`, which nothing that happens
// to it changes, and `detail`, what happened so far (job_text.h).
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "core/jobs/attempt.h"
#include "core/jobs/job_id.h"
#include "core/jobs/job_state.h"
#include "core/settings/audit_detail.h"
#include "core/time/instant.h"
#include "store/stored_value.h"

namespace carillon {

// A tenant's queue.
struct LaneId {
  std::int64_t value = 0;
  friend auto operator<=>(const LaneId&, const LaneId&) = default;
};

struct Lane {
  std::string tenant;
  std::string queue;
  friend auto operator<=>(const Lane&, const Lane&) = default;
};

struct TypeId {
  std::int64_t value = 0;
  friend auto operator<=>(const TypeId&, const TypeId&) = default;
};

struct ScheduleId {
  std::int64_t value = 0;  // 0: none
  explicit operator bool() const { return value != 0; }
  friend auto operator<=>(const ScheduleId&, const ScheduleId&) = default;
};

struct JobRow {
  JobId id;
  JobState state = JobState::queued;  // waiting, queued or dlq; a lease makes it processing
  LaneId lane;
  TypeId type;
  int priority = 3;
  Instant run_at;              // of a leased one: for when the attempt was planned
  std::uint32_t attempts = 0;  // used, without the one that runs
  std::int64_t token = 0;      // the highest that was given out
  std::optional<Instant> deadline;
  bool later = false;  // it stands in the table of far-off jobs, under run_at
  ScheduleId schedule;
  std::string subject;
  std::optional<Instant> slot;
  StoredOptions options;
  StoredDetail detail;
  friend bool operator==(const JobRow&, const JobRow&) = default;
};

// Boot time: microseconds that do not jump when the wall clock is set. Kept for leases; cut anew when the store opens.
using BootTime = std::chrono::microseconds;

struct LeaseRow {
  JobId job;
  std::int64_t token = 0;
  std::uint32_t attempt = 1;  // its number among the attempts used
  std::string worker;
  bool in_process = false;  // of a handler in the engine's own process, which dies with it
  bool ahead = false;       // claimed ahead of a free slot, and not known to have begun (invariant 12)
  Instant claimed_at;
  Duration length{};
  BootTime until{};
  BootTime timeout_at{};
  friend bool operator==(const LeaseRow&, const LeaseRow&) = default;
};

// A finished job. `job.state` is final; the attempt that ended it, if one did, stands here and not in AttemptRow.
struct ArchiveRow {
  JobRow job;
  Instant finished_at;
  std::optional<AttemptResult> result;
  std::string worker;
  std::optional<Instant> started_at;
  friend bool operator==(const ArchiveRow&, const ArchiveRow&) = default;
};

// An attempt that ended without ending its job.
struct AttemptRow {
  JobId job;
  std::int64_t token = 0;
  std::uint32_t number = 1;
  AttemptResult result = AttemptResult::error;
  std::string worker;
  Instant started_at;
  Instant finished_at;
  std::string error_class;
  std::string error;
  friend bool operator==(const AttemptRow&, const AttemptRow&) = default;
};

// An idempotency key. (invariant 17)
struct KeyRow {
  std::string tenant;
  TypeId type;
  std::string key;
  JobId job;
  std::int64_t payload_hash = 0;
  std::optional<Instant> held_until;  // nothing: as long as the job's own rule says
  friend bool operator==(const KeyRow&, const KeyRow&) = default;
};

struct OutcomeKey {
  ScheduleId schedule;
  std::string subject;
  Instant slot;
  friend auto operator<=>(const OutcomeKey&, const OutcomeKey&) = default;
};

// What became of an occurrence, or of a range of them. Without an outcome its job is open, or parked.
struct OutcomeRow {
  ScheduleId schedule;
  std::string subject;
  Instant slot;
  std::optional<Instant> until;  // of a window, or a range of them: the end; of a range of instants: the last one
  std::int64_t count = 1;        // of occurrences; more than one: a range
  JobId job;                     // none: never became one
  std::optional<JobState> outcome;
  bool parked = false;  // in the DLQ: closed for the cursor, without an outcome
  std::string reason;
  std::optional<Instant> at;
  std::int64_t local_minute = 0;  // of the local clock: days × 1,440 + minute; where it was not said, the slot's in UTC
  friend bool operator==(const OutcomeRow&, const OutcomeRow&) = default;
};

// How the occurrences of a schedule with fan_out went, whosever they were: kept, never counted. (invariant 34) Without
// fan_out its one subject has all of it.
struct ScheduleResults {
  std::optional<JobState> last_outcome;  // dlq: it is parked
  std::int64_t error_count = 0;          // in a row: outcomes that were no success, and occurrences that were parked
  std::string last_error;
  friend bool operator==(const ScheduleResults&, const ScheduleResults&) = default;
};

struct ScheduleRow {
  ScheduleId id;
  std::string tenant;
  std::string name;
  std::int64_t revision = 1;
  std::int64_t generation = 1;  // moves when a deleted one is made anew: it has none of the old subjects
  std::string definition;       // JSON, as it was put
  bool enabled = true;
  std::optional<Instant> paused_until;
  std::optional<Instant> deleted_at;  // its subjects' positions stay until retention ends
  Instant created_at;
  Instant updated_at;
  std::int64_t subjects = 0;  // how many it has: kept, never counted (invariant 34)
  JobId first_job;            // an older one is of an earlier life: not started, it never will be
  ScheduleResults results;    // moves with outcomes alone, and is no edit
  friend bool operator==(const ScheduleRow&, const ScheduleRow&) = default;
};

struct SubjectKey {
  ScheduleId schedule;
  std::string subject;
  friend auto operator<=>(const SubjectKey&, const SubjectKey&) = default;
};

struct SubjectRow {
  ScheduleId schedule;
  std::string subject;
  std::int64_t generation = 1;      // of the schedule that it was put under; an older one: it is gone
  std::int64_t version = 1;         // moves with every change: an advance applies only to what it was computed from
  std::optional<Instant> next_at;   // nothing: no further time, or not enabled
  std::optional<Instant> position;  // the last slot that was planned; never falls (invariant 1)
  JobId open_job;                   // the last job that ran or may run
  std::optional<Instant> cursor;    // of windows: all before it is closed; never falls (invariant 20)
  bool enabled = true;              // its jobs are held while it is not (invariant 32)
  std::string overrides;            // JSON
  // What happened so far; read it with subject_text.h.
  std::optional<JobState> status;      // the last outcome, or dlq: an occurrence was parked since
  std::optional<Instant> last_slot;    // that it belongs to; of a delivery: the last one that is over
  std::optional<Instant> last_run_at;  // of the last success
  std::string state;                   // JSON of the rest
  std::optional<Instant> deleted_at;
  friend bool operator==(const SubjectRow&, const SubjectRow&) = default;
};

enum class EffectState : std::uint8_t { claimed, done };

struct EffectRow {
  std::string tenant;
  std::string key;
  JobId job;
  std::int64_t token = 0;
  EffectState state = EffectState::claimed;
  bool in_doubt = false;  // of claimed: an earlier attempt had it, and left no word
  std::string result;     // JSON
  Instant at;
  friend bool operator==(const EffectRow&, const EffectRow&) = default;
};

// Settings, limits, queues, handlers, hooks, API keys, bulk work: small things that are read and written whole.
struct DocumentKey {
  std::string tenant;  // "": for all
  std::string kind;
  std::string name;
  friend auto operator<=>(const DocumentKey&, const DocumentKey&) = default;
};

struct Document {
  DocumentKey key;
  std::int64_t revision = 1;
  std::string body;  // JSON
  Instant updated_at;
  friend bool operator==(const Document&, const Document&) = default;
};

// Who did what. The store dates it.
struct AuditWord {
  std::string tenant;  // "": it concerns all
  std::string actor;
  std::string action;
  std::string target;
  friend bool operator==(const AuditWord&, const AuditWord&) = default;
};

struct AuditRow {
  std::int64_t sequence = 0;
  Instant at;
  std::string tenant;
  std::string actor;
  std::string action;
  std::string target;
  AuditDetail detail;
  friend bool operator==(const AuditRow&, const AuditRow&) = default;
};

}  // namespace carillon
