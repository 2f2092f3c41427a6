#include "sim/witness.h"

namespace carillon::sim {

namespace {

class WitnessedTransaction final : public Transaction {
 public:
  void begin(Transaction& inner) {
    inner_ = &inner;
    ops_.clear();
  }
  const std::vector<Op>& ops() const { return ops_; }

  bool failed() const override { return inner_->failed(); }
  void fail(Error error) override { inner_->fail(std::move(error)); }
  void savepoint() override {
    mark_ = ops_.size();
    inner_->savepoint();
  }
  void roll_back_to_savepoint() override {
    ops_.resize(mark_, Op(LeaseErased{}));
    inner_->roll_back_to_savepoint();
  }
  void release_savepoint() override { inner_->release_savepoint(); }

  LaneId lane(std::string_view tenant, std::string_view queue) override { return inner_->lane(tenant, queue); }
  const Lane& lane_names(LaneId lane) override { return inner_->lane_names(lane); }
  TypeId type(std::string_view name) override { return inner_->type(name); }
  const std::string& type_name(TypeId type) override { return inner_->type_name(type); }

  std::optional<JobRow> job(JobId id) override { return inner_->job(id); }
  std::string payload(JobId id) override { return inner_->payload(id); }
  std::optional<JobWithPayload> job_with_payload(JobId id) override { return inner_->job_with_payload(id); }
  void insert_job(const JobRow& row, std::string_view payload) override {
    ops_.emplace_back(JobInserted{.row = row,
                                  .payload = std::string(payload),
                                  .lane = inner_->lane_names(row.lane),
                                  .type = inner_->type_name(row.type)});
    inner_->insert_job(row, payload);
  }
  void update_payload(JobId id, std::string_view payload) override { inner_->update_payload(id, payload); }
  void update_job(const JobRow& before, const JobRow& after) override {
    ops_.emplace_back(JobUpdated{.after = after});
    inner_->update_job(before, after);
  }
  std::vector<JobRow> jobs_above(JobId after, std::size_t limit) override { return inner_->jobs_above(after, limit); }
  LivePage ready_above(JobId after, Instant until, std::size_t limit) override {
    return inner_->ready_above(after, until, limit);
  }
  std::vector<ReadyJob> far_off(Instant from, Instant until, std::size_t limit) override {
    return inner_->far_off(from, until, limit);
  }
  std::vector<JobId> deadlines(Instant until, std::size_t limit) override { return inner_->deadlines(until, limit); }

  void archive(const JobRow& before, const ArchiveRow& row) override {
    ops_.emplace_back(JobArchived{.row = row});
    inner_->archive(before, row);
  }
  std::optional<LaneId> archive_plain_success(const PlainSuccess& success) override {
    const auto lane = inner_->archive_plain_success(success);
    if (!lane) return lane;
    ops_.emplace_back(LeaseErased{.job = success.job});
    if (auto row = inner_->archived(success.job)) ops_.emplace_back(JobArchived{.row = *std::move(row)});
    return lane;
  }
  std::optional<ArchiveRow> archived(JobId id) override { return inner_->archived(id); }
  void update_archived_detail(JobId id, const StoredDetail& detail) override {
    inner_->update_archived_detail(id, detail);
  }
  std::vector<ArchiveRow> archived_above(JobId after, std::size_t limit) override {
    return inner_->archived_above(after, limit);
  }
  void erase_archived(const ArchiveRow& row) override {
    ops_.emplace_back(ArchivedErased{.job = row.job.id});
    inner_->erase_archived(row);
  }
  void insert_attempt(const AttemptRow& row) override {
    ops_.emplace_back(AttemptInserted{.row = row});
    inner_->insert_attempt(row);
  }
  std::optional<AttemptRow> attempt(JobId job, std::int64_t token) override { return inner_->attempt(job, token); }

  std::optional<LeaseRow> lease(JobId job) override { return inner_->lease(job); }
  std::optional<LeasedRow> leased_job(JobId job) override { return inner_->leased_job(job); }
  bool insert_lease(const LeaseRow& row) override {
    const bool made = inner_->insert_lease(row);
    if (made) ops_.emplace_back(LeaseInserted{.row = row});
    return made;
  }
  void update_lease(const LeaseRow& row) override {
    ops_.emplace_back(LeaseUpdated{.row = row});
    inner_->update_lease(row);
  }
  void erase_lease(JobId job) override {
    ops_.emplace_back(LeaseErased{.job = job});
    inner_->erase_lease(job);
  }
  std::vector<LeaseRow> leases() override { return inner_->leases(); }
  std::vector<LeaseRow> leases_out(BootTime now, std::size_t limit) override { return inner_->leases_out(now, limit); }

  std::optional<KeyRow> key(std::string_view tenant, TypeId type, std::string_view key) override {
    return inner_->key(tenant, type, key);
  }
  void put_key(const KeyRow& row) override {
    ops_.emplace_back(KeyPut{.row = row});
    inner_->put_key(row);
  }
  void erase_key(const KeyRow& row) override {
    ops_.emplace_back(KeyErased{.row = row});
    inner_->erase_key(row);
  }
  std::optional<EffectRow> effect(std::string_view tenant, std::string_view key) override {
    return inner_->effect(tenant, key);
  }
  void put_effect(const EffectRow& row) override { inner_->put_effect(row); }
  void erase_effect(std::string_view tenant, std::string_view key) override { inner_->erase_effect(tenant, key); }
  std::size_t erase_keys_of(std::string_view tenant, std::size_t limit) override {
    return inner_->erase_keys_of(tenant, limit);
  }
  std::size_t erase_effects_of(std::string_view tenant, std::size_t limit) override {
    return inner_->erase_effects_of(tenant, limit);
  }
  std::int64_t live_jobs_of(std::string_view tenant) override { return inner_->live_jobs_of(tenant); }
  std::size_t erase_audit_of(std::string_view tenant, std::size_t limit) override {
    return inner_->erase_audit_of(tenant, limit);
  }
  std::size_t erase_effects_before(Instant at, std::size_t limit) override {
    return inner_->erase_effects_before(at, limit);
  }

  void insert_dependency(JobId parent, JobId child) override {
    ops_.emplace_back(DependencyInserted{.parent = parent, .child = child});
    inner_->insert_dependency(parent, child);
  }
  void erase_dependency(JobId parent, JobId child) override {
    ops_.emplace_back(DependencyErased{.parent = parent, .child = child});
    inner_->erase_dependency(parent, child);
  }
  std::vector<JobId> children(JobId parent) override { return inner_->children(parent); }
  std::vector<JobId> parents(JobId child) override { return inner_->parents(child); }
  bool has_parents(JobId child) override { return inner_->has_parents(child); }
  void erase_parents(JobId child) override {
    for (const JobId parent : inner_->parents(child)) {
      ops_.emplace_back(DependencyErased{.parent = parent, .child = child});
    }
    inner_->erase_parents(child);
  }

  void add_count(LaneId lane, JobState state, std::int64_t change) override { inner_->add_count(lane, state, change); }

  std::optional<ScheduleRow> schedule(std::string_view tenant, std::string_view name) override {
    return inner_->schedule(tenant, name);
  }
  std::optional<ScheduleRow> schedule(ScheduleId id) override { return inner_->schedule(id); }
  ScheduleId insert_schedule(const ScheduleRow& row) override {
    const ScheduleId id = inner_->insert_schedule(row);
    ScheduleRow kept = row;
    kept.id = id;
    ops_.emplace_back(SchedulePut{.row = std::move(kept)});
    return id;
  }
  void update_schedule(const ScheduleRow& row) override {
    ops_.emplace_back(SchedulePut{.row = row});
    inner_->update_schedule(row);
  }
  std::vector<ScheduleRow> followers_above(ScheduleId after, std::size_t limit) override {
    return inner_->followers_above(after, limit);
  }
  void add_result(const EndedOccurrence& ended) override { inner_->add_result(ended); }
  std::vector<ScheduleHead> schedule_heads(ScheduleId after, std::size_t limit) override {
    return inner_->schedule_heads(after, limit);
  }
  std::vector<ScheduleRow> schedules_above(ScheduleId after, std::size_t limit) override {
    return inner_->schedules_above(after, limit);
  }
  void erase_schedule(ScheduleId id) override {
    ops_.emplace_back(ScheduleErased{.id = id});
    inner_->erase_schedule(id);
  }
  bool has_rows_of(ScheduleId id) override { return inner_->has_rows_of(id); }
  std::optional<SubjectRow> subject(ScheduleId schedule, std::string_view subject) override {
    return inner_->subject(schedule, subject);
  }
  bool is_enabled(ScheduleId schedule, std::string_view subject) override {
    return inner_->is_enabled(schedule, subject);
  }
  bool insert_subject(const SubjectRow& row) override {
    const bool made = inner_->insert_subject(row);
    if (made) ops_.emplace_back(SubjectPut{.row = row});
    return made;
  }
  void update_subject(std::optional<Instant> next_at_before, const SubjectRow& row) override {
    ops_.emplace_back(SubjectPut{.row = row});
    inner_->update_subject(next_at_before, row);
  }
  void add_subjects(ScheduleId schedule, std::int64_t change) override { inner_->add_subjects(schedule, change); }
  std::optional<Instant> next_subject_at(ScheduleId schedule) override { return inner_->next_subject_at(schedule); }
  std::vector<SubjectRow> subjects_above(const SubjectKey& after, std::size_t limit) override {
    return inner_->subjects_above(after, limit);
  }
  void erase_subject(const SubjectKey& key) override {
    ops_.emplace_back(SubjectErased{.key = key});
    inner_->erase_subject(key);
  }
  std::vector<SubjectRow> subjects_due(ScheduleId schedule, Instant until, std::size_t limit) override {
    return inner_->subjects_due(schedule, until, limit);
  }

  std::optional<OutcomeRow> outcome(ScheduleId schedule, std::string_view subject, Instant slot) override {
    return inner_->outcome(schedule, subject, slot);
  }
  std::optional<OutcomeRow> outcome_until(ScheduleId schedule, std::string_view subject, Instant slot) override {
    return inner_->outcome_until(schedule, subject, slot);
  }
  bool insert_outcome(const OutcomeRow& row) override {
    const bool made = inner_->insert_outcome(row);
    if (made) ops_.emplace_back(OutcomePut{.row = row});
    return made;
  }
  void update_outcome(const OutcomeRow& row) override {
    ops_.emplace_back(OutcomePut{.row = row});
    inner_->update_outcome(row);
  }
  std::size_t open_outcomes(ScheduleId schedule, std::string_view subject, Instant from, std::size_t most) override {
    return inner_->open_outcomes(schedule, subject, from, most);
  }
  void erase_outcome(ScheduleId schedule, std::string_view subject, Instant slot) override {
    ops_.emplace_back(OutcomeErased{.key = {schedule, std::string(subject), slot}});
    inner_->erase_outcome(schedule, subject, slot);
  }
  std::vector<OutcomeRow> outcomes_above(const OutcomeKey& after, std::size_t limit) override {
    return inner_->outcomes_above(after, limit);
  }
  std::int64_t open_on_days(ScheduleId schedule, const DayRange& days) override {
    return inner_->open_on_days(schedule, days);
  }
  void add_outcome_count(ScheduleId schedule, std::int64_t local_minute, JobState outcome,
                         std::int64_t change) override {
    inner_->add_outcome_count(schedule, local_minute, outcome, change);
  }
  void erase_outcome_counts(ScheduleId schedule, std::int64_t day) override {
    inner_->erase_outcome_counts(schedule, day);
  }

  std::optional<Document> document(const DocumentKey& key) override { return inner_->document(key); }
  std::vector<Document> documents_above(const DocumentKey& after, std::size_t limit) override {
    return inner_->documents_above(after, limit);
  }
  void put_document(const Document& document) override {
    ops_.emplace_back(DocumentPut{.document = document});
    inner_->put_document(document);
  }
  void erase_document(const DocumentKey& key) override {
    ops_.emplace_back(DocumentErased{.key = key});
    inner_->erase_document(key);
  }
  void append_audit(const AuditRow& row) override { inner_->append_audit(row); }
  std::size_t erase_audit_before(Instant at, std::size_t limit) override {
    return inner_->erase_audit_before(at, limit);
  }

 private:
  Transaction* inner_ = nullptr;
  std::vector<Op> ops_;
  std::size_t mark_ = 0;
};

class WitnessedBackend final : public Backend {
 public:
  WitnessedBackend(Backend& inner, std::unique_ptr<Backend> owned, Witness& witness)
      : inner_(inner), owned_(std::move(owned)), witness_(witness) {}
  WitnessedBackend(const WitnessedBackend&) = delete;
  WitnessedBackend& operator=(const WitnessedBackend&) = delete;
  ~WitnessedBackend() override = default;

  Transaction& begin() override {
    transaction_.begin(inner_.begin());
    return transaction_;
  }

  Result<void> commit() override {
    const std::vector<Op>& ops = transaction_.ops();
    switch (witness_.fate(ops)) {
      case CommitFate::good: return commit_and_tell(true);
      case CommitFate::answer_lost:
        TRY(commit_and_tell(false));
        return carillon::failed(ErrorCode::unavailable, "the answer was lost");
      case CommitFate::refused: return refuse(ErrorCode::unavailable, "the store was not reached");
      case CommitFate::full: return refuse(ErrorCode::store_full, "there is no space");
    }
    return {};
  }

  void roll_back() override {
    inner_.roll_back();
    witness_.undone(transaction_.ops());
  }
  JobId highest_id() override { return owned_ ? inner_.highest_id() : witness_.highest_id(); }
  StoreReader& reader() override { return inner_.reader(); }

 private:
  Result<void> commit_and_tell(bool answered) {
    auto committed = inner_.commit();
    if (committed) {
      witness_.committed(transaction_.ops(), answered);
    } else {
      witness_.unknown(transaction_.ops(), committed.error());
    }
    return committed;
  }
  std::unexpected<Error> refuse(ErrorCode code, const char* message) {
    roll_back();
    return carillon::failed(code, message);
  }

  Backend& inner_;
  const std::unique_ptr<Backend> owned_;  // else it outlives this one
  Witness& witness_;
  WitnessedTransaction transaction_;
};

}  // namespace

std::unique_ptr<Backend> make_witnessed(Backend& inner, Witness& witness) {
  return std::make_unique<WitnessedBackend>(inner, nullptr, witness);
}

std::unique_ptr<Backend> make_witnessed(std::unique_ptr<Backend> inner, Witness& witness) {
  Backend& backend = *inner;
  return std::make_unique<WitnessedBackend>(backend, std::move(inner), witness);
}

}  // namespace carillon::sim
