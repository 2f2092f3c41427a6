// Triggers, zones and policies at random, for property tests. Built on RapidCheck, so that a failure shrinks to a
// simple one. Call only inside a property.
#pragma once

#include <rapidcheck.h>

#include <array>
#include <string>
#include <string_view>

#include "core/triggers/timetable.h"
#include "core/triggers/trigger.h"

namespace carillon::test {

// Evenly from low to high, both inclusive.
template <typename T>
T draw(T low, T high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(low, high + 1));
}

template <typename List>
auto pick(const List& list) {
  return list[draw<std::size_t>(0, list.size() - 1)];
}

// Zones whose clocks do odd things.
inline constexpr std::array<std::string_view, 18> kZones{"UTC",
                                                         "Europe/London",
                                                         "America/New_York",
                                                         "America/Santiago",
                                                         "Australia/Lord_Howe",
                                                         "Pacific/Chatham",
                                                         "Africa/Cairo",
                                                         "Europe/Dublin",
                                                         "Antarctica/Troll",
                                                         "Africa/Casablanca",
                                                         "Pacific/Apia",
                                                         "Asia/Kolkata",
                                                         "America/Nuuk",
                                                         "Asia/Tehran",
                                                         "America/Havana",
                                                         "Asia/Beirut",
                                                         "Pacific/Auckland",
                                                         "America/St_Johns"};

std::string any_zone();
DstPolicy any_dst_policy();

struct RruleLimits {
  bool ends = true;         // may have COUNT or UNTIL
  bool wall_clock = false;  // DAILY and coarser only
};
// "FREQ=WEEKLY;BYDAY=MO": valid, though it may never fire.
std::string any_rrule(RruleLimits limits);
std::string any_cron();

// Of any kind that has times.
struct AnyTrigger {
  Trigger trigger;
  Timetable::Options options;
  std::string description;
};
AnyTrigger any_trigger();

// A timetable that fires at least once; discards the case if the trigger was refused as one that never does.
struct AnyTimetable {
  Timetable timetable;
  Instant begin;  // no occurrence before it
  std::string description;
};
AnyTimetable any_timetable();

}  // namespace carillon::test
