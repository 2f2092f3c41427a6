// The objectives: what each one measures over the window, and when it counts as breached.
//
//   SloWindow window(config);
//   window.hear(event.body, boot);                       // as things happen
//   const SloMeasures measures = window.measure(boot);   // now and then
//   standing = after_evaluation(standing, measures[Slo::job_latency].over, config.breach_consecutive);
//
// Nothing here reads a clock. Time is a duration from any fixed point that never goes back: how long, not when.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "observe/slo_config.h"

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
double threshold_of(Slo slo, const SloConfig& config);

// What one objective was over the window.
struct SloMeasure {
  std::uint64_t samples = 0;
  std::optional<double> value;              // nothing: there were no samples
  bool over = false;                        // the threshold; then `value` is over it too, but for growth
  bool growth = false;                      // of queue_pressure: the depth grew all the time
  std::optional<std::uint16_t> due_bucket;  // of cutoff_miss_rate: the minute of day that missed most
  friend bool operator==(const SloMeasure&, const SloMeasure&) = default;
};

class SloMeasures {
 public:
  SloMeasure& operator[](Slo slo) { return all_.at(static_cast<std::size_t>(slo)); }
  const SloMeasure& operator[](Slo slo) const { return all_.at(static_cast<std::size_t>(slo)); }

 private:
  std::array<SloMeasure, kSloCount> all_;
};

// Of one that is a level, as it is now, whatever was in the window.
SloMeasure measure_level(Slo slo, double level, const SloConfig& config);

// How an objective stands after all evaluations so far.
struct SloStanding {
  bool breached = false;
  std::uint32_t breaches_in_a_row = 0;
  std::uint32_t passes_in_a_row = 0;
  friend bool operator==(const SloStanding&, const SloStanding&) = default;
};

// Breached at the `consecutive`-th evaluation in a row that was over, recovered at the same number in a row that was
// not: what swings around its threshold changes nothing, in either state.
SloStanding after_evaluation(const SloStanding& before, bool over, std::uint32_t consecutive);

}  // namespace carillon
