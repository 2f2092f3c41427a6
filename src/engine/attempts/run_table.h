// The attempts that this node has under way, by job: whose lease is to be renewed, whose time is up, how many more may
// be taken.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/attempts/run.h"

namespace carillon {

class RunTable {
 public:
  // A lease is renewed when a third of it has passed.
  static constexpr int kBeatsPerLease = 3;

  // Claimed now, leased from `sent` on: from before the claim was sent.
  void add(const RunPtr& run, BootTime sent);
  RunPtr find(JobId job) const;
  // Its thread is back, or never had it.
  void remove(const Run& run, BootTime boot);
  // Also those whose attempt is over: they keep their slot until their thread returns (invariant 13).
  std::size_t size() const { return runs_.size() + outlived_.size(); }
  bool empty() const { return size() == 0; }
  std::vector<RunPtr> all() const;
  // Handlers that were entered and have not returned: what is shown as in flight, of all tenants or of some.
  std::size_t running(const std::function<bool(const std::string&)>& of_tenant = {}) const;

  struct Due {
    std::vector<RunPtr> beats;
    std::vector<RunPtr> timeouts;  // their handlers have not returned in time
  };
  // What is to be done at `boot`. A run stays due until it was renewed or settled.
  Due due(BootTime boot);
  std::optional<BootTime> next_due() const { return next_due_; }
  void renewed(Run& run, BootTime sent);
  // The store counts the timeout from before the handler started: it must be told anew.
  static bool timeout_is_early(const Run& run);

  // Each runner runs ahead by what it has finished itself: the threads here, and those that wait for somebody outside.
  // How many were removed in the last 10 ms: so many may be claimed ahead.
  std::size_t lately_finished(bool outside, BootTime boot);
  // How many were claimed ahead and have not begun, as of the last look.
  std::size_t waiting_ahead(bool outside) const { return parts_[outside ? 1 : 0].ahead.size(); }

  // Looks which of those that were claimed ahead have begun. Threads take them in order, so that only as many have to
  // be looked at as there are `threads`.
  void look_for_begun(std::size_t threads);
  // They have begun, which is not stored yet.
  const std::vector<RunPtr>& begun() const { return begun_; }
  // Now it is.
  void begun_is_stored() { begun_.clear(); }

 private:
  void note_due(BootTime at);
  void look_for_begun(std::deque<RunPtr>& ahead, std::size_t most);

  std::unordered_map<JobId, RunPtr> runs_;
  std::vector<RunPtr> outlived_;  // their attempts are over and their jobs run again, but they have not returned
  std::optional<BootTime> next_due_;
  struct Finish {
    BootTime at;
    std::size_t count;
  };
  struct Part {
    std::deque<Finish> lately;
    std::size_t lately_count = 0;
    std::deque<RunPtr> ahead;  // in the order of their claims; those that are over too, until they are looked at
  };
  std::array<Part, 2> parts_;  // of threads here; of who waits outside
  std::vector<RunPtr> begun_;
};

}  // namespace carillon
