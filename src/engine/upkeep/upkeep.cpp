#include "engine/upkeep/upkeep.h"

#include <algorithm>

#include "base/mutant.h"

namespace carillon {

namespace {

constexpr Duration kReapEvery = std::chrono::seconds(1);
constexpr std::size_t kUpkeepMax = 500;  // attempts or jobs ended in one round by time

}  // namespace

Result<void> Upkeep::write(Round& round) {
  if (round.boot < next_tick_) return {};
  round.is_tick = true;
  TRY_ASSIGN(const std::size_t reaped, reap(round));
  const BootTime begun = clock_.boot();
  TRY_ASSIGN(const std::size_t overdue, finish_overdue(round));
  round.tick.duration += clock_.boot() - begun;
  const bool more = reaped == kUpkeepMax || overdue == kUpkeepMax;
  TRY(loader_.load_later(round));
  round.on_commit.emplace_back([this, &round, more] {
    // A lost lease is found within two seconds, however long the tick is (invariant 12).
    const bool has_leases = !attempts_.runs().empty() || attempts_.desk().lease_count() > 0;
    next_tick_ = more ? round.boot : round.boot + (has_leases ? std::min(tick(), kReapEvery) : tick());
  });
  return {};
}

Result<std::size_t> Upkeep::reap(Round& round) {
  TRY_ASSIGN(const std::vector<Reaped> reaped, store_.jobs().reap(kUpkeepMax));
  for (const Reaped& one : reaped) {
    round.add_ready(one.ready);
    if (one.result == AttemptResult::timeout) {
      const RunPtr held = attempts_.desk().find(one.id);
      const RunPtr run = held ? held : attempts_.runs().find(one.id);
      round.tell(JobStopped{.job = one.id,
                            .tenant = one.tenant,
                            .type = one.type,
                            .attempt = run ? run->job.attempt : 1,
                            .duration = run ? duration_of(*run, round.boot) : Duration::zero(),
                            .result = AttemptResult::timeout,
                            .error_class = "timeout"});
    } else {
      round.tell(LeaseLost{.job = one.id, .tenant = one.tenant, .worker = one.worker});
    }
    round.tell(JobChanged{.job = one.id, .tenant = one.tenant, .state = one.state});
    round.on_commit.emplace_back([this, id = one.id, now = round.now] { attempts_.lease_is_gone(id, now); });
  }
  return reaped.size();
}

Result<std::size_t> Upkeep::finish_overdue(Round& round) {
  if (mutant(Mutant::deadline_ignored)) return 0;
  TRY_ASSIGN(const std::vector<OverdueJob> overdue, store_.jobs().overdue(kUpkeepMax));
  std::vector<WhyNotStarted> why;
  for (const OverdueJob& job : overdue) {
    const Lane lane = store_.jobs().lane(job.lane);
    const bool paused = rules_.is_paused(lane.tenant) || dispatcher_.ready().is_queue_closed(lane.tenant, lane.queue);
    if (rules_.closed_for(lane.tenant, job.notifies, round.now)) {
      why.push_back({.job = job.id, .reason = VerdictReason::gated});
    } else if (paused) {
      why.push_back({.job = job.id, .reason = VerdictReason::paused});
    }
  }
  TRY_ASSIGN(const std::vector<Changed> finished, store_.jobs().finish_overdue(kUpkeepMax, why));
  for (const Changed& one : finished) attempts_.changed(round, one);
  round.cutoffs_are_behind = finished.size() == kUpkeepMax;
  return finished.size();
}

}  // namespace carillon
