#include "store/cases/claim.h"

#include <algorithm>

#include "base/mutant.h"
#include "store/cases/act.h"
#include "store/cases/gates.h"
#include "store/cases/last_attempt.h"
#include "store/cases/lease.h"
#include "store/cases/owners.h"
#include "store/cases/plan.h"

namespace carillon {

namespace {

// Whether it was made under a schedule that is gone, though another of its name may live.
bool is_left_over(const ScheduleRow& schedule, JobId job) { return schedule.deleted_at || job < schedule.first_job; }

enum class Slot : std::uint8_t { free, not_yet };

LeaseRow lease_for(const Context& context, const ClaimRequest& request, const JobRow& row, const JobOptions& options,
                   Slot slot) {
  LeaseRow lease{.job = row.id,
                 .token = row.token + 1,
                 .attempt = row.attempts + 1,
                 .worker = request.worker,
                 .in_process = request.in_process,
                 .ahead = slot == Slot::not_yet,
                 .claimed_at = context.now,
                 .length = request.lease.value_or(options.lease)};
  lease.timeout_at = context.boot + options.timeout;
  lease.until = std::min(context.boot + lease.length, lease.timeout_at);
  return lease;
}

// Without its payload.
LeasedJob leased_job(Context& context, const JobRow& row, const LeaseRow& lease, const JobOptions& options,
                     const ScheduleRow* schedule) {
  const Lane& names = context.tx.lane_names(row.lane);
  ToldOccurrence told = told_by(row, schedule ? std::string_view(schedule->name) : std::string_view(), options);
  const bool holds_slot = row.schedule && row.slot;
  return {.id = row.id,
          .tenant = names.tenant,
          .queue = names.queue,
          .type = context.tx.type_name(row.type),
          .payload = {},
          .priority = row.priority,
          .attempt = lease.attempt,
          .token = lease.token,
          .run_at = row.run_at,
          .deadline = row.deadline,
          .lease_until = wall_of(context, lease.until),
          .lease = lease.length,
          .timeout = options.timeout,
          .schedule = std::move(told.schedule),
          .subject = std::move(told.subject),
          .slot = told.slot,
          .slot_kind = told.slot_kind,
          .occurrence_of = holds_slot ? std::optional(SubjectKey{row.schedule, row.subject}) : std::nullopt,
          .options = row.options,
          .on_ambiguous = options.on_ambiguous,
          .ahead = lease.ahead,
          .worker = lease.worker,
          .claimed_at = lease.claimed_at,
          .detail = row.detail};
}

void claim_job(Context& context, Owners& owners, const ClaimRequest& request, JobId id, Slot slot, Claimed& claimed) {
  Transaction& tx = context.tx;
  auto found = tx.job_with_payload(id);
  if (!found || found->row.state != JobState::queued) return;
  const JobRow& row = found->row;
  if (row.run_at > context.now && !mutant(Mutant::stale_entry_trusted)) {
    if (!tx.lease(id)) claimed.early.push_back(ready_of(row));
    return;
  }
  // The cutoff itself is past the end of the window.
  const Instant over = mutant(Mutant::cutoff_off_by_one) ? context.now - Duration(1) : context.now;
  if (row.deadline && *row.deadline <= over && !mutant(Mutant::cutoff_by_tick_time)) {  // invariant 22
    if (auto ended = finish_overdue_job(context, id)) claimed.overdue.push_back(*std::move(ended));
    return;
  }
  const ScheduleRow* schedule = nullptr;
  if (row.schedule) {
    const auto& owner = owners.of(context, row.schedule);
    if (owner) schedule = &*owner;
  }
  if (row.schedule && (!schedule || is_left_over(*schedule, id))) {
    // It ran when the schedule was deleted, and came back: now it is one that is not started. Or its turn to be
    // cancelled has not come yet.
    if (!tx.lease(id)) claimed.overdue.push_back(cancel_job(context, row, row.state, "schedule_deleted"));
    return;
  }
  if (schedule && holds_its_jobs(*schedule, context.now)) {
    if (!tx.lease(id))
      claimed.held.push_back({.job = ready_of(row),
                              .tenant = tx.lane_names(row.lane).tenant,
                              .schedule = row.schedule,
                              .subject = {},
                              .until = schedule->enabled ? schedule->paused_until : std::nullopt});
    return;
  }
  if (schedule && !row.subject.empty() && !tx.is_enabled(row.schedule, row.subject)) {
    if (!tx.lease(id)) {
      claimed.held.push_back({.job = ready_of(row),
                              .tenant = tx.lane_names(row.lane).tenant,
                              .schedule = row.schedule,
                              .subject = row.subject,
                              .until = {}});
    }
    return;
  }
  const JobOptions options = options_of(context, row);
  if (slot == Slot::not_yet && is_last_attempt(row.attempts, options)) {
    if (!tx.lease(id)) claimed.last.push_back(ready_of(row));
    return;
  }
  const LeaseRow lease = lease_for(context, request, row, options, slot);
  if (!tx.insert_lease(lease)) return;  // a worker has it (invariant 9)
  tx.add_count(row.lane, JobState::queued, -1);
  tx.add_count(row.lane, JobState::processing, 1);
  LeasedJob job = leased_job(context, row, lease, options, schedule);
  job.payload = std::move(found->payload);
  job.closings = closings_beside(context, row, options.notifies, lease.claimed_at);
  claimed.jobs.push_back(std::move(job));
}

}  // namespace

Claimed claim_jobs(Context& context, const ClaimRequest& request) {
  Claimed claimed;
  claimed.jobs.reserve(request.jobs.size());
  Owners owners;
  std::size_t free = request.slots;
  for (const JobId id : request.jobs) {
    if (context.tx.failed()) break;
    claim_job(context, owners, request, id, free > 0 ? Slot::free : Slot::not_yet, claimed);
    if (free > 0) --free;
  }
  return claimed;
}

std::vector<OutsideLease> leases_outside(Context& context) {
  std::vector<OutsideLease> held;
  for (LeaseRow& lease : context.tx.leases()) {
    if (lease.in_process) continue;
    const auto row = context.tx.job(lease.job);
    if (!row) continue;
    const auto schedule = row->schedule ? context.tx.schedule(row->schedule) : std::nullopt;
    LeasedJob job = leased_job(context, *row, lease, options_of(context, *row), schedule ? &*schedule : nullptr);
    held.push_back({.lease = std::move(lease), .job = std::move(job), .type = row->type});
  }
  return held;
}

std::vector<ReadyJob> queued_of(Context& context, std::span<const JobId> jobs) {
  std::vector<ReadyJob> queued;
  for (const JobId id : jobs) {
    const auto row = context.tx.job(id);
    if (row && row->state == JobState::queued && !context.tx.lease(id)) queued.push_back(ready_of(*row));
  }
  return queued;
}

std::vector<JobTraits> traits_of(Context& context, std::span<const JobId> jobs) {
  std::vector<JobTraits> traits;
  traits.reserve(jobs.size());
  for (const JobId id : jobs) {
    const auto row = context.tx.job(id);
    if (!row) continue;
    JobOptions options = options_of(context, *row);
    const bool is_last = is_last_attempt(row->attempts, options);
    traits.push_back(
        {.id = id, .limits = std::move(options.limits), .notifies = options.notifies, .last_attempt = is_last});
  }
  return traits;
}

}  // namespace carillon
