// Deletes what is old, a small step a round. Called inside of a round's transaction.
#pragma once

#include "engine/round.h"
#include "store/store.h"

namespace carillon {

class Pruner {
 public:
  Pruner(Store& store, Duration every) : store_(store), every_(every) {}
  Pruner(const Pruner&) = delete;
  Pruner& operator=(const Pruner&) = delete;
  ~Pruner() = default;

  // When the next step is due, on the boot clock.
  BootTime next_at() const { return next_at_; }
  Result<void> step(Round& round, const RetentionRule& keep);

 private:
  Store& store_;
  const Duration every_;
  BootTime next_at_{};
  bool jobs_done_ = false;
  JobId after_;
  PlanPosition position_;
};

}  // namespace carillon
