#include "engine/planning/planning.h"

namespace carillon {

namespace {

constexpr std::size_t kSchedulesMax = 200;  // planned in one round

}  // namespace

bool Planning::has_work(const Round& round) const {
  const auto due = planner_.next_due();
  return (due && *due <= round.now) || planner_.has_background() || !planner_.released().empty();
}

void Planning::next_at(Wake& wake) {
  if (planner_.has_background() || !planner_.released().empty()) wake.at_once = true;
  wake.by(planner_.next_due());
}

Result<void> Planning::write(Round& round) {
  if (!loader_.has_rules()) return {};
  const auto due = planner_.next_due();
  if ((!due || *due > round.now) && !planner_.has_background()) return {};
  const BootTime begun = clock_.boot();
  // Between two ticks too a day that is over is closed before another one is planned: the clock may have been set
  // forward over both (invariant 3).
  if (!round.is_tick) TRY(upkeep_.finish_overdue(round));
  TRY_ASSIGN(const Planner::Stepped stepped,
             planner_.step(round, {.schedules_max = kSchedulesMax, .leave_deliveries = round.cutoffs_are_behind}));
  round.tick.duration += clock_.boot() - begun;
  round.tick.users_scanned += stepped.looked_at;
  return {};
}

}  // namespace carillon
