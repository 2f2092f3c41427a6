// Where workers outside stand: the calls that wait for jobs, and the leases that they hold.
//
// Calls wait in groups, one for each distinct filter, first come first served. A group is looked at only when something
// came to one of its places, or when something of it that was held may start: calls that wait cost nothing else,
// however many they are. How many different filters wait is bounded, as each is looked at for all that comes.
//
// Only the node's driver calls, but for `workers` and `forget`.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mailbox.h"
#include "engine/attempts/run.h"
#include "engine/pulls/pull_call.h"
#include "engine/pulls/pull_workers.h"
#include "engine/ready/dispatcher.h"

namespace carillon {

// The calls that wait with one filter.
struct PullGroup {
  explicit PullGroup(PullFilter filter) : view(std::move(filter)) {}

  PullView view;
  std::list<PullCallPtr> waiting;  // some may have gone
  bool look = true;                // there may be something for the first of them
  // As it was when nothing could be taken.
  bool held = false;
  std::optional<Instant> opens_at;
  bool short_of_room = false;                              // too many run altogether
  std::optional<std::list<PullGroup*>::iterator> in_idle;  // nobody waits in it
};

class PullDesk {
 public:
  PullDesk() = default;
  PullDesk(const PullDesk&) = delete;
  PullDesk& operator=(const PullDesk&) = delete;
  ~PullDesk() = default;

  // Of those who ask for the same tenants, so many different filters wait at once.
  static constexpr std::size_t kFiltersWaitingMax = 256;

  // ---- Calls ----
  // Errors: is_for_want_of_place.
  Result<void> add(const PullCallPtr& call, Dispatcher& dispatcher, BootTime boot);
  // Notes which groups must be looked at.
  void notice(Dispatcher& dispatcher, Instant now);
  bool has_to_look() const { return has_to_look_; }
  // Those groups, by who waits longest.
  std::vector<std::shared_ptr<PullGroup>> to_look();
  // Nothing was left for the first that waits in it.
  void nothing_for(PullGroup& group, const ReadySet::Pulled& pulled);
  // All that waited in it were served, or went.
  void all_served(PullGroup& group);
  void no_room_for(PullGroup& group);
  // Something ended, or more may run: those who were short of room look again.
  void room_is_there();
  // What is served here has changed, or jobs may start at all: everybody looks again.
  void look_again();
  // There may be more for it than one round could give.
  void look_again(PullGroup& group) { note_look(group); }
  // The call is over.
  void remove(const PullCallPtr& call, Dispatcher& dispatcher);
  // Any thread: who made the call has gone. It leaves before the next one comes, so that those that come and go leave
  // nothing behind, however long they said that they would wait.
  void forget(PullCallPtr call);
  // Those whose time to wait is over. They have left.
  std::vector<PullCallPtr> take_ended(Dispatcher& dispatcher, BootTime boot);
  // All that wait. They have left.
  std::vector<PullCallPtr> take_all(Dispatcher& dispatcher);
  bool has_waiting() const { return in_line_ > 0; }
  std::optional<BootTime> next_end() const;
  std::size_t in_line() const { return in_line_; }
  // Filters that are known: those that wait, and a few that did.
  std::size_t group_count() const { return groups_.size(); }
  std::optional<Instant> next_look() const { return next_look_; }

  // ---- Leases ----
  void lease(const RunPtr& run, PullWorkers::Key worker);
  RunPtr find(JobId job) const;
  // The same, if this is its token.
  RunPtr find(JobId job, std::int64_t token) const;
  void remove(const Run& run);
  // Its holder was heard of.
  void heard_of(JobId job, Instant now);
  std::size_t lease_count() const { return leases_.size(); }
  std::vector<RunPtr> all_leases() const;

  PullWorkers& workers() { return workers_; }

 private:
  struct Lease {
    RunPtr run;
    PullWorkers::Key worker;
  };

  void note_look(PullGroup& group);
  Result<PullGroup*> group_for(const PullFilter& filter);
  void now_idle(PullGroup& group);
  void take_out(const PullCallPtr& call);
  void take_forgotten_out();
  void watch(Dispatcher& dispatcher) const { dispatcher.ready().watch(in_line_ > 0); }

  std::map<PullFilter, std::shared_ptr<PullGroup>> groups_;
  std::list<PullGroup*> idle_;                 // those that nobody waits in, the longest first
  std::map<NameSet, std::size_t> waiting_of_;  // groups that somebody waits in, by the tenants that they ask for
  std::size_t in_line_ = 0;
  bool has_to_look_ = false;
  bool is_short_of_room_ = false;  // one of them
  std::uint64_t openings_ = 0;     // of the ready set, when it was last looked at
  std::optional<Instant> next_look_;
  std::map<std::pair<BootTime, std::uint64_t>, PullCallPtr> ends_;  // by when they end, and their ids
  Mailbox<PullCallPtr> forgotten_;
  std::unordered_map<JobId, Lease> leases_;
  PullWorkers workers_;
};

}  // namespace carillon
