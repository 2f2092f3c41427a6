// Moves the wall clock of a node from one due time to the next, and waits at each until all of it is done: a week of
// schedules in a minute, in their order.
//
//   RehearsalClock clock(start, 0);
//   Rehearsal rehearsal(clock);
//   EngineHost host(store, {.clock = &clock, .rehearsal = &rehearsal});
//   rehearsal.move({.to = monday}, [](Result<Instant> now) { ... });
//
// At a stop it waits for planning, deadlines and the attempts of the node's own handlers; workers outside are not
// waited for.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <variant>

#include "engine/host/rehearsal_clock.h"
#include "engine/round/node.h"

namespace carillon {

class Rehearsal {
 public:
  // The clock must outlive it.
  explicit Rehearsal(RehearsalClock& clock) : clock_(clock) {}
  Rehearsal(const Rehearsal&) = delete;
  Rehearsal& operator=(const Rehearsal&) = delete;
  // Who still waits is refused.
  ~Rehearsal();

  struct Move {
    std::variant<Duration, Instant> to;  // so far from when its turn comes, or to this instant
    bool jump = false;                   // in one step, as after a suspended machine
  };
  using Done = std::function<void(Result<Instant>)>;
  // Any thread; the node's bell must be rung. One move after the other; `done` is called on the driver's thread with
  // where the clock is, once all that was due by then can be read. Errors: conflict for a time that has passed.
  void move(const Move& move, Done done);
  // From now on everybody is refused: the engine stops.
  void close();

  const RehearsalClock& clock() const { return clock_; }

  // The driver, after each step of its node: how long it may sleep.
  Duration after_step(Node& node, Duration sleep);

 private:
  struct Asked {
    Move move;
    Done done;
  };
  // False: none waits. It may be over at once, if it was refused.
  bool begin_next();
  bool is_closed();
  void end(const Result<Instant>& answer);

  RehearsalClock& clock_;
  std::mutex mutex_;
  std::deque<Asked> asked_;
  bool is_closed_ = false;
  // Of the driver's thread alone.
  bool is_moving_ = false;
  bool jump_ = false;
  Instant target_;
  Done done_;
};

}  // namespace carillon
