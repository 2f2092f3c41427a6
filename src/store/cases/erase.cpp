#include "store/cases/erase.h"

#include "store/cases/prune.h"

namespace carillon {

namespace {

void erase_archive(Context& context, std::string_view tenant, std::size_t limit, EraseStep& step) {
  const std::vector<ArchiveRow> rows = context.tx.archived_above({step.position.after}, limit);
  for (const ArchiveRow& row : rows) {
    step.position.after = row.job.id.value;
    if (context.tx.lane_names(row.job.lane).tenant != tenant) continue;
    erase_finished(context, row);
    ++step.erased;
  }
  if (rows.size() < limit) step.position = {.part = ErasePosition::Part::schedules};
}

// Whether all of it is gone.
bool erase_deleted_schedule(Context& context, const ScheduleRow& schedule, std::size_t limit, EraseStep& step) {
  std::size_t left = limit;
  for (const OutcomeRow& row : context.tx.outcomes_above({schedule.id, {}, kInstantMin}, left)) {
    if (row.schedule != schedule.id) break;
    context.tx.erase_outcome(row.schedule, row.subject, row.slot);
    ++step.erased;
    if (--left == 0) return false;
  }
  for (const SubjectRow& row : context.tx.subjects_above({schedule.id, {}}, left)) {
    if (row.schedule != schedule.id) break;
    context.tx.erase_subject({row.schedule, row.subject});
    ++step.erased;
    if (--left == 0) return false;
  }
  // The one without a name stands before all others, and above none.
  if (context.tx.subject(schedule.id, {})) context.tx.erase_subject({schedule.id, {}});
  context.tx.erase_outcome_counts(schedule.id, INT64_MAX);
  context.tx.erase_schedule(schedule.id);
  ++step.erased;
  return true;
}

void erase_schedules(Context& context, std::string_view tenant, std::size_t limit, EraseStep& step) {
  const std::vector<ScheduleRow> rows = context.tx.schedules_above({step.position.after}, limit);
  for (const ScheduleRow& row : rows) {
    if (row.tenant == tenant) {
      if (!row.deleted_at) {
        step.schedules.push_back(row.name);
      } else if (!erase_deleted_schedule(context, row, limit, step)) {
        return;  // the next step goes on with the same one
      }
    }
    step.position.after = row.id.value;
  }
  if (rows.size() < limit) step.position = {.part = ErasePosition::Part::rest};
}

void erase_rest(Context& context, std::string_view tenant, std::size_t limit, EraseStep& step) {
  Transaction& tx = context.tx;
  std::size_t erased = tx.erase_keys_of(tenant, limit);
  if (erased < limit) erased += tx.erase_effects_of(tenant, limit - erased);
  if (erased < limit) erased += tx.erase_audit_of(tenant, limit - erased);
  if (erased < limit) {
    for (const Document& one : tx.documents_above({std::string(tenant), {}, {}}, limit - erased)) {
      if (one.key.tenant != tenant) break;
      tx.erase_document(one.key);
      context.gates_read.known.erase(one.key.tenant);
      step.documents.push_back(one.key);
      ++erased;
    }
  }
  step.erased += erased;
  if (erased > 0) return;  // the next step sees whether more has come
  step.live_jobs = tx.live_jobs_of(tenant);
  step.end = step.live_jobs == 0;
  if (!step.end) step.position = {};
}

}  // namespace

EraseStep erase_tenant_rows(Context& context, std::string_view tenant, const ErasePosition& from, std::size_t limit) {
  EraseStep step{.position = from};
  switch (from.part) {
    case ErasePosition::Part::archive: erase_archive(context, tenant, limit, step); break;
    case ErasePosition::Part::schedules: erase_schedules(context, tenant, limit, step); break;
    case ErasePosition::Part::rest: erase_rest(context, tenant, limit, step); break;
  }
  return step;
}

}  // namespace carillon
