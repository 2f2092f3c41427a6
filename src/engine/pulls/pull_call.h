// One call for jobs, from when it was made until it is answered: shared by who made it and the node.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "engine/pulls/pull.h"
#include "store/rows.h"

namespace carillon {

struct PullGroup;

struct PullCall {
  using Done = std::function<void(Result<std::vector<PulledJob>>)>;

  // Constant once it was given to a node. Later calls have higher ids.
  std::uint64_t id = 0;
  PullRequest request;
  Done done;

  // Only the node.
  BootTime ends{};
  std::shared_ptr<PullGroup> group;                         // in which it waits
  std::list<std::shared_ptr<PullCall>>::iterator in_group;  // its place there

  bool is_waiting() const { return phase_.load() == Phase::waiting; }
  // True for one caller, of all that call either: who gets true from the first calls `done`.
  bool begin_answer() { return leave_for(Phase::answered); }
  bool forget() { return leave_for(Phase::gone); }

 private:
  enum class Phase : std::uint8_t { waiting, answered, gone };
  bool leave_for(Phase phase) {
    Phase expected = Phase::waiting;
    return phase_.compare_exchange_strong(expected, phase);
  }
  std::atomic<Phase> phase_ = Phase::waiting;
};

using PullCallPtr = std::shared_ptr<PullCall>;

}  // namespace carillon
