// How objectives are judged, as functions of values: the thresholds, and how one turns.
//
//   SloWindow window(options);
//   window.hear(event.body, boot);                       // as things happen
//   const SloMeasures measures = window.measure(boot);   // now and then
//   standing = after_evaluation(standing, measures[Slo::job_latency].over, options.breach_consecutive);
//
// Nothing here reads a clock. Time is a duration from any fixed point that never goes back: how long, not when.
#pragma once

#include <carillon/slo.h>

#include <array>
#include <cstdint>

namespace carillon {

double threshold_of(Slo slo, const SloOptions& options);

class SloMeasures {
 public:
  SloMeasure& operator[](Slo slo) { return all_.at(static_cast<std::size_t>(slo)); }
  const SloMeasure& operator[](Slo slo) const { return all_.at(static_cast<std::size_t>(slo)); }

 private:
  std::array<SloMeasure, kSloCount> all_;
};

// Of one that is a level, as it is now, whatever was in the window.
SloMeasure measure_level(Slo slo, double level, const SloOptions& options);

// Breached at the `consecutive`-th evaluation in a row that was over, recovered at the same number in a row that was
// not: what swings around its threshold changes nothing, in either state.
SloStanding after_evaluation(const SloStanding& before, bool over, std::uint32_t consecutive);

}  // namespace carillon
