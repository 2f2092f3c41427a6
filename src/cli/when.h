// Points of time on the command line, where a person may leave out the zone.
#pragma once

#include <string_view>

#include "base/error.h"
#include "core/time/instant.h"
#include "core/time/zone.h"

namespace carillon {

// An instant (RFC 3339 or Unix milliseconds), or a local time `2026-03-29T09:00` or date `2026-03-29` in `zone`.
// A local time that exists twice is the first one, one that does not exist is moved past the gap.
Result<Instant> parse_when(std::string_view text, const Zone& zone);

}  // namespace carillon
