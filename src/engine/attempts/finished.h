// Attempts whose handlers have returned, on their way back to the node.
#pragma once

#include <carillon/outcome.h>

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/bell.h"
#include "core/policies/gate.h"
#include "engine/attempts/run.h"

namespace carillon {

struct Finished {
  enum class How : std::uint8_t {
    returned,     // the handler said `outcome`
    not_started,  // the lease had run out before it could begin, or the node wants it back
    gated,        // a gate was closed right before the start
    held,         // an effect is ambiguous, and the job says hold
  };
  // Whose word the outcome is. A handler of this process speaks for the operator; a tenant's webhook for its tenant.
  enum class SaidBy : std::uint8_t { operators_own, tenant };
  RunPtr run;
  How how = How::returned;
  Outcome outcome;
  std::optional<Closing> closing;  // of gated
  SaidBy said_by = SaidBy::operators_own;
};

class FinishedQueue {
 public:
  explicit FinishedQueue(std::shared_ptr<Bell> bell) : bell_(std::move(bell)) {}
  FinishedQueue(const FinishedQueue&) = delete;
  FinishedQueue& operator=(const FinishedQueue&) = delete;
  ~FinishedQueue() = default;

  void put(Finished finished) {
    finished.run->has_returned();
    bool first = false;
    {
      const std::scoped_lock lock(mutex_);
      first = waiting_.empty();
      waiting_.push_back(std::move(finished));
    }
    // The node takes all that waits: only the first has to wake it.
    if (first) bell_->ring();
  }
  std::vector<Finished> take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(waiting_, {});
  }
  bool empty() const {
    const std::scoped_lock lock(mutex_);
    return waiting_.empty();
  }

 private:
  const std::shared_ptr<Bell> bell_;
  mutable std::mutex mutex_;
  std::vector<Finished> waiting_;
};

}  // namespace carillon
