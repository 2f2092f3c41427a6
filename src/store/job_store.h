// The life of jobs: the hot half of the seam between the engine and what is kept.
//
// Every call is one whole use case and takes a batch. A batch costs one commit; an item that is refused fails alone and
// changes nothing. If the commit itself fails, every item answers with that failure and nothing has changed: errors
// `unavailable`, `store_full`, `database_error`. After `unavailable` with an unknown commit it is safe to ask again:
// ids are the caller's, and a repeated call is recognised.
//
// Safety never rests on the caller's memory: what is claimed, extended or settled is judged by the row.
#pragma once

#include <carillon/job_query.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/jobs/attempt.h"
#include "core/jobs/job.h"
#include "core/jobs/job_id.h"
#include "core/jobs/job_state.h"
#include "core/policies/gate_history.h"
#include "core/policies/retention.h"
#include "store/rows.h"

namespace carillon {

// What the ready set keeps of a queued job.
struct ReadyJob {
  JobId id;
  LaneId lane;
  TypeId type;
  Instant run_at;
  std::uint8_t priority = kPriorityDefault;
  bool has_options = false;   // limits or gates may apply: ask for them before the claim
  bool last_attempt = false;  // its next one is the last that it has; of one with options its traits say so
  friend bool operator==(const ReadyJob&, const ReadyJob&) = default;
};

struct Enqueued {
  JobId id;
  bool deduplicated = false;  // an idempotency key gave the job that was there already
  JobState state = JobState::queued;
  ReadyJob ready;           // if it is queued
  bool was_stored = false;  // nothing was made: this is how the job stands that is there already
  std::string reason;       // of one that was made and has ended at once
  std::string error;        // the same in words, if there is more to say
};

// A queued job that has left its place otherwise than by a claim: it has ended, or stands at another time or priority.
struct LeftQueue {
  ReadyJob job;  // as it stood
  ScheduleId schedule;
  std::string subject;
};

struct ClaimRequest {
  std::string worker;
  std::optional<Duration> lease;  // else each job's own
  bool in_process = false;
  std::span<const JobId> jobs;
  // The first so many have a free slot. The rest is claimed ahead of one and marked so, until `begun`: if the lease is
  // lost with the mark, that costs no attempt, once in a row. (invariant 12)
  std::size_t slots = SIZE_MAX;
};

struct LeasedJob {
  JobId id;
  std::string tenant;
  std::string queue;
  std::string type;
  std::string payload;
  int priority = kPriorityDefault;
  std::uint32_t attempt = 1;
  std::int64_t token = 0;
  Instant run_at;
  std::optional<Instant> deadline;
  Instant lease_until;
  Duration lease{};
  Duration timeout{};
  // For reading: of its own occurrence, or of the one that it stands beside.
  std::string schedule;
  std::string subject;
  std::optional<Instant> slot;
  SlotKind slot_kind = SlotKind::instant;
  std::optional<SubjectKey> occurrence_of;  // whose slot it holds; nothing: it counts for none (invariant 1)
  StoredOptions options;
  OnAmbiguous on_ambiguous = OnAmbiguous::retry;  // what they say of it
  bool ahead = false;                             // claimed ahead of a free slot
  std::string worker;
  Instant claimed_at;
  StoredDetail detail;
  std::uint32_t closings = 0;  // of gates that held it since it was due, and that its detail does not tell of
  friend bool operator==(const LeasedJob&, const LeasedJob&) = default;
};

// A job that a worker outside of the process holds.
struct OutsideLease {
  LeaseRow lease;
  LeasedJob job;  // as its claim gave it, without payload and closings
  TypeId type;
};

// What limits and gates judge a job by.
struct JobTraits {
  JobId id;
  std::vector<std::string> limits;
  bool notifies = false;
  bool last_attempt = false;  // its next one is the last that it has
  friend bool operator==(const JobTraits&, const JobTraits&) = default;
};

// Of a job, what people change by hand.
struct JobStanding {
  JobState state = JobState::queued;
  int priority = kPriorityDefault;
  Instant run_at;
  bool cancel_requested = false;
  // Of `patch`, what it names.
  std::optional<std::string> payload;
  std::optional<std::optional<RetryPolicy>> retry;
  std::optional<std::uint32_t> max_attempts;
  std::optional<std::vector<std::string>> limits;
  friend bool operator==(const JobStanding&, const JobStanding&) = default;
};

struct Changed {
  JobId id;
  std::string tenant;
  std::string type;
  JobState state = JobState::queued;
  bool cancel_requested = false;
  std::vector<ReadyJob> ready;  // what has become ready by it: itself, or dependents that run anyway
  // Of `act` and `patch`: how it stood, and how it stands now.
  JobStanding before;
  JobStanding after;
};

// A job that a gate held, and that left before the gate has opened: it has ended, or was given another time.
struct DeferredJob {
  JobId job;
  std::string tenant;
  std::string queue;
  GateKind gate = GateKind::maintenance;
  std::optional<Instant> until;
};

// A due job whose schedule or subject does not let it start now.
struct HeldJob {
  ReadyJob job;
  std::string tenant;
  ScheduleId schedule;
  std::string subject;           // that is disabled; "": the schedule holds it
  std::optional<Instant> until;  // the end of its pause, if that is known
};

struct Claimed {
  std::vector<LeasedJob> jobs;
  std::vector<Changed> overdue;  // ended instead: their deadline had passed, or their schedule was deleted
  std::vector<HeldJob> held;     // left as they are: their schedule is paused or disabled, or their subject is
  std::vector<ReadyJob> early;   // left as they are: not due, because somebody moved them or the clock
  std::vector<ReadyJob> last;    // left as they are: the last attempt of a job is not claimed ahead of a free slot
};

// An attempt under its lease.
struct LeaseKey {
  JobId job;
  std::int64_t token = 0;
};

struct Extension {
  JobId job;
  std::int64_t token = 0;
  bool started = true;                  // false: the handler has not been entered, so its timeout has not begun
  std::optional<std::string> progress;  // JSON
};

struct Extended {
  Instant lease_until;
  bool cancel_requested = false;
};

struct AttemptError {
  std::string message;
  std::string error_class;
};

// What the holder says at the end of an attempt.
struct Settlement {
  JobId job;
  std::int64_t token = 0;
  AttemptEnd end;
  struct Deferral {
    std::optional<Instant> until;  // nothing: until it is lifted; it stays due, and the closed gate holds it
    std::string reason;
  };
  std::optional<Deferral> defer;  // instead of `end`: put back by a gate; costs no attempt
  bool hold = false;              // of error: to the DLQ, reason ambiguous_effect (invariant 18)
  std::optional<Instant> started_at;
  AttemptError error;
  std::string output;       // JSON, of ok
  std::string stderr_text;  // of ok
  std::string reason;       // of skipped
  std::vector<NewJob> then;
  struct SubjectChange {
    std::optional<Instant> expected_at;
    std::optional<std::string> status;
    bool forgets_expected_at = false;
  };
  std::optional<SubjectChange> subject;
  // All that its holder said, as a number: a repeated call says the same, and one that does not is a conflict. 0: there
  // was nothing to say, or nobody is there to repeat it.
  std::int64_t said = 0;
};

// What became of a follow-up: its job, or the one that its key belongs to.
struct FollowedUp {
  JobId id;
  bool deduplicated = false;
  std::optional<Error> error;  // idempotency_conflict: it was not made, because that one has another payload
};

struct Settled {
  JobId id;
  JobState state = JobState::done;
  Instant run_at;                // of queued
  std::vector<ReadyJob> ready;   // what has become ready by it: itself, dependents, follow-ups
  std::vector<FollowedUp> then;  // in the order of the settlement's, if the job has ended as done or skipped
};

// An attempt that the store ended itself.
struct Reaped {
  JobId id;
  std::string tenant;
  std::string type;
  AttemptResult result = AttemptResult::lease_lost;
  std::string worker;
  JobState state = JobState::queued;
  std::vector<ReadyJob> ready;
};

struct LivePage {
  std::vector<ReadyJob> jobs;
  JobId next_after;  // where to go on
  bool end = false;  // there is nothing above next_after
};

struct EffectClaim {
  enum class Kind : std::uint8_t { first, done, unknown };
  Kind kind = Kind::first;
  std::string result;         // of done
  bool is_under_way = false;  // of unknown: the attempt that claimed it still has its lease
  bool is_lifted = false;     // of first: it may have happened, and an operator says that it is to be run
};

enum class JobAction : std::uint8_t {
  cancel,   // any that is not final; a processing one is asked to stop
  retry,    // from the DLQ, with fresh attempts; what it was held for is run (invariant 18)
  discard,  // from the DLQ: cancelled, reason discarded
  run_now,  // a queued one, whatever its time
};

// What is not named stays.
struct JobPatch {
  std::optional<int> priority;
  std::optional<Instant> run_at;
  std::optional<std::string> payload;               // instead of the whole that is there
  std::optional<std::string> payload_over;          // merged over what is there, top level by top level
  std::optional<std::string> meta_over;             // likewise
  std::optional<std::optional<RetryPolicy>> retry;  // nothing in it: the default
  std::optional<std::uint32_t> max_attempts;
  std::optional<std::vector<std::string>> limits;
};

// How far one step of bulk work goes.
struct BulkBounds {
  std::size_t rows;                                     // that it looks at
  std::size_t changes = SIZE_MAX;                       // that it makes or tries to make
  BulkBounds(std::size_t rows_max) : rows(rows_max) {}  // NOLINT(google-explicit-constructor): most bound only the rows
  BulkBounds(std::size_t rows_max, std::size_t changes_max) : rows(rows_max), changes(changes_max) {}
};

struct BulkStep {
  std::uint64_t changed = 0;
  std::uint64_t refused = 0;
  JobId next_after;
  bool end = false;
  std::vector<Changed> jobs;  // that were changed; what has become ready stands in `ready`
  std::vector<ReadyJob> ready;
};

// Why a job that waits has not started before its deadline: `gated`, `paused`, else `deadline`.
struct WhyNotStarted {
  JobId job;
  VerdictReason reason = VerdictReason::deadline;
};

// A queued job whose deadline has passed, as it waits.
struct OverdueJob {
  JobId id;
  LaneId lane;
  bool notifies = false;
};

class JobStore {
 public:
  JobStore() = default;
  JobStore(const JobStore&) = delete;
  JobStore& operator=(const JobStore&) = delete;
  virtual ~JobStore() = default;

  // The wall clock of the store: the only one that decides. (invariant 11)
  virtual Instant now() const = 0;
  // A fresh id, higher than all that this store holds. Any thread.
  virtual JobId new_job_id() = 0;

  // Each alone. With a held key: the job that holds it, and nothing is written but `last_seen_at`; another payload
  // under it is `idempotency_conflict` (invariant 17). An id that is stored already: its job as it stands now,
  // not deduplicated; another tenant's, `conflict`; one from further ahead than an hour, `invalid_request`. A
  // `depends_on` that is not stored: `dependency_not_met`. An occurrence that exists already: its job, deduplicated
  // (invariant 1).
  virtual std::vector<Result<Enqueued>> enqueue(std::span<const NewJob> jobs) = 0;
  // All or none. A job may depend on one that stands before it.
  virtual Result<std::vector<Enqueued>> enqueue_all(std::span<const NewJob> jobs) = 0;

  // The job that a key belongs to, as `enqueue` finds it; nothing if it is free.
  struct SaidKey {
    std::string_view tenant;
    std::string_view type;
    std::string_view key;
    std::string_view said;  // what came with it
  };
  virtual Result<std::optional<Enqueued>> key_holder(const SaidKey& key) = 0;
  // From now on, and for as long as it is kept, the key belongs to a job that is there already. Of those that are added
  // the last 20 stay.
  virtual Result<void> add_key(JobId job, std::string_view key, std::string_view said) = 0;

  // Leases those of `request.jobs` that are queued and due. Each token is higher than the job's last one; no job is
  // under two leases (invariant 9). One that is not to be had is simply absent from the answer; one whose deadline has
  // passed ends as cutoff_reached (invariant 22); one whose schedule is deleted is cancelled; one whose schedule
  // or subject is paused or disabled is held, and nothing is written for it (invariant 32).
  virtual Result<Claimed> claim(const ClaimRequest& request) = 0;
  // Their handlers have been entered: they are ahead no longer. One whose token is not the current one is left alone.
  virtual Result<void> begun(std::span<const LeaseKey> leases) = 0;
  // From now on for the lease's length again, but never past the attempt's timeout (invariant 13). `stale_token` unless
  // it is the current one: then, here and below, the error's details have the job's `state`, and `reason` and `when` of
  // what ended the attempt.
  virtual std::vector<Result<Extended>> extend(std::span<const Extension> extensions) = 0;
  // Ends attempts: job, attempt, follow-ups, dependents, outcome, subject and cursor in one transaction (invariants 14,
  // 20, 23, 30). Only with the current token; a repeated call is answered as at first (invariant 10), with the state
  // that the job has come to since, should an operator have retried or ended it meanwhile. The same end with other
  // words is a `conflict`. A follow-up whose key is held with another payload is told and not made; one that is refused
  // for any other reason refuses all.
  virtual std::vector<Result<Settled>> settle(std::span<const Settlement> settlements) = 0;
  // Ends attempts whose lease or time has run out; at most `limit`. (invariants 12, 13)
  virtual Result<std::vector<Reaped>> reap(std::size_t limit) = 0;
  // Of the first `limit` jobs whose deadline has passed those that are queued, in the order of deadlines.
  virtual Result<std::vector<OverdueJob>> overdue(std::size_t limit) = 0;
  // Ends jobs whose deadline has passed, in the order of deadlines; at most `limit`. (invariant 3) Of a queued one that
  // its own schedule does not hold, `why` says why it has not started; of one that it does not name: its deadline.
  virtual Result<std::vector<Changed>> finish_overdue(std::size_t limit, std::span<const WhyNotStarted> why) = 0;

  // The queued jobs above `after` that are due by `until`, or later than that but not far off when they were written (a
  // clock was set back since), in the order of ids. Looks at no more than `limit` rows.
  virtual Result<LivePage> load_live(JobId after, Instant until, std::size_t limit) = 0;
  // Jobs that were far off when they were written, due in (from, until], earliest first.
  virtual Result<std::vector<ReadyJob>> load_later(Instant from, Instant until, std::size_t limit) = 0;
  // Of those that are live, in the order asked for; others are left out.
  virtual Result<std::vector<JobTraits>> traits(std::span<const JobId> jobs) = 0;
  // The earliest deadline of a live job, passed or not.
  virtual Result<std::optional<Instant>> next_deadline() = 0;
  // When the earliest of the far-off jobs that are due after `after` is due.
  virtual Result<std::optional<Instant>> next_later(Instant after) = 0;
  virtual Result<std::vector<LeaseRow>> leases() = 0;
  virtual Result<std::vector<OutsideLease>> outside_leases() = 0;
  // Whose a job is, live or finished; nothing if there is none. For calls that name a job and many tenants.
  virtual Result<std::optional<std::string>> tenant_of(JobId job) = 0;
  // A number that was given out means this name for as long as the store is open, even if its transaction was undone.
  virtual Lane lane(LaneId lane) = 0;
  virtual std::string type_name(TypeId type) = 0;

  // By id, of one tenant: a foreign id is `not_found` like an absent one (invariant 28).
  virtual std::vector<Result<Changed>> act(std::string_view tenant, JobAction action, std::span<const JobId> jobs) = 0;
  // One that is queued or waits: one that a worker has is `job_already_running`, any other `conflict`. A delivery is
  // tried again as its schedule says: another `retry` is `invalid_configuration`.
  virtual Result<Changed> patch(std::string_view tenant, JobId job, const JobPatch& patch) = 0;
  // The same over all that match, above `after`. Call again until the end.
  virtual Result<BulkStep> act_on(const JobQuery& filter, JobAction action, JobId after, BulkBounds bounds) = 0;

  // Jobs that ended so far in the transaction of `atomically` by what was done to another, and that no call answers
  // with: they waited for one that cannot be done any more, or their series goes on without them. For those who tell
  // others.
  virtual std::vector<Changed> ended_along() = 0;
  // Those that were queued and have left their place so far in the transaction of `atomically`, each told once. For
  // those who remember what is queued.
  virtual std::vector<LeftQueue> take_left_queue() = 0;
  // How those of them stand that are queued; others are left out.
  virtual Result<std::vector<ReadyJob>> queued(std::span<const JobId> jobs) = 0;

  // Jobs that so far in the transaction of `atomically` have left a gate that is closed still. Each closing counts once
  // for a job: what its opening will tell must leave these out.
  virtual std::vector<DeferredJob> deferred_along() = 0;

  // The guard of an effect (invariant 18). Refused with `stale_token` unless the caller holds the lease. Who asks for
  // one that another attempt has left without a word is told `unknown` and has the claim from then on. Only who has it,
  // the very attempt, finishes or undoes it; another is a `conflict`, and a key that nobody has is `not_found`.
  virtual Result<EffectClaim> claim_effect(std::string_view tenant, std::string_view key, JobId job,
                                           std::int64_t token) = 0;
  virtual Result<void> effect_done(std::string_view tenant, std::string_view key, JobId job, std::int64_t token,
                                   std::string_view result) = 0;
  virtual Result<void> effect_undone(std::string_view tenant, std::string_view key, JobId job, std::int64_t token) = 0;

  // Deletes what has been finished for longer than its tenant keeps it, stepping over up to `limit` rows above `after`.
  // A job stays as long as others wait for it, its key is held, or the cursor has not come by its window. Effects go
  // after 30 days, at the end of a pass over all jobs.
  struct PruneRequest {
    JobId after;
    std::size_t limit = 1000;
    RetentionRule keep;
    std::optional<JobId> before;  // looks at none from it on
  };
  struct PruneStep {
    std::uint64_t erased = 0;
    JobId next_after;
    bool end = false;
  };
  virtual Result<PruneStep> prune(const PruneRequest& request) = 0;
};

}  // namespace carillon
