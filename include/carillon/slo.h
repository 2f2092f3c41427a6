// The objectives: what each one measures over the last minutes, and when it counts as breached.
//
//   carillon::SloWatcher watcher(options, engine.now());
//   watcher.hear(event, boot);                                                    // as things happen
//   for (const carillon::SloTurn& turn : watcher.evaluate({.boot = boot, .now = now, .parked = parked})) ...
//
// `boot` is a duration from any fixed point that never goes back: how long, not when. Nothing here reads a clock or has
// a thread; carillon/observer.h has both, and is what most programs want.
#pragma once

#include <carillon/events.h>
#include <carillon/log.h>
#include <carillon/time.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace carillon {

enum class Slo : std::uint8_t {
  tick_budget,       // p95 of the planner's rounds that had something to look at
  saturation,        // share of samples in which every slot is taken
  queue_pressure,    // mean depth of the queue, or growth in every minute of the window
  job_latency,       // p95 of attempts
  cutoff_miss_rate,  // share of deliveries that reached their cutoff
  dlq,               // jobs that are parked now
  stalled,           // leases that were lost
};
inline constexpr std::array kSlos{Slo::tick_budget,      Slo::saturation, Slo::queue_pressure, Slo::job_latency,
                                  Slo::cutoff_miss_rate, Slo::dlq,        Slo::stalled};
inline constexpr std::size_t kSloCount = kSlos.size();

// As in the metric, the event and the API.
std::string_view to_string(Slo slo);
// What its value and threshold count: ms, ratio, jobs, leases.
std::string_view unit_of(Slo slo);

// When the watcher warns. Each is a setting, see docs/configuration.md.
struct SloOptions {
  Duration eval = std::chrono::minutes(1);
  Duration window = std::chrono::minutes(15);  // whole minutes
  Duration tick_budget = std::chrono::milliseconds(300);
  double sat_ratio = 0.8;
  double depth_avg_max = 1000;
  Duration job_p95_max = std::chrono::minutes(1);
  double cutoff_rate_max = 0.05;
  double dlq_max = 0;
  double stalled_max = 10;
  std::uint32_t breach_consecutive = 3;
};

// What one objective was over the window.
struct SloMeasure {
  std::uint64_t samples = 0;
  std::optional<double> value;              // nothing: there were no samples
  bool over = false;                        // the threshold; then `value` is over it too, but for growth
  bool growth = false;                      // of queue_pressure: the depth grew all the time
  std::optional<std::uint16_t> due_bucket;  // of cutoff_miss_rate: the minute of day that missed most
  friend bool operator==(const SloMeasure&, const SloMeasure&) = default;
};

// How an objective stands after all evaluations so far.
struct SloStanding {
  bool breached = false;
  std::uint32_t breaches_in_a_row = 0;
  std::uint32_t passes_in_a_row = 0;
  friend bool operator==(const SloStanding&, const SloStanding&) = default;
};

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

// Hears what the engine tells, and says now and then which objective has turned.
//
// The window runs on the time since the machine was started, also in a rehearsal: it measures how well this process
// works, and that does not get faster with the wall clock that is rehearsed. `now` only dates what is told.
class SloWatcher {
 public:
  // `now`: since when all is well.
  SloWatcher(const SloOptions& options, Instant now);
  SloWatcher(const SloWatcher&) = delete;
  SloWatcher& operator=(const SloWatcher&) = delete;
  ~SloWatcher();

  // Any thread; quick.
  void hear(const Event& event, Duration boot);

  struct Look {
    Duration boot{};
    Instant now;
    std::optional<std::uint64_t> parked;  // jobs in the DLQ; nothing: nobody could say, and the last number stands
  };
  std::vector<SloTurn> evaluate(const Look& look);

  // Other thresholds, from the next evaluation on. The window stays as long as it was.
  void set_thresholds(const SloOptions& options);

  // As of the last evaluation, as /v1/slo answers.
  std::string json() const;

 private:
  class Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace carillon
