// A store made of a backend: each call of the seam becomes one transaction around its use case.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "store/backend.h"
#include "store/cases/context.h"
#include "store/job_ids.h"
#include "store/store.h"

namespace carillon {

// The store of a backend. The clock must outlive it.
std::unique_ptr<Store> make_store(std::unique_ptr<Backend> backend, const StoreClock& clock);

class TransactionalStore final : public Store, private JobStore, private PlanStore, private AdminStore {
 public:
  struct Options {
    std::uint8_t node = 0;
  };
  // The clock must outlive the store.
  TransactionalStore(std::unique_ptr<Backend> backend, const StoreClock& clock, Options options);

  JobStore& jobs() override { return *this; }
  PlanStore& plans() override { return *this; }
  AdminStore& admin() override { return *this; }
  StoreReader& reader() override;
  Result<void> atomically(const std::function<void()>& body) override;

 private:
  Instant now() const override { return clock_.wall(); }
  JobId new_job_id() override;
  std::vector<Result<Enqueued>> enqueue(std::span<const NewJob> jobs) override;
  Result<std::vector<Enqueued>> enqueue_all(std::span<const NewJob> jobs) override;
  Result<std::optional<Enqueued>> key_holder(const SaidKey& key) override;
  Result<void> add_key(JobId job, std::string_view key, std::string_view said) override;
  Result<Claimed> claim(const ClaimRequest& request) override;
  Result<void> begun(std::span<const LeaseKey> leases) override;
  std::vector<Result<Extended>> extend(std::span<const Extension> extensions) override;
  std::vector<Result<Settled>> settle(std::span<const Settlement> settlements) override;
  Result<std::vector<Reaped>> reap(std::size_t limit) override;
  Result<std::vector<OverdueJob>> overdue(std::size_t limit) override;
  Result<std::vector<Changed>> finish_overdue(std::size_t limit, std::span<const WhyNotStarted> why) override;
  Result<LivePage> load_live(JobId after, Instant until, std::size_t limit) override;
  Result<std::vector<ReadyJob>> load_later(Instant from, Instant until, std::size_t limit) override;
  Result<std::vector<JobTraits>> traits(std::span<const JobId> jobs) override;
  Result<std::optional<Instant>> next_deadline() override;
  Result<std::optional<Instant>> next_later(Instant after) override;
  Result<std::vector<LeaseRow>> leases() override;
  Result<std::vector<OutsideLease>> outside_leases() override;
  Result<std::optional<std::string>> tenant_of(JobId job) override;
  Lane lane(LaneId lane) override;
  std::string type_name(TypeId type) override;
  std::vector<Result<Changed>> act(std::string_view tenant, JobAction action, std::span<const JobId> jobs) override;
  Result<Changed> patch(std::string_view tenant, JobId job, const JobPatch& patch) override;
  Result<BulkStep> act_on(const JobQuery& filter, JobAction action, JobId after, BulkBounds bounds) override;
  std::vector<Changed> ended_along() override;
  std::vector<LeftQueue> take_left_queue() override;
  Result<std::vector<ReadyJob>> queued(std::span<const JobId> jobs) override;
  std::vector<DeferredJob> deferred_along() override;
  Result<EffectClaim> claim_effect(std::string_view tenant, std::string_view key, JobId job,
                                   std::int64_t token) override;
  Result<void> effect_done(std::string_view tenant, std::string_view key, JobId job, std::int64_t token,
                           std::string_view result) override;
  Result<void> effect_undone(std::string_view tenant, std::string_view key, JobId job, std::int64_t token) override;
  Result<PruneStep> prune(const PruneRequest& request) override;

  Result<ScheduleRow> put_schedule(const NewSchedule& schedule) override;
  Result<ScheduleRow> set_paused(std::string_view tenant, std::string_view name, std::optional<Instant> until) override;
  Result<DeletedSchedule> delete_schedule(std::string_view tenant, std::string_view name) override;
  Result<ScheduleRow> schedule(ScheduleId id) override;
  Result<ScheduleRow> deleted_schedule(ScheduleId id) override;
  Result<ScheduleRow> schedule(std::string_view tenant, std::string_view name) override;
  Result<CancelStep> cancel_unstarted(const OutcomeKey& after, std::size_t limit) override;
  Result<std::vector<PutSubject>> put_subjects(ScheduleId schedule, std::span<const SubjectEdit> edits) override;
  Result<void> delete_subject(ScheduleId schedule, std::string_view subject) override;
  Result<SubjectRow> subject(ScheduleId schedule, std::string_view subject) override;
  Result<std::vector<std::optional<SubjectRow>>> subjects(ScheduleId schedule,
                                                          std::span<const std::string_view> names) override;
  Result<std::vector<OpenJobRow>> open_jobs(ScheduleId schedule, std::string_view subject) override;
  Result<std::vector<JobId>> unstarted_jobs(ScheduleId schedule, std::string_view subject) override;
  Result<std::size_t> open_windows(ScheduleId schedule, std::string_view subject, std::size_t most) override;
  Result<std::optional<OutcomeRow>> last_outcome(ScheduleId schedule, std::string_view subject) override;
  Result<std::int64_t> open_on_days(ScheduleId schedule, const DayRange& days) override;
  Result<std::optional<Instant>> next_subject_at(ScheduleId schedule) override;
  Result<SubjectSlice> subjects_after(ScheduleId schedule, std::optional<std::string_view> after,
                                      std::size_t limit) override;
  Result<SweepStep> sweep(const SweepRequest& request) override;
  Result<std::vector<ScheduleRow>> followers(ScheduleId after, std::size_t limit) override;
  Result<std::vector<ScheduleHead>> schedule_heads(ScheduleId after, std::size_t limit) override;
  Result<std::vector<SubjectRow>> subjects_due(ScheduleId schedule, Instant until, std::size_t limit) override;
  std::vector<Result<Advanced>> advance(std::span<const Advance> advances) override;
  std::vector<FinalizedSlot> finalized() override;
  std::vector<FinalizedSlot> finalized_after(std::size_t known) override;
  std::vector<OutcomeKey> parked_after(std::size_t known) override;
  Result<PlanPruneStep> prune(const PlanPruneRequest& request) override;

  Result<Document> put_document(const DocumentPut& put, const std::optional<AuditWord>& audit) override;
  Result<Document> document(const DocumentKey& key) override;
  Result<void> delete_document(const DocumentKey& key, const std::optional<AuditWord>& audit) override;
  Result<std::vector<Document>> documents_above(const DocumentKey& after, std::size_t limit) override;
  Result<EraseStep> erase_tenant(std::string_view tenant, const ErasePosition& from, std::size_t limit) override;
  Result<void> append_audit(const AuditWord& word, const AuditDetail& detail) override;

  // Runs `use_case` in a transaction of its own, or in the one of `atomically`, and answers with what it returned.
  template <typename UseCase>
  auto write(UseCase use_case) -> Result<std::invoke_result_t<UseCase, Context&>>;
  // The same for a use case that may refuse: then it has changed nothing.
  template <typename UseCase>
  auto write_or_refuse(UseCase use_case) -> std::invoke_result_t<UseCase, Context&>;
  // One answer an item.
  template <typename Answer, typename Item, typename UseCase>
  std::vector<Result<Answer>> write_each(std::span<const Item> items, UseCase use_case);

  bool in_group() const { return group_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }
  Context make_context(Transaction& transaction);
  // What was read in a transaction that did not happen was not so.
  Result<void> commit();
  void roll_back();

  const std::unique_ptr<Backend> backend_;
  const StoreClock& clock_;

  // Guards the backend's one transaction.
  std::mutex writer_;
  std::atomic<std::thread::id> group_;  // the thread that is inside of `atomically`
  Context* group_context_ = nullptr;    // only that thread looks

  JobIds ids_;
  OptionsRead options_read_;
  GatesRead gates_read_;
};

}  // namespace carillon
