// From the parts of a rule, as they were written, to one of the two forms that can be searched.
#pragma once

#include <variant>

#include "core/recurrence/absolute_rule.h"
#include "core/recurrence/recurrence.h"
#include "core/recurrence/wall_rule.h"
#include "core/time/dst.h"
#include "core/time/zone.h"

namespace carillon {

// What the rule leaves open is taken from `start`, as RFC 5545 says. COUNT and an UNTIL in UTC are left to the caller.
std::variant<WallRule, AbsoluteRule> lower(const RecurrenceRule& rule, LocalSeconds start, const Zone& zone,
                                           DstPolicy dst);

}  // namespace carillon
