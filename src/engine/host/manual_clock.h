// A clock for tests and simulations: it moves when it is told.
#pragma once

#include <carillon/testing.h>

#include <atomic>

#include "store/store.h"

namespace carillon::testing {

class ManualClock::Parts final : public StoreClock {
 public:
  explicit Parts(Instant start) : wall_(start) {}
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() override = default;

  BootTime boot() const override { return boot_; }
  void advance(Duration by) {
    wall_ = add_clamped(wall_, by);
    boot_ = boot_.load() + by;
  }
  void step(Duration by) { wall_ = add_clamped(wall_, by); }

 protected:
  Instant exact_wall() const override { return wall_; }

 private:
  std::atomic<Instant> wall_;
  std::atomic<BootTime> boot_{std::chrono::hours(1)};  // no time is 0: that means never
};

}  // namespace carillon::testing
