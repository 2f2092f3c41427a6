// When: a point of absolute time, in UTC microseconds. The type is public; here is what only we write.
#pragma once

#include <chrono>
#include <string>

#include "base/error.h"
#include "carillon/time.h"
#include "core/time/duration.h"

namespace carillon {

// Time is shown in milliseconds, and kept so: the present is cut to them (StoreClock), and what is planned is rounded
// up. So what is shown is when it happens: neither clock nor plan has a part that nobody sees.
inline Instant cut_to_millisecond(Instant instant) { return std::chrono::floor<std::chrono::milliseconds>(instant); }
inline Duration up_to_millisecond(Duration duration) { return std::chrono::ceil<std::chrono::milliseconds>(duration); }
// The end of the calendar stays where it is: it means never.
inline Instant up_to_millisecond(Instant instant) {
  if (instant > cut_to_millisecond(kInstantMax)) return instant;
  return std::chrono::ceil<std::chrono::milliseconds>(instant);
}

// The local clock at `offset` from UTC: `2026-03-29T02:00:00+01:00`.
std::string format_with_offset(Instant instant, std::chrono::seconds offset);

// Like format_instant, with microseconds if it has any: it reads back as the same.
std::string format_exact(Instant instant);

}  // namespace carillon
