// The loader's two turns in a round: rules come before all else, jobs after all that makes jobs.
#pragma once

#include "engine/planning/planner.h"
#include "engine/pulls/adopted_leases.h"
#include "engine/ready/loader.h"
#include "engine/ready/queue_follower.h"
#include "engine/round/part.h"

namespace carillon {

class RulesReading final : public Part {
 public:
  RulesReading(Planner& planner, Loader& loader, AdoptedLeases& adopted)
      : planner_(planner), loader_(loader), adopted_(adopted) {}

  Result<void> write(Round& round) override {
    TRY(planner_.settle_doubts());
    TRY(planner_.look_up_open_days(round));
    if (!loader_.has_rules()) TRY(loader_.step(round));
    if (loader_.has_rules() && !adopted_.are_known()) TRY(adopted_.read(round));
    return {};
  }

 private:
  Planner& planner_;
  Loader& loader_;
  AdoptedLeases& adopted_;
};

// A page that it reads holds what the round has made before, too, so that none falls between the two. It steps over
// those that stand in memory by then.
class JobsReading final : public Part {
 public:
  JobsReading(Loader& loader, QueueFollower& queue) : loader_(loader), queue_(queue) {}

  bool has_work(const Round& /*round*/) const override { return !loader_.is_done(); }
  Result<void> write(Round& round) override {
    if (!loader_.has_rules() || loader_.is_done()) return {};
    TRY(queue_.add_ready(round));
    return loader_.step(round);
  }
  void next_at(Wake& wake) override {
    if (!loader_.is_done()) wake.at_once = true;
  }

 private:
  Loader& loader_;
  QueueFollower& queue_;
};

}  // namespace carillon
