#include "core/schedule.h"

namespace carillon {

Result<Timetable> timetable_of(const Schedule& schedule, const Zone& default_zone, Instant created_at) {
  Timetable::Options options{.zone = default_zone,
                             .dst = schedule.dst,
                             .created_at = created_at,
                             .starts_at = schedule.starts_at,
                             .ends_at = schedule.ends_at,
                             .exclude_dates = schedule.exclude_dates};
  if (schedule.timezone) {
    TRY_ASSIGN(options.zone, Zone::load(*schedule.timezone));
  }
  auto timetable = Timetable::make(schedule.trigger, std::move(options));
  if (!timetable) return std::unexpected(about_field("trigger", std::move(timetable).error()));
  return timetable;
}

bool has_times(const Schedule& schedule) { return after_of(schedule) == nullptr; }

const AfterTrigger* after_of(const Schedule& schedule) { return std::get_if<AfterTrigger>(&schedule.trigger); }

}  // namespace carillon
