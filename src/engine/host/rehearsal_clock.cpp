#include "engine/host/rehearsal_clock.h"

#include <algorithm>

#include "base/clock.h"

namespace carillon {

namespace {

// Longer than anything sleeps.
constexpr Duration kNever = std::chrono::hours(24 * 365);

}  // namespace

RehearsalClock::RehearsalClock(Instant start, double speed) : speed_(speed), wall_(start), since_(boot_now()) {}

BootTime RehearsalClock::boot() const { return boot_now(); }

Instant RehearsalClock::wall_by(BootTime boot) const {
  if (is_held_) return wall_;
  const double passed = static_cast<double>((boot - since_).count()) * speed_;
  return add_clamped(wall_, Duration(static_cast<Duration::rep>(passed)));
}

Instant RehearsalClock::exact_wall() const {
  const std::scoped_lock lock(mutex_);
  return wall_by(boot_now());
}

Duration RehearsalClock::real_time(Duration wall_time) const {
  const std::scoped_lock lock(mutex_);
  if (wall_time <= Duration::zero()) return wall_time;
  if (is_held_ || speed_ == 0) return kNever;
  // Not less than it takes: it would be looked at too early, again and again.
  const double real = static_cast<double>(wall_time.count()) / speed_ + 1;
  return std::min(kNever, Duration(static_cast<Duration::rep>(std::min(real, static_cast<double>(kNever.count())))));
}

bool RehearsalClock::stands_still() const {
  const std::scoped_lock lock(mutex_);
  return is_held_ || speed_ == 0;
}

void RehearsalClock::hold() {
  const std::scoped_lock lock(mutex_);
  wall_ = wall_by(boot_now());
  is_held_ = true;
}

void RehearsalClock::move_to(Instant wall) {
  const std::scoped_lock lock(mutex_);
  const BootTime boot = boot_now();
  wall_ = std::max(wall, wall_by(boot));
  since_ = boot;
}

void RehearsalClock::run() {
  const std::scoped_lock lock(mutex_);
  if (!is_held_) return;
  since_ = boot_now();
  is_held_ = false;
}

}  // namespace carillon
