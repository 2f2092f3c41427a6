// What is old goes.
#pragma once

#include "store/cases/context.h"
#include "store/plan_store.h"

namespace carillon {

// A finished job, with all that it holds.
void erase_finished(Context& context, const ArchiveRow& row);

inline constexpr Duration kEffectsKept = std::chrono::days(30);
// However short a tenant keeps its jobs: the trail is the operator's.
inline constexpr Duration kAuditKept = std::chrono::days(400);

JobStore::PruneStep prune_archive(Context& context, const JobStore::PruneRequest& request);
PlanPruneStep prune_plans(Context& context, const PlanPruneRequest& request);

}  // namespace carillon
