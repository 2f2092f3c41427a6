// Looks at every subject from time to time, a slice a round: one whose next time the planner overlooked, whose open job
// no longer exists, or whose cursor stands before windows that are closed, is put right and counted. In a healthy
// system it finds none.
//
// Called inside of a round's transaction.
#pragma once

#include <optional>
#include <string>

#include "engine/planning/planner.h"
#include "engine/round/round.h"
#include "store/store.h"

namespace carillon {

class Sweeper {
 public:
  Sweeper(Store& store, Planner& planner) : store_(store), planner_(planner) {}
  Sweeper(const Sweeper&) = delete;
  Sweeper& operator=(const Sweeper&) = delete;
  ~Sweeper() = default;

  // When the next slice is due, on the boot clock. The first pass begins one period after the start.
  std::optional<BootTime> next_at() const { return next_at_; }
  bool is_due(BootTime now) const { return next_at_ && *next_at_ <= now; }
  void begin(BootTime now);
  Result<void> step(Round& round);

 private:
  struct Place {
    ScheduleId schedule;
    std::optional<std::string> after;
    SweepStopped counted;
  };
  Result<void> end_pass(Round& round, const Place& place);
  Result<void> go_on(Round& round, const Place& place);

  Store& store_;
  Planner& planner_;
  std::optional<BootTime> next_at_;
  Place place_;
};

}  // namespace carillon
