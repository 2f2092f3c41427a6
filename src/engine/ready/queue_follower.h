// The memory of what is queued follows what was committed; what a commit that failed has touched is in doubt until the
// rows are asked.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/planning/planner.h"
#include "engine/ready/dispatcher.h"
#include "engine/ready/loader.h"
#include "engine/round/round.h"
#include "store/store.h"

namespace carillon {

class QueueFollower {
 public:
  QueueFollower(Store& store, Dispatcher& dispatcher, Planner& planner, Loader& loader)
      : store_(store), dispatcher_(dispatcher), planner_(planner), loader_(loader) {}
  QueueFollower(const QueueFollower&) = delete;
  QueueFollower& operator=(const QueueFollower&) = delete;
  ~QueueFollower() = default;

  // Jobs due by then are held in memory.
  Instant horizon(Instant now) const;
  // Inside of a transaction: what has become ready in it stands in the ready set before the commit, where a row judges
  // each claim. A commit that fails leaves it in doubt.
  Result<void> add_ready(Round& round);
  // After the commit.
  void follow(Round& round);

  // Nothing of the round is to be counted; but if only the answer was lost, it is there. `picked` was taken out for it.
  void commit_failed(const Round& round, const std::vector<ReadySet::Pick>& picked);
  // A commit failed and its fate is unknown: leases of ours may be there.
  bool must_recover() const { return recover_; }
  void recovered() { recover_ = false; }
  // Nothing is added to so many: who calls is told to try again.
  bool is_full_of_doubts() const;
  // Inside of a transaction: asks the rows.
  Result<void> settle_doubts(Round& round);

 private:
  Store& store_;
  Dispatcher& dispatcher_;
  Planner& planner_;
  Loader& loader_;
  bool recover_ = false;
  // Jobs of such commits, each with what stands for it, if something does.
  std::unordered_map<JobId, std::optional<ReadySet::Pick>> doubts_;
};

}  // namespace carillon
