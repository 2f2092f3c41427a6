// What the kinds of the wall clock share: each is lowered to one rule of recurrence.
#pragma once

#include <string>

#include "core/recurrence/recurrence.h"
#include "core/triggers/timetable.h"

namespace carillon {

inline constexpr LocalSeconds kCalendarBegin{LocalDays(std::chrono::year(kYearMin) / 1 / 1)};

struct WallClockRule {
  RecurrenceRule parts;
  std::string name;  // in messages
  LocalSeconds start = kCalendarBegin;
  Instant after = kInstantMin;  // nothing up to then is an occurrence
};
Result<Timetable::Source> times_of(const WallClockRule& rule, const Timetable::Options& options);

RecurrenceRule rule_at(Frequency frequency, TimeOfDay at);

}  // namespace carillon
