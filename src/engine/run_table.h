// The attempts that this node has under way, by job: whose lease is to be renewed, whose time is up, how many more may
// be taken.
#pragma once

#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/run.h"

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

  // How many were removed in the last 10 ms: so many may be claimed ahead.
  std::size_t lately_finished(BootTime boot);

 private:
  void note_due(BootTime at);

  std::unordered_map<JobId, RunPtr> runs_;
  std::vector<RunPtr> outlived_;  // their attempts are over and their jobs run again, but they have not returned
  std::optional<BootTime> next_due_;
  struct Finish {
    BootTime at;
    std::size_t count;
  };
  std::deque<Finish> lately_;
  std::size_t lately_count_ = 0;
};

}  // namespace carillon
