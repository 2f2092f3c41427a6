#include "observe/slo.h"

#include <chrono>

#include "base/check.h"
#include "observe/milliseconds.h"

namespace carillon {

std::string_view to_string(Slo slo) {
  switch (slo) {
    case Slo::tick_budget: return "tick_budget";
    case Slo::saturation: return "saturation";
    case Slo::queue_pressure: return "queue_pressure";
    case Slo::job_latency: return "job_latency";
    case Slo::cutoff_miss_rate: return "cutoff_miss_rate";
    case Slo::dlq: return "dlq";
    case Slo::stalled: return "stalled";
  }
  UNREACHABLE();
}

std::string_view unit_of(Slo slo) {
  switch (slo) {
    case Slo::tick_budget:
    case Slo::job_latency: return "ms";
    case Slo::saturation:
    case Slo::cutoff_miss_rate: return "ratio";
    case Slo::queue_pressure:
    case Slo::dlq: return "jobs";
    case Slo::stalled: return "leases";
  }
  UNREACHABLE();
}

double threshold_of(Slo slo, const SloOptions& config) {
  switch (slo) {
    case Slo::tick_budget: return milliseconds(config.tick_budget);
    case Slo::saturation: return config.sat_ratio;
    case Slo::queue_pressure: return config.depth_avg_max;
    case Slo::job_latency: return milliseconds(config.job_p95_max);
    case Slo::cutoff_miss_rate: return config.cutoff_rate_max;
    case Slo::dlq: return config.dlq_max;
    case Slo::stalled: return config.stalled_max;
  }
  UNREACHABLE();
}

SloMeasure measure_level(Slo slo, double level, const SloOptions& config) {
  return {.samples = 1, .value = level, .over = level > threshold_of(slo, config)};
}

SloStanding after_evaluation(const SloStanding& before, bool over, std::uint32_t consecutive) {
  SloStanding after{.breached = before.breached};
  if (over) {
    after.breaches_in_a_row = before.breaches_in_a_row + 1;
    if (after.breaches_in_a_row >= consecutive) after.breached = true;
  } else {
    after.passes_in_a_row = before.passes_in_a_row + 1;
    if (after.passes_in_a_row >= consecutive) after.breached = false;
  }
  return after;
}

}  // namespace carillon
