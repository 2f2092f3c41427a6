#include "engine/upkeep/background.h"

namespace carillon {

namespace {

bool is_due(std::optional<BootTime> at, BootTime boot) { return at && *at <= boot; }

}  // namespace

bool Background::may_erase(BootTime boot) const {
  return readiness_.is_open() && readiness_.is_loaded() && is_due(erasure_.next_at(), boot);
}

bool Background::has_work(const Round& round) const {
  return pruner_.is_due(round.now, round.boot) || sweeper_.is_due(round.boot) || is_due(bulk_.next_at(), round.boot) ||
         is_due(imports_.next_at(), round.boot) || may_erase(round.boot);
}

Result<void> Background::write(Round& round) {
  if (is_due(bulk_.next_at(), round.boot)) TRY(bulk_.step(round));
  if (is_due(imports_.next_at(), round.boot)) TRY(imports_.look_after(round));
  if (may_erase(round.boot)) TRY(erasure_.step(round));
  if (!readiness_.is_loaded()) return {};
  if (pruner_.is_due(round.now, round.boot)) TRY(pruner_.step(round, rules_.retention(retention_)));
  return sweep(round);
}

Result<void> Background::sweep(Round& round) {
  sweeper_.begin(round.boot);
  if (!sweeper_.is_due(round.boot)) return {};
  TRY(planner_.follow(round));  // what this very round has closed is no fault that it finds
  return sweeper_.step(round);
}

void Background::next_at(Wake& wake) {
  if (pruner_.is_due(wake.now, wake.boot)) wake.at_once = true;
  wake.by(pruner_.next_step());
  wake.by(sweeper_.next_at());
  wake.by(bulk_.next_at());
  wake.by(imports_.next_at());
  if (readiness_.is_open() || wake.of_settled) wake.by(erasure_.next_at());
}

}  // namespace carillon
