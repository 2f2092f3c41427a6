// One round of a node: everything that it writes goes into one transaction, and its memory follows only what was
// committed.
#pragma once

#include <carillon/events.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "engine/telling/counting.h"
#include "engine/telling/open_days.h"
#include "store/job_store.h"

namespace carillon {

struct Round {
  Instant now;
  BootTime boot{};
  // What has become ready. It may stand in the ready set before the commit: the row decides when it is claimed.
  std::vector<ReadyJob> ready;
  // Of that, what stands there by now; and what was read back, which will be read again if this fails.
  std::vector<ReadyJob> added;
  std::vector<ReadyJob> read_back;
  // What stood there, and does not once this is committed; and those of `added` that stand in its stead.
  std::vector<LeftQueue> left;
  std::vector<ReadyJob> moved;
  // Told to listeners after the commit; counted always.
  bool listening = true;
  std::vector<EventBody> events;
  Counters counts;
  bool is_tick = false;             // it has looked at all that time makes due
  bool cutoffs_are_behind = false;  // more have passed than one round finalizes
  TickStopped tick;                 // what it planned and closed: told of every tick, else if that is anything
  OpenDayChanges open_days;
  // How many of the outcomes of its transaction, and of what was parked in it, have been followed up.
  std::size_t followed = 0;
  std::size_t followed_parked = 0;
  // Called after the commit, in order; none of them if it fails.
  std::vector<std::function<void()>> on_commit;
  // Called if it fails, the last one first: what had to stand in memory at once is taken back, or in doubt.
  std::vector<std::function<void()>> on_failure;

  template <typename T>
  void tell(T event) {
    count(counts, event);
    if (listening) events.emplace_back(std::move(event));
  }
  void add_ready(const std::vector<ReadyJob>& jobs) { ready.insert(ready.end(), jobs.begin(), jobs.end()); }
  void add_read_back(std::vector<ReadyJob> jobs) { append(read_back, std::move(jobs)); }
  void note_added(std::vector<ReadyJob> jobs) { append(added, std::move(jobs)); }
  bool has_added(JobId job) const { return std::ranges::find(added, job, &ReadyJob::id) != added.end(); }

 private:
  static void append(std::vector<ReadyJob>& all, std::vector<ReadyJob> jobs) {
    if (all.empty()) {
      all = std::move(jobs);
    } else {
      all.insert(all.end(), jobs.begin(), jobs.end());
    }
  }
};

}  // namespace carillon
