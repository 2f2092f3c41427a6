// Reading an RFC 5545 recurrence rule: "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE;BYHOUR=9".
#pragma once

#include <string_view>

#include "base/error.h"
#include "core/recurrence/recurrence.h"

namespace carillon {

// Every part of section 3.3.10, names in any case, with or without the "RRULE:" before it. What the RFC forbids (a part
// out of range, given twice, or one that does not go with the frequency) is refused, never guessed at.
// UNTIL in UTC ends with Z; without it, it is local time; a bare date means the whole of that day.
Result<RecurrenceRule> parse_rrule(std::string_view text);

}  // namespace carillon
