// The watcher of objectives: hears what the engine tells, and says now and then which objective has turned.
//
//   SloWatcher watcher(config, now);
//   watcher.hear(event, boot_now());                                        // the engine's thread
//   for (const SloTurn& turn : watcher.evaluate({.boot = boot_now(), .now = now, .parked = parked})) ...  // every
//   `eval`
//
// The window runs on the time since the machine was started, also in a rehearsal: it measures how well this process
// works, and that does not get faster with the wall clock that is rehearsed. `now` only dates what is told.
#pragma once

#include <carillon/events.h>

#include <array>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "observe/log_line.h"
#include "observe/slo_window.h"

namespace carillon {

// An objective that was breached or has recovered just now.
struct SloTurn {
  Slo slo = Slo::tick_budget;
  SloMeasure measure;
  SloStanding standing;
  double threshold = 0;
  Duration window{};

  SloBreached event() const;
  // A warning, or info of a recovery.
  LogLine line() const;
};

class SloWatcher {
 public:
  // `now`: since when all is well.
  SloWatcher(const SloConfig& config, Instant now);
  SloWatcher(const SloWatcher&) = delete;
  SloWatcher& operator=(const SloWatcher&) = delete;
  ~SloWatcher() = default;

  // Any thread; quick.
  void hear(const Event& event, Duration boot);

  struct Look {
    Duration boot{};
    Instant now;
    std::optional<std::uint64_t> parked;  // jobs in the DLQ; nothing: nobody could say, and the last number stands
  };
  std::vector<SloTurn> evaluate(const Look& look);

  // Other thresholds, from the next evaluation on. The window stays as long as it was.
  void set_thresholds(const SloConfig& config);

  // As of the last evaluation, as /v1/slo answers.
  std::string json() const;

 private:
  struct State {
    SloMeasure measure;
    SloStanding standing;
    Instant since;
  };

  mutable std::mutex mutex_;
  SloConfig config_;
  SloWindow window_;
  std::array<State, kSloCount> states_;
  std::optional<std::uint64_t> parked_;
  std::optional<Instant> evaluated_at_;
};

}  // namespace carillon
