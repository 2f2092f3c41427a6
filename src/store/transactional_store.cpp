#include "store/transactional_store.h"

#include <fmt/format.h>

#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"
#include "store/cases/act.h"
#include "store/cases/admin.h"
#include "store/cases/advance.h"
#include "store/cases/all_or_nothing.h"
#include "store/cases/claim.h"
#include "store/cases/effect.h"
#include "store/cases/enqueue.h"
#include "store/cases/erase.h"
#include "store/cases/lease.h"
#include "store/cases/plan.h"
#include "store/cases/prune.h"
#include "store/cases/sweep.h"

namespace carillon {

std::unique_ptr<Store> make_store(std::unique_ptr<Backend> backend, const StoreClock& clock) {
  return std::make_unique<TransactionalStore>(std::move(backend), clock, TransactionalStore::Options{});
}

TransactionalStore::TransactionalStore(std::unique_ptr<Backend> backend, const StoreClock& clock, Options options)
    : backend_(std::move(backend)), clock_(clock), ids_(options.node, backend_->highest_id()) {}

Context TransactionalStore::make_context(Transaction& transaction) {
  const Instant now = clock_.wall();
  const BootTime boot = mutant(Mutant::wall_clock_lease) ? now.time_since_epoch() : clock_.boot();
  return {.tx = transaction,
          .ids = ids_,
          .options_read = options_read_,
          .clock = clock_,
          .gates_read = gates_read_,
          .now = now,
          .boot = boot,
          .finalized = {},
          .parked = {},
          .ended_along = {},
          .left_queue = {},
          .deferred_along = {}};
}

Result<void> TransactionalStore::commit() {
  auto committed = backend_->commit();
  if (!committed) gates_read_.known.clear();
  return committed;
}

void TransactionalStore::roll_back() {
  backend_->roll_back();
  gates_read_.known.clear();
}

StoreReader& TransactionalStore::reader() {
  CHECK(!in_group());  // it could wait for this very transaction
  return backend_->reader();
}

Result<void> TransactionalStore::atomically(const std::function<void()>& body) {
  CHECK(!in_group());
  const std::scoped_lock lock(writer_);
  Context context = make_context(backend_->begin());
  group_context_ = &context;
  group_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  body();
  group_.store({}, std::memory_order_relaxed);
  group_context_ = nullptr;
  return commit();
}

template <typename UseCase>
auto TransactionalStore::write(UseCase use_case) -> Result<std::invoke_result_t<UseCase, Context&>> {
  if (in_group()) return use_case(*group_context_);
  const std::scoped_lock lock(writer_);
  Context context = make_context(backend_->begin());
  auto answer = use_case(context);
  TRY(commit());
  return answer;
}

template <typename UseCase>
auto TransactionalStore::write_or_refuse(UseCase use_case) -> std::invoke_result_t<UseCase, Context&> {
  if (in_group()) return use_case(*group_context_);
  const std::scoped_lock lock(writer_);
  Context context = make_context(backend_->begin());
  auto answer = use_case(context);
  if (!answer && !context.tx.failed()) {
    roll_back();
    return answer;
  }
  TRY(commit());
  return answer;
}

template <typename Answer, typename Item, typename UseCase>
std::vector<Result<Answer>> TransactionalStore::write_each(std::span<const Item> items, UseCase use_case) {
  auto answers = write([&](Context& context) {
    std::vector<Result<Answer>> each;
    each.reserve(items.size());
    for (const Item& item : items) each.push_back(use_case(context, item));
    return each;
  });
  if (answers) return *std::move(answers);
  return {items.size(), std::unexpected(std::move(answers).error())};
}

// ---- Jobs -------------------------------------------------------------------------------------------------------

JobId TransactionalStore::new_job_id() { return ids_.next(clock_.wall()); }

std::vector<Result<Enqueued>> TransactionalStore::enqueue(std::span<const NewJob> jobs) {
  return write_each<Enqueued>(jobs, enqueue_job);
}

Result<std::optional<Enqueued>> TransactionalStore::key_holder(const SaidKey& key) {
  return write_or_refuse([&](Context& context) { return carillon::key_holder(context, key); });
}

Result<void> TransactionalStore::add_key(JobId job, std::string_view key, std::string_view said) {
  return write_or_refuse([&](Context& context) -> Result<void> {
    carillon::add_key(context, job, key, said);
    return {};
  });
}

Result<std::vector<Enqueued>> TransactionalStore::enqueue_all(std::span<const NewJob> jobs) {
  return write_or_refuse([&](Context& context) {
    return all_or_nothing(context, [&]() -> Result<std::vector<Enqueued>> {
      std::vector<Enqueued> answers;
      answers.reserve(jobs.size());
      for (const NewJob& job : jobs) {
        auto answer = enqueue_job(context, job);
        if (!answer) {
          return std::unexpected(with_context(fmt::format("jobs[{}]", answers.size()), std::move(answer).error()));
        }
        answers.push_back(*answer);
      }
      return answers;
    });
  });
}

Result<Claimed> TransactionalStore::claim(const ClaimRequest& request) {
  return write([&](Context& context) { return claim_jobs(context, request); });
}

Result<void> TransactionalStore::begun(std::span<const LeaseKey> leases) {
  return write_or_refuse([&](Context& context) -> Result<void> {
    lift_ahead(context, leases);
    return {};
  });
}

std::vector<Result<Extended>> TransactionalStore::extend(std::span<const Extension> extensions) {
  return write_each<Extended>(extensions, extend_lease);
}

std::vector<Result<Settled>> TransactionalStore::settle(std::span<const Settlement> settlements) {
  return write_each<Settled>(settlements, settle_attempt);
}

Result<std::vector<Reaped>> TransactionalStore::reap(std::size_t limit) {
  return write([&](Context& context) { return reap_leases(context, limit); });
}

Result<std::vector<OverdueJob>> TransactionalStore::overdue(std::size_t limit) {
  return write([&](Context& context) {
    std::vector<OverdueJob> overdue;
    for (const JobId id : context.tx.deadlines(context.now, limit)) {
      const auto row = context.tx.job(id);
      if (!row || state_of(*row, context.tx.lease(id)) != JobState::queued) continue;
      overdue.push_back({.id = id, .lane = row->lane, .notifies = options_of(context, *row).notifies});
    }
    return overdue;
  });
}

Result<std::vector<Changed>> TransactionalStore::finish_overdue(std::size_t limit, std::span<const WhyNotStarted> why) {
  std::unordered_map<JobId, VerdictReason> waiting;
  for (const WhyNotStarted& one : why) waiting.emplace(one.job, one.reason);
  return write([&](Context& context) {
    std::vector<Changed> changed;
    for (const JobId id : context.tx.deadlines(context.now, limit)) {
      const auto known = waiting.find(id);
      const VerdictReason reason = known == waiting.end() ? VerdictReason::deadline : known->second;
      if (auto finished = finish_overdue_job(context, id, reason)) changed.push_back(*std::move(finished));
    }
    return changed;
  });
}

Result<LivePage> TransactionalStore::load_live(JobId after, Instant until, std::size_t limit) {
  return write([&](Context& context) { return context.tx.ready_above(after, until, limit); });
}

Result<std::vector<ReadyJob>> TransactionalStore::load_later(Instant from, Instant until, std::size_t limit) {
  return write([&](Context& context) { return context.tx.far_off(from, until, limit); });
}

Result<std::vector<JobTraits>> TransactionalStore::traits(std::span<const JobId> jobs) {
  return write([&](Context& context) { return traits_of(context, jobs); });
}

Result<std::optional<Instant>> TransactionalStore::next_deadline() {
  return write([](Context& context) {
    const std::vector<JobId> first = context.tx.deadlines(kInstantMax, 1);
    const auto row = first.empty() ? std::nullopt : context.tx.job(first.front());
    return row ? row->deadline : std::nullopt;
  });
}

Result<std::optional<Instant>> TransactionalStore::next_later(Instant after) {
  return write([&](Context& context) {
    const std::vector<ReadyJob> first = context.tx.far_off(after, kInstantMax, 1);
    return first.empty() ? std::nullopt : std::optional(first.front().run_at);
  });
}

Result<std::vector<LeaseRow>> TransactionalStore::leases() {
  return write([&](Context& context) { return context.tx.leases(); });
}

Result<std::vector<OutsideLease>> TransactionalStore::outside_leases() {
  return write([](Context& context) { return leases_outside(context); });
}

Result<std::optional<std::string>> TransactionalStore::tenant_of(JobId job) {
  return write([&](Context& context) -> std::optional<std::string> {
    if (const auto row = context.tx.job(job)) return context.tx.lane_names(row->lane).tenant;
    if (const auto row = context.tx.archived(job)) return context.tx.lane_names(row->job.lane).tenant;
    return std::nullopt;
  });
}

Lane TransactionalStore::lane(LaneId lane) {
  return write([&](Context& context) { return context.tx.lane_names(lane); }).value_or(Lane{});
}

std::string TransactionalStore::type_name(TypeId type) {
  return write([&](Context& context) { return context.tx.type_name(type); }).value_or(std::string());
}

std::vector<Result<Changed>> TransactionalStore::act(std::string_view tenant, JobAction action,
                                                     std::span<const JobId> jobs) {
  return write_each<Changed>(jobs,
                             [&](Context& context, JobId job) { return act_on_job(context, tenant, action, job); });
}

Result<Changed> TransactionalStore::patch(std::string_view tenant, JobId job, const JobPatch& patch) {
  return write_or_refuse([&](Context& context) { return patch_job(context, tenant, job, patch); });
}

Result<BulkStep> TransactionalStore::act_on(const JobQuery& filter, JobAction action, JobId after, BulkBounds bounds) {
  return write([&](Context& context) { return act_on_matching(context, filter, action, after, bounds); });
}

std::vector<Changed> TransactionalStore::ended_along() {
  return in_group() ? group_context_->ended_along : std::vector<Changed>();
}

std::vector<LeftQueue> TransactionalStore::take_left_queue() {
  return in_group() ? std::exchange(group_context_->left_queue, {}) : std::vector<LeftQueue>();
}

Result<std::vector<ReadyJob>> TransactionalStore::queued(std::span<const JobId> jobs) {
  return write([&](Context& context) { return queued_of(context, jobs); });
}

std::vector<DeferredJob> TransactionalStore::deferred_along() {
  return in_group() ? group_context_->deferred_along : std::vector<DeferredJob>();
}

Result<EffectClaim> TransactionalStore::claim_effect(std::string_view tenant, std::string_view key, JobId job,
                                                     std::int64_t token) {
  const EffectCall call{.tenant = tenant, .key = key, .job = job, .token = token};
  return write_or_refuse([&](Context& context) { return claim_effect_key(context, call); });
}

Result<void> TransactionalStore::effect_done(std::string_view tenant, std::string_view key, JobId job,
                                             std::int64_t token, std::string_view result) {
  const EffectCall call{.tenant = tenant, .key = key, .job = job, .token = token};
  return write_or_refuse([&](Context& context) { return record_effect(context, call, result); });
}

Result<void> TransactionalStore::effect_undone(std::string_view tenant, std::string_view key, JobId job,
                                               std::int64_t token) {
  const EffectCall call{.tenant = tenant, .key = key, .job = job, .token = token};
  return write_or_refuse([&](Context& context) { return undo_effect(context, call); });
}

Result<JobStore::PruneStep> TransactionalStore::prune(const PruneRequest& request) {
  return write([&](Context& context) { return prune_archive(context, request); });
}

// ---- Schedules --------------------------------------------------------------------------------------------------

Result<ScheduleRow> TransactionalStore::put_schedule(const NewSchedule& schedule) {
  return write_or_refuse([&](Context& context) { return put_schedule_row(context, schedule); });
}

Result<ScheduleRow> TransactionalStore::set_paused(std::string_view tenant, std::string_view name,
                                                   std::optional<Instant> until) {
  return write_or_refuse([&](Context& context) { return pause_schedule(context, tenant, name, until); });
}

Result<DeletedSchedule> TransactionalStore::delete_schedule(std::string_view tenant, std::string_view name) {
  return write_or_refuse([&](Context& context) { return delete_schedule_row(context, tenant, name); });
}

Result<ScheduleRow> TransactionalStore::schedule(ScheduleId id) {
  return write_or_refuse([&](Context& context) { return find_schedule(context, id); });
}

Result<ScheduleRow> TransactionalStore::deleted_schedule(ScheduleId id) {
  return write_or_refuse([&](Context& context) -> Result<ScheduleRow> {
    auto row = context.tx.schedule(id);
    if (!row || !row->deleted_at) {
      return failed(ErrorCode::not_found, fmt::format("schedule {} was not deleted, or is gone", id.value));
    }
    return *std::move(row);
  });
}

Result<ScheduleRow> TransactionalStore::schedule(std::string_view tenant, std::string_view name) {
  return write_or_refuse([&](Context& context) { return find_schedule(context, tenant, name); });
}

Result<CancelStep> TransactionalStore::cancel_unstarted(const OutcomeKey& after, std::size_t limit) {
  return write([&](Context& context) { return cancel_unstarted_jobs(context, after, limit); });
}

Result<std::vector<PutSubject>> TransactionalStore::put_subjects(ScheduleId schedule,
                                                                 std::span<const SubjectEdit> edits) {
  return write_or_refuse([&](Context& context) {
    return all_or_nothing(context, [&] { return put_subject_rows(context, schedule, edits); });
  });
}

Result<void> TransactionalStore::delete_subject(ScheduleId schedule, std::string_view subject) {
  return write_or_refuse([&](Context& context) { return delete_subject_row(context, schedule, subject); });
}

Result<SubjectRow> TransactionalStore::subject(ScheduleId schedule, std::string_view subject) {
  return write_or_refuse([&](Context& context) { return find_subject(context, schedule, subject); });
}

Result<std::vector<std::optional<SubjectRow>>> TransactionalStore::subjects(ScheduleId schedule,
                                                                            std::span<const std::string_view> names) {
  return write_or_refuse([&](Context& context) { return find_subjects(context, schedule, names); });
}

Result<std::vector<OpenJobRow>> TransactionalStore::open_jobs(ScheduleId schedule, std::string_view subject) {
  return write([&](Context& context) { return open_jobs_of(context, schedule, subject); });
}

Result<std::vector<JobId>> TransactionalStore::unstarted_jobs(ScheduleId schedule, std::string_view subject) {
  return write([&](Context& context) { return unstarted_jobs_of(context, schedule, subject); });
}

Result<std::size_t> TransactionalStore::open_windows(ScheduleId schedule, std::string_view subject, std::size_t most) {
  return write([&](Context& context) { return open_windows_of(context, schedule, subject, most); });
}

Result<std::optional<OutcomeRow>> TransactionalStore::last_outcome(ScheduleId schedule, std::string_view subject) {
  return write([&](Context& context) { return context.tx.outcome_until(schedule, subject, kInstantMax); });
}

Result<std::int64_t> TransactionalStore::open_on_days(ScheduleId schedule, const DayRange& days) {
  return write([&](Context& context) { return context.tx.open_on_days(schedule, days); });
}

Result<std::optional<Instant>> TransactionalStore::next_subject_at(ScheduleId schedule) {
  return write([&](Context& context) { return context.tx.next_subject_at(schedule); });
}

Result<SubjectSlice> TransactionalStore::subjects_after(ScheduleId schedule, std::optional<std::string_view> after,
                                                        std::size_t limit) {
  return write([&](Context& context) { return subjects_of(context, schedule, after, limit); });
}

Result<SweepStep> TransactionalStore::sweep(const SweepRequest& request) {
  return write([&](Context& context) { return sweep_subjects(context, request); });
}

Result<std::vector<ScheduleRow>> TransactionalStore::followers(ScheduleId after, std::size_t limit) {
  return write([&](Context& context) { return context.tx.followers_above(after, limit); });
}

Result<std::vector<ScheduleHead>> TransactionalStore::schedule_heads(ScheduleId after, std::size_t limit) {
  return write([&](Context& context) { return context.tx.schedule_heads(after, limit); });
}

Result<std::vector<SubjectRow>> TransactionalStore::subjects_due(ScheduleId schedule, Instant until,
                                                                 std::size_t limit) {
  return write([&](Context& context) { return due_subjects(context, schedule, until, limit); });
}

std::vector<Result<Advanced>> TransactionalStore::advance(std::span<const Advance> advances) {
  Owners owners;
  return write_each<Advanced>(advances, [&](Context& context, const Advance& advance) {
    if (!may_be_refused_late(advance)) return advance_subject(context, owners, advance);
    return all_or_nothing(context, [&] { return advance_subject(context, owners, advance); });
  });
}

std::vector<FinalizedSlot> TransactionalStore::finalized() { return finalized_after(0); }

std::vector<OutcomeKey> TransactionalStore::parked_after(std::size_t known) {
  if (!in_group() || known >= group_context_->parked.size()) return {};
  return {group_context_->parked.begin() + static_cast<std::ptrdiff_t>(known), group_context_->parked.end()};
}

std::vector<FinalizedSlot> TransactionalStore::finalized_after(std::size_t known) {
  if (!in_group() || known >= group_context_->finalized.size()) return {};
  std::vector<FinalizedSlot> slots;
  Owners owners;
  const auto rows = std::span(group_context_->finalized).subspan(known);
  slots.reserve(rows.size());
  for (const OutcomeRow& row : rows) {
    const auto& schedule = owners.of(*group_context_, row.schedule);
    if (!schedule || !row.outcome) continue;
    slots.push_back({.id = row.schedule,
                     .tenant = schedule->tenant,
                     .schedule = schedule->name,
                     .subject = row.subject,
                     .slot = row.slot,
                     .until = row.until,
                     .count = row.count,
                     .job = row.job,
                     .outcome = *row.outcome,
                     .reason = row.reason,
                     .local_minute = row.local_minute,
                     .deleted = schedule->deleted_at.has_value()});
  }
  return slots;
}

Result<PlanPruneStep> TransactionalStore::prune(const PlanPruneRequest& request) {
  return write([&](Context& context) { return prune_plans(context, request); });
}

// ---- Administration ---------------------------------------------------------------------------------------------

Result<Document> TransactionalStore::put_document(const DocumentPut& put, const std::optional<AuditWord>& audit) {
  return write_or_refuse([&](Context& context) { return put_document_row(context, put, audit); });
}

Result<Document> TransactionalStore::document(const DocumentKey& key) {
  return write_or_refuse([&](Context& context) -> Result<Document> {
    auto document = context.tx.document(key);
    if (!document) return absent_document(key);
    return *std::move(document);
  });
}

Result<void> TransactionalStore::delete_document(const DocumentKey& key, const std::optional<AuditWord>& audit) {
  return write_or_refuse([&](Context& context) { return delete_document_row(context, key, audit); });
}

Result<EraseStep> TransactionalStore::erase_tenant(std::string_view tenant, const ErasePosition& from,
                                                   std::size_t limit) {
  return write([&](Context& context) { return erase_tenant_rows(context, tenant, from, limit); });
}

Result<std::vector<Document>> TransactionalStore::documents_above(const DocumentKey& after, std::size_t limit) {
  return write([&](Context& context) { return context.tx.documents_above(after, limit); });
}

Result<void> TransactionalStore::append_audit(const AuditWord& word, const AuditDetail& detail) {
  return write_or_refuse([&](Context& context) -> Result<void> {
    append_audit_row(context, word, detail);
    return {};
  });
}

}  // namespace carillon
