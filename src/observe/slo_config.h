// When the watcher of objectives warns. Each name is a setting of the server; the defaults are the server's.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/duration.h"

namespace carillon {

struct SloConfig {
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

}  // namespace carillon
