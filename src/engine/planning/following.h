// What follows from what the round has closed so far is made in the same round, and what is ready by it takes its
// place.
#pragma once

#include "engine/planning/planner.h"
#include "engine/ready/queue_follower.h"
#include "engine/round/part.h"

namespace carillon {

class Following final : public Part {
 public:
  Following(Planner& planner, QueueFollower& queue) : planner_(planner), queue_(queue) {}

  Result<void> write(Round& round) override {
    TRY(planner_.follow(round));
    return queue_.add_ready(round);
  }

 private:
  Planner& planner_;
  QueueFollower& queue_;
};

}  // namespace carillon
