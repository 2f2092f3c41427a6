// When: a point of absolute time, in UTC microseconds. The type is public; here is what only we write.
#pragma once

#include <chrono>
#include <string>

#include "base/error.h"
#include "carillon/time.h"
#include "core/duration.h"

namespace carillon {

// The local clock at `offset` from UTC: `2026-03-29T02:00:00+01:00`.
std::string format_with_offset(Instant instant, std::chrono::seconds offset);

// Like format_instant, with microseconds if it has any: it reads back as the same.
std::string format_exact(Instant instant);

}  // namespace carillon
