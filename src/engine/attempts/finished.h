// Attempts whose handlers have returned, on their way back to the node.
#pragma once

#include <carillon/outcome.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/bell.h"
#include "base/mailbox.h"
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
  explicit FinishedQueue(std::shared_ptr<Bell> bell) : waiting_([bell = std::move(bell)] { bell->ring(); }) {}

  void put(Finished finished) {
    finished.run->has_returned();
    waiting_.put(std::move(finished));
  }
  std::vector<Finished> take() { return waiting_.take(); }
  bool empty() const { return waiting_.empty(); }

 private:
  Mailbox<Finished> waiting_;
};

}  // namespace carillon
