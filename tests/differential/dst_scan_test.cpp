// The engine against the minute scan: every zone of the database, around each change of its clock, 2020 to 2037.
//
// Around a change the rules are laid where it hurts: on the first, the middle and the last minute that the change
// skips or repeats, and on its neighbours. By default a sample is walked (the zones named in the design in full, every
// seventh of the others, every third of their changes); CARILLON_FULL=1 walks them all.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/dst.h"
#include "core/timetable.h"
#include "core/trigger.h"
#include "core/zone.h"
#include "minute_scan.h"

namespace {

using scan::kDay;
using scan::kHour;
using scan::kMinute;

constexpr std::array<std::string_view, 10> kNamedZones = {
    "Europe/London",    "America/New_York", "America/Santiago",  "Australia/Lord_Howe", "Pacific/Chatham",
    "Antarctica/Troll", "Africa/Cairo",     "Africa/Casablanca", "Europe/Dublin",       "Pacific/Apia"};

constexpr std::array<scan::Policy, 9> kPolicies = {{
    {scan::Gap::shift, scan::Overlap::first},
    {scan::Gap::shift, scan::Overlap::second},
    {scan::Gap::shift, scan::Overlap::both},
    {scan::Gap::skip, scan::Overlap::first},
    {scan::Gap::skip, scan::Overlap::second},
    {scan::Gap::skip, scan::Overlap::both},
    {scan::Gap::next_valid, scan::Overlap::first},
    {scan::Gap::next_valid, scan::Overlap::second},
    {scan::Gap::next_valid, scan::Overlap::both},
}};

// The spans to walk on either side of a change. The wide one sees a rule of every second week three times.
constexpr std::int64_t kNear = 3 * kDay;
constexpr std::int64_t kWide = 16 * kDay;
constexpr std::int64_t kNarrow = 2 * kHour;

// --- text ----------------------------------------------------------------------------------------------------

template <typename... Arguments>
std::string format(const char* pattern, Arguments... arguments) {
  std::array<char, 160> buffer{};
  std::snprintf(buffer.data(), buffer.size(), pattern, arguments...);
  return buffer.data();
}

// "2024-03-31T01:00:00" of a local time, or of an instant read in UTC.
std::string iso(std::int64_t seconds) {
  const scan::Date date = scan::date_of(seconds);
  const scan::TimeOfDay time = scan::time_of(seconds);
  return format("%04d-%02d-%02dT%02d:%02d:%02d", date.year, date.month, date.day, time.hour, time.minute,
                static_cast<int>(seconds % kMinute));
}

// "20240331T010000", as UNTIL wants it.
std::string basic_iso(std::int64_t seconds) {
  std::string text = iso(seconds);
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return text;
}

// The instant of "2024-03-31 01:00" in UTC.
std::int64_t utc(const char* text) {
  scan::Date date;
  scan::TimeOfDay time;
  if (std::sscanf(text, "%d-%d-%d %d:%d", &date.year, &date.month, &date.day, &time.hour, &time.minute) != 5) {
    throw std::invalid_argument(text);
  }
  return scan::local_time(date, time);
}

std::vector<std::int64_t> utc_list(std::initializer_list<const char*> texts) {
  std::vector<std::int64_t> instants;
  for (const char* text : texts) instants.push_back(utc(text));
  return instants;
}

std::string iso_list(const std::vector<std::int64_t>& instants) {
  std::string text;
  for (const std::int64_t at : instants) text += (text.empty() ? "" : ", ") + iso(at) + "Z";
  return text;
}

const char* name_of(scan::Gap gap) {
  constexpr std::array<const char*, 3> kNames = {"shift", "skip", "next_valid"};
  return kNames[static_cast<std::size_t>(gap)];
}

const char* name_of(scan::Overlap overlap) {
  constexpr std::array<const char*, 3> kNames = {"first", "second", "both"};
  return kNames[static_cast<std::size_t>(overlap)];
}

