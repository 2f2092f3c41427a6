// Deletes what is old, a small step a round. Called inside of a round's transaction.
//
// A pass begins every minute, by the wall clock: so a rehearsal keeps no more than the days that it plays would have
// kept. It looks at jobs that are old enough by their id; once an hour at all that there is.
#pragma once

#include <optional>

#include "engine/round/round.h"
#include "store/store.h"

namespace carillon {

class Pruner {
 public:
  Pruner(Store& store, const StoreClock& clock, Duration every) : store_(store), clock_(clock), every_(every) {}
  Pruner(const Pruner&) = delete;
  Pruner& operator=(const Pruner&) = delete;
  ~Pruner() = default;

  // A pass is to begin, or to go on.
  bool is_due(Instant now, BootTime boot) const;
  // Of a pass that has begun and is not over: when its next step is due, on the boot clock.
  std::optional<BootTime> next_step() const { return pass_ ? std::optional(step_at_) : std::nullopt; }

  Result<void> step(Round& round, const RetentionRule& keep);

 private:
  struct Pass {
    Instant begun;
    BootTime since{};
    bool is_full = false;
    bool jobs_done = false;
    JobId after;
    PlanPosition position;
    bool is_over = false;
  };
  struct Begun {
    Instant any;
    Instant full;
  };

  Pass new_pass(const Round& round) const;

  Store& store_;
  const StoreClock& clock_;
  const Duration every_;
  std::optional<Begun> last_;  // when the last passes began
  BootTime rest_until_{};      // after one that took long
  std::optional<Pass> pass_;   // under way
  BootTime step_at_{};
};

}  // namespace carillon
