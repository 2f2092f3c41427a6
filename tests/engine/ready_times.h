// Driving a ready set by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/time/instant.h"
#include "engine/ready/ready_set.h"

namespace carillon::test {

inline constexpr Instant kNow = std::chrono::sys_days(std::chrono::year(2026) / 3 / 29);

// Starts what may start, at most `most`: the ids, in order. All of it goes on running.
inline std::vector<std::int64_t> started(ReadySet& ready, std::size_t most, Instant now = kNow) {
  std::vector<std::int64_t> ids;
  while (ids.size() < most) {
    const auto pick = ready.pick(now);
    if (!pick) break;
    ids.push_back(pick->entry.id.value);
  }
  return ids;
}

}  // namespace carillon::test
