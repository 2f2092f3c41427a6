// The rows of a SQLite file, as use cases see them: one prepared statement a question, on the one connection that
// writes.
#pragma once

#include <map>
#include <string>

#include "store/sqlite/connection.h"
#include "store/sqlite/interned_names.h"
#include "store/sqlite/known_subjects.h"
#include "store/transaction.h"

namespace carillon {

class SqliteTransaction final : public Transaction {
 public:
  explicit SqliteTransaction(Connection& connection);

  // What is kept in memory, read anew.
  void load();
  // Leases of earlier runs, by the boot clock of this one. (invariant 11)
  void cut_leases(BootTime now);
  JobId highest_id();

  void begin();
  Result<void> commit();
  void roll_back();

  bool failed() const override { return connection_.failed(); }
  void fail(Error error) override { connection_.fail(std::move(error)); }
  void savepoint() override;
  void roll_back_to_savepoint() override;
  void release_savepoint() override;

  LaneId lane(std::string_view tenant, std::string_view queue) override { return names_.lane(tenant, queue); }
  const Lane& lane_names(LaneId lane) override { return names_.lane_names(lane); }
  TypeId type(std::string_view name) override { return names_.type(name); }
  const std::string& type_name(TypeId type) override { return names_.type_name(type); }

  std::optional<JobRow> job(JobId id) override;
  std::string payload(JobId id) override;
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
  std::optional<ArchiveRow> archived(JobId id) override;
  void update_archived_detail(JobId id, const StoredDetail& detail) override;
  std::vector<ArchiveRow> archived_above(JobId after, std::size_t limit) override;
  void erase_archived(const ArchiveRow& row) override;
  void insert_attempt(const AttemptRow& row) override;
  std::optional<AttemptRow> attempt(JobId job, std::int64_t token) override;

  std::optional<LeaseRow> lease(JobId job) override;
  std::optional<LeasedRow> leased_job(JobId job) override;
  bool insert_lease(const LeaseRow& row) override;
  void update_lease(const LeaseRow& row) override;
  void erase_lease(JobId job) override;
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

  void insert_dependency(JobId parent, JobId child) override;
  void erase_dependency(JobId parent, JobId child) override;
  std::vector<JobId> children(JobId parent) override;
  std::vector<JobId> parents(JobId child) override;
  bool has_parents(JobId child) override;
  void erase_parents(JobId child) override;

  void add_count(LaneId lane, JobState state, std::int64_t change) override;
  std::int64_t live_jobs_of(std::string_view tenant) override;

  std::optional<ScheduleRow> schedule(std::string_view tenant, std::string_view name) override;
  std::optional<ScheduleRow> schedule(ScheduleId id) override;
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
  std::int64_t open_on_days(ScheduleId schedule, const DayRange& days) override;
  void erase_outcome_counts(ScheduleId schedule, std::int64_t day) override;
  void add_outcome_count(ScheduleId schedule, std::int64_t local_minute, JobState outcome,
                         std::int64_t change) override;

  std::optional<Document> document(const DocumentKey& key) override;
  std::vector<Document> documents_above(const DocumentKey& after, std::size_t limit) override;
  void put_document(const Document& document) override;
  void erase_document(const DocumentKey& key) override;
  void append_audit(const AuditRow& row) override;
  std::size_t erase_audit_of(std::string_view tenant, std::size_t limit) override;
  std::size_t erase_audit_before(Instant at, std::size_t limit) override;

 private:
  // Counts are added up and written once, at the commit.
  struct Sums {
    std::map<std::pair<LaneId, JobState>, std::int64_t> jobs;
    std::map<std::tuple<ScheduleId, std::int64_t, JobState>, std::int64_t> outcomes;  // by local minute
    std::map<std::pair<ScheduleId, std::int64_t>, ResultsChange> results;             // by generation
  };
  void write_sums();
  void look_for_dependencies();
  std::string long_payload(JobId id);
  std::optional<std::int64_t> subject_id(ScheduleId schedule, std::string_view subject);
  ScheduleRow with_results(ScheduleRow row) const;
  SubjectRow read_known(const Query& query);

  Connection& connection_;
  InternedNames names_;
  InternedNames::Mark names_at_begin_;
  InternedNames::Mark names_at_savepoint_;
  Sums sums_;
  Sums sums_at_savepoint_;
  KnownSubjects known_subjects_;
  // No question is asked of a table that is empty, as this one mostly is.
  bool has_dependencies_ = false;
  bool had_dependencies_ = false;  // when the transaction began
  std::int64_t noted_lane_ = 0;    // by the SQL function note_lane

  struct Queries;
  struct QueriesDeleter {
    void operator()(Queries* queries) const;
  };
  std::unique_ptr<Queries, QueriesDeleter> queries_;
};

}  // namespace carillon
