// What time makes due, once a tick: leases that ran out, deadlines that have passed, far-off jobs that come near.
#pragma once

#include "engine/attempts/attempts.h"
#include "engine/ready/loader.h"
#include "engine/round/part.h"
#include "engine/upkeep/rule_book.h"
#include "store/store.h"

namespace carillon {

class Upkeep final : public Part {
 public:
  Upkeep(Store& store, const StoreClock& clock, Duration tick, const RuleBook& rules, Dispatcher& dispatcher,
         Attempts& attempts, Loader& loader)
      : store_(store),
        clock_(clock),
        tick_(tick),
        rules_(rules),
        dispatcher_(dispatcher),
        attempts_(attempts),
        loader_(loader) {}

  // How long nothing is looked at, if nothing is due.
  Duration tick() const { return rules_.config().check_interval.value_or(tick_); }
  // The next round is a tick, whenever the last one was.
  void look_now() { next_tick_ = BootTime::zero(); }
  // Inside of a round: ends what has passed its deadline. How many that were.
  Result<std::size_t> finish_overdue(Round& round);

  bool has_work(const Round& round) const override { return round.boot >= next_tick_; }
  Result<void> write(Round& round) override;
  void next_at(Wake& wake) override {
    if (!wake.of_settled) wake.by(next_tick_);
  }

 private:
  Result<std::size_t> reap(Round& round);

  Store& store_;
  const StoreClock& clock_;
  const Duration tick_;
  const RuleBook& rules_;
  Dispatcher& dispatcher_;
  Attempts& attempts_;
  Loader& loader_;
  BootTime next_tick_{};
};

}  // namespace carillon
