// The planner's turn in a round.
#pragma once

#include "engine/planning/planner.h"
#include "engine/ready/loader.h"
#include "engine/round/part.h"
#include "engine/upkeep/upkeep.h"

namespace carillon {

class Planning final : public Part {
 public:
  Planning(const StoreClock& clock, Planner& planner, Upkeep& upkeep, const Loader& loader)
      : clock_(clock), planner_(planner), upkeep_(upkeep), loader_(loader) {}

  bool has_work(const Round& round) const override;
  Result<void> write(Round& round) override;
  void next_at(Wake& wake) override;

 private:
  const StoreClock& clock_;
  Planner& planner_;
  Upkeep& upkeep_;
  const Loader& loader_;
};

}  // namespace carillon
