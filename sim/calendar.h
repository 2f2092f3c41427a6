// The judge's own calendar: when a schedule is due, worked out without the engine's recurrence code where that is
// simple.
//
// It knows UTC and two zones by their rules, which hold for the years that are simulated.
#pragma once

#include <optional>
#include <string_view>

#include "core/time/instant.h"
#include "core/triggers/timetable.h"
#include "sim/spec.h"

namespace carillon::sim {

// How far the clocks of `zone` (UTC, Europe/London, America/New_York) are ahead of UTC.
Duration offset_at(std::string_view zone, Instant at);

// The instant of a local time on a local day: in a gap as if the clock had not changed, in an overlap the first.
Instant instant_of_local(std::string_view zone, Instant local);

// Whether the clocks of `zone` change within a few hours.
bool is_near_change(std::string_view zone, Instant at);

// Minutes since 1970 as a clock there shows them.
std::int64_t local_minute(std::string_view zone, Instant at);
// Of daily, weekly and every: on which local minute a slot is counted. One that a gap moved counts where it was to be.
std::int64_t local_minute_of_slot(const ScheduleSpec& spec, Instant slot);

// Of daily, weekly, every, and an rrule whose phase is that of the creation: the first slot strictly after `after`.
// `created_at` is the anchor of one that has none.
std::optional<Instant> next_slot(const ScheduleSpec& spec, Instant created_at, Instant after);

}  // namespace carillon::sim
