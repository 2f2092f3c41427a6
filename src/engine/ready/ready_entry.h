// A due job as the ready set knows it, and the place where it stands.
//
// A place is all that decides whether a job may start, besides its own order: whose it is, its queue, who can run it,
// what it draws on. Millions of jobs share a few places, so that an entry stays small.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/jobs/job.h"
#include "core/jobs/job_id.h"
#include "core/time/instant.h"
#include "store/rows.h"

namespace carillon {

struct ReadyEntry {
  JobId id;
  Instant run_at;
  std::uint8_t priority = kPriorityDefault;
  friend bool operator==(const ReadyEntry&, const ReadyEntry&) = default;
};

struct ReadyPlace {
  std::string tenant;
  std::string queue;
  TypeId type;
  std::vector<std::string> limits;
  bool notifies = false;
  bool last_attempt = false;  // the next attempt is the last one: it is not claimed before a slot is free
  friend bool operator==(const ReadyPlace&, const ReadyPlace&) = default;
};

struct PlaceId {
  std::uint32_t value = 0;
  friend auto operator<=>(const PlaceId&, const PlaceId&) = default;
};

struct ReadyPlaceHash {
  std::size_t operator()(const ReadyPlace& place) const {
    constexpr std::size_t kMix = 0x9E3779B97F4A7C15ULL;
    std::size_t hash = std::hash<std::string>()(place.tenant);
    hash = (hash * kMix) ^ std::hash<std::string>()(place.queue);
    hash = (hash * kMix) ^ std::hash<std::int64_t>()(place.type.value);
    for (const std::string& limit : place.limits) hash = (hash * kMix) ^ std::hash<std::string>()(limit);
    return (hash * kMix) ^ (static_cast<std::size_t>(place.notifies) + (place.last_attempt ? 2 : 0));
  }
};

}  // namespace carillon
