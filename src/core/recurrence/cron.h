// Reading a cron expression: five fields, or six with seconds first.
//
//   second   0-59, optional
//   minute   0-59
//   hour     0-23
//   day      1-31; L (the last), L-3 (the third before it),
//            15W (the weekday nearest the 15th), LW (the last weekday)
//   month    1-12, jan-dec
//   weekday  0-7, sun-sat, 0 and 7 are Sunday; 5L or friL (the last
//            Friday), fri#2 (the second Friday), fri#L
//
// In each: * (in the day fields also ?), 5, 1-5, */10, 10-50/10, 5/15 (from 5 on), and lists of these.
// Restrict both day and weekday, and a day matches if either does. For the whole expression:
//
//   @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually
//
// A fixed hour is a time on the wall clock, subject to the DST policy. If the hour field is * or a step of it, or names
// every hour, the rule follows absolute time: it fires whenever the local clock matches.
#pragma once

#include <string_view>

#include "base/error.h"
#include "core/recurrence/recurrence.h"

namespace carillon {

Result<RecurrenceRule> parse_cron(std::string_view text);

}  // namespace carillon
