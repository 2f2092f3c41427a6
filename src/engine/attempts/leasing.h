// A claim, and the attempt that it makes of an entry of the ready set: for handlers here as for workers outside.
#pragma once

#include <span>

#include "engine/attempts/attempts.h"
#include "engine/planning/planner.h"
#include "engine/ready/queue_follower.h"
#include "engine/round/round.h"
#include "store/store.h"

namespace carillon {

class Leasing {
 public:
  Leasing(Store& store, Dispatcher& dispatcher, Planner& planner, QueueFollower& queue, Attempts& attempts)
      : store_(store), dispatcher_(dispatcher), planner_(planner), queue_(queue), attempts_(attempts) {}
  Leasing(const Leasing&) = delete;
  Leasing& operator=(const Leasing&) = delete;
  ~Leasing() = default;

  // Inside of a transaction. What of `picks` cannot start finds its place.
  Result<Claimed> claim(Round& round, const ClaimRequest& request, std::span<const ReadySet::Pick> picks);
  // After the commit: the attempt that a claim has made of a pick.
  RunPtr picked(Round& round, const ReadySet::Pick& pick, LeasedJob job);

 private:
  Store& store_;
  Dispatcher& dispatcher_;
  Planner& planner_;
  QueueFollower& queue_;
  Attempts& attempts_;
};

}  // namespace carillon
