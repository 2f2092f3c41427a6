// A schedule: a trigger, the job that it makes, and the policies between them, as a user puts it.
//
// It has no state: the position of each of its subjects is kept elsewhere, so that a schedule can be replaced at any
// time.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "core/schedules/job_template.h"
#include "core/schedules/misfire.h"
#include "core/schedules/overlap.h"
#include "core/time/dst.h"
#include "core/time/instant.h"
#include "core/triggers/timetable.h"
#include "core/triggers/trigger.h"
#include "core/triggers/trigger_kind.h"

namespace carillon {

struct Schedule {
  std::string name;
  std::string description;
  bool enabled = true;
  std::string subject;   // that its jobs show, for reading alone; only without fan_out
  bool fan_out = false;  // has named subjects, for which the trigger's values are defaults; else the single one ""
  Trigger trigger;
  std::string trigger_json;             // the trigger as it was written
  std::optional<std::string> timezone;  // nothing: the tenant's
  JobTemplate job;
  std::optional<JobTemplate> on_cutoff;  // of deliveries: what follows a day that was not delivered
  MisfirePolicy misfire;                 // of windows: only its grace
  OverlapPolicy overlap = OverlapPolicy::allow;
  Duration jitter{};
  DstPolicy dst;
  std::optional<GivenTime> starts;  // as they were written
  std::optional<GivenTime> ends;
  std::optional<Instant> starts_at;  // the same as instants: see settle_times
  std::optional<Instant> ends_at;
  std::set<LocalDays> exclude_dates;
};

inline constexpr std::size_t kDescriptionBytesMax = 4096;
inline constexpr std::size_t kExcludeDatesMax = 1000;

inline constexpr auto kScheduleFields =
    field_names("name", "description", "subject", "enabled", "fan_out", "trigger", "timezone", "job", "on_cutoff",
                "misfire", "overlap", "jitter", "dst", "starts_at", "ends_at", "exclude_dates");

// {"name": "digest", "trigger": {"kind": "daily", "at": "08:00"}, "job": {"type": "digest.send"}}: the whole of a
// schedule, every field known. `name` is the one that it is put under: then the text may leave it out, or must say the
// same. Whether the trigger ever fires is asked of timetable_of.
Result<Schedule> parse_schedule(std::string_view json, std::string_view name = {});

// {"gap": "skip", "overlap": "first"}. `value` lies in `text`, under the name `path`.
Result<DstPolicy> read_dst_json(std::string_view text, const Json& value, const std::string& path);

// What parse_schedule reads back as the same. Needs trigger_json.
std::string write_schedule(const Schedule& schedule);

// A definition with these changes (RFC 7396): what belongs to others is replaced whole, and so is what has another
// shape.
Result<std::string> patched_schedule(std::string_view definition, std::string_view patch);

// What parse_schedule does not know of: whether the configuration allows its windows. For one that is put; one that is
// stored stays, whatever the configuration says today.
Result<void> check_windows(const Schedule& schedule, const WindowDefaults& defaults);
// What its trigger does not say gets its default. (That of its jobs: `fill` of a JobTemplate.)
void fill(Schedule& schedule, const WindowDefaults& defaults);

// Where it starts and ends, if these were given as local times: those of its own zone, or else of `default_zone`. A
// schedule that was just read is settled as if that were UTC.
Result<void> settle_times(Schedule& schedule, const Zone& default_zone);

// Its times, in its own zone or else in `default_zone`. An error if it never fires, follows another schedule, or has no
// timetable.
Result<Timetable> timetable_of(const Schedule& schedule, const Zone& default_zone, Instant created_at);
// The same in that very zone: a subject may have its own.
Result<Timetable> timetable_in(const Schedule& schedule, const Zone& zone, Instant created_at);

// What its kind is like: see trigger_kind.h.
const TriggerTraits& traits_of(const Schedule& schedule);
// The name of the schedule that it follows; nothing: it has its own times.
const std::string* followed_by(const Schedule& schedule);
bool has_times(const Schedule& schedule);
// Whether these are the same for all subjects in a zone.
bool has_timetable(const Schedule& schedule);

}  // namespace carillon
