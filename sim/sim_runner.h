// Runs attempts at virtual times, in the order in which they come, with outcomes drawn from the seed. It has no
// threads: nothing but the slots of the node bounds how many run at once.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <vector>

#include "engine/attempts/runner.h"
#include "engine/round/node.h"
#include "sim/judge.h"
#include "sim/random.h"
#include "sim/sink.h"

namespace carillon::sim {

using NodeSlots = carillon::Slots;  // the judge has its own slots: those of schedules

// How handlers behave in this world, in thousandths of attempts.
struct Habits {
  int failed = 80;
  int permanent = 8;
  int retry_after = 15;
  int deferred = 15;
  int rate_limited = 60;  // of those with a limit
  int skipped = 20;
  int follow_up = 40;
  int effect = 100;
  int slow_start = 30;
  int quick = 0;  // takes no longer than a round
  int late = 6;   // returns after its timeout
  int never = 2;  // hangs for long, or for ever
};

class SimRunner final : public Runner {
 public:
  struct Parts {
    Judge* judge = nullptr;
    Specs* specs = nullptr;
    Sink* sink = nullptr;
    const StoreClock* clock = nullptr;
    Random* random = nullptr;
    const Habits* habits = nullptr;
  };
  explicit SimRunner(const Parts& parts) : parts_(parts) {}
  SimRunner(const SimRunner&) = delete;
  SimRunner& operator=(const SimRunner&) = delete;
  ~SimRunner() override;

  void connect(Node& node);
  void start(RunPtr run) override;

  // When something happens next; nothing: never.
  std::optional<BootTime> next_at() const;
  // Whether something did.
  bool run_due();
  // Handlers that would never return do so now.
  void wake_all();
  // The node does not answer: handlers go on, but ask for nothing.
  void set_alone(bool alone) { alone_ = alone; }
  std::size_t busy() const { return going_.size(); }

 private:
  enum class Step : std::uint8_t { begin, effect, finish };
  struct Event {
    BootTime at{};
    std::uint64_t sequence = 0;
    Step step = Step::begin;
    std::size_t going = 0;
    friend bool operator<(const Event& a, const Event& b) {
      return std::pair(b.at, b.sequence) < std::pair(a.at, a.sequence);
    }
  };
  struct Going {
    RunPtr run;
    const JobSpec* spec = nullptr;
    Outcome outcome;
    Finished::How how = Finished::How::returned;
    bool hangs = false;
    std::optional<NodeSlots::Slot> slot;  // until it begins
  };

  void admit();
  void go(NodeSlots::Slot slot);
  bool offer(NodeSlots::Slot slot);
  void gone(std::size_t number);
  void add(Step step, std::size_t going, Duration after);
  void begin(std::size_t number);
  void effect(std::size_t number);
  void finish(std::size_t number);
  void draw(Going& going, std::size_t number);
  Duration draw_wait(const Going& going) const;
  Duration draw_duration(const Going& going) const;
  Outcome draw_outcome(const Going& going) const;
  Outcome learnt(Outcome outcome, const JobSpec& spec) const;

  const Parts parts_;
  std::shared_ptr<Port> port_;
  std::shared_ptr<FinishedQueue> finished_;
  std::shared_ptr<NodeSlots> slots_;
  std::size_t number_ = 0;      // among those who take slots
  std::deque<RunPtr> waiting_;  // for a slot
  std::map<std::size_t, Going> going_;
  std::priority_queue<Event> events_;
  std::size_t next_going_ = 0;
  std::uint64_t sequence_ = 0;
  bool alone_ = false;
};

}  // namespace carillon::sim
