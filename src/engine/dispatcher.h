// What is ready and what will be soon: the ready set, and before it those whose time has not come.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/ready_set.h"
#include "store/job_store.h"

namespace carillon {

class Dispatcher {
 public:
  explicit Dispatcher(JobStore& jobs) : jobs_(jobs) {}
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;
  ~Dispatcher() = default;

  ReadySet& ready() { return ready_; }
  const ReadySet& ready() const { return ready_; }

  // From now on, types that it does not name stay where they are.
  void serve_only(std::function<bool(std::string_view)> serves);

  // Inside of a transaction: it asks the store for lanes, and for what limits and gates need. Jobs due after `horizon`
  // stay on disk.
  Result<void> add(std::span<const ReadyJob> jobs, Instant horizon, Instant now);
  // Back at a later time, memory alone: a gate opened and its jobs are spread.
  void add_later(PlaceId place, ReadyEntry entry, Instant when);
  // The job's row has this priority now; entries with another one are not it any more.
  void reprioritized(JobId job, int priority) { priorities_[job] = priority; }
  // As in the ready set, without entries that are not it any more.
  std::optional<ReadySet::Pick> pick(Instant now, ReadySet::For what);
  // Those whose time has come move into the ready set.
  void advance_to(Instant now);
  std::optional<Instant> next_due() const;
  std::size_t waiting() const { return later_.size(); }

 private:
  struct Later {
    Instant when;
    ReadyEntry entry;
    PlaceId place;
    // Earliest first; the queue gives the greatest.
    friend bool operator<(const Later& a, const Later& b) {
      return std::pair(b.when, b.entry.id) < std::pair(a.when, a.entry.id);
    }
  };

  PlaceId plain_place(const ReadyJob& job);
  void wait_for_their_own_time();
  void close_unless_served(TypeId type);

  JobStore& jobs_;
  std::function<bool(std::string_view)> serves_;
  ReadySet ready_;
  std::priority_queue<Later> later_;
  std::unordered_map<JobId, int> priorities_;  // of jobs whose priority was changed, until they are picked
  Instant seen_ = kInstantMin;
  std::unordered_map<std::uint64_t, PlaceId> plain_places_;  // by lane and type
  std::set<TypeId> types_;                                   // of all that was ever added
};

}  // namespace carillon
