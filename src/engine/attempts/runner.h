// Where attempts run: on threads of the engine, on the host's executor, or in a simulation.
#pragma once

#include "engine/attempts/run.h"

namespace carillon {

class Runner {
 public:
  Runner() = default;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  virtual ~Runner() = default;

  // Starts it as soon as a slot of the node is free, in the order of the calls. Does not wait. Every run that was
  // begun, and every one that could not begin, comes back as Finished, once; one that the node has withdrawn does not.
  virtual void start(RunPtr run) = 0;
};

}  // namespace carillon
