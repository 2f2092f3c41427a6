// The last of a round: what follows from its claims, and what it has ended is told.
#pragma once

#include "engine/planning/following.h"
#include "engine/round/part.h"
#include "engine/upkeep/gates.h"
#include "store/store.h"

namespace carillon {

class Outcomes final : public Part {
 public:
  Outcomes(Store& store, Planner& planner, Gates& gates, Following& following)
      : store_(store), planner_(planner), gates_(gates), following_(following) {}

  // A claim ends what is past its deadline.
  Result<void> write(Round& round) override {
    TRY(following_.write(round));
    tell_ended(round);
    tell_tick(round);
    return {};
  }

 private:
  void tell_ended(Round& round);
  void tell_tick(Round& round) const;
  bool is_delivery(const FinalizedSlot& slot);

  Store& store_;
  Planner& planner_;
  Gates& gates_;
  Following& following_;
};

}  // namespace carillon
