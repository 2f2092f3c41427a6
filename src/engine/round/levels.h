// How much there is, and how late it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/time/duration.h"
#include "core/time/instant.h"

namespace carillon {

struct NodeLevels {
  std::size_t ready = 0;              // queued and due: what the rows say, not what the memory may still hold
  std::size_t in_flight = 0;          // handlers of this node that run
  std::size_t leases = 0;             // of workers outside
  std::optional<Instant> oldest_due;  // since when the one that waits longest is due
  Duration planner_lag{};             // since when the planner should have planned
  std::uint32_t max_concurrency = 0;
  bool loaded = false;  // all due jobs are in memory
};

}  // namespace carillon
