#include "sim/calendar.h"

#include <algorithm>

namespace carillon::sim {

namespace {

using namespace std::chrono;
using namespace std::chrono_literals;

struct Summer {
  Instant begin;
  Instant end;
};

// European clocks change at 01:00 UTC on the last Sundays of March and October.
Summer london(year y) {
  return {.begin = Instant(sys_days(y / March / Sunday[last])) + 1h,
          .end = Instant(sys_days(y / October / Sunday[last])) + 1h};
}

// In New York at 02:00 local time, on the second Sunday of March and the first of November.
Summer new_york(year y) {
  return {.begin = Instant(sys_days(y / March / Sunday[2])) + 7h,
          .end = Instant(sys_days(y / November / Sunday[1])) + 6h};
}

year year_of(Instant at) { return year_month_day(floor<days>(at)).year(); }

}  // namespace

Duration offset_at(std::string_view zone, Instant at) {
  if (zone == "Europe/London") {
    const Summer summer = london(year_of(at));
    return at >= summer.begin && at < summer.end ? 1h : 0h;
  }
  if (zone == "America/New_York") {
    const Summer summer = new_york(year_of(at));
    return at >= summer.begin && at < summer.end ? -4h : -5h;
  }
  return 0h;
}

Instant instant_of_local(std::string_view zone, Instant local) {
  const Duration before = offset_at(zone, local - 24h);
  const Duration after = offset_at(zone, local + 24h);
  const Instant first = local - before;
  if (before == after || offset_at(zone, first) == before) return first;
  const Instant second = local - after;
  return offset_at(zone, second) == after ? second : first;
}

bool is_near_change(std::string_view zone, Instant at) { return offset_at(zone, at - 4h) != offset_at(zone, at + 4h); }

std::optional<Instant> next_slot(const ScheduleSpec& spec, Instant created_at, Instant after) {
  if (spec.kind == Kind::every) {
    const Instant anchor = spec.anchor.value_or(created_at);
    const Duration since = after - anchor;
    std::int64_t k = since.count() / spec.every.count();
    if (since.count() < 0) k = -((-since.count() + spec.every.count() - 1) / spec.every.count());
    ++k;
    if (!spec.anchor) k = std::max<std::int64_t>(k, 1);
    return anchor + k * spec.every;
  }
  if (spec.is_from_creation()) {
    // The minute of the creation fixes the phase. It is no occurrence itself, and COUNT counts what runs.
    const Instant start = floor<minutes>(created_at);
    const std::int64_t k = after < start ? 1 : (after - start) / spec.every + 1;
    return spec.count == 0 || k <= spec.count ? std::optional(start + k * spec.every) : std::nullopt;
  }
  if (spec.kind != Kind::daily && spec.kind != Kind::weekly) return std::nullopt;
  const Instant local_after = after + offset_at(spec.zone, after);
  for (sys_days day = floor<days>(local_after) - days(1);; day += days(1)) {
    if (spec.kind == Kind::weekly && std::ranges::find(spec.days, weekday(day).c_encoding()) == spec.days.end()) {
      continue;
    }
    const Instant at = instant_of_local(spec.zone, Instant(day) + spec.at);
    if (at > after) return at;
  }
}

std::int64_t local_minute(std::string_view zone, Instant at) {
  return floor<minutes>(at + offset_at(zone, at)).time_since_epoch().count();
}

std::int64_t local_minute_of_slot(const ScheduleSpec& spec, Instant slot) {
  if (spec.kind != Kind::daily && spec.kind != Kind::weekly) return local_minute(spec.zone, slot);
  return floor<minutes>(Instant(floor<days>(slot + offset_at(spec.zone, slot))) + spec.at).time_since_epoch().count();
}

}  // namespace carillon::sim
