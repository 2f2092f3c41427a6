#include "store/cases/prune.h"

#include "store/cases/owners.h"
#include "store/cases/plan.h"

namespace carillon {

namespace {

// More than are written between two rounds of pruning.
constexpr std::size_t kAuditStep = 10'000;

std::optional<KeyRow> key_of(Context& context, const JobRow& job) {
  if (job.options.empty()) return std::nullopt;
  const JobOptions options = options_of(context, job);
  if (!options.idempotency_key) return std::nullopt;
  auto key = context.tx.key(context.tx.lane_names(job.lane).tenant, job.type, *options.idempotency_key);
  if (key && key->job != job.id) key.reset();
  return key;
}

// The cursor has to come by a window first. (invariant 20)
bool is_ahead_of_cursor(Context& context, const OutcomeKey& key) {
  const auto subject = context.tx.subject(key.schedule, key.subject);
  return subject && subject->cursor && key.slot >= *subject->cursor;
}

// From now on the position guards what the row of the occurrence guarded before. (invariant 1)
void erase_outcome_row(Context& context, const OutcomeKey& key) {
  context.tx.erase_outcome(key.schedule, key.subject, key.slot);
  auto subject = context.tx.subject(key.schedule, key.subject);
  if (!subject || (subject->position && *subject->position >= key.slot)) return;
  subject->position = key.slot;
  ++subject->version;
  context.tx.update_subject(subject->next_at, *subject);
}

// A job that still guards something, however old it is.
bool is_needed(Context& context, const JobRow& job) {
  if (!context.tx.children(job.id).empty()) return true;  // invariant 31
  const auto key = key_of(context, job);
  if (key && key->held_until && *key->held_until > context.now) return true;  // invariant 17
  return job.schedule && job.slot && is_ahead_of_cursor(context, {job.schedule, job.subject, *job.slot});
}

void erase_occurrence(Context& context, const JobRow& job) {
  const auto outcome = context.tx.outcome(job.schedule, job.subject, *job.slot);
  if (outcome && outcome->job == job.id) erase_outcome_row(context, {job.schedule, job.subject, *job.slot});
}

// What the next step of the part begins above, or the next part.
template <typename Row, typename KeyOf>
void move_on(PlanPruneStep& step, const std::vector<Row>& rows, std::size_t limit, KeyOf key_of) {
  if (rows.size() == limit) {
    step.position.after = key_of(rows.back());
    return;
  }
  step.position.after = {};
  switch (step.position.part) {
    case PlanPosition::Part::outcomes: step.position.part = PlanPosition::Part::subjects; break;
    case PlanPosition::Part::subjects: step.position.part = PlanPosition::Part::schedules; break;
    case PlanPosition::Part::schedules:
      step.position.part = PlanPosition::Part::outcomes;
      step.end = true;
      break;
  }
}

// Those with a job go with it.
void prune_outcomes(Context& context, const PlanPruneRequest& request, PlanPruneStep& step) {
  Owners owners;
  const std::vector<OutcomeRow> rows = context.tx.outcomes_above(request.position.after, request.limit);
  const auto key_of = [](const OutcomeRow& row) { return OutcomeKey{row.schedule, row.subject, row.slot}; };
  for (const OutcomeRow& row : rows) {
    if (row.job || !row.at) continue;
    const auto& owner = owners.of(context, row.schedule);
    if (owner && !request.keep.is_over(owner->tenant, *row.at, context.now)) continue;
    if (is_ahead_of_cursor(context, key_of(row))) continue;
    erase_outcome_row(context, key_of(row));
    ++step.erased;
  }
  move_on(step, rows, request.limit, key_of);
}

void prune_subjects(Context& context, const PlanPruneRequest& request, PlanPruneStep& step) {
  Owners owners;
  const OutcomeKey& after = request.position.after;
  const std::vector<SubjectRow> rows = context.tx.subjects_above({after.schedule, after.subject}, request.limit);
  for (SubjectRow row : rows) {
    const auto& owner = owners.of(context, row.schedule);
    if (owner && !row.deleted_at && !owner->deleted_at) {
      // One of an earlier life of its schedule has been met by nobody else so far.
      if (row.generation != owner->generation) retire_subject(context, row);
      continue;
    }
    const Instant deleted_at = row.deleted_at ? *row.deleted_at : owner ? *owner->deleted_at : kInstantMin;
    if (owner && !request.keep.is_over(owner->tenant, deleted_at, context.now)) continue;
    // An operator may still decide about an occurrence.
    if (context.tx.outcome_until(row.schedule, row.subject, kInstantMax)) continue;
    context.tx.erase_subject({row.schedule, row.subject});
    ++step.erased;
  }
  move_on(step, rows, request.limit, [](const SubjectRow& row) { return OutcomeKey{row.schedule, row.subject, {}}; });
}

void prune_schedules(Context& context, const PlanPruneRequest& request, PlanPruneStep& step) {
  const auto oldest = std::chrono::floor<std::chrono::days>(context.now - kOutcomeCountsKept);
  const std::vector<ScheduleRow> rows = context.tx.schedules_above(request.position.after.schedule, request.limit);
  for (const ScheduleRow& row : rows) {
    context.tx.erase_outcome_counts(row.id, oldest.time_since_epoch().count());
    if (!row.deleted_at || !request.keep.is_over(row.tenant, *row.deleted_at, context.now)) continue;
    if (context.tx.has_rows_of(row.id)) continue;
    context.tx.erase_outcome_counts(row.id, INT64_MAX);
    context.tx.erase_schedule(row.id);
    ++step.erased;
  }
  move_on(step, rows, request.limit, [](const ScheduleRow& row) { return OutcomeKey{row.id, {}, {}}; });
}

}  // namespace

void erase_finished(Context& context, const ArchiveRow& row) {
  Transaction& tx = context.tx;
  const JobRow& job = row.job;
  if (const auto key = key_of(context, job)) tx.erase_key(*key);
  for (const std::string& name : detail_of(context, job).added_keys) {
    const auto key = tx.key(tx.lane_names(job.lane).tenant, job.type, name);
    if (key && key->job == job.id) tx.erase_key(*key);
  }
  if (job.schedule && job.slot) erase_occurrence(context, job);
  tx.erase_archived(row);
  tx.add_count(job.lane, job.state, -1);
}

JobStore::PruneStep prune_archive(Context& context, const JobStore::PruneRequest& request) {
  JobStore::PruneStep step{.next_after = request.after};
  if (request.before) {
    // Mostly none is old enough, and that is seen by the first one.
    const std::vector<ArchiveRow> first = context.tx.archived_above(request.after, 1);
    step.end = first.empty() || first.front().job.id >= *request.before;
    if (step.end) return step;
  }
  const std::vector<ArchiveRow> rows = context.tx.archived_above(request.after, request.limit);
  for (const ArchiveRow& row : rows) {
    if (request.before && row.job.id >= *request.before) {
      step.end = true;
      return step;
    }
    step.next_after = row.job.id;
    if (!request.keep.is_over(context.tx.lane_names(row.job.lane).tenant, row.finished_at, context.now)) continue;
    if (is_needed(context, row.job)) continue;
    erase_finished(context, row);
    ++step.erased;
  }
  step.end = rows.size() < request.limit;
  if (step.end && !request.before) {
    context.tx.erase_effects_before(add_clamped(context.now, -kEffectsKept), request.limit);
    context.tx.erase_audit_before(add_clamped(context.now, -kAuditKept), kAuditStep);
  }
  return step;
}

PlanPruneStep prune_plans(Context& context, const PlanPruneRequest& request) {
  PlanPruneStep step{.position = request.position};
  switch (request.position.part) {
    case PlanPosition::Part::outcomes: prune_outcomes(context, request, step); break;
    case PlanPosition::Part::subjects: prune_subjects(context, request, step); break;
    case PlanPosition::Part::schedules: prune_schedules(context, request, step); break;
  }
  return step;
}

}  // namespace carillon
