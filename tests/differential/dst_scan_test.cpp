// The engine against the minute scan: every zone of the database, around each change of its clock, 2020 to 2037.
//
// Around a change the rules are laid where it hurts: on the first, the middle and the last minute that the change
// skips or repeats, and on its neighbours. By default a sample is walked (the zones named in the design in full, every
// seventh of the others, every third of their changes); CARILLON_FULL=1 walks them all.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/time/dst.h"
#include "core/time/zone.h"
#include "core/triggers/timetable.h"
#include "core/triggers/trigger.h"
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

// "2024-03-31T01:00:00" of a local time, or of an instant read in UTC.
std::string iso(std::int64_t seconds) {
  const scan::Date date = scan::date_of(seconds);
  const scan::TimeOfDay time = scan::time_of(seconds);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", date.year, date.month, date.day, time.hour, time.minute,
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

// --- the engine ----------------------------------------------------------------------------------------------

carillon::Instant instant(std::int64_t unix_seconds) { return carillon::Instant(std::chrono::seconds(unix_seconds)); }

// Strictly before the second, so that what fires at the second itself is still to come.
carillon::Instant just_before(std::int64_t unix_seconds) {
  return instant(unix_seconds) - std::chrono::microseconds(1);
}

carillon::DstPolicy engine_policy(scan::Policy policy) {
  carillon::DstPolicy same;
  switch (policy.gap) {
    case scan::Gap::shift: same.gap = carillon::DstGap::shift; break;
    case scan::Gap::skip: same.gap = carillon::DstGap::skip; break;
    case scan::Gap::next_valid: same.gap = carillon::DstGap::next_valid; break;
  }
  switch (policy.overlap) {
    case scan::Overlap::first: same.overlap = carillon::DstOverlap::first; break;
    case scan::Overlap::second: same.overlap = carillon::DstOverlap::second; break;
    case scan::Overlap::both: same.overlap = carillon::DstOverlap::both; break;
  }
  return same;
}

template <typename T>
T value_of(carillon::Result<T> result, const std::string& what) {
  if (!result) throw std::runtime_error(what + ": " + result.error().message);
  return *std::move(result);
}

// One rule in both tongues, and the span in which to compare them.
struct Case {
  std::string trigger;
  scan::Rule rule;
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::vector<std::int64_t> probes;  // instants from which to ask for the next time in one jump
  std::int64_t created_at = 0;
};

struct EngineSide {
  carillon::Zone zone;

  carillon::Timetable timetable(const Case& about, scan::Policy policy) const {
    carillon::Trigger trigger = value_of(carillon::parse_trigger_text(about.trigger), about.trigger);
    if (auto* rrule = std::get_if<carillon::RruleTrigger>(&trigger)) {
      rrule->start = carillon::LocalSeconds(std::chrono::seconds(about.rule.start_local.value()));
    }
    carillon::Timetable::Options options;
    options.zone = zone;
    options.dst = engine_policy(policy);
    options.created_at = instant(about.created_at);
    return value_of(carillon::Timetable::make(trigger, options), about.trigger + " in " + zone.name());
  }
};

EngineSide engine_in(const std::string& zone) { return {value_of(carillon::Zone::load(zone), zone)}; }

// A time that is not on a full second would be cut into a right one: it is shown as one second earlier instead.
std::int64_t unix_seconds(carillon::Instant at) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(at);
  return seconds.time_since_epoch().count() - (at == seconds ? 0 : 1);
}

// The engine's times in [from, to), one `next` after the other, but not more than `most`.
std::vector<std::int64_t> engine_times(const carillon::Timetable& timetable, const Case& about, std::size_t most) {
  std::vector<std::int64_t> times;
  carillon::Instant after = just_before(about.from);
  while (times.size() < most) {
    const auto occurrence = timetable.next(after);
    if (!occurrence || occurrence->at >= instant(about.to)) break;
    times.push_back(unix_seconds(occurrence->at));
    after = occurrence->at;
  }
  return times;
}

// --- comparison ----------------------------------------------------------------------------------------------

struct Tally {
  std::size_t zones = 0;
  std::size_t changes = 0;
  std::size_t rules = 0;  // each under each of its policies
  std::size_t occurrences = 0;
  std::size_t jumps = 0;
  std::size_t mismatches = 0;
  std::vector<std::string> examples;

  void mismatch(const std::string& text) {
    constexpr std::size_t kExamplesMax = 25;
    ++mismatches;
    if (examples.size() < kExamplesMax) examples.push_back(text);
  }
};

std::string title_of(const Case& about, const carillon::Zone& zone, scan::Policy policy) {
  std::string title = zone.name() + " " + about.trigger;
  if (about.rule.start_local) title += " start " + iso(*about.rule.start_local);
  return title + " " + name_of(policy.gap) + "/" + name_of(policy.overlap);
}

// Where two lists part, with one time of context.
std::string difference(const std::vector<std::int64_t>& expected, const std::vector<std::int64_t>& actual) {
  const auto parting = std::mismatch(expected.begin(), expected.end(), actual.begin(), actual.end());
  const auto some_from = [](auto begin, auto at, auto end) {
    const auto shown_from = at == begin ? at : at - 1;
    return iso_list({shown_from, shown_from + std::min<std::ptrdiff_t>(4, end - shown_from)});
  };
  return "\n    scan:   " + some_from(expected.begin(), parting.first, expected.end()) +
         "\n    engine: " + some_from(actual.begin(), parting.second, actual.end());
}

// `next` from a point inside the span must find what walking up to it finds.
void compare_jumps(const Case& about, const carillon::Timetable& timetable, const std::vector<std::int64_t>& expected,
                   const std::string& title, Tally& tally) {
  for (const std::int64_t probe : about.probes) {
    ++tally.jumps;
    const auto wanted = std::upper_bound(expected.begin(), expected.end(), probe);
    const auto found = timetable.next(instant(probe));
    const bool is_inside = found && found->at < instant(about.to);
    const bool agrees = wanted == expected.end() ? !is_inside : is_inside && unix_seconds(found->at) == *wanted;
    if (!agrees) {
      tally.mismatch(title + "\n    next after " + iso(probe) + "Z" +
                     "\n    scan:   " + (wanted == expected.end() ? "nothing" : iso(*wanted) + "Z") +
                     "\n    engine: " + (found ? iso(unix_seconds(found->at)) + "Z" : "nothing"));
    }
  }
}

// `newest` and `count` answer for the whole span at once.
void compare_whole(const Case& about, const carillon::Timetable& timetable, const std::vector<std::int64_t>& expected,
                   const std::string& title, Tally& tally) {
  const auto newest = timetable.newest(just_before(about.from), just_before(about.to));
  const bool newest_agrees = expected.empty() ? !newest : newest && unix_seconds(newest->at) == expected.back();
  if (!newest_agrees) {
    tally.mismatch(title + " newest\n    scan:   " + (expected.empty() ? "nothing" : iso(expected.back()) + "Z") +
                   "\n    engine: " + (newest ? iso(unix_seconds(newest->at)) + "Z" : "nothing"));
  }
  const auto count = timetable.count(just_before(about.from), just_before(about.to));
  if (count && *count != expected.size()) {
    tally.mismatch(title + fmt::format(" count: scan {}, engine {}", expected.size(), *count));
  }
}

struct PolicyPair {
  scan::Policy scan;
  scan::Policy engine;
};

void compare(const Case& about, const std::vector<std::int64_t>& expected, const EngineSide& engine, PolicyPair policy,
             Tally& tally) {
  const carillon::Timetable timetable = engine.timetable(about, policy.engine);
  const std::vector<std::int64_t> actual = engine_times(timetable, about, expected.size() + 10);
  const std::string title = title_of(about, engine.zone, policy.scan);

  ++tally.rules;
  tally.occurrences += expected.size();
  if (actual != expected) tally.mismatch(title + difference(expected, actual));
  compare_jumps(about, timetable, expected, title, tally);
  compare_whole(about, timetable, expected, title, tally);
}

// A rule that names no wall-clock time must not care for the policy; the diagonal of the nine shows it.
bool is_worth_comparing(const scan::Rule& rule, std::size_t policy_index) {
  return rule.kind == scan::RuleKind::wall || policy_index % 4 == 0;
}

void compare_under_all_policies(const Case& about, const scan::Walk& walk, const EngineSide& engine, Tally& tally) {
  const scan::Matches matches = walk.matches(about.rule);
  for (std::size_t i = 0; i < kPolicies.size(); ++i) {
    if (!is_worth_comparing(about.rule, i)) continue;
    const scan::Policy policy = kPolicies.at(i);
    compare(about, walk.fire_times(about.rule, matches, policy), engine, {.scan = policy, .engine = policy}, tally);
  }
}

// --- rules around a change -----------------------------------------------------------------------------------

// The local minutes that a change skips or repeats.
struct Affected {
  std::int64_t first = 0;
  std::int64_t middle = 0;
  std::int64_t last = 0;
};

Affected affected_by(const scan::OffsetChange& change) {
  const std::int64_t first = change.at + std::min(change.before, change.after);
  const std::int64_t last = std::max(first, change.at + std::max(change.before, change.after) - kMinute);
  return {.first = first, .middle = first + (last - first) / 2 / kMinute * kMinute, .last = last};
}

std::bitset<60> every_nth_minute(std::size_t n) {
  std::bitset<60> minutes;
  for (std::size_t minute = 0; minute < 60; minute += n) minutes.set(minute);
  return minutes;
}

std::bitset<24> every_nth_hour(std::size_t n) {
  std::bitset<24> hours;
  for (std::size_t hour = 0; hour < 24; hour += n) hours.set(hour);
  return hours;
}

// The hours of the affected minutes and one more on either side.
std::vector<int> hours_around(const Affected& affected) {
  std::vector<int> hours;
  const std::int64_t end = affected.last + 2 * kHour;
  for (std::int64_t local = affected.first - kHour; local < end && hours.size() < 23; local += kHour) {
    const int hour = scan::time_of(local).hour;
    if (std::find(hours.begin(), hours.end(), hour) == hours.end()) hours.push_back(hour);
  }
  std::sort(hours.begin(), hours.end());
  return hours;
}

std::string joined(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

std::bitset<24> hour_set(const std::vector<int>& hours) {
  std::bitset<24> set;
  for (const int hour : hours) set.set(static_cast<std::size_t>(hour));
  return set;
}

std::int64_t monday_before(std::int64_t local) {
  const std::int64_t midnight = scan::local_time(scan::date_of(local), {});
  return midnight - scan::weekday_of(local) * kDay;
}

int cron_weekday(std::int64_t local) { return (scan::weekday_of(local) + 1) % 7; }

const char* rrule_weekday(std::int64_t local) {
  constexpr std::array<const char*, 7> kNames = {"MO", "TU", "WE", "TH", "FR", "SA", "SU"};
  return kNames[static_cast<std::size_t>(scan::weekday_of(local))];
}

const char* short_weekday(std::int64_t local) {
  constexpr std::array<const char*, 7> kNames = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
  return kNames[static_cast<std::size_t>(scan::weekday_of(local))];
}

scan::Rule started(scan::Rule rule, std::int64_t start_local) {
  rule.start_local = start_local;
  return rule;
}

// Cases that share one walk.
struct CaseList {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::vector<std::int64_t> probes;
  std::vector<Case> cases;

  void add(std::string trigger, scan::Rule rule) {
    cases.push_back({.trigger = std::move(trigger),
                     .rule = std::move(rule),
                     .from = from,
                     .to = to,
                     .probes = probes,
                     .created_at = from - 60 * kDay});
  }
};

CaseList span_around(const scan::OffsetChange& change, std::int64_t either_side) {
  const std::int64_t length = std::abs(change.after - change.before);
  CaseList list = {.from = change.at - either_side, .to = change.at + length + either_side, .probes = {}, .cases = {}};
  for (const std::int64_t probe : {change.at - length / 2, change.at - 1, change.at, change.at + length / 2}) {
    if (probe >= list.from) list.probes.push_back(probe);
  }
  return list;
}

void add_daily_cases(CaseList& list, const Affected& affected) {
  for (const std::int64_t local :
       {affected.first - kMinute, affected.first, affected.middle, affected.last, affected.last + kMinute}) {
    const scan::TimeOfDay at = scan::time_of(local);
    list.add(fmt::format("cron:{} {} * * *", at.minute, at.hour), scan::daily(at));
  }
  const scan::TimeOfDay at = scan::time_of(affected.middle);
  list.add(fmt::format("daily:{:02}:{:02}", at.hour, at.minute), scan::daily(at));
  const std::vector<int> hours = hours_around(affected);
  list.add("cron:*/10 " + joined(hours) + " * * *", scan::at_fields(hour_set(hours), every_nth_minute(10)));
  if (hours.back() - hours.front() + 1 == static_cast<int>(hours.size())) {
    list.add(fmt::format("cron:7-59/13 {}-{} * * *", hours.front(), hours.back()),
             scan::at_fields(hour_set(hours), std::bitset<60>().set(7).set(20).set(33).set(46).set(59)));
  }
}

void add_open_hour_cases(CaseList& list, const scan::Walk& walk) {
  const std::bitset<24> all_hours = every_nth_hour(1);
  list.add("cron:15 * * * *", scan::every_match(all_hours, std::bitset<60>().set(15)));
  list.add("cron:30 * * * *", scan::every_match(all_hours, std::bitset<60>().set(30)));
  list.add("cron:0 */2 * * *", scan::every_match(every_nth_hour(2), std::bitset<60>().set(0)));
  list.add("cron:*/20 */3 * * *", scan::every_match(every_nth_hour(3), every_nth_minute(20)));
  list.add("every:7h", scan::every_n_hours(7, list.from - 60 * kDay));

  const std::int64_t start = list.from + kHour;
  const std::int64_t start_local = walk.local_at(start);
  if (walk.at_local(start_local).passes == 1) {
    list.add("rrule:FREQ=HOURLY;INTERVAL=5", started(scan::every_n_hours(5, start), start_local));
  }
}

// Started half a year before, mostly under the other offset: the phase is one of absolute time.
void add_long_running_hours(CaseList& list, const scan::ZoneOffsets& zone) {
  const std::int64_t start = list.from - 190 * kDay;
  const scan::Walk then(zone, start, start + kMinute);
  const std::int64_t start_local = then.local_at(start);
  if (then.at_local(start_local).passes == 1) {
    list.add("rrule:FREQ=HOURLY;INTERVAL=5", started(scan::every_n_hours(5, start), start_local));
  }
}

void add_minute_cases(CaseList& list, const Affected& affected) {
  list.add("cron:* * * * *", scan::every_match(every_nth_hour(1), every_nth_minute(1)));
  list.add("cron:*/7 * * * *", scan::every_match(every_nth_hour(1), every_nth_minute(7)));
  const int hour = scan::time_of(affected.middle).hour;
  list.add(fmt::format("cron:* {} * * *", hour), scan::at_fields(hour_set({hour}), every_nth_minute(1)));
}

void add_calendar_cases(CaseList& list, const Affected& affected) {
  const std::int64_t middle = affected.middle;
  const scan::TimeOfDay at = scan::time_of(middle);
  const int month_day = scan::date_of(middle).day;
  const auto weekday = std::bitset<7>().set(static_cast<std::size_t>(scan::weekday_of(middle)));

  list.add(fmt::format("cron:{} {} * * {}", at.minute, at.hour, cron_weekday(middle)), scan::weekly(weekday, at));
  list.add(fmt::format("weekly:{}@{:02}:{:02}", short_weekday(middle), at.hour, at.minute), scan::weekly(weekday, at));
  list.add(fmt::format("cron:{} {} {} * *", at.minute, at.hour, month_day), scan::monthly(month_day, at));

  const std::int64_t six_weeks_before = middle - 42 * kDay;
  const scan::Rule biweekly =
      scan::every_other_week(scan::weekday_of(middle), scan::date_of(monday_before(six_weeks_before)), at);
  list.add("rrule:FREQ=WEEKLY;INTERVAL=2", started(biweekly, six_weeks_before));
  list.add(fmt::format("rrule:FREQ=WEEKLY;INTERVAL=2;BYDAY={}", rrule_weekday(middle)),
           started(biweekly, six_weeks_before));

  const std::int64_t first_of_month = scan::local_time({scan::date_of(middle).year - 1, 12, month_day}, at);
  list.add(fmt::format("rrule:FREQ=MONTHLY;BYMONTHDAY={}", month_day),
           started(scan::monthly(month_day, at), first_of_month));
}

// Rules that end on the affected minute, just before it and just after it.
void add_ending_cases(CaseList& list, const scan::OffsetChange& change, const Affected& affected) {
  const std::int64_t middle = affected.middle;
  const scan::Rule daily = started(scan::daily(scan::time_of(middle)), middle - 2 * kDay);

  for (const std::int64_t until : {change.at, middle - change.before, middle - change.before - 1, middle - change.after,
                                   middle - change.after - 1}) {
    scan::Rule rule = daily;
    rule.until = until;
    list.add("rrule:FREQ=DAILY;UNTIL=" + basic_iso(until) + "Z", rule);
  }
  for (const std::int64_t until_local : {middle, middle - 1}) {
    scan::Rule rule = daily;
    rule.until_local = until_local;
    list.add("rrule:FREQ=DAILY;UNTIL=" + basic_iso(until_local), rule);
  }
  for (const std::size_t count : {2U, 3U, 4U}) {
    scan::Rule rule = daily;
    rule.count = count;
    list.add(fmt::format("rrule:FREQ=DAILY;COUNT={}", count), rule);
  }
  scan::Rule from_the_middle = started(daily, middle);
  from_the_middle.count = 3;
  list.add("rrule:FREQ=DAILY;COUNT=3", from_the_middle);
}

// Rules of several times a day that end somewhere in the affected hours, where the order of the firings is not the
// order of the local times.
void add_ending_lists(CaseList& list, const Affected& affected) {
  const std::vector<int> hours = hours_around(affected);
  const scan::Rule rule = scan::at_fields(hour_set(hours), every_nth_minute(30));
  const scan::Date day_before = scan::date_of(affected.first - kDay);
  const std::int64_t start = scan::local_time(day_before, {.hour = hours.front(), .minute = 0});
  for (std::size_t extra = 1; extra <= 5; ++extra) {
    scan::Rule ending = started(rule, start);
    ending.count = 2 * hours.size() + extra;
    list.add(fmt::format("rrule:FREQ=DAILY;BYHOUR={};BYMINUTE=0,30;COUNT={}", joined(hours), *ending.count), ending);
  }
}

std::vector<CaseList> cases_around(const scan::ZoneOffsets& zone, const scan::OffsetChange& change) {
  const Affected affected = affected_by(change);

  CaseList near = span_around(change, kNear);
  add_daily_cases(near, affected);
  add_open_hour_cases(near, scan::Walk(zone, near.from, near.to));
  add_long_running_hours(near, zone);
  add_ending_cases(near, change, affected);
  add_ending_lists(near, affected);

  CaseList narrow = span_around(change, kNarrow);
  add_minute_cases(narrow, affected);

  CaseList wide = span_around(change, kWide);
  add_calendar_cases(wide, affected);
  return {near, narrow, wide};
}

void compare_around(const scan::ZoneOffsets& zone, const scan::OffsetChange& change, const EngineSide& engine,
                    Tally& tally) {
  for (const CaseList& list : cases_around(zone, change)) {
    const scan::Walk walk(zone, list.from, list.to);
    for (const Case& about : list.cases) compare_under_all_policies(about, walk, engine, tally);
  }
}

// --- all zones -----------------------------------------------------------------------------------------------

bool is_full_run() {
  const char* value = std::getenv("CARILLON_FULL");
  return value != nullptr && std::string_view(value) == "1";
}

bool is_named(std::string_view zone) {
  return std::find(kNamedZones.begin(), kNamedZones.end(), zone) != kNamedZones.end();
}

struct Sample {
  std::vector<std::string> zones;
  bool is_full = false;

  static Sample of_database() {
    Sample sample{.zones = {}, .is_full = is_full_run()};
    std::size_t position = 0;
    for (const std::string& name : scan::all_zone_names()) {
      if (sample.is_full || is_named(name) || position % 7 == 0) sample.zones.push_back(name);
      if (!is_named(name)) ++position;
    }
    return sample;
  }

  bool includes_change(const std::string& zone, std::size_t position) const {
    return is_full || is_named(zone) || position % 3 == 0;
  }
};

// A zone whose clock never changes is still asked once: its offset could be wrong.
std::vector<scan::OffsetChange> spots_to_compare(const scan::ZoneOffsets& zone, const Sample& sample) {
  const std::int64_t first = utc("2020-01-01 00:00");
  const std::int64_t end = utc("2038-01-01 00:00");
  std::vector<scan::OffsetChange> spots;
  std::size_t position = 0;
  for (const scan::OffsetChange& change : zone.changes) {
    if (change.at < first || change.at >= end) continue;
    if (sample.includes_change(zone.name, position++)) spots.push_back(change);
  }
  if (zone.changes.empty()) spots.push_back({utc("2026-07-01 00:00"), zone.first_offset, zone.first_offset});
  return spots;
}

std::string clock_of(const scan::ZoneOffsets& zone) {
  std::string text = std::to_string(zone.first_offset);
  for (const scan::OffsetChange& change : zone.changes) {
    text += "," + std::to_string(change.at) + ":" + std::to_string(change.after);
  }
  return text;
}

TEST(DstScan, EveryZoneAgreesAroundEachOfItsChanges) {
  const Sample sample = Sample::of_database();
  ASSERT_GT(sample.zones.size(), kNamedZones.size());

  Tally tally;
  std::set<std::string> clocks_seen;
  for (const std::string& name : sample.zones) {
    const scan::ZoneOffsets zone = scan::run_zdump(name);
    ++tally.zones;
    const bool is_new_clock = clocks_seen.insert(clock_of(zone)).second;
    if (!is_new_clock && !sample.is_full && !is_named(name)) continue;
    const EngineSide engine = engine_in(name);
    for (const scan::OffsetChange& spot : spots_to_compare(zone, sample)) {
      if (spot.before != spot.after) ++tally.changes;
      compare_around(zone, spot, engine, tally);
    }
  }

  std::printf("REPORT dst: zones %zu, transitions %zu, rules %zu, occurrences compared %zu, mismatches %zu\n",
              tally.zones, tally.changes, tally.rules, tally.occurrences, tally.mismatches);
  std::printf("REPORT dst: %s run, next asked from inside the span %zu times\n", sample.is_full ? "full" : "reduced",
              tally.jumps);
  for (const std::string& example : tally.examples) ADD_FAILURE() << example;
  EXPECT_GT(tally.occurrences, 0U);
  EXPECT_EQ(tally.mismatches, 0U);
}

// A comparison that cannot fail proves nothing.
TEST(DstScan, AWrongPolicyIsNoticed) {
  const scan::ZoneOffsets zone = scan::run_zdump("Europe/London");
  const EngineSide engine = engine_in("Europe/London");
  const scan::Policy right = {scan::Gap::shift, scan::Overlap::first};
  const auto mismatches_with = [&](scan::Policy wrong) {
    Tally tally;
    for (const scan::OffsetChange& change : spots_to_compare(zone, {.zones = {}, .is_full = true})) {
      CaseList list = span_around(change, kNear);
      add_daily_cases(list, affected_by(change));
      const scan::Walk walk(zone, list.from, list.to);
      for (const Case& about : list.cases) {
        compare(about, walk.fire_times(about.rule, right), engine, {.scan = right, .engine = wrong}, tally);
      }
    }
    return tally.mismatches;
  };

  EXPECT_EQ(mismatches_with(right), 0U);
  EXPECT_GT(mismatches_with({scan::Gap::skip, scan::Overlap::first}), 0U);
  EXPECT_GT(mismatches_with({scan::Gap::next_valid, scan::Overlap::first}), 0U);
  EXPECT_GT(mismatches_with({scan::Gap::shift, scan::Overlap::second}), 0U);
  EXPECT_GT(mismatches_with({scan::Gap::shift, scan::Overlap::both}), 0U);
}

// A judge that misreads its offsets would agree with anything.
TEST(DstScan, TheJudgeRefusesWhatItCannotRead) {
  EXPECT_THROW(scan::run_zdump("Europe/Atlantis"), std::runtime_error);
  EXPECT_THROW(scan::run_zdump("UTC; echo"), std::runtime_error);
  EXPECT_THROW(scan::run_zdump("../zoneinfo/UTC"), std::runtime_error);
  EXPECT_THROW(scan::parse_zdump("Europe/London  Sun Mar 29 2026\n"), std::runtime_error);
  EXPECT_THROW(scan::parse_zdump("Z  Sun Mar 29 00:59:59 2026 UT = Sun Mar 29 00:59:59 2026 GMT isdst=0 gmtoff=3600\n"),
               std::runtime_error)
      << "the local time is not the offset's";
  EXPECT_THROW(scan::parse_zdump("Z  Sun Mar 29 00:59:59 2026 UT = Sun Mar 29 00:59:59 2026 GMT isdst=0 gmtoff=0\n"
                                 "Z  Sun Oct 25 00:59:59 2026 UT = Sun Oct 25 01:59:59 2026 BST isdst=1 gmtoff=3600\n"),
               std::runtime_error)
      << "a change is missing";
}

TEST(DstScan, TheJudgeReadsChangesAndFixedOffsets) {
  const scan::ZoneOffsets london = scan::run_zdump("Europe/London", {.first = 2026, .end = 2027});
  const std::vector<scan::OffsetChange> changes = {
      {.at = utc("2026-03-29 01:00"), .before = 0, .after = kHour},
      {.at = utc("2026-10-25 01:00"), .before = kHour, .after = 0},
  };
  EXPECT_EQ(london.changes, changes);
  EXPECT_EQ(scan::run_zdump("Asia/Kolkata").first_offset, 5 * kHour + 30 * kMinute);
  EXPECT_EQ(scan::run_zdump("Etc/GMT+5").first_offset, -5 * kHour);
}

// --- worked by hand ------------------------------------------------------------------------------------------

constexpr scan::Policy kShiftFirst = {scan::Gap::shift, scan::Overlap::first};
constexpr scan::Policy kSkipSecond = {scan::Gap::skip, scan::Overlap::second};
constexpr scan::Policy kNextValidBoth = {scan::Gap::next_valid, scan::Overlap::both};

struct Worked {
  const char* zone;
  std::string trigger;
  scan::Rule rule;
  const char* from;  // UTC
  const char* to;
  scan::YearRange years = {};
};

// Both sides must give the times worked out by hand: the judge is judged here as well.
void expect_times(const Worked& worked, scan::Policy policy, std::initializer_list<const char*> expected) {
  SCOPED_TRACE(worked.trigger + " in " + worked.zone + " " + name_of(policy.gap) + "/" + name_of(policy.overlap));
  const std::string by_hand = iso_list(utc_list(expected));
  const std::int64_t from = utc(worked.from);
  const std::int64_t to = utc(worked.to);
  const Case about = {.trigger = worked.trigger,
                      .rule = worked.rule,
                      .from = from,
                      .to = to,
                      .probes = {},
                      .created_at = from - 60 * kDay};

  EXPECT_EQ(iso_list(scan::fire_times(scan::run_zdump(worked.zone, worked.years), worked.rule, policy, from, to)),
            by_hand)
      << "by the scan";
  EXPECT_EQ(iso_list(engine_times(engine_in(worked.zone).timetable(about, policy), about, 100)), by_hand)
      << "by the engine";
}

TEST(DstWorked, LondonSkipsHalfPastOneInMarchAndRepeatsItInOctober) {
  const Worked march = {"Europe/London", "daily:01:30", scan::daily({1, 30}), "2026-03-28 00:00", "2026-03-31 00:00"};
  expect_times(march, kShiftFirst, {"2026-03-28 01:30", "2026-03-29 01:30", "2026-03-30 00:30"});
  expect_times(march, kSkipSecond, {"2026-03-28 01:30", "2026-03-30 00:30"});
  expect_times(march, kNextValidBoth, {"2026-03-28 01:30", "2026-03-29 01:00", "2026-03-30 00:30"});

  const Worked october = {"Europe/London", "daily:01:30", scan::daily({1, 30}), "2026-10-24 00:00", "2026-10-26 00:00"};
  expect_times(october, kShiftFirst, {"2026-10-24 00:30", "2026-10-25 00:30"});
  expect_times(october, kSkipSecond, {"2026-10-24 00:30", "2026-10-25 01:30"});
  expect_times(october, kNextValidBoth, {"2026-10-24 00:30", "2026-10-25 00:30", "2026-10-25 01:30"});
}

TEST(DstWorked, NewYorkMovesAnHoursListOntoTheHourAfterTheGap) {
  const scan::Rule rule = scan::at_fields(hour_set({2, 3}), every_nth_minute(30));
  const Worked march = {"America/New_York", "cron:*/30 2,3 * * *", rule, "2026-03-08 00:00", "2026-03-09 00:00"};
  // 02:00 and 02:30 land on 03:00 and 03:30, which the rule names as well: one firing each.
  expect_times(march, kShiftFirst, {"2026-03-08 07:00", "2026-03-08 07:30"});
  expect_times(march, kSkipSecond, {"2026-03-08 07:00", "2026-03-08 07:30"});

  const Worked every_minute_of_two = {"America/New_York", "cron:*/20 2 * * *",
                                      scan::at_fields(hour_set({2}), every_nth_minute(20)), "2026-03-08 00:00",
                                      "2026-03-09 00:00"};
  expect_times(every_minute_of_two, kShiftFirst, {"2026-03-08 07:00", "2026-03-08 07:20", "2026-03-08 07:40"});
  expect_times(every_minute_of_two, kNextValidBoth, {"2026-03-08 07:00"});
}

TEST(DstWorked, NewYorkHourlyKeepsBeatThroughBothChanges) {
  const scan::Rule rule = scan::every_match(every_nth_hour(1), std::bitset<60>().set(15));
  const Worked march = {"America/New_York", "cron:15 * * * *", rule, "2026-03-08 05:30", "2026-03-08 09:00"};
  expect_times(march, kSkipSecond, {"2026-03-08 06:15", "2026-03-08 07:15", "2026-03-08 08:15"});
  const Worked november = {"America/New_York", "cron:15 * * * *", rule, "2026-11-01 05:00", "2026-11-01 08:00"};
  expect_times(november, kShiftFirst, {"2026-11-01 05:15", "2026-11-01 06:15", "2026-11-01 07:15"});
}

TEST(DstWorked, SantiagoHasNoMidnightInSeptember) {
  const Worked midnight = {"America/Santiago", "daily:00:00", scan::daily({0, 0}), "2026-09-05 00:00",
                           "2026-09-08 00:00"};
  expect_times(midnight, kShiftFirst, {"2026-09-05 04:00", "2026-09-06 04:00", "2026-09-07 03:00"});
  expect_times(midnight, kSkipSecond, {"2026-09-05 04:00", "2026-09-07 03:00"});
  const Worked half_past = {"America/Santiago", "daily:00:30", scan::daily({0, 30}), "2026-09-05 12:00",
                            "2026-09-07 00:00"};
  expect_times(half_past, kShiftFirst, {"2026-09-06 04:30"});
  expect_times(half_past, kNextValidBoth, {"2026-09-06 04:00"});
  // The hour before midnight comes twice in April; the second pass lies on the same Saturday.
  const Worked april = {"America/Santiago", "cron:30 23 * * 6", scan::weekly(std::bitset<7>().set(5), {23, 30}),
                        "2026-04-01 00:00", "2026-04-08 00:00"};
  expect_times(april, kShiftFirst, {"2026-04-05 02:30"});
  expect_times(april, kSkipSecond, {"2026-04-05 03:30"});
  expect_times(april, kNextValidBoth, {"2026-04-05 02:30", "2026-04-05 03:30"});
}

TEST(DstWorked, LordHoweChangesByHalfAnHour) {
  const Worked october = {"Australia/Lord_Howe", "daily:02:15", scan::daily({2, 15}), "2026-10-03 00:00",
                          "2026-10-04 12:00"};
  expect_times(october, kShiftFirst, {"2026-10-03 15:45"});
  expect_times(october, kSkipSecond, {});
  expect_times(october, kNextValidBoth, {"2026-10-03 15:30"});

  const Worked april = {"Australia/Lord_Howe", "daily:01:45", scan::daily({1, 45}), "2026-04-04 00:00",
                        "2026-04-05 00:00"};
  expect_times(april, kNextValidBoth, {"2026-04-04 14:45", "2026-04-04 15:15"});
}

TEST(DstWorked, LordHoweHalfPastComesAfterHalfAnHourButAnHourlyRruleStepsByHours) {
  const scan::Rule half_past = scan::every_match(every_nth_hour(1), std::bitset<60>().set(30));
  const Worked by_field = {"Australia/Lord_Howe", "cron:30 * * * *", half_past, "2026-04-04 13:00", "2026-04-04 17:30"};
  expect_times(by_field, kShiftFirst,
               {"2026-04-04 13:30", "2026-04-04 14:30", "2026-04-04 15:00", "2026-04-04 16:00", "2026-04-04 17:00"});

  const scan::Rule hourly = started(scan::every_n_hours(1, utc("2026-04-04 13:30")), utc("2026-04-05 00:30"));
  const Worked by_step = {"Australia/Lord_Howe", "rrule:FREQ=HOURLY", hourly, "2026-04-04 13:00", "2026-04-04 17:00"};
  expect_times(by_step, kShiftFirst, {"2026-04-04 13:30", "2026-04-04 14:30", "2026-04-04 15:30", "2026-04-04 16:30"});
}

TEST(DstWorked, ChathamChangesAtAQuarterToThree) {
  const Worked september = {"Pacific/Chatham", "daily:03:00", scan::daily({3, 0}), "2026-09-25 20:00",
                            "2026-09-27 20:00"};
  expect_times(september, kShiftFirst, {"2026-09-26 14:15", "2026-09-27 13:15"});
  expect_times(september, kNextValidBoth, {"2026-09-26 14:00", "2026-09-27 13:15"});
  const Worked april = {"Pacific/Chatham", "daily:03:00", scan::daily({3, 0}), "2026-04-04 00:00", "2026-04-05 00:00"};
  expect_times(april, kShiftFirst, {"2026-04-04 13:15"});
  expect_times(april, kSkipSecond, {"2026-04-04 14:15"});
}

TEST(DstWorked, TrollChangesByTwoHours) {
  const Worked march = {"Antarctica/Troll", "daily:02:30", scan::daily({2, 30}), "2026-03-29 00:00",
                        "2026-03-30 00:00"};
  expect_times(march, kShiftFirst, {"2026-03-29 02:30"});
  expect_times(march, kNextValidBoth, {"2026-03-29 01:00"});
  const Worked october = {"Antarctica/Troll", "daily:01:30", scan::daily({1, 30}), "2026-10-24 12:00",
                          "2026-10-25 12:00"};
  expect_times(october, kNextValidBoth, {"2026-10-24 23:30", "2026-10-25 01:30"});
}

TEST(DstWorked, CairoLosesAndRepeatsTheHourAroundMidnight) {
  const Worked april = {"Africa/Cairo", "daily:00:00", scan::daily({0, 0}), "2026-04-23 12:00", "2026-04-25 12:00"};
  expect_times(april, kShiftFirst, {"2026-04-23 22:00", "2026-04-24 21:00"});
  expect_times(april, kSkipSecond, {"2026-04-24 21:00"});
  const Worked october = {"Africa/Cairo", "weekly:thu@23:30", scan::weekly(std::bitset<7>().set(3), {23, 30}),
                          "2026-10-29 00:00", "2026-10-31 00:00"};
  expect_times(october, kNextValidBoth, {"2026-10-29 20:30", "2026-10-29 21:30"});
}

TEST(DstWorked, CasablancaGoesBackForRamadanAndForwardAfterIt) {
  const Worked february = {"Africa/Casablanca", "daily:02:30", scan::daily({2, 30}), "2026-02-14 12:00",
                           "2026-02-16 12:00"};
  expect_times(february, kShiftFirst, {"2026-02-15 01:30", "2026-02-16 02:30"});
  expect_times(february, kNextValidBoth, {"2026-02-15 01:30", "2026-02-15 02:30", "2026-02-16 02:30"});
  const Worked march = {"Africa/Casablanca", "daily:02:30", scan::daily({2, 30}), "2026-03-21 12:00",
                        "2026-03-23 12:00"};
  expect_times(march, kShiftFirst, {"2026-03-22 02:30", "2026-03-23 01:30"});
  expect_times(march, kSkipSecond, {"2026-03-23 01:30"});
}

TEST(DstWorked, DublinsNegativeSavingIsAGapInMarchLikeAnyOther) {
  const Worked march = {"Europe/Dublin", "daily:01:30", scan::daily({1, 30}), "2026-03-29 00:00", "2026-03-30 00:00"};
  expect_times(march, kShiftFirst, {"2026-03-29 01:30"});
  expect_times(march, kSkipSecond, {});
  const Worked october = {"Europe/Dublin", "daily:01:30", scan::daily({1, 30}), "2026-10-25 00:00", "2026-10-26 00:00"};
  expect_times(october, kNextValidBoth, {"2026-10-25 00:30", "2026-10-25 01:30"});
}

TEST(DstWorked, ApiaHadNoThirtiethOfDecember2011) {
  constexpr scan::YearRange kThen = {.first = 2011, .end = 2013};
  const Worked daily = {"Pacific/Apia",     "daily:09:00",      scan::daily({9, 0}),
                        "2011-12-29 00:00", "2012-01-01 00:00", kThen};
  // Shifted by the day that was lost, the 30th falls on the 31st: one firing.
  expect_times(daily, kShiftFirst, {"2011-12-29 19:00", "2011-12-30 19:00", "2011-12-31 19:00"});
  expect_times(daily, kSkipSecond, {"2011-12-29 19:00", "2011-12-30 19:00", "2011-12-31 19:00"});
  expect_times(daily, kNextValidBoth, {"2011-12-29 19:00", "2011-12-30 10:00", "2011-12-30 19:00", "2011-12-31 19:00"});

  const Worked fridays = {"Pacific/Apia",     "weekly:fri@09:00", scan::weekly(std::bitset<7>().set(4), {9, 0}),
                          "2011-12-24 00:00", "2012-01-07 00:00", kThen};
  expect_times(fridays, kShiftFirst, {"2011-12-30 19:00", "2012-01-05 19:00"});
  expect_times(fridays, kSkipSecond, {"2012-01-05 19:00"});
  expect_times(fridays, kNextValidBoth, {"2011-12-30 10:00", "2012-01-05 19:00"});
}

TEST(DstWorked, ApiaAgreesUnderAllRulesAroundTheLostDay) {
  const scan::ZoneOffsets apia = scan::run_zdump("Pacific/Apia", {.first = 2010, .end = 2014});
  const EngineSide engine = engine_in("Pacific/Apia");
  Tally tally;
  for (const scan::OffsetChange& change : apia.changes) {
    if (change.at < utc("2011-01-01 00:00") || change.at >= utc("2013-01-01 00:00")) continue;
    ++tally.changes;
    compare_around(apia, change, engine, tally);
  }
  for (const std::string& example : tally.examples) ADD_FAILURE() << example;
  EXPECT_EQ(tally.changes, 5U);
  EXPECT_EQ(tally.mismatches, 0U);
}

TEST(DstWorked, ABiweeklyRruleKeepsItsWeeksOverAGapAndAnOverlap) {
  const std::int64_t start = utc("2026-03-01 01:30");  // a Sunday, four weeks before the gap
  const scan::Rule rule = started(scan::every_other_week(6, {2026, 2, 23}, {1, 30}), start);
  const Worked march = {"Europe/London", "rrule:FREQ=WEEKLY;INTERVAL=2", rule, "2026-03-01 00:00", "2026-04-30 00:00"};
  expect_times(march, kShiftFirst,
               {"2026-03-01 01:30", "2026-03-15 01:30", "2026-03-29 01:30", "2026-04-12 00:30", "2026-04-26 00:30"});
  expect_times(march, kSkipSecond, {"2026-03-01 01:30", "2026-03-15 01:30", "2026-04-12 00:30", "2026-04-26 00:30"});
}

TEST(DstWorked, UntilIsTheLastInstantThatMayFire) {
  scan::Rule rule = started(scan::daily({1, 30}), utc("2026-10-24 01:30"));
  rule.until = utc("2026-10-25 01:00");  // between the two passes of 01:30
  const Worked october = {"Europe/London", "rrule:FREQ=DAILY;UNTIL=20261025T010000Z", rule, "2026-10-24 00:00",
                          "2026-10-27 00:00"};
  expect_times(october, kShiftFirst, {"2026-10-24 00:30", "2026-10-25 00:30"});
  expect_times(october, kSkipSecond, {"2026-10-24 00:30"});
  expect_times(october, kNextValidBoth, {"2026-10-24 00:30", "2026-10-25 00:30"});
}

TEST(DstWorked, CountTakesEachFiringAndASkippedTimeNotAtAll) {
  const auto london = [](std::size_t count, const char* start, const char* end) {
    scan::Rule rule = started(scan::daily({1, 30}), utc(start) + kHour + 30 * kMinute);
    rule.count = count;
    return Worked{"Europe/London", fmt::format("rrule:FREQ=DAILY;COUNT={}", count), rule, start, end};
  };
  const Worked october_two = london(2, "2026-10-24 00:00", "2026-10-28 00:00");
  expect_times(october_two, kSkipSecond, {"2026-10-24 00:30", "2026-10-25 01:30"});
  expect_times(october_two, kNextValidBoth, {"2026-10-24 00:30", "2026-10-25 00:30"});
  const Worked october_three = london(3, "2026-10-24 00:00", "2026-10-28 00:00");
  expect_times(october_three, kNextValidBoth, {"2026-10-24 00:30", "2026-10-25 00:30", "2026-10-25 01:30"});

  const Worked march = london(2, "2026-03-28 00:00", "2026-04-01 00:00");
  expect_times(march, kShiftFirst, {"2026-03-28 01:30", "2026-03-29 01:30"});
  expect_times(march, kSkipSecond, {"2026-03-28 01:30", "2026-03-30 00:30"});
}

TEST(DstWorked, ACountedRuleMayStartInsideAGap) {
  scan::Rule rule = started(scan::daily({1, 30}), utc("2026-03-29 01:30"));
  rule.count = 2;
  const Worked march = {"Europe/London", "rrule:FREQ=DAILY;COUNT=2", rule, "2026-03-28 00:00", "2026-04-02 00:00"};
  expect_times(march, kShiftFirst, {"2026-03-29 01:30", "2026-03-30 00:30"});
  expect_times(march, kSkipSecond, {"2026-03-30 00:30", "2026-03-31 00:30"});
  expect_times(march, kNextValidBoth, {"2026-03-29 01:00", "2026-03-30 00:30"});
}

TEST(DstWorked, TheSecondPassIsFoundThoughTheNextLocalTimeIsFarOrThereIsNone) {
  const scan::Rule sundays = scan::weekly(std::bitset<7>().set(6), {1, 30});
  const Worked weekly = {"Europe/London", "weekly:sun@01:30", sundays, "2026-10-25 00:00", "2026-10-26 00:00"};
  expect_times(weekly, kNextValidBoth, {"2026-10-25 00:30", "2026-10-25 01:30"});
  // Asked between the two passes, when the clock on the wall is past 01:30 for the first time.
  const Worked from_between = {"Europe/London", "weekly:sun@01:30", sundays, "2026-10-25 00:45", "2026-10-26 00:00"};
  expect_times(from_between, kSkipSecond, {"2026-10-25 01:30"});

  scan::Rule rule = started(scan::daily({1, 30}), utc("2026-10-25 01:30"));
  rule.until_local = utc("2026-10-25 01:30");
  const Worked ending = {"Europe/London", "rrule:FREQ=DAILY;UNTIL=20261025T013000", rule, "2026-10-25 00:00",
                         "2026-10-27 00:00"};
  expect_times(ending, kShiftFirst, {"2026-10-25 00:30"});
  expect_times(ending, kNextValidBoth, {"2026-10-25 00:30", "2026-10-25 01:30"});
}

}  // namespace
