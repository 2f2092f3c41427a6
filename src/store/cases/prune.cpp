#include "store/cases/prune.h"

#include <algorithm>

namespace carillon {

namespace {

Duration keep_of(const JobStore::PruneRequest& request, const std::string& tenant) {
  const auto found = std::ranges::find(request.keep_by_tenant, tenant, &std::pair<std::string, Duration>::first);
  return found == request.keep_by_tenant.end() ? request.keep : found->second;
}

void erase(Context& context, const ArchiveRow& row) {
  Transaction& tx = context.tx;
  const JobRow& job = row.job;
  const std::string& tenant = tx.lane_names(job.lane).tenant;
  if (!job.options.empty()) {
    const JobOptions options = options_of(context, job);
    if (!options.idempotency_key.empty()) {
      const auto key = tx.key(tenant, job.type, options.idempotency_key);
      // One that is held for a time of its own stays until then.
      const bool released = key && key->job == job.id && (!key->held_until || *key->held_until <= context.now);
      if (released) tx.erase_key(*key);
    }
  }
  if (job.schedule && job.slot) {
    const auto outcome = tx.outcome(job.schedule, job.subject, *job.slot);
    if (outcome && outcome->job == job.id) tx.erase_outcome(job.schedule, job.subject, *job.slot);
  }
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
    if (!context.tx.children(row.job.id).empty()) continue;  // invariant 31
    erase(context, row);
    ++step.erased;
  }
  step.end = rows.size() < request.limit;
  if (step.end) context.tx.erase_effects_before(add_clamped(context.now, -kEffectsKept), request.limit);
  return step;
}

}  // namespace carillon
