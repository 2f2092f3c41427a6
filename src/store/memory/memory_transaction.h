// The rows of the memory store, as use cases see them.
#pragma once

#include "store/memory/memory_tables.h"
#include "store/transaction.h"

namespace carillon {

class MemoryTransaction final : public Transaction {
 public:
  explicit MemoryTransaction(MemoryTables& tables) : tables_(tables) {}

  void begin();
  Result<void> commit();
  void roll_back();

  bool failed() const override { return failure_.has_value(); }
  void fail(Error error) override;
  void savepoint() override { savepoint_ = tables_.undo.size(); }
  void roll_back_to_savepoint() override { tables_.undo.roll_back_to(savepoint_); }
  void release_savepoint() override {}

  LaneId lane(std::string_view tenant, std::string_view queue) override;
  const Lane& lane_names(LaneId lane) override;
  TypeId type(std::string_view name) override;
  const std::string& type_name(TypeId type) override;

  std::optional<JobRow> job(JobId id) override { return tables_.jobs.get(id); }
  std::string payload(JobId id) override { return tables_.payloads.get(id).value_or(std::string()); }
  std::optional<JobWithPayload> job_with_payload(JobId id) override;
  void insert_job(const JobRow& row, std::string_view payload) override;
  void update_payload(JobId id, std::string_view payload) override;
  void update_job(const JobRow& before, const JobRow& after) override;
  std::vector<JobRow> jobs_above(JobId after, std::size_t limit) override;
  LivePage ready_above(JobId after, Instant until, std::size_t limit) override;
  std::vector<ReadyJob> far_off(Instant from, Instant until, std::size_t limit) override;
  std::vector<JobId> deadlines(Instant until, std::size_t limit) override;

  void archive(const JobRow& before, const ArchiveRow& row) override;
  std::optional<LaneId> archive_plain_success(const PlainSuccess& success) override;
  std::optional<ArchiveRow> archived(JobId id) override { return tables_.archive.get(id); }
  void update_archived_detail(JobId id, const StoredDetail& detail) override;
  std::vector<ArchiveRow> archived_above(JobId after, std::size_t limit) override;
  void erase_archived(const ArchiveRow& row) override;
  void insert_attempt(const AttemptRow& row) override;
  std::optional<AttemptRow> attempt(JobId job, std::int64_t token) override {
    return tables_.attempts.get({job, token});
  }

  std::optional<LeaseRow> lease(JobId job) override { return tables_.leases.get(job); }
  std::optional<LeasedRow> leased_job(JobId job) override;
  bool insert_lease(const LeaseRow& row) override;
  void update_lease(const LeaseRow& row) override { tables_.leases.put(row.job, row); }
  void erase_lease(JobId job) override { tables_.leases.erase(job); }
  std::vector<LeaseRow> leases() override;
  std::vector<LeaseRow> leases_out(BootTime now, std::size_t limit) override;

  std::optional<KeyRow> key(std::string_view tenant, TypeId type, std::string_view key) override;
  void put_key(const KeyRow& row) override;
  void erase_key(const KeyRow& row) override;
  std::optional<EffectRow> effect(std::string_view tenant, std::string_view key) override;
  void put_effect(const EffectRow& row) override;
  void erase_effect(std::string_view tenant, std::string_view key) override;
  std::size_t erase_effects_before(Instant at, std::size_t limit) override;
  std::size_t erase_keys_of(std::string_view tenant, std::size_t limit) override;
  std::size_t erase_effects_of(std::string_view tenant, std::size_t limit) override;

  void insert_dependency(JobId parent, JobId child) override { tables_.dependencies.put({parent, child}, true); }
  void erase_dependency(JobId parent, JobId child) override { tables_.dependencies.erase({parent, child}); }
  std::vector<JobId> children(JobId parent) override;
  std::vector<JobId> parents(JobId child) override;
  bool has_parents(JobId child) override { return !parents(child).empty(); }
  void erase_parents(JobId child) override;

  void add_count(LaneId lane, JobState state, std::int64_t change) override;
  std::int64_t live_jobs_of(std::string_view tenant) override;

  std::optional<ScheduleRow> schedule(std::string_view tenant, std::string_view name) override;
  std::optional<ScheduleRow> schedule(ScheduleId id) override { return tables_.schedules.get(id); }
  ScheduleId insert_schedule(const ScheduleRow& row) override;
  void update_schedule(const ScheduleRow& row) override;
  void add_result(const EndedOccurrence& ended) override;
  std::vector<ScheduleHead> schedule_heads(ScheduleId after, std::size_t limit) override;
  std::vector<ScheduleRow> followers_above(ScheduleId after, std::size_t limit) override;
  std::vector<ScheduleRow> schedules_above(ScheduleId after, std::size_t limit) override;
  void erase_schedule(ScheduleId id) override;
  bool has_rows_of(ScheduleId id) override;
  std::optional<SubjectRow> subject(ScheduleId schedule, std::string_view subject) override;
  std::vector<SubjectRow> subjects_above(const SubjectKey& after, std::size_t limit) override;
  void erase_subject(const SubjectKey& key) override;
  bool is_enabled(ScheduleId schedule, std::string_view subject) override;
  bool insert_subject(const SubjectRow& row) override;
  void update_subject(std::optional<Instant> next_at_before, const SubjectRow& row) override;
  void add_subjects(ScheduleId schedule, std::int64_t change) override;
  std::optional<Instant> next_subject_at(ScheduleId schedule) override;
  std::vector<SubjectRow> subjects_due(ScheduleId schedule, Instant until, std::size_t limit) override;

  std::optional<OutcomeRow> outcome(ScheduleId schedule, std::string_view subject, Instant slot) override;
  std::optional<OutcomeRow> outcome_until(ScheduleId schedule, std::string_view subject, Instant slot) override;
  bool insert_outcome(const OutcomeRow& row) override;
  void update_outcome(const OutcomeRow& row) override;
  std::size_t open_outcomes(ScheduleId schedule, std::string_view subject, Instant from, std::size_t most) override;
  void erase_outcome(ScheduleId schedule, std::string_view subject, Instant slot) override;
  std::vector<OutcomeRow> outcomes_above(const OutcomeKey& after, std::size_t limit) override;
  void erase_outcome_counts(ScheduleId schedule, std::int64_t day) override;
  std::int64_t open_on_days(ScheduleId schedule, const DayRange& days) override;
  void add_outcome_count(ScheduleId schedule, std::int64_t local_minute, JobState outcome,
                         std::int64_t change) override;

  std::optional<Document> document(const DocumentKey& key) override { return tables_.documents.get(key); }
  std::vector<Document> documents_above(const DocumentKey& after, std::size_t limit) override;
  void put_document(const Document& document) override { tables_.documents.put(document.key, document); }
  void erase_document(const DocumentKey& key) override { tables_.documents.erase(key); }
  void append_audit(const AuditRow& row) override;
  std::size_t erase_audit_of(std::string_view tenant, std::size_t limit) override;
  std::size_t erase_audit_before(Instant at, std::size_t limit) override;

 private:
  MemoryTables& tables_;
  std::optional<Error> failure_;
  std::size_t savepoint_ = 0;
};

}  // namespace carillon
