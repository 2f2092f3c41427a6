// Schedules, their subjects, and the occurrences that they make.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/jobs/job.h"
#include "core/time/minute_count.h"
#include "store/job_store.h"
#include "store/local_minute.h"
#include "store/rows.h"

namespace carillon {

struct NewSchedule {
  std::string tenant = "default";
  std::string name;
  std::string definition;  // JSON, as it was put
  bool enabled = true;
  std::optional<std::int64_t> if_revision;  // else `conflict`; 0: must not exist
};

// An occurrence, or a range of them, that ended without a job.
struct ClosedSlot {
  Instant first;
  std::optional<Instant> until;  // of a window, or a range of them: the end; of a range of instants: the last one
  std::int64_t count = 1;        // of occurrences; more than one: a range
  JobState outcome = JobState::missed;  // missed, skipped or cutoff_reached; the last becomes the subject's status
  std::string reason;
  std::optional<std::int64_t> local_minute;  // of the first one, by the local clock: days × 1,440 + minute
  std::vector<MinuteCount> minutes;          // of a range: where its occurrences are counted; none: where the first is
  // The slot of a range that this one goes on with: its row grows, if it has the same outcome and reason; else this
  // becomes a row of its own.
  std::optional<Instant> extends;
};

// What changes in a subject's state (subject_text.h). What is not named stays.
struct StateChange {
  std::optional<std::optional<Instant>> expected_at;
  std::optional<std::string> last_status;
  std::optional<std::string> cadence;
  std::optional<std::string> error;  // why it could not be planned: one more, unless it is the last one again
  friend bool operator==(const StateChange&, const StateChange&) = default;
};

// What an occurrence does to an earlier job of its subject, for overlap's sake.
struct SubjectAction {
  enum class What : std::uint8_t {
    cancel,  // reason `replaced`; a processing one is asked to stop
    skip,    // one that is not started ends as skipped, reason `overlap`
  };
  JobId job;
  What what = What::cancel;
};

// One subject moves on: its due occurrences become jobs or outcomes, and its next time is set, all at once
// (invariant 19).
struct Advance {
  ScheduleId schedule;
  std::string subject;
  std::int64_t version = 0;  // of the row that this was computed from: else `conflict`, and nothing happens
  std::optional<Instant> next_at;
  std::optional<Instant> position;  // never falls
  std::optional<Instant> cursor;    // of windows: never falls, and moves on over those that are closed (invariant 20)
  // Applied before the jobs are made. One that does not apply any more, because its job has gone on, is ignored.
  std::vector<SubjectAction> actions;
  std::vector<NewJob> jobs;  // each with its occurrence; or without, and then it is not the subject's open job
  std::vector<ClosedSlot> closed;
  std::optional<StateChange> state;
};

struct Advanced {
  std::int64_t version = 0;
  std::vector<Enqueued> jobs;
  std::vector<ReadyJob> ready;       // what has become ready by the actions
  std::vector<JobId> asked_to_stop;  // processing jobs that an action cancels: their holder's next word decides
};

// A job of a subject that has not ended.
struct OpenJobRow {
  JobId id;
  JobState state = JobState::queued;
  friend bool operator==(const OpenJobRow&, const OpenJobRow&) = default;
};

// Jobs of a deleted schedule that were not started are cancelled in steps.
struct CancelStep {
  std::vector<Changed> cancelled;
  OutcomeKey next_after;  // where to go on
  bool end = false;
};

struct DeletedSchedule {
  ScheduleId id;
  std::vector<Changed> cancelled;  // by the first step
  OutcomeKey next_after;           // go on with `cancel_unstarted`
  bool end = true;                 // there was no more than that
};

// An occurrence, or a range of them, that has got its outcome.
struct FinalizedSlot {
  ScheduleId id;
  std::string tenant;
  std::string schedule;
  std::string subject;
  Instant slot;
  std::optional<Instant> until;
  std::int64_t count = 1;
  JobId job;  // none: it never became one
  JobState outcome = JobState::done;
  std::string reason;
  std::int64_t local_minute = 0;  // of the local clock: days × 1,440 + minute
  bool deleted = false;           // the schedule was, meanwhile
};

struct SubjectEdit {
  std::string subject;
  std::optional<std::int64_t> if_version;
  std::optional<std::string> overrides;
  std::optional<bool> enabled;
  std::optional<std::optional<Instant>> next_at;
  std::optional<Instant> position;  // a lower one is ignored
  std::optional<Instant> cursor;    // may be raised, never lowered: else `conflict` (invariant 20)
  std::optional<StateChange> state;
  bool is_new = false;  // the caller has looked, and there was none: a hint, which costs a look more if it is wrong
};

enum class SubjectFate : std::uint8_t { created, updated, unchanged };

struct PutSubject {
  SubjectRow row;
  SubjectFate fate = SubjectFate::unchanged;
};

// Subjects of a schedule by name, for what goes over all of them.
struct SubjectSlice {
  std::vector<SubjectRow> rows;  // those that live: may be none, though it is not the end
  std::string next_after;        // where to go on
  bool end = false;
};

struct SweepRequest {
  ScheduleId schedule;
  std::optional<std::string> after;  // the subject to go on behind
  std::size_t limit = 1000;
  Instant late_before = kInstantMin;
};

// A subject that a sweep stopped at.
struct SweptSubject {
  SubjectRow row;              // as it is now
  bool lost_open_job = false;  // its open job was not there any more: put right
  bool moved_cursor = false;   // it had closed windows ahead of it: put right
  bool is_late = false;        // its next time is earlier than was asked for
  bool has_no_time = false;    // it is enabled and has no next time: may be right
};

struct SweepStep {
  std::vector<SweptSubject> found;
  std::uint64_t looked_at = 0;
  std::optional<std::string> next_after;
  bool end = false;  // of the schedule
};

struct ScheduleHead {
  ScheduleId schedule;
  bool enabled = true;
  std::optional<Instant> paused_until;
  std::optional<Instant> next_at;  // the earliest of its subjects'
  friend bool operator==(const ScheduleHead&, const ScheduleHead&) = default;
};

// Where a round of pruning stands.
struct PlanPosition {
  enum class Part : std::uint8_t { outcomes, subjects, schedules };
  Part part = Part::outcomes;
  OutcomeKey after;  // as far as the part needs it
  friend bool operator==(const PlanPosition&, const PlanPosition&) = default;
};

struct PlanPruneRequest {
  PlanPosition position;
  std::size_t limit = 1000;
  RetentionRule keep;
};

struct PlanPruneStep {
  std::uint64_t erased = 0;
  PlanPosition position;  // where to go on
  bool end = false;       // the round is over
};

class PlanStore {
 public:
  PlanStore() = default;
  PlanStore(const PlanStore&) = delete;
  PlanStore& operator=(const PlanStore&) = delete;
  virtual ~PlanStore() = default;

  // Makes or replaces; the revision moves only if something changed.
  virtual Result<ScheduleRow> put_schedule(const NewSchedule& schedule) = 0;
  virtual Result<ScheduleRow> set_paused(std::string_view tenant, std::string_view name,
                                         std::optional<Instant> until) = 0;
  // Its subjects' positions stay behind until retention ends; a schedule of that name put later goes on after them.
  // Jobs of it that are not started are cancelled, reason `schedule_deleted`; running and parked ones stay. One step of
  // that is made here. Whatever the steps have not come by is cancelled when it is claimed, so none of it starts, also
  // if the schedule is made anew.
  virtual Result<DeletedSchedule> delete_schedule(std::string_view tenant, std::string_view name) = 0;
  // The next step: looks at up to `limit` occurrences above `after`. Ends at once if the schedule lives again.
  virtual Result<CancelStep> cancel_unstarted(const OutcomeKey& after, std::size_t limit) = 0;
  // As this transaction sees it: inside of `atomically` too. `not_found` if it is deleted.
  virtual Result<ScheduleRow> schedule(ScheduleId id) = 0;
  // One that is deleted, as it was, while anything of it is kept.
  virtual Result<ScheduleRow> deleted_schedule(ScheduleId id) = 0;
  virtual Result<ScheduleRow> schedule(std::string_view tenant, std::string_view name) = 0;

  // Makes or changes subjects of a schedule, all or none; an error names the subject. What changes nothing is not
  // written, and keeps its version.
  virtual Result<std::vector<PutSubject>> put_subjects(ScheduleId schedule, std::span<const SubjectEdit> edits) = 0;
  virtual Result<void> delete_subject(ScheduleId schedule, std::string_view subject) = 0;
  // Like `schedule`.
  virtual Result<SubjectRow> subject(ScheduleId schedule, std::string_view subject) = 0;
  // The same of many, each in the place of its name; nothing: there is none.
  virtual Result<std::vector<std::optional<SubjectRow>>> subjects(ScheduleId schedule,
                                                                  std::span<const std::string_view> names) = 0;
  // The subject's last job if it is live, after those jobs of the subject that it waits for; oldest first. Parked ones
  // are among them.
  virtual Result<std::vector<OpenJobRow>> open_jobs(ScheduleId schedule, std::string_view subject) = 0;
  // Every job of the subject's occurrences that waits or is queued, newest first. Windows have many, and so has a
  // subject whose occurrences may overlap. Looks at all that is kept of the subject.
  virtual Result<std::vector<JobId>> unstarted_jobs(ScheduleId schedule, std::string_view subject) = 0;

  // Windows from the cursor on that are neither closed nor parked; counts no further than `most`.
  virtual Result<std::size_t> open_windows(ScheduleId schedule, std::string_view subject, std::size_t most) = 0;
  // The occurrence of a subject with the highest slot, if any is kept.
  virtual Result<std::optional<OutcomeRow>> last_outcome(ScheduleId schedule, std::string_view subject) = 0;
  // Of these local days, as kept with every occurrence: how many are open or parked. (invariant 34)
  virtual Result<std::int64_t> open_on_days(ScheduleId schedule, const DayRange& days) = 0;
  // The earliest next time of a schedule's subjects.
  virtual Result<std::optional<Instant>> next_subject_at(ScheduleId schedule) = 0;
  // Looks at up to `limit` of them above `after`; of these, the ones that live.
  virtual Result<SubjectSlice> subjects_after(ScheduleId schedule, std::optional<std::string_view> after,
                                              std::size_t limit) = 0;
  // Looks at a slice of a schedule's subjects, puts right what cannot be, and says what it found: those whose open job
  // is gone, whose cursor has closed windows ahead of it, whose next time is before `late_before`, or that have none.
  virtual Result<SweepStep> sweep(const SweepRequest& request) = 0;

  // Schedules whose trigger is `after` another one, by id from above `after`.
  virtual Result<std::vector<ScheduleRow>> followers(ScheduleId after, std::size_t limit) = 0;
  // One entry a schedule, by id from above `after`: for a planner that begins, and to check one that runs.
  virtual Result<std::vector<ScheduleHead>> schedule_heads(ScheduleId after, std::size_t limit) = 0;
  // Earliest first.
  virtual Result<std::vector<SubjectRow>> subjects_due(ScheduleId schedule, Instant until, std::size_t limit) = 0;
  // Each alone.
  virtual std::vector<Result<Advanced>> advance(std::span<const Advance> advances) = 0;

  // What got its outcome so far in the transaction of `atomically`, by whatever call: for those who tell others.
  virtual std::vector<FinalizedSlot> finalized() = 0;
  // Those behind the first `known`: for follow-ups, which finalize more.
  virtual std::vector<FinalizedSlot> finalized_after(std::size_t known) = 0;
  // The same of occurrences whose jobs were parked in the DLQ.
  virtual std::vector<OutcomeKey> parked_after(std::size_t known) = 0;

  // Deletes what is older than its tenant keeps: outcomes that never had a job, and what deleted subjects and schedules
  // left behind; counts of outcomes after 400 days. Looks at up to `limit` rows and goes on from there.
  virtual Result<PlanPruneStep> prune(const PlanPruneRequest& request) = 0;
};

}  // namespace carillon
