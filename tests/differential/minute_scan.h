// The judge of daylight saving time: what a rule should do, decided by walking UTC minute by minute.
//
// It shares nothing with the engine. Offsets come from the system's `zdump`; the calendar is counted day by day
// from 1 January 1970; whether a local minute happens once, twice or never is seen in the walk and not derived
// from the offsets. It is slow and obvious on purpose: where it and the engine differ, it is meant to be right.
//
//   const ZoneOffsets london = run_zdump("Europe/London");
//   const auto fired = fire_times(london, daily({.hour = 1, .minute = 30}), {Gap::shift, Overlap::first}, from, to);
//
// Instants are Unix seconds. A local time is written as the Unix seconds of the same clock reading in UTC.
// What the world gets wrong (no zdump, text it did not write) is thrown as std::runtime_error: a judge that cannot
// read its offsets must stop the test, not pass it.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scan {

inline constexpr std::int64_t kMinute = 60;
inline constexpr std::int64_t kHour = 60 * kMinute;
inline constexpr std::int64_t kDay = 24 * kHour;

// --- offsets -------------------------------------------------------------------------------------------------

// From 1 January of `first` up to, but without, 1 January of `end`, in UTC.
struct YearRange {
  int first = 2019;
  int end = 2039;
};

struct OffsetChange {
  std::int64_t at = 0;      // the first second of the new offset
  std::int64_t before = 0;  // seconds east of UTC
  std::int64_t after = 0;   // never equal to `before`: a change of name alone is not a change of the clock

  bool operator==(const OffsetChange&) const = default;
};

struct ZoneOffsets {
  std::string name;
  YearRange years;                    // nothing is known outside of it
  std::int64_t first_offset = 0;      // in force when `years` begins
  std::vector<OffsetChange> changes;  // ascending
};

// Reads what `zdump -v -c FIRST,END ZONE` printed. `offset_if_fixed` is what holds if the text shows no change.
ZoneOffsets parse_zdump(std::string_view text, YearRange years = {}, std::int64_t offset_if_fixed = 0);

// Runs zdump for one zone of the database.
ZoneOffsets run_zdump(const std::string& zone, YearRange years = {});

// Every zone and link that tzdata.zi defines and that has a compiled file, sorted.
std::vector<std::string> all_zone_names();

// --- calendar ------------------------------------------------------------------------------------------------

struct Date {
  int year = 1970;
  int month = 1;
  int day = 1;

  bool operator==(const Date&) const = default;
};

struct TimeOfDay {
  int hour = 0;
  int minute = 0;
};

std::int64_t local_time(Date date, TimeOfDay time);
Date date_of(std::int64_t local);
TimeOfDay time_of(std::int64_t local);
int weekday_of(std::int64_t local);  // 0 = Monday

// --- rules ---------------------------------------------------------------------------------------------------

enum class RuleKind : std::uint8_t {
  wall,          // names local times; the policy says what becomes of those that happen never or twice
  every_match,   // fires at each instant whose local fields match, as cron with an open hour does
  every_n_hours  // fires at anchor + k hours · n, whatever the clocks on the wall do
};

struct Rule {
  RuleKind kind = RuleKind::wall;

  // Local fields, all of which must match.
  std::bitset<60> minutes;
  std::bitset<24> hours;
  std::bitset<7> weekdays = ~std::bitset<7>();      // 0 = Monday
  std::bitset<32> month_days = ~std::bitset<32>();  // bit 0 is not used
  int weeks = 1;                                    // every so many weeks, counted from the week of `anchor_monday`
  std::int64_t anchor_monday = 0;                   // local midnight of a Monday

  // For every_n_hours only.
  std::int64_t anchor = 0;
  int hours_apart = 0;

  // The edges. Local times outside of the first two are none of the rule's; the other two cut off instants.
  std::optional<std::int64_t> start_local;
  std::optional<std::int64_t> until_local;  // itself included, however the policy moves it
  std::optional<std::int64_t> until;        // itself included
  std::optional<std::size_t> count;         // of firings: two passes are two, a skipped time is none
};

Rule daily(TimeOfDay at);
Rule weekly(std::bitset<7> weekdays, TimeOfDay at);
Rule monthly(int month_day, TimeOfDay at);
Rule every_other_week(int weekday, Date anchor_monday, TimeOfDay at);
Rule at_fields(std::bitset<24> hours, std::bitset<60> minutes);    // wall: a list of hours was named
Rule every_match(std::bitset<24> hours, std::bitset<60> minutes);  // the hour was left open
Rule every_n_hours(int hours_apart, std::int64_t anchor);

enum class Gap : std::uint8_t { shift, skip, next_valid };
enum class Overlap : std::uint8_t { first, second, both };

struct Policy {
  Gap gap = Gap::shift;
  Overlap overlap = Overlap::first;
};

// --- the walk ------------------------------------------------------------------------------------------------

// One local minute, as the walk met it.
struct LocalMinute {
  int passes = 0;  // how often the clock on the wall showed it: 0, 1 or 2
  std::int64_t first_pass = 0;
  std::int64_t second_pass = 0;
  std::int64_t jumped_by = 0;         // the instant of the jump over it, if it has no pass
  std::int64_t minutes_into_gap = 0;  // from the first minute of that jump
};

// Where the fields of a rule match in a walk, before any policy. Only the one that the rule's kind asks for is filled.
struct Matches {
  std::vector<LocalMinute> local_minutes;
  std::vector<std::int64_t> instants;
};

// The clock of one zone over [from, to), walked once and then asked for many rules.
class Walk {
 public:
  // Both ends on a full minute. Walks a little beyond them, so that times moved in from outside are seen.
  Walk(const ZoneOffsets& zone, std::int64_t from, std::int64_t to);

  // Ascending, without doubles: two local times that land on one instant are one firing.
  std::vector<std::int64_t> fire_times(const Rule& rule, Policy policy) const;

  // The same in two steps: matching looks at every minute and is the same for all policies.
  Matches matches(const Rule& rule) const;
  std::vector<std::int64_t> fire_times(const Rule& rule, const Matches& matches, Policy policy) const;

  // What the clock on the wall showed at the minute `utc`.
  std::int64_t local_at(std::int64_t utc) const;

  // How the wall showed the minute that begins at `local`.
  const LocalMinute& at_local(std::int64_t local) const;

 private:
  std::vector<LocalMinute> matching_local_minutes(const Rule& rule) const;
  std::vector<std::int64_t> matching_instants(const Rule& rule) const;

  std::int64_t from_ = 0;
  std::int64_t to_ = 0;
  std::int64_t walk_from_ = 0;
  std::vector<std::int64_t> local_of_utc_;  // by minute since walk_from_
  std::int64_t local_from_ = 0;
  std::vector<LocalMinute> wall_;  // by minute since local_from_
};

std::vector<std::int64_t> fire_times(const ZoneOffsets& zone, const Rule& rule, Policy policy, std::int64_t from,
                                     std::int64_t to);

}  // namespace scan
