#include "engine/pulls/adopted_leases.h"

#include <algorithm>

namespace carillon {

Result<void> AdoptedLeases::read(Round& round) {
  TRY_ASSIGN(std::vector<OutsideLease> held, store_.jobs().outside_leases());
  std::vector<std::pair<RunPtr, std::string>> runs;  // and its worker
  for (OutsideLease& one : held) {
    auto run = std::make_shared<Run>();
    run->job = std::move(one.job);
    TRY_ASSIGN(const JobOptions options, run->job.options.read());
    run->notifies = options.notifies;
    run->pulled = true;
    run->phase = Run::Phase::started;
    run->started_boot = std::max(BootTime(1), round.boot - (round.now - one.lease.claimed_at));
    run->place = dispatcher_.place({.tenant = run->job.tenant,
                                    .queue = run->job.queue,
                                    .type = one.type,
                                    .limits = options.limits,
                                    .notifies = run->notifies});
    runs.emplace_back(std::move(run), std::move(one.lease.worker));
  }
  round.on_commit.emplace_back([this, &round, runs = std::move(runs)] {
    known_ = true;
    for (const auto& [run, worker] : runs) {
      dispatcher_.ready().adopt(run->place, round.now);
      attempts_.desk().lease(run, {.tenants = {}, .name = worker});
    }
  });
  return {};
}

}  // namespace carillon
