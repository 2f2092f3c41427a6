#include "engine/attempts/leasing.h"

#include <algorithm>

#include "base/mutant.h"

namespace carillon {

Result<Claimed> Leasing::claim(Round& round, const ClaimRequest& request, std::span<const ReadySet::Pick> picks) {
  TRY_ASSIGN(Claimed claimed, store_.jobs().claim(request));
  for (const Changed& one : claimed.overdue) attempts_.changed(round, one);
  // Picked where it stood before this very round moved it.
  const auto stands_elsewhere = [&](const ReadyJob& job) {
    if (round.added.empty()) return false;
    const auto pick = std::ranges::find_if(picks, [&](const ReadySet::Pick& one) { return one.entry.id == job.id; });
    return pick != picks.end() && pick->entry != entry_of(job) && round.has_added(job.id);
  };
  for (const HeldJob& held : claimed.held) {
    if (stands_elsewhere(held.job)) continue;
    round.on_commit.emplace_back([this, held] { planner_.hold(held); });
  }
  // The clock was set back, or somebody moved them: they wait again.
  std::erase_if(claimed.last, stands_elsewhere);
  std::erase_if(claimed.early, stands_elsewhere);
  // Memory knew nothing of its attempts: they wait for a slot of their own.
  TRY(dispatcher_.add(claimed.last, queue_.horizon(round.now), round.now));
  round.add_read_back(claimed.last);
  if (mutant(Mutant::early_jobs_dropped)) return claimed;
  TRY(dispatcher_.add(claimed.early, queue_.horizon(round.now), round.now));
  round.add_read_back(claimed.early);
  return claimed;
}

RunPtr Leasing::picked(Round& round, const ReadySet::Pick& pick, LeasedJob job) {
  auto run = std::make_shared<Run>();
  run->job = std::move(job);
  run->place = pick.place;
  run->notifies = dispatcher_.ready().place(pick.place).notifies;
  run->outside = dispatcher_.ready().waits_outside(pick.place);
  // It was claimed where it stood before somebody moved it: where it stands now is nothing left.
  for (const ReadyJob& moved : round.moved) {
    if (moved.id == pick.entry.id && entry_of(moved) != pick.entry) dispatcher_.left(moved);
  }
  round.tell(JobPicked{.job = run->job.id,
                       .tenant = run->job.tenant,
                       .type = run->job.type,
                       .lateness = std::max(Duration::zero(), round.now - run->job.run_at)});
  return run;
}

}  // namespace carillon
