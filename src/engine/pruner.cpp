#include "engine/pruner.h"

namespace carillon {

namespace {

constexpr std::size_t kStep = 500;
// Between two steps of a round of pruning: others come first.
constexpr Duration kBetweenSteps = std::chrono::milliseconds(20);

}  // namespace

Result<void> Pruner::step(Round& round, const RetentionRule& keep) {
  if (!jobs_done_) {
    TRY_ASSIGN(const JobStore::PruneStep step, store_.jobs().prune({.after = after_, .limit = kStep, .keep = keep}));
    round.on_commit.emplace_back([this, step, boot = round.boot] {
      after_ = step.end ? JobId{} : step.next_after;
      jobs_done_ = step.end;
      next_at_ = boot + kBetweenSteps;
    });
    return {};
  }
  TRY_ASSIGN(const PlanPruneStep step, store_.plans().prune({.position = position_, .limit = kStep, .keep = keep}));
  round.on_commit.emplace_back([this, step, boot = round.boot] {
    position_ = step.position;
    jobs_done_ = !step.end;
    next_at_ = boot + (step.end ? every_ : kBetweenSteps);
  });
  return {};
}

}  // namespace carillon
