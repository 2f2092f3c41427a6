// One round of a node: everything that it writes goes into one transaction, and its memory follows only what was
// committed.
#pragma once

#include <carillon/events.h>

#include <functional>
#include <utility>
#include <vector>

#include "engine/counting.h"
#include "store/job_store.h"

namespace carillon {

struct Round {
  Instant now;
  BootTime boot{};
  // What has become ready. It may stand in the ready set before the commit: the row decides when it is claimed.
  std::vector<ReadyJob> ready;
  // Of these the ones that may stand there with another priority already.
  std::vector<ReadyJob> reprioritized;
  // Told to listeners after the commit; counted always.
  bool listening = true;
  std::vector<EventBody> events;
  Counters counts;
  bool is_tick = false;  // it has looked at all that time makes due
  TickStopped tick;      // what it planned and closed: told of every tick, else if that is anything
  // How many of the outcomes of its transaction, and of what was parked in it, have been followed up.
  std::size_t followed = 0;
  std::size_t followed_parked = 0;
  // Called after the commit, in order; none of them if it fails.
  std::vector<std::function<void()>> on_commit;

  template <typename T>
  void tell(T event) {
    count(counts, event);
    if (listening) events.emplace_back(std::move(event));
  }
  void add_ready(const std::vector<ReadyJob>& jobs) { ready.insert(ready.end(), jobs.begin(), jobs.end()); }
};

}  // namespace carillon
