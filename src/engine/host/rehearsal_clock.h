// A wall clock that is not the machine's: it begins where it is told, runs at its own speed, and can be moved. How long
// things take (leases, timeouts, waits) stays real.
#pragma once

#include <mutex>

#include "store/store.h"

namespace carillon {

class RehearsalClock final : public StoreClock {
 public:
  // `speed`: how many times as fast as the real one; 0 stands still until it is moved.
  RehearsalClock(Instant start, double speed);
  RehearsalClock(const RehearsalClock&) = delete;
  RehearsalClock& operator=(const RehearsalClock&) = delete;
  ~RehearsalClock() override = default;

  BootTime boot() const override;
  Duration real_time(Duration wall_time) const override;
  bool stands_still() const override;
  double speed() const { return speed_; }
  // To the microsecond, which `wall` does not show.
  bool has_come_to(Instant wall) const { return exact_wall() >= wall; }

  // Stands still until `run`.
  void hold();
  // Not backwards: an earlier time changes nothing.
  void move_to(Instant wall);
  void run();

 protected:
  Instant exact_wall() const override;

 private:
  Instant wall_by(BootTime boot) const;

  const double speed_;
  mutable std::mutex mutex_;
  Instant wall_;  // as it was at `since_`
  BootTime since_;
  bool is_held_ = false;
};

}  // namespace carillon
