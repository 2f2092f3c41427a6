#include "core/schedules/schedule.h"

namespace carillon {

Result<void> check_windows(const Schedule& schedule, const WindowDefaults& defaults) {
  const TriggerKind& kind = kind_of(schedule.trigger);
  return kind.check_defaults ? kind.check_defaults(schedule.trigger, defaults) : Result<void>();
}

void fill(Schedule& schedule, const WindowDefaults& defaults) {
  const TriggerKind& kind = kind_of(schedule.trigger);
  if (kind.fill) kind.fill(schedule.trigger, defaults);
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

const TriggerTraits& traits_of(const Schedule& schedule) { return kind_of(schedule.trigger).traits; }

const std::string* followed_by(const Schedule& schedule) {
  const TriggerKind& kind = kind_of(schedule.trigger);
  return kind.follows ? kind.follows(schedule.trigger) : nullptr;
}

bool has_times(const Schedule& schedule) { return followed_by(schedule) == nullptr; }

bool has_timetable(const Schedule& schedule) { return has_times(schedule) && !plans_by_subject(schedule.trigger); }

}  // namespace carillon
