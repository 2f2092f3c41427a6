// After a commit whose fate is unknown: leases that nobody here knows of are handed back, those that are gone are lost,
// and the memory is read once more.
#pragma once

#include <string>

#include "engine/attempts/attempts.h"
#include "engine/ready/loader.h"
#include "engine/ready/queue_follower.h"
#include "engine/round/part.h"
#include "store/store.h"

namespace carillon {

class Recovery final : public Part {
 public:
  Recovery(Store& store, std::string worker, Attempts& attempts, Loader& loader, QueueFollower& queue)
      : store_(store), worker_(std::move(worker)), attempts_(attempts), loader_(loader), queue_(queue) {}

  bool has_work(const Round& /*round*/) const override { return queue_.must_recover(); }
  Result<void> write(Round& round) override;

 private:
  Result<void> recover_leases(Round& round);

  Store& store_;
  const std::string worker_;
  Attempts& attempts_;
  Loader& loader_;
  QueueFollower& queue_;
};

}  // namespace carillon
