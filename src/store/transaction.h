// One atomic unit of work on a backend. Use cases are written against this, once for all backends: they fetch rows,
// decide with the functions of core, and put rows back.
//
// What the store cannot do (a full disk, a failed read) does not interrupt a use case: the transaction remembers its
// first failure, further writes do nothing, further reads find nothing, and the commit answers with the failure. So a
// use case has no error paths of its own but those of its rules.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "store/job_store.h"
#include "store/local_minute.h"
#include "store/plan_store.h"
#include "store/rows.h"
#include "store/schedule_results.h"

namespace carillon {

class Transaction {
 public:
  Transaction() = default;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  virtual ~Transaction() = default;

  virtual bool failed() const = 0;
  // Makes it fail: a row was found that cannot be.
  virtual void fail(Error error) = 0;

  // What was written since is taken back by `roll_back_to_savepoint`. Not nested: cases/all_or_nothing.h is who calls.
  virtual void savepoint() = 0;
  virtual void roll_back_to_savepoint() = 0;
  virtual void release_savepoint() = 0;

  // ---- Names ----
  // A number that was given out is never given to another name, though its transaction be undone: callers may hold it.
  virtual LaneId lane(std::string_view tenant, std::string_view queue) = 0;  // made if it is new
  virtual const Lane& lane_names(LaneId lane) = 0;
  virtual TypeId type(std::string_view name) = 0;  // made if it is new
  virtual const std::string& type_name(TypeId type) = 0;

  // ---- Live jobs ----
  virtual std::optional<JobRow> job(JobId id) = 0;
  virtual std::string payload(JobId id) = 0;
  // Both at once: what a claim needs.
  struct JobWithPayload {
    JobRow row;
    std::string payload;
  };
  virtual std::optional<JobWithPayload> job_with_payload(JobId id) = 0;
  virtual void insert_job(const JobRow& row, std::string_view payload) = 0;
  // Every column but the id and the payload. `before` is what `job` returned.
  virtual void update_job(const JobRow& before, const JobRow& after) = 0;
  virtual void update_payload(JobId id, std::string_view payload) = 0;
  // In the order of ids, from above `after`; at most `limit`.
  virtual std::vector<JobRow> jobs_above(JobId after, std::size_t limit) = 0;
  // Those that are queued, not leased, and due by `until` or not kept as far off. Looks at no more than `limit` rows.
  virtual LivePage ready_above(JobId after, Instant until, std::size_t limit) = 0;
  // Those written as far off that are due in (from, until], earliest first.
  virtual std::vector<ReadyJob> far_off(Instant from, Instant until, std::size_t limit) = 0;
  // Live jobs whose deadline is `until` or earlier, earliest first.
  virtual std::vector<JobId> deadlines(Instant until, std::size_t limit) = 0;

  // ---- The archive ----
  // Moves a live job there, with its payload.
  virtual void archive(const JobRow& before, const ArchiveRow& row) = 0;
  // The plain success of a plain job in one step, lease and all: one without a deadline, occurrence, options, detail or
  // dependents, under a lease with this token. Its lane; nothing if it is not one, and then nothing is written.
  struct PlainSuccess {
    JobId job;
    std::int64_t token = 0;
    std::optional<Instant> started_at;  // else when it was claimed
    Instant finished_at;
  };
  virtual std::optional<LaneId> archive_plain_success(const PlainSuccess& success) = 0;
  virtual std::optional<ArchiveRow> archived(JobId id) = 0;
  virtual void update_archived_detail(JobId id, const StoredDetail& detail) = 0;
  virtual std::vector<ArchiveRow> archived_above(JobId after, std::size_t limit) = 0;
  // With its payload and attempts.
  virtual void erase_archived(const ArchiveRow& row) = 0;
  virtual void insert_attempt(const AttemptRow& row) = 0;
  // One that ended without ending its job.
  virtual std::optional<AttemptRow> attempt(JobId job, std::int64_t token) = 0;

  // ---- Leases ----
  virtual std::optional<LeaseRow> lease(JobId job) = 0;
  // Both at once: what the end of an attempt needs.
  struct LeasedRow {
    LeaseRow lease;
    JobRow job;
  };
  virtual std::optional<LeasedRow> leased_job(JobId job) = 0;
  // False if there is one already: then nothing is written.
  virtual bool insert_lease(const LeaseRow& row) = 0;
  virtual void update_lease(const LeaseRow& row) = 0;
  virtual void erase_lease(JobId job) = 0;
  virtual std::vector<LeaseRow> leases() = 0;
  // Those that have run out.
  virtual std::vector<LeaseRow> leases_out(BootTime now, std::size_t limit) = 0;

  // ---- Idempotency keys, effects ----
  virtual std::optional<KeyRow> key(std::string_view tenant, TypeId type, std::string_view key) = 0;
  virtual void put_key(const KeyRow& row) = 0;
  virtual void erase_key(const KeyRow& row) = 0;
  virtual std::optional<EffectRow> effect(std::string_view tenant, std::string_view key) = 0;
  virtual void put_effect(const EffectRow& row) = 0;
  virtual void erase_effect(std::string_view tenant, std::string_view key) = 0;
  virtual std::size_t erase_effects_before(Instant at, std::size_t limit) = 0;
  // Of one tenant, some of them: how many there were to erase.
  virtual std::size_t erase_keys_of(std::string_view tenant, std::size_t limit) = 0;
  virtual std::size_t erase_effects_of(std::string_view tenant, std::size_t limit) = 0;

  // ---- Dependencies: `child` waits for `parent` ----
  virtual void insert_dependency(JobId parent, JobId child) = 0;
  virtual void erase_dependency(JobId parent, JobId child) = 0;
  virtual std::vector<JobId> children(JobId parent) = 0;
  virtual std::vector<JobId> parents(JobId child) = 0;
  virtual bool has_parents(JobId child) = 0;
  virtual void erase_parents(JobId child) = 0;

  // ---- Counts, by lane and state: kept, never counted ----
  virtual void add_count(LaneId lane, JobState state, std::int64_t change) = 0;
  // How many jobs of a tenant are not final, as it was when the transaction began.
  virtual std::int64_t live_jobs_of(std::string_view tenant) = 0;

  // ---- Schedules and subjects ----
  virtual std::optional<ScheduleRow> schedule(std::string_view tenant, std::string_view name) = 0;
  virtual std::optional<ScheduleRow> schedule(ScheduleId id) = 0;
  virtual ScheduleId insert_schedule(const ScheduleRow& row) = 0;  // its id is chosen here
  // All but its results, which stay; of one that is deleted they are cleared.
  virtual void update_schedule(const ScheduleRow& row) = 0;
  // Into the schedule's results, unless that is deleted, or of a later generation.
  virtual void add_result(const EndedOccurrence& ended) = 0;
  // By id, from above `after`: those that are not deleted, with the earliest time of their subjects.
  virtual std::vector<ScheduleHead> schedule_heads(ScheduleId after, std::size_t limit) = 0;
  // Those that follow another one and are not deleted.
  virtual std::vector<ScheduleRow> followers_above(ScheduleId after, std::size_t limit) = 0;
  // By id, from above `after`, deleted ones too.
  virtual std::vector<ScheduleRow> schedules_above(ScheduleId after, std::size_t limit) = 0;
  virtual void erase_schedule(ScheduleId id) = 0;
  // Whether it has subjects or outcomes.
  virtual bool has_rows_of(ScheduleId id) = 0;
  virtual std::optional<SubjectRow> subject(ScheduleId schedule, std::string_view subject) = 0;
  // Whether it is there and enabled; one that is not there at all is held by nothing, and counts as enabled.
  virtual bool is_enabled(ScheduleId schedule, std::string_view subject) = 0;
  // False if there is one already, deleted ones too: then nothing is written.
  virtual bool insert_subject(const SubjectRow& row) = 0;
  // `next_at_before` is that of the row that is replaced: what does not move costs no index.
  virtual void update_subject(std::optional<Instant> next_at_before, const SubjectRow& row) = 0;
  // How many it has, kept like the counts of jobs.
  virtual void add_subjects(ScheduleId schedule, std::int64_t change) = 0;
  virtual std::optional<Instant> next_subject_at(ScheduleId schedule) = 0;
  // By key, from above `after`, deleted ones too.
  virtual std::vector<SubjectRow> subjects_above(const SubjectKey& after, std::size_t limit) = 0;
  virtual void erase_subject(const SubjectKey& key) = 0;
  virtual std::vector<SubjectRow> subjects_due(ScheduleId schedule, Instant until, std::size_t limit) = 0;

  // ---- Outcomes ----
  virtual std::optional<OutcomeRow> outcome(ScheduleId schedule, std::string_view subject, Instant slot) = 0;
  // The one with the highest slot up to `slot`.
  virtual std::optional<OutcomeRow> outcome_until(ScheduleId schedule, std::string_view subject, Instant slot) = 0;
  // False if there is one already: then nothing is written.
  virtual bool insert_outcome(const OutcomeRow& row) = 0;
  virtual void update_outcome(const OutcomeRow& row) = 0;
  // How many from the slot `from` on have neither an outcome nor are parked; no more than `most`.
  virtual std::size_t open_outcomes(ScheduleId schedule, std::string_view subject, Instant from, std::size_t most) = 0;
  virtual void erase_outcome(ScheduleId schedule, std::string_view subject, Instant slot) = 0;
  // Schedule by schedule, from above `after`; those of one in an order of the store's own, each subject's by slot.
  // Subject "" at kInstantMin stands before all of a schedule.
  virtual std::vector<OutcomeRow> outcomes_above(const OutcomeKey& after, std::size_t limit) = 0;
  // By the day and minute of the local clock, kept like the counts of jobs. `outcome` may be kOpenOutcome, or dlq.
  virtual void add_outcome_count(ScheduleId schedule, std::int64_t local_minute, JobState outcome,
                                 std::int64_t change) = 0;
  // What these counts say: occurrences of those local days that are open or parked.
  virtual std::int64_t open_on_days(ScheduleId schedule, const DayRange& days) = 0;
  // Those of days before `day`.
  virtual void erase_outcome_counts(ScheduleId schedule, std::int64_t day) = 0;

  // ---- Documents, audit ----
  virtual std::optional<Document> document(const DocumentKey& key) = 0;
  // By key, from above `after`.
  virtual std::vector<Document> documents_above(const DocumentKey& after, std::size_t limit) = 0;
  virtual void put_document(const Document& document) = 0;
  virtual void erase_document(const DocumentKey& key) = 0;
  virtual void append_audit(const AuditRow& row) = 0;
  virtual std::size_t erase_audit_of(std::string_view tenant, std::size_t limit) = 0;
  // Of the oldest `limit` rows, those of before `at`. How many.
  virtual std::size_t erase_audit_before(Instant at, std::size_t limit) = 0;
};

}  // namespace carillon
