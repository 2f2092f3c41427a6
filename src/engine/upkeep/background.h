// Work that nobody waits for, a step a round: over many jobs or lines, deleting what is old or whose tenant is, looking
// for what is broken.
#pragma once

#include "engine/calls/bulk.h"
#include "engine/calls/import_work.h"
#include "engine/planning/sweeper.h"
#include "engine/round/part.h"
#include "engine/round/readiness.h"
#include "engine/upkeep/pruner.h"
#include "engine/upkeep/rule_book.h"
#include "engine/upkeep/tenant_erasure.h"

namespace carillon {

class Background final : public Part {
 public:
  Background(Store& store, const StoreClock& clock, Duration retention, Duration prune_every, const RuleBook& rules,
             Planner& planner, BulkWork& bulk, ImportWork& imports, TenantErasure& erasure, const Readiness& readiness)
      : retention_(retention),
        rules_(rules),
        planner_(planner),
        bulk_(bulk),
        imports_(imports),
        erasure_(erasure),
        readiness_(readiness),
        pruner_(store, clock, prune_every),
        sweeper_(store, planner) {}

  // A pass over what is old has begun, and is not over.
  bool is_pruning() const { return pruner_.next_step().has_value(); }

  bool has_work(const Round& round) const override;
  Result<void> write(Round& round) override;
  void next_at(Wake& wake) override;

 private:
  // Not before the node is open: who is to be told of the end may not be there yet.
  bool may_erase(BootTime boot) const;
  Result<void> sweep(Round& round);

  const Duration retention_;
  const RuleBook& rules_;
  Planner& planner_;
  BulkWork& bulk_;
  ImportWork& imports_;
  TenantErasure& erasure_;
  const Readiness& readiness_;
  Pruner pruner_;
  Sweeper sweeper_;
};

}  // namespace carillon
