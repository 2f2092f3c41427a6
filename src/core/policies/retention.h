// How long what has ended is kept.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/time/duration.h"
#include "core/time/instant.h"

namespace carillon {

struct RetentionRule {
  Duration otherwise{};
  std::vector<std::pair<std::string, Duration>> by_tenant;

  Duration of(std::string_view tenant) const {
    for (const auto& [name, keep] : by_tenant) {
      if (name == tenant) return keep;
    }
    return otherwise;
  }
  Duration shortest() const {
    Duration found = otherwise;
    for (const auto& [name, keep] : by_tenant) found = std::min(found, keep);
    return found;
  }
  // Whether what a tenant ended at `ended` has been kept for long enough.
  bool is_over(std::string_view tenant, Instant ended, Instant now) const {
    return ended <= add_clamped(now, -of(tenant));
  }
};

}  // namespace carillon
