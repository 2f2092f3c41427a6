#include "core/schedule.h"

#include <fmt/format.h>

namespace carillon {

Result<void> check_windows(const Schedule& schedule, const WindowDefaults& defaults) {
  const auto* windows = std::get_if<WindowsTrigger>(&schedule.trigger);
  if (windows == nullptr || windows->interval >= defaults.min_window) return {};
  return invalid_configuration(fmt::format("trigger.interval: {} is below the shortest window, {}",
                                           format_duration(windows->interval), format_duration(defaults.min_window)));
}

void fill(Schedule& schedule, const WindowDefaults& defaults) {
  auto* windows = std::get_if<WindowsTrigger>(&schedule.trigger);
  if (windows != nullptr && !windows->max_backfill) windows->max_backfill = defaults.max_backfill;
}

Result<void> settle_times(Schedule& schedule, const Zone& default_zone) {
  TRY_ASSIGN(const Zone zone, schedule.timezone ? Zone::load(*schedule.timezone) : Result<Zone>(default_zone));
  if (schedule.starts) schedule.starts_at = schedule.starts->in(zone);
  if (schedule.ends) schedule.ends_at = schedule.ends->in(zone);
  return {};
}

Result<Timetable> timetable_of(const Schedule& schedule, const Zone& default_zone, Instant created_at) {
  if (!schedule.timezone) return timetable_in(schedule, default_zone, created_at);
  TRY_ASSIGN(const Zone zone, Zone::load(*schedule.timezone));
  return timetable_in(schedule, zone, created_at);
}

Result<Timetable> timetable_in(const Schedule& schedule, const Zone& zone, Instant created_at) {
  auto timetable = Timetable::make(schedule.trigger, {.zone = zone,
                                                      .dst = schedule.dst,
                                                      .created_at = created_at,
                                                      .starts_at = schedule.starts_at,
                                                      .ends_at = schedule.ends_at,
                                                      .exclude_dates = schedule.exclude_dates});
  if (!timetable) return std::unexpected(about_field("trigger", std::move(timetable).error()));
  return timetable;
}

bool has_times(const Schedule& schedule) { return after_of(schedule) == nullptr; }

bool has_timetable(const Schedule& schedule) { return has_times(schedule) && !plans_by_subject(schedule.trigger); }

const AfterTrigger* after_of(const Schedule& schedule) { return std::get_if<AfterTrigger>(&schedule.trigger); }

}  // namespace carillon
