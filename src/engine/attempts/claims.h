// What starts next on the threads of this node: picked from the ready set, claimed by the commit, handed to the runner.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/attempts/attempts.h"
#include "engine/attempts/leasing.h"
#include "engine/attempts/runner.h"
#include "engine/attempts/slots.h"
#include "engine/round/part.h"
#include "engine/round/readiness.h"
#include "engine/upkeep/gates.h"

namespace carillon {

class Claims final : public Part {
 public:
  struct Limits {
    std::size_t prefetch_max = 0;  // claims that may wait for a slot, of each runner
    std::size_t claims_max = 0;    // in one round
  };
  Claims(std::string worker, Limits limits, const RuleBook& rules, Dispatcher& dispatcher, Gates& gates,
         Attempts& attempts, Leasing& leasing, Slots& slots, const Readiness& readiness)
      : worker_(std::move(worker)),
        limits_(limits),
        rules_(rules),
        dispatcher_(dispatcher),
        gates_(gates),
        attempts_(attempts),
        leasing_(leasing),
        slots_(slots),
        readiness_(readiness) {}

  // Before the first round.
  void set_runner(Runner& runner) { runner_ = &runner; }
  // Taken out of the ready set, for this round.
  const std::vector<ReadySet::Pick>& picks() const { return picks_; }

  void collect(const Round& round) override;
  bool has_work(const Round& /*round*/) const override { return !picks_.empty(); }
  Result<void> write(Round& round) override;
  void committed(Round& round, const Result<void>& commit) override;
  void next_at(Wake& wake) override;

 private:
  struct Room {
    std::size_t now = 0;            // slots that are free
    std::size_t ahead = 0;          // claims that may wait for one, to run here
    std::size_t ahead_outside = 0;  // the same, to run outside
    std::size_t& ahead_of(bool outside) { return outside ? ahead_outside : ahead; }
  };
  void pick(const Round& round);
  Room room_for_claims(const Round& round);
  std::size_t room_ahead(const Round& round, bool outside, bool all_idle);
  void start(Round& round);

  const std::string worker_;
  const Limits limits_;
  const RuleBook& rules_;
  Dispatcher& dispatcher_;
  Gates& gates_;
  Attempts& attempts_;
  Leasing& leasing_;
  Slots& slots_;
  const Readiness& readiness_;
  Runner* runner_ = nullptr;

  std::vector<ReadySet::Pick> picks_;
  std::size_t free_picks_ = 0;  // so many of them have a free slot; the rest waits for one
  Instant picked_at_;
  std::optional<Claimed> claimed_;
  bool starved_ = false;     // a slot is free and nothing may start
  bool picked_all_ = false;  // as many as a round may: there may be more
};

}  // namespace carillon
