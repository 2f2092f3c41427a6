// An engine on a SQLite file whose wall clock stands still until it is moved, driven round by round, so that one tick
// can be measured. Its jobs stay queued.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/clock.h"
#include "engine/calls/node_client.h"
#include "engine/round/node.h"
#include "store/store.h"

namespace carillon {

// The wall clock is set by hand, the other one is the machine's: durations are real.
class HandClock final : public StoreClock {
 public:
  explicit HandClock(Instant start) : wall_(start) {}
  Instant exact_wall() const override { return wall_; }
  BootTime boot() const override { return boot_now(); }
  void set(Instant at) { wall_ = at; }

 private:
  std::atomic<Instant> wall_;
};

class HandEngine {
 public:
  HandEngine(const std::string& path, Instant start);
  HandEngine(const HandEngine&) = delete;
  HandEngine& operator=(const HandEngine&) = delete;
  ~HandEngine() = default;

  Client& client() { return client_; }
  void set_time(Instant at) { clock_.set(at); }
  // Rounds until nothing is due.
  void settle_down();

  struct Tick {
    double plan_ms = 0;   // what planning took of it
    double round_ms = 0;  // with all else, and the commit
    std::uint64_t looked_at = 0;
  };
  // One round that looks at everything.
  Tick tick();

 private:
  HandClock clock_;
  std::unique_ptr<Store> store_;
  Node node_;
  NodeClient client_;
  TickStopped last_;
};

}  // namespace carillon
