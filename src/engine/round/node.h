// One running engine: the single driver of everything that is ready, running and due.
//
// One thread calls `step` again and again. A step is one round: it takes what other threads have asked for and what
// handlers have finished, and puts all of it, with heartbeats, planning, upkeep and the next claims, into one
// transaction. So a busy node pays one fsync for many jobs, an idle one starts a job with the very commit that stored
// it, and its memory needs no locks. Memory follows after the commit; if that fails, nothing has happened and the next
// round tries again.
//
// Other threads give it commands (commands/commands.h), and handlers ask the port; `call` and `post` are the engine's
// own. Without a thread of its own (`Options::threaded` false) a node is driven by hand, and calls are made on the
// spot.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/bell.h"
#include "engine/attempts/finished.h"
#include "engine/attempts/port.h"
#include "engine/attempts/run_table.h"
#include "engine/attempts/runner.h"
#include "engine/calls/bulk.h"
#include "engine/calls/holds.h"
#include "engine/calls/import_work.h"
#include "engine/planning/planner.h"
#include "engine/planning/sweeper.h"
#include "engine/pulls/pull_desk.h"
#include "engine/ready/dispatcher.h"
#include "engine/ready/loader.h"
#include "engine/round/inbox.h"
#include "engine/round/levels.h"
#include "engine/round/round.h"
#include "engine/upkeep/pruner.h"
#include "engine/upkeep/rule_book.h"
#include "store/store.h"

namespace carillon {

class Node {
 public:
  struct Options {
    std::string worker = "engine";
    std::uint32_t max_concurrency = 8;
    std::size_t prefetch_max = 1000;  // claims that may wait for a slot, of each runner
    std::size_t claims_max = 1000;    // in one round
    Duration tick = std::chrono::seconds(1);
    Duration retention = std::chrono::days(7);
    Duration prune_every = std::chrono::minutes(1);  // by the wall clock
    bool threaded = true;
    bool posts_wait = false;  // driven by hand: what is posted waits for the next step, as it does with a thread
    RuleBook::Base rules;
  };
  // All of them must outlive the node; the runner is given before the first step.
  Node(Store& store, const StoreClock& clock, Options options);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  // Calls that still wait are refused.
  ~Node();

  // ---- Before the first step ----
  void set_runner(Runner& runner) { runner_ = &runner; }
  void add_listener(EventListener listener) { listeners_.push_back(std::move(listener)); }
  // Called on the driver's thread, when nothing is left of a tenant that was deleted.
  void on_tenant_erased(std::function<void(const std::string&)> told) { tenant_erased_ = std::move(told); }
  // With it, what it does not serve stays queued, or is taken by workers outside.
  void serve_only(Dispatcher::Serves serves) { dispatcher_.serve_only(std::move(serves)); }
  void limit_types(Dispatcher::TypeLimits limits) { dispatcher_.limit_types(std::move(limits)); }
  void ask_for_room(JobRoom room) { bulk_.ask_for_room(std::move(room)); }
  void share_slots(Dispatcher::Serves waits_outside) { dispatcher_.share_slots(std::move(waits_outside)); }
  std::shared_ptr<Port> port();
  std::shared_ptr<FinishedQueue> finished() { return finished_; }
  std::shared_ptr<Slots> slots() { return slots_; }
  Bell& bell() { return *bell_; }

  // ---- The driver ----
  // One round. How long it may sleep then, unless the bell rings.
  Duration step();
  // Jobs start from now on.
  void open();
  // No job starts any more; those that wait for a slot are handed back.
  void begin_drain();
  // What still runs is handed back: not a failure, no attempt used. The next step writes it.
  void release_all();
  // Nothing runs and nothing is to be written, but for handlers that ignored their timeout.
  bool is_idle() const;
  bool is_loaded() const { return loader_.is_done(); }
  // After a step that said how long it may sleep: all that is due is done and committed, and no handler of the node's
  // own runs.
  bool is_settled(Duration sleep) const;
  // The first instant after `now` at which something is due: a plan, a job, a deadline, a gate, a limit. For a node
  // that is settled. Errors: unavailable.
  Result<std::optional<Instant>> next_due(Instant now);
  // The same by the boot clock: bulk work at a rate, pruning, a lease to renew.
  std::optional<BootTime> next_timer() const;
  // The next step is a tick, whenever the last one was.
  void look_now() { next_tick_ = BootTime::zero(); }

  // ---- Any thread ----
  // Runs `operation` inside of a round's transaction. Its answer holds once this returns: it was committed.
  template <typename Answer>
  Result<Answer> call(std::function<Result<Answer>(Round&)> operation);
  // The same without waiting: `done` is called on the driver's thread once the answer holds, or with why it does not.
  // A post of the driver's own, from `done` or a listener, is for the next round.
  template <typename Answer>
  void post(std::function<Result<Answer>(Round&)> operation, std::function<void(Result<Answer>)> done);
  // Tells listeners of something that no round has done, on the driver's thread and also while the store refuses
  // writes. If a thousand wait, further ones are dropped.
  void announce(EventBody body);
  Counters counters() const;
  // The configuration with every field that has a value of its own, wherever that comes from.
  EngineConfig config() const;
  // How long ago a round was committed last; nothing: none was.
  std::optional<Duration> since_commit() const;

  // ---- For operations, inside of a round ----
  NodeLevels levels(const Round& round);
  // What is theirs alone; how busy the node is, is not told.
  NodeLevels levels_of(const std::vector<std::string>& tenants, Instant now);
  Store& store() { return store_; }
  Planner& planner() { return planner_; }
  BulkWork& bulk() { return bulk_; }
  ImportWork& imports() { return imports_; }
  TenantErasure& erasure() { return erasure_; }
  RuleBook& rules() { return rules_; }
  const RuleBook& rules() const { return rules_; }
  // A handler that runs is asked to stop, after the commit.
  void ask_to_stop(Round& round, JobId job);
  // Attempts of a schedule that is paused or disabled do not start, after the commit.
  void take_back_of(Round& round, std::string_view tenant, std::string_view schedule,
                    std::optional<std::string_view> subject = std::nullopt);
  void apply_document(Round& round, const DocumentKey& key, std::optional<std::string> body);
  // What `serve_only` says of this tenant ("": of any) has changed. After a commit, or on the driver's thread.
  void serving_changed(std::string_view tenant);
  // What stands in the way of a job where it is, for explain.
  PlaceHolds holds(const JobInfo& job, TypeId type, const Round& round);

  // ---- For workers outside, inside of a round ----
  Result<void> add_pull(const Round& round, const PullCallPtr& call);
  Result<std::vector<Result<BeatAnswer>>> extend_pulled(Round& round, const std::vector<PullBeat>& beats);
  Result<std::vector<Result<WordAnswer>>> settle_pulled(Round& round, const std::vector<PullWord>& words);

  const PullDesk& desk() const { return desk_; }
  PullWorkers& workers() { return desk_.workers(); }  // any thread
  void forget_pull(PullCallPtr call) {                // any thread
    desk_.forget(std::move(call));
    bell_->ring();
  }
  const RunTable& runs() const { return runs_; }
  const Dispatcher& dispatcher() const { return dispatcher_; }
  // How many jobs are queued and due, of all or of one tenant: the one number of what waits. On the driver's thread.
  std::size_t due_count(Instant now, std::optional<std::string_view> tenant = std::nullopt);

 private:
  friend class Commands;
  class NodePort;

  // A word about an attempt that is to be written.
  struct Settling {
    RunPtr run;  // nothing: a worker outside speaks of one that is over
    Settlement settlement;
    Finished::How how = Finished::How::returned;
    bool thread_is_back = true;
    bool quick = false;  // the handler took no longer than rounds do
    Outcome::Kind kind = Outcome::Kind::done;
    std::string limit;  // of rate_limited
    std::optional<Instant> limited_until;
    bool may_teach_global = false;  // a global limit, that is: else it is closed for the job's tenant
  };

  Round begin_round() const;
  // Runs `body` as one transaction, then lets the memory follow. False: nothing has happened.
  bool commit(Round& round, const std::function<Result<void>()>& body);
  template <typename Answer>
  static Call make_call(std::function<Result<Answer>(Round&)> operation, std::function<void(Result<Answer>)> done);
  // Into the next round; on the spot if this is the driver's own thread, or none drives.
  void perform(Call call);
  void perform_here(const Call& call);
  // Into the next round; on the spot only if none is under way and none drives.
  void send(Call call);
  // All by which calls and claims are judged has been read.
  bool knows_rules() const { return loader_.has_rules() && adopted_; }
  void finish_calls(const Result<void>& committed);

  // Of most attempts nothing follows.
  JobDefaults defaults_of_follow_ups(const Finished& finished) const {
    return finished.outcome.follow_ups.empty() ? JobDefaults() : rules_.job_defaults();
  }
  void take_finished(const Round& round);
  void collect_due(const Round& round);
  bool has_work(const Round& round) const;
  bool may_erase(BootTime boot) const;
  Result<void> write(Round& round);
  Result<void> write_settlements(Round& round);
  Result<void> check_follow_ups(const Settling& settling) const;
  Result<std::vector<Result<Settled>>> say(Round& round, const std::vector<Settling>& said);
  void rest_limit(const Settling& settling, Instant now);
  void settled(Round& round, const Settling& settling, const Result<Settled>& answer);
  void told_settled(Round& round, const Settling& settling, const Settled& answer);
  Result<void> write_begun(Round& round);
  Result<void> write_heartbeats(Round& round);
  Result<void> keep_up(Round& round);
  Result<std::size_t> reap(Round& round);
  Result<std::size_t> finish_overdue(Round& round);
  Result<void> recover_leases(Round& round);
  // The memory of what is queued follows what was committed; what was not, is in doubt until the rows are asked.
  void follow_queue(Round& round);
  void doubt(const Round& round);
  Result<void> settle_doubts(Round& round);
  Result<void> plan(Round& round);
  Result<void> add_ready(Round& round);
  void pick(const Round& round);
  struct Room {
    std::size_t now = 0;            // slots that are free
    std::size_t ahead = 0;          // claims that may wait for one, to run here
    std::size_t ahead_outside = 0;  // the same, to run outside
    std::size_t& ahead_of(bool outside) { return outside ? ahead_outside : ahead; }
  };
  Room room_for_claims(const Round& round);
  std::size_t room_ahead(const Round& round, bool outside, bool all_idle);
  // How many attempts of its own may run at once: its own cap, unless the cap for all leaves fewer.
  std::size_t slot_count() const;
  Result<void> claim(Round& round);
  Result<Claimed> claim_of(Round& round, const ClaimRequest& request);
  RunPtr picked(Round& round, const ReadySet::Pick& pick, LeasedJob job);
  void start(Round& round);
  void free_caps(Run& run, bool tokens_too, Instant now);
  void lost(Run& run, Instant now);
  // The store has ended the job's attempt.
  void lease_is_gone(JobId job, Instant now);
  // Something ended: another may start.
  void freed();

  // What goes to one waiting call.
  struct Serving {
    PullCallPtr call;
    std::vector<ReadySet::Pick> picks;
    std::optional<std::vector<LeasedJob>> claimed;  // nothing: the claim failed
  };
  Result<void> adopt_leases(Round& round);
  std::size_t room_for_pulls() const;
  Result<void> lease_pulls(Round& round);
  Result<void> serve(Round& round, PullGroup& group, std::size_t& left);
  void start_pulls(Round& round);
  void hand_out(const Round& round, const PullCallPtr& call, const std::vector<RunPtr>& runs);
  void put_back(const Serving& serving, Instant now);
  void answer_pulls(BootTime boot);
  Result<std::string> owner_of(const std::vector<std::string>& tenants, JobId job);
  Result<void> check_held_outside(JobId job, std::int64_t token) const;
  // Hands back those of the attempts that wait for a slot.
  void take_back(const std::function<bool(const Run&)>& which);
  void hand_back(const RunPtr& run);
  static void tell_stale(Round& round, const Settling& settling);
  static void tell_stopped(Round& round, const Settling& settling);
  void changed(Round& round, const Changed& changed);
  using GateKey = std::pair<std::string, GateKind>;  // whose it is; "": of all
  void open_gates(const Round& round);
  void note_gates(const Round& round);
  void count_held(const RuleBook::NotedGates::Opening& opened);
  Result<void> write_gates(Round& round);
  void tell_deferred(Round& round);
  void note_told(const GateKey& gate, JobId job);
  void note_put_back(const Run& run, std::string_view reason, Instant now);
  std::optional<Instant> released_at(const JobInfo& job, Instant now) const;
  void tell(Round& round);
  void tell_levels(Round& round);
  void tell_ended(Round& round);
  bool is_delivery(const FinalizedSlot& slot);
  void tell_tick(Round& round) const;
  Duration sleep_after(Instant now, BootTime boot);
  Instant horizon(Instant now) const;
  Duration tick() const { return rules_.config().check_interval.value_or(options_.tick); }

  Store& store_;
  const StoreClock& clock_;
  const Options options_;
  Runner* runner_ = nullptr;
  std::vector<EventListener> listeners_;
  std::function<void(const std::string&)> tenant_erased_;

  // Shared with handlers that may outlive the node.
  std::shared_ptr<Bell> bell_;
  std::shared_ptr<FinishedQueue> finished_;
  std::shared_ptr<Slots> slots_;
  std::shared_ptr<NodePort> port_;

  Inbox inbox_;
  RuleBook rules_;
  Dispatcher dispatcher_;
  Planner planner_;
  BulkWork bulk_;
  ImportWork imports_;
  TenantErasure erasure_;
  Loader loader_;
  Pruner pruner_;
  Sweeper sweeper_;
  RunTable runs_;
  PullDesk desk_;

  // Gates that opened within kReleaseSpread.
  struct Reopened {
    RuleBook::Opened what;
    Instant at;
  };
  std::vector<Reopened> reopened_;
  bool gates_noted_ = false;                           // as far as their history goes, since all is loaded
  std::set<std::string> gates_to_write_;               // whose history has changed
  std::vector<Deferred> openings_to_tell_;             // with the next commit
  std::map<GateKey, std::unordered_set<JobId>> told_;  // of gates that are closed: jobs that were told of by themselves

  bool draining_ = false;
  bool adopted_ = false;   // leases that were there at the start are known
  bool stepping_ = false;  // a round is under way
  bool dispatching_ = false;
  bool in_round_ = false;
  bool starved_ = false;             // a slot is free and nothing may start
  bool picked_all_ = false;          // as many as a round may: there may be more
  bool cutoffs_are_behind_ = false;  // more have passed than one round finalizes
  bool freed_ = false;               // something ended since the last pick: another may start
  std::atomic<std::thread::id> driver_;
  std::vector<Call> calls_;
  std::vector<Settling> settling_;
  RunTable::Due due_;
  std::vector<ReadySet::Pick> picks_;
  std::size_t free_picks_ = 0;  // so many of them have a free slot; the rest waits for one
  Instant picked_at_;
  std::optional<Claimed> claimed_;
  std::vector<Serving> serving_;
  std::vector<std::function<void()>> answers_;  // to those who called, when the round is over
  Duration commit_took_{};                      // the last one
  BootTime next_tick_{};
  bool recover_ = false;  // a commit failed and its fate is unknown: leases of ours may be there
  // Jobs of such commits, each with what stands for it, if something does.
  std::unordered_map<JobId, std::optional<ReadySet::Pick>> doubts_;
  std::uint32_t failures_ = 0;  // of commits, in a row
  BootTime failing_since_{};    // the first of them
  std::atomic<BootTime> committed_at_ = BootTime::min();
  Error commit_error_;  // of the last round that failed

  std::mutex announced_mutex_;
  std::vector<EventBody> announced_;

  mutable std::mutex counters_mutex_;
  Counters counters_;
};

template <typename Answer>
Call Node::make_call(std::function<Result<Answer>(Round&)> operation, std::function<void(Result<Answer>)> done) {
  return Call(std::make_unique<ClosureCall<Answer>>(std::move(operation), std::move(done)));
}

template <typename Answer>
void Node::post(std::function<Result<Answer>(Round&)> operation, std::function<void(Result<Answer>)> done) {
  send(make_call<Answer>(std::move(operation), std::move(done)));
}

template <typename Answer>
Result<Answer> Node::call(std::function<Result<Answer>(Round&)> operation) {
  auto promise = std::make_shared<std::promise<Result<Answer>>>();
  std::future<Result<Answer>> future = promise->get_future();
  perform(make_call<Answer>(std::move(operation),
                            [promise](Result<Answer> answer) { promise->set_value(std::move(answer)); }));
  return future.get();
}

}  // namespace carillon
