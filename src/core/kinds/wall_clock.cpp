#include "core/kinds/wall_clock.h"

namespace carillon {

Result<Timetable::Source> times_of(const WallClockRule& rule, const Timetable::Options& options) {
  auto recurrence = Recurrence::make(
      rule.parts, {.start = rule.start, .zone = options.zone, .dst = options.dst, .after = rule.after});
  if (!recurrence) {
    Error error = with_context(rule.name, std::move(recurrence).error());
    if (rule.parts.until_column != 0) error.column = rule.parts.until_column;
    return std::unexpected(std::move(error));
  }
  return *std::move(recurrence);
}

RecurrenceRule rule_at(Frequency frequency, TimeOfDay at) {
  RecurrenceRule rule;
  rule.frequency = frequency;
  rule.by_hour = {at.seconds / 3600};
  rule.by_minute = {at.seconds / 60 % 60};
  rule.by_second = {at.seconds % 60};
  return rule;
}

}  // namespace carillon
