#include "store/cases/prune.h"

#include <algorithm>

namespace carillon {

namespace {

Duration keep_of(const JobStore::PruneRequest& request, const std::string& tenant) {
  const auto found = std::ranges::find(request.keep_by_tenant, tenant, &std::pair<std::string, Duration>::first);
  return found == request.keep_by_tenant.end() ? request.keep : found->second;
}

std::optional<KeyRow> key_of(Context& context, const JobRow& job) {
  if (job.options.empty()) return std::nullopt;
  const JobOptions options = options_of(context, job);
  if (options.idempotency_key.empty()) return std::nullopt;
  auto key = context.tx.key(context.tx.lane_names(job.lane).tenant, job.type, options.idempotency_key);
  if (key && key->job != job.id) key.reset();
  return key;
}

// A job that still guards something, however old it is.
bool is_needed(Context& context, const JobRow& job) {
  if (!context.tx.children(job.id).empty()) return true;  // invariant 31
  const auto key = key_of(context, job);
  if (key && key->held_until && *key->held_until > context.now) return true;  // invariant 17
  if (!job.schedule || !job.slot) return false;
  // The cursor has to come by its window first. (invariant 20)
  const auto subject = context.tx.subject(job.schedule, job.subject);
  return subject && subject->cursor && *job.slot >= *subject->cursor;
}

// From now on the position guards what the row of the occurrence guarded before. (invariant 1)
void erase_occurrence(Context& context, const JobRow& job) {
  Transaction& tx = context.tx;
  const auto outcome = tx.outcome(job.schedule, job.subject, *job.slot);
  if (!outcome || outcome->job != job.id) return;
  tx.erase_outcome(job.schedule, job.subject, *job.slot);
  auto subject = tx.subject(job.schedule, job.subject);
  if (!subject || (subject->position && *subject->position >= *job.slot)) return;
  subject->position = job.slot;
  ++subject->version;
  tx.put_subject(*subject);
}

void erase(Context& context, const ArchiveRow& row) {
  Transaction& tx = context.tx;
  const JobRow& job = row.job;
  if (const auto key = key_of(context, job)) tx.erase_key(*key);
  if (job.schedule && job.slot) erase_occurrence(context, job);
  tx.erase_archived(row);
  tx.add_count(job.lane, job.state, -1);
}

}  // namespace

JobStore::PruneStep prune_archive(Context& context, const JobStore::PruneRequest& request) {
  JobStore::PruneStep step{.next_after = request.after};
  const std::vector<ArchiveRow> rows = context.tx.archived_above(request.after, request.limit);
  for (const ArchiveRow& row : rows) {
    step.next_after = row.job.id;
    const Duration keep = keep_of(request, context.tx.lane_names(row.job.lane).tenant);
    if (row.finished_at > add_clamped(context.now, -keep)) continue;
    if (is_needed(context, row.job)) continue;
    erase(context, row);
    ++step.erased;
  }
  step.end = rows.size() < request.limit;
  if (step.end) context.tx.erase_effects_before(add_clamped(context.now, -kEffectsKept), request.limit);
  return step;
}

}  // namespace carillon
