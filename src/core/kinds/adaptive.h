// Adaptive checks: the nearer a subject's expected time, the closer together. Making a check also plans the next one
// (invariant 19), and one that is late plans it from now, so that an outage is never followed by a burst.
#pragma once

#include <optional>
#include <string>

#include "core/schedules/plan.h"

namespace carillon {

// Which rule is in force at `now`: the first band that covers the time from or to `expected_at`, or none.
const AdaptiveTrigger::Band* band_at(const AdaptiveTrigger& trigger, std::optional<Instant> expected_at, Instant now);
// Its name: what it is within ("1d"), or "otherwise".
std::string cadence_name(const AdaptiveTrigger::Band* band);

}  // namespace carillon
