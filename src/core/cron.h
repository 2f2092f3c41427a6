// Reading a cron expression: five fields, or six with seconds first.
//
//   second  0-59            optional
//   minute  0-59
//   hour    0-23
//   day     1-31            also L (last), L-3 (third before the last), LW (last weekday), 15W (weekday nearest the
//   15th) month   1-12, jan-dec weekday 0-7, sun-sat    0 and 7 are Sunday; also 5L or friL (last Friday), fri#2
//   (second Friday), fri#L
//
// In each: * (in the day fields also ?), 5, 1-5, */10, 10-50/10, 5/15 (from 5 on), lists of these. For the whole:
// @hourly,
// @daily, @midnight, @weekly, @monthly, @yearly, @annually. Restrict both day and weekday, and a day matches if either
// does.
//
// A fixed hour is a time on the wall clock, subject to the DST policy. If the hour field is * or a step of it, or names
// every hour, the rule follows absolute time: it fires whenever the local clock matches.
#pragma once

#include <string_view>

#include "base/error.h"
#include "core/recurrence.h"

namespace carillon {

Result<RecurrenceRule> parse_cron(std::string_view text);

}  // namespace carillon
