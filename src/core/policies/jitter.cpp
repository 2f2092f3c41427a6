#include "core/policies/jitter.h"

#include <algorithm>
#include <string>

#include "base/hash.h"

namespace carillon {

Duration jitter_of(const JitterKey& key, Duration jitter) {
  if (jitter <= Duration(0)) return Duration(0);
  const std::uint64_t hash = stable_hash(
      {"jitter", key.tenant, key.schedule, key.subject, std::to_string(key.slot.time_since_epoch().count())});
  const auto delay = Duration(static_cast<std::int64_t>(scale_hash(hash, static_cast<std::uint64_t>(jitter.count()))));
  return std::min(jitter, up_to_millisecond(delay));
}

}  // namespace carillon
