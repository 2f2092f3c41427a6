#include "engine/upkeep/pruner.h"

#include <algorithm>

namespace carillon {

namespace {

constexpr std::size_t kStep = 500;
// Between two steps over a full page: others come first.
constexpr Duration kBetweenSteps = std::chrono::milliseconds(20);
// How often all that there is gets looked at. Deleted subjects, outcomes without a job, and jobs whose ids are of a
// clock that was set back since, wait for it.
constexpr Duration kFullEvery = std::chrono::hours(1);
// A pass that took long, because many keep much for long, is followed by a rest of so many times as long.
constexpr int kRest = 10;

}  // namespace

bool Pruner::is_due(Instant now, BootTime boot) const {
  if (pass_) return step_at_ <= boot;
  if (boot < rest_until_) return false;
  // A clock that was set back does not put it off.
  return !last_ || now < last_->any || now - last_->any >= every_;
}

Pruner::Pass Pruner::new_pass(const Round& round) const {
  const bool is_full = !last_ || round.now < last_->full || round.now - last_->full >= std::max(every_, kFullEvery);
  return {.begun = round.now, .since = round.boot, .is_full = is_full, .after = {}, .position = {}};
}

Result<void> Pruner::step(Round& round, const RetentionRule& keep) {
  Pass pass = pass_ ? *pass_ : new_pass(round);
  bool is_full_page = false;
  if (!pass.jobs_done) {
    JobStore::PruneRequest request{.after = pass.after, .limit = kStep, .keep = keep, .before = {}};
    // A job cannot have ended before it was made.
    if (!pass.is_full) request.before = first_job_id_at(add_clamped(round.now, -keep.shortest()));
    TRY_ASSIGN(const JobStore::PruneStep step, store_.jobs().prune(request));
    pass.after = step.next_after;
    pass.jobs_done = step.end;
    pass.is_over = step.end && !pass.is_full;
    is_full_page = !step.end;
  } else {
    TRY_ASSIGN(const PlanPruneStep step,
               store_.plans().prune({.position = pass.position, .limit = kStep, .keep = keep}));
    is_full_page = step.position.part == pass.position.part && !step.end;
    pass.position = step.position;
    pass.is_over = step.end;
  }
  const bool in_haste = clock_.stands_still();
  round.on_commit.emplace_back([this, pass, boot = round.boot, waits = is_full_page && !in_haste, in_haste] {
    step_at_ = waits ? boot + kBetweenSteps : boot;
    pass_ = pass;
    if (!pass.is_over) return;
    pass_.reset();
    last_ = Begun{.any = pass.begun, .full = pass.is_full ? pass.begun : last_->full};
    // One over all of it comes seldom anyway.
    rest_until_ = in_haste || pass.is_full ? boot : boot + kRest * (boot - pass.since);
  });
  return {};
}

}  // namespace carillon
