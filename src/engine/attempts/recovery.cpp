#include "engine/attempts/recovery.h"

#include <set>
#include <utility>

#include "base/mutant.h"

namespace carillon {

Result<void> Recovery::write(Round& round) {
  if (!queue_.must_recover()) return {};
  TRY(recover_leases(round));
  return queue_.settle_doubts(round);
}

Result<void> Recovery::recover_leases(Round& round) {
  if (mutant(Mutant::leases_not_recovered)) {
    queue_.recovered();
    return {};
  }
  TRY_ASSIGN(const std::vector<LeaseRow> leases, store_.jobs().leases());
  std::vector<Settlement> releases;
  std::set<std::pair<JobId, std::int64_t>> held_outside;
  for (const LeaseRow& lease : leases) {
    if (lease.in_process && lease.worker != worker_) continue;
    if (!lease.in_process) held_outside.emplace(lease.job, lease.token);
    const RunPtr run = lease.in_process ? attempts_.runs().find(lease.job) : attempts_.desk().find(lease.job);
    if (run && run->job.token == lease.token) continue;
    // Of a worker outside too: it was never told of the lease.
    releases.push_back(
        {.job = lease.job, .token = lease.token, .end = {.result = AttemptResult::released, .started = false}});
  }
  for (const Result<Settled>& released : store_.jobs().settle(releases)) {
    if (released) round.add_ready(released->ready);
  }
  round.on_commit.emplace_back([this, held_outside = std::move(held_outside), now = round.now] {
    queue_.recovered();
    loader_.reload();
    // Their end is stored, though nobody was told that it is.
    for (const RunPtr& run : attempts_.desk().all_leases()) {
      if (!held_outside.contains({run->job.id, run->job.token})) attempts_.lost(*run, now);
    }
  });
  return {};
}

}  // namespace carillon
