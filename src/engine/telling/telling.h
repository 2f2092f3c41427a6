// Who listens is told of a round when its commit is known, and what is told is counted.
#pragma once

#include <carillon/events.h>

#include <mutex>
#include <vector>

#include "base/bell.h"
#include "engine/round/round.h"
#include "engine/telling/counting.h"

namespace carillon {

class Telling {
 public:
  explicit Telling(Bell& bell) : bell_(bell) {}
  Telling(const Telling&) = delete;
  Telling& operator=(const Telling&) = delete;
  ~Telling() = default;

  // Before the first round.
  void add_listener(EventListener listener) { listeners_.push_back(std::move(listener)); }
  bool has_listeners() const { return !listeners_.empty(); }
  // Counts what the round has to tell, and tells it, with what was announced meanwhile.
  void tell(Round& round);

  // ---- Any thread ----
  // For the end of the next round, whatever becomes of it. If a thousand wait, further ones are dropped.
  void announce(EventBody body);
  Counters counters() const;

 private:
  Bell& bell_;
  std::vector<EventListener> listeners_;

  std::mutex announced_mutex_;
  std::vector<EventBody> announced_;

  mutable std::mutex counters_mutex_;
  Counters counters_;
};

}  // namespace carillon
