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
#include <optional>
#include <thread>
#include <vector>

#include "engine/attempts/port.h"
#include "engine/round/node_parts.h"

namespace carillon {

class Node : public NodeParts {
 public:
  using Options = NodeOptions;
  // All of them must outlive the node; the runner is given before the first step.
  Node(Store& store, const StoreClock& clock, Options options);
  // Calls that still wait are refused.
  ~Node();

  std::shared_ptr<Port> port();

  // ---- The driver ----
  // One round. How long it may sleep then, unless the bell rings.
  Duration step();
  // Jobs start from now on.
  void open();
  // No job starts any more; those that wait for a slot are handed back.
  void begin_drain();
  // What still runs is handed back: not a failure, no attempt used. The next step writes it.
  void release_all() { attempts_.release_all(); }
  // Nothing runs and nothing is to be written, but for handlers that ignored their timeout.
  bool is_idle() const { return attempts_.is_idle(); }
  bool is_loaded() const { return loader_.is_done(); }
  // After a step that said how long it may sleep: all that is due is done and committed, and no handler of the node's
  // own runs.
  bool is_settled(Duration sleep) const;
  // The first instant after `now` at which something is due: a plan, a job, a deadline, a gate, a limit. For a node
  // that is settled. Errors: unavailable.
  Result<std::optional<Instant>> next_due(Instant now);
  // The same by the boot clock: bulk work at a rate, pruning, a lease to renew.
  std::optional<BootTime> next_timer();
  // The next step is a tick, whenever the last one was.
  void look_now() { upkeep_.look_now(); }

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
  void announce(EventBody body) { telling_.announce(std::move(body)); }
  Counters counters() const { return telling_.counters(); }
  // The configuration with every field that has a value of its own, wherever that comes from.
  EngineConfig config() const;
  // How long ago a round was committed last; nothing: none was.
  std::optional<Duration> since_commit() const;

 private:
  friend class Commands;
  class NodePort;

  Round begin_round() const;
  // Runs `body` as one transaction, then lets the memory follow. An error: nothing has happened.
  Result<void> commit(Round& round, const std::function<Result<void>()>& body);
  bool has_work(const Round& round) const;
  Result<void> write(Round& round);
  // When the parts want their next round.
  Wake ask_parts(Wake wake);
  Duration sleep_after(Instant now, BootTime boot);

  template <typename Answer>
  static Call make_call(std::function<Result<Answer>(Round&)> operation, std::function<void(Result<Answer>)> done);
  // Into the next round; on the spot if this is the driver's own thread, or none drives.
  void perform(Call call);
  void perform_here(const Call& call);
  // Into the next round; on the spot only if none is under way and none drives.
  void send(Call call);

  std::shared_ptr<NodePort> port_;
  bool stepping_ = false;  // a round is under way
  bool in_round_ = false;
  std::atomic<std::thread::id> driver_;
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
