#include "minute_scan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace scan {
namespace {

constexpr std::int64_t kMinutesPerDay = kDay / kMinute;

// No clock has jumped further than the date line's 24 hours; a time is never moved in from beyond this.
constexpr std::int64_t kMargin = 26 * kHour;

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr int kLastYear = 2100;

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error("minute scan: " + what); }

std::int64_t floor_divide(std::int64_t value, std::int64_t by) {
  const std::int64_t quotient = value / by;
  return value % by < 0 ? quotient - 1 : quotient;
}

bool is_leap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

int days_in(int year, int month) {
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : kDays[static_cast<std::size_t>(month - 1)];
}

// Every date since 1 January 1970, counted one by one: a formula could be wrong in the same way as the engine's.
const std::vector<Date>& all_dates() {
  static const std::vector<Date> dates = [] {
    std::vector<Date> counted;
    for (int year = 1970; year < kLastYear; ++year) {
      for (int month = 1; month <= 12; ++month) {
        for (int day = 1; day <= days_in(year, month); ++day) counted.push_back({year, month, day});
      }
    }
    return counted;
  }();
  return dates;
}

std::int64_t day_number(Date date) {
  const auto& dates = all_dates();
  const auto at = std::lower_bound(dates.begin(), dates.end(), date, [](const Date& a, const Date& b) {
    return std::array{a.year, a.month, a.day} < std::array{b.year, b.month, b.day};
  });
  if (at == dates.end() || *at != date) fail("no such date, or not between 1970 and 2099");
  return at - dates.begin();
}

// --- zdump's text --------------------------------------------------------------------------------------------

int to_int(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) fail("not a number: " + std::string(text));
  return value;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// "Mar", "31", "00:59:59", "2019"
std::int64_t clock_reading(const std::vector<std::string>& words, std::size_t month_at) {
  const auto month = std::find(kMonths.begin(), kMonths.end(), words[month_at]);
  if (month == kMonths.end()) fail("unknown month in zdump's text: " + words[month_at]);
  const std::string_view time = words[month_at + 2];
  if (time.size() != 8) fail("unknown time in zdump's text: " + std::string(time));
  const Date date = {.year = to_int(words[month_at + 3]),
                     .month = static_cast<int>(month - kMonths.begin()) + 1,
                     .day = to_int(words[month_at + 1])};
  return day_number(date) * kDay + to_int(time.substr(0, 2)) * kHour + to_int(time.substr(3, 2)) * kMinute +
         to_int(time.substr(6, 2));
}

struct ZdumpLine {
  std::string zone;
  std::int64_t utc = 0;
  std::int64_t offset = 0;
};

// Zone Sun Mar 31 00:59:59 2019 UT = Sun Mar 31 00:59:59 2019 GMT isdst=1 gmtoff=0
// The first and last representable times have NULL for their text, and nothing to tell.
std::optional<ZdumpLine> read_zdump_line(const std::string& line) {
  const std::vector<std::string> words = words_of(line);
  if (words.empty() || words.back() == "NULL") return std::nullopt;
  constexpr std::string_view kOffset = "gmtoff=";
  if (words.size() != 16 || words[6] != "UT" || words[7] != "=" || !words[15].starts_with(kOffset)) {
    fail("cannot read zdump's line: " + line);
  }
  const ZdumpLine read = {.zone = words[0],
                          .utc = clock_reading(words, 2),
                          .offset = to_int(std::string_view(words[15]).substr(kOffset.size()))};
  if (clock_reading(words, 9) != read.utc + read.offset) fail("zdump contradicts itself: " + line);
  return read;
}

std::string output_of(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  if (!pipe) fail("cannot run " + command);
  std::string text;
  std::array<char, 4096> buffer{};
  for (std::size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) > 0;) {
    text.append(buffer.data(), got);
  }
  return text;
}

// The name goes through a shell and to a tool that takes a zone it does not know for UTC.
void require_zone_of_database(const std::string& zone) {
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/";
  const bool is_safe = !zone.empty() && zone.find_first_not_of(kAllowed) == std::string::npos && zone.front() != '-' &&
                       zone.front() != '/';
  if (!is_safe || !std::filesystem::is_regular_file("/usr/share/zoneinfo/" + zone)) fail("no zone " + zone);
}

// "-05", "+0530": the third column of zdump -i, whose only line of data has "-" for its date and time.
std::int64_t offset_of_fixed_zone(const std::string& zone, const std::string& range) {
  std::istringstream lines(output_of("zdump -i -c " + range + " " + zone));
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() < 3 || words[0] != "-" || words[1] != "-") continue;
    const std::string_view text = words[2];
    const std::int64_t sign = text[0] == '-' ? -1 : 1;
    const int hours = to_int(text.substr(1, 2));
    const int minutes = text.size() >= 5 ? to_int(text.substr(3, 2)) : 0;
    return sign * (hours * kHour + minutes * kMinute);
  }
  fail("zdump shows no offset for " + zone);
}

// --- matching ------------------------------------------------------------------------------------------------

bool is_in_week_of(const Rule& rule, std::int64_t day) {
  const std::int64_t anchor_day = floor_divide(rule.anchor_monday, kDay);
  return rule.weeks == 1 || floor_divide(day - anchor_day, 7) % rule.weeks == 0;
}

bool fields_match(const Rule& rule, std::int64_t local) {
  const std::int64_t day = floor_divide(local, kDay);
  const std::int64_t minute_of_day = (local - day * kDay) / kMinute;
  if (!rule.minutes[static_cast<std::size_t>(minute_of_day % 60)]) return false;
  if (!rule.hours[static_cast<std::size_t>(minute_of_day / 60)]) return false;
  return rule.weekdays[static_cast<std::size_t>(weekday_of(local))] &&
         rule.month_days[static_cast<std::size_t>(date_of(local).day)] && is_in_week_of(rule, day);
}

bool is_of_rule(const Rule& rule, std::int64_t local) {
  return (!rule.start_local || local >= *rule.start_local) && (!rule.until_local || local <= *rule.until_local) &&
         fields_match(rule, local);
}

// The instants at which one local time fires.
std::vector<std::int64_t> instants_of(const LocalMinute& minute, Policy policy) {
  if (minute.passes == 0) {
    switch (policy.gap) {
      case Gap::shift: return {minute.jumped_by + minute.minutes_into_gap * kMinute};
      case Gap::skip: return {};
      case Gap::next_valid: return {minute.jumped_by};
    }
  }
  if (minute.passes == 1) return {minute.first_pass};
  switch (policy.overlap) {
    case Overlap::first: return {minute.first_pass};
    case Overlap::second: return {minute.second_pass};
    case Overlap::both: return {minute.first_pass, minute.second_pass};
  }
  fail("a policy without a meaning");
}

template <std::size_t N>
std::bitset<N> only(int bit) {
  return std::bitset<N>().set(static_cast<std::size_t>(bit));
}

}  // namespace

ZoneOffsets parse_zdump(std::string_view text, YearRange years, std::int64_t offset_if_fixed) {
  ZoneOffsets zone = {.name = {}, .years = years, .first_offset = offset_if_fixed, .changes = {}};
  std::optional<ZdumpLine> previous;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const std::optional<ZdumpLine> read = read_zdump_line(line);
    if (!read) continue;
    if (!previous) {
      zone.name = read->zone;
      zone.first_offset = read->offset;
    } else if (read->offset != previous->offset) {
      // zdump shows the last second of the old offset and the first of the new; anything else hides a change.
      if (read->utc != previous->utc + 1) fail("zdump left out a change before: " + line);
      if (read->utc % kMinute != 0 || read->offset % kMinute != 0) fail("not on a full minute: " + line);
      zone.changes.push_back({.at = read->utc, .before = previous->offset, .after = read->offset});
    }
    previous = read;
  }
  return zone;
}

ZoneOffsets run_zdump(const std::string& zone, YearRange years) {
  require_zone_of_database(zone);
  const std::string range = std::to_string(years.first) + "," + std::to_string(years.end);
  const std::string text = output_of("zdump -v -c " + range + " " + zone);
  const bool has_changes = text.find("gmtoff=") != std::string::npos;
  ZoneOffsets read = parse_zdump(text, years, has_changes ? 0 : offset_of_fixed_zone(zone, range));
  read.name = zone;
  return read;
}

std::vector<std::string> all_zone_names() {
  std::ifstream file("/usr/share/zoneinfo/tzdata.zi");
  if (!file) fail("cannot open /usr/share/zoneinfo/tzdata.zi: install the package tzdata");
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() < 3 || (words[0] != "Z" && words[0] != "L")) continue;
    const std::string& name = words[0] == "Z" ? words[1] : words[2];
    // Some distributions put old names into a package of their own.
    if (std::filesystem::is_regular_file("/usr/share/zoneinfo/" + name)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::int64_t local_time(Date date, TimeOfDay time) {
  return day_number(date) * kDay + time.hour * kHour + time.minute * kMinute;
}

Date date_of(std::int64_t local) {
  const std::int64_t day = floor_divide(local, kDay);
  const auto& dates = all_dates();
  if (day < 0 || day >= static_cast<std::int64_t>(dates.size())) fail("a local time not between 1970 and 2099");
  return dates[static_cast<std::size_t>(day)];
}

TimeOfDay time_of(std::int64_t local) {
  const std::int64_t minute_of_day = floor_divide(local, kMinute) - floor_divide(local, kDay) * kMinutesPerDay;
  return {.hour = static_cast<int>(minute_of_day / 60), .minute = static_cast<int>(minute_of_day % 60)};
}

int weekday_of(std::int64_t local) {
  constexpr std::int64_t kThursday = 3;  // 1 January 1970
  const std::int64_t day = floor_divide(local, kDay) + kThursday;
  return static_cast<int>(day - floor_divide(day, 7) * 7);
}

Rule daily(TimeOfDay at) {
  Rule rule;
  rule.hours = only<24>(at.hour);
  rule.minutes = only<60>(at.minute);
  return rule;
}

Rule weekly(std::bitset<7> weekdays, TimeOfDay at) {
  Rule rule = daily(at);
  rule.weekdays = weekdays;
  return rule;
}

Rule monthly(int month_day, TimeOfDay at) {
  Rule rule = daily(at);
  rule.month_days = only<32>(month_day);
  return rule;
}

Rule every_other_week(int weekday, Date anchor_monday, TimeOfDay at) {
  Rule rule = weekly(only<7>(weekday), at);
  rule.weeks = 2;
  rule.anchor_monday = local_time(anchor_monday, {});
  if (weekday_of(rule.anchor_monday) != 0) fail("the anchor of a rule of weeks is not a Monday");
  return rule;
}

Rule at_fields(std::bitset<24> hours, std::bitset<60> minutes) {
  Rule rule;
  rule.hours = hours;
  rule.minutes = minutes;
  return rule;
}

Rule every_match(std::bitset<24> hours, std::bitset<60> minutes) {
  Rule rule = at_fields(hours, minutes);
  rule.kind = RuleKind::every_match;
  return rule;
}

Rule every_n_hours(int hours_apart, std::int64_t anchor) {
  Rule rule;
  rule.kind = RuleKind::every_n_hours;
  rule.hours_apart = hours_apart;
  rule.anchor = anchor;
  return rule;
}

Walk::Walk(const ZoneOffsets& zone, std::int64_t from, std::int64_t to)
    : from_(from), to_(to), walk_from_(from - kMargin) {
  const std::int64_t walk_to = to + kMargin;
  if (from % kMinute != 0 || to % kMinute != 0 || from >= to) fail("the span is not one of full minutes");
  if (walk_from_ < local_time({zone.years.first, 1, 1}, {}) || walk_to >= local_time({zone.years.end, 1, 1}, {})) {
    fail("the offsets of " + zone.name + " are not known over the whole span");
  }

  std::int64_t offset = zone.first_offset;
  auto next_change = zone.changes.begin();
  for (std::int64_t utc = walk_from_; utc < walk_to; utc += kMinute) {
    for (; next_change != zone.changes.end() && next_change->at <= utc; ++next_change) offset = next_change->after;
    local_of_utc_.push_back(utc + offset);
  }

  const auto [lowest, highest] = std::minmax_element(local_of_utc_.begin(), local_of_utc_.end());
  local_from_ = *lowest;
  wall_.resize(static_cast<std::size_t>((*highest - *lowest) / kMinute + 1));
  const auto wall_at = [&](std::int64_t local) -> LocalMinute& {
    return wall_[static_cast<std::size_t>((local - local_from_) / kMinute)];
  };

  std::int64_t utc = walk_from_;
  std::int64_t previous = local_of_utc_.front() - kMinute;
  for (const std::int64_t local : local_of_utc_) {
    const std::int64_t expected = previous + kMinute;
    for (std::int64_t jumped = expected; jumped < local; jumped += kMinute) {
      wall_at(jumped).jumped_by = utc;
      wall_at(jumped).minutes_into_gap = (jumped - expected) / kMinute;
    }
    LocalMinute& shown = wall_at(local);
    ++shown.passes;
    if (shown.passes == 1) shown.first_pass = utc;
    if (shown.passes == 2) shown.second_pass = utc;
    if (shown.passes > 2) fail(zone.name + " shows one local minute three times");
    previous = local;
    utc += kMinute;
  }
}

std::vector<std::int64_t> Walk::fire_times(const Rule& rule, Policy policy) const {
  return fire_times(rule, matches(rule), policy);
}

Matches Walk::matches(const Rule& rule) const {
  Matches found;
  if (rule.kind == RuleKind::wall) {
    found.local_minutes = matching_local_minutes(rule);
  } else {
    found.instants = matching_instants(rule);
  }
  return found;
}

std::vector<std::int64_t> Walk::fire_times(const Rule& rule, const Matches& matches, Policy policy) const {
  if (rule.count && rule.start_local.value_or(0) < local_at(from_)) fail("a rule with COUNT began before the span");
  std::vector<std::int64_t> fired = matches.instants;
  for (const LocalMinute& minute : matches.local_minutes) {
    const std::vector<std::int64_t> instants = instants_of(minute, policy);
    fired.insert(fired.end(), instants.begin(), instants.end());
  }
  std::sort(fired.begin(), fired.end());
  fired.erase(std::unique(fired.begin(), fired.end()), fired.end());
  if (rule.until) std::erase_if(fired, [&](std::int64_t at) { return at > *rule.until; });
  if (rule.count && fired.size() > *rule.count) fired.resize(*rule.count);
  std::erase_if(fired, [&](std::int64_t at) { return at < from_ || at >= to_; });
  return fired;
}

std::int64_t Walk::local_at(std::int64_t utc) const {
  const std::int64_t index = floor_divide(utc - walk_from_, kMinute);
  if (index < 0 || index >= static_cast<std::int64_t>(local_of_utc_.size())) fail("an instant outside of the walk");
  return local_of_utc_[static_cast<std::size_t>(index)];
}

const LocalMinute& Walk::at_local(std::int64_t local) const {
  const std::int64_t index = floor_divide(local - local_from_, kMinute);
  if (index < 0 || index >= static_cast<std::int64_t>(wall_.size())) fail("a local time outside of the walk");
  return wall_[static_cast<std::size_t>(index)];
}

std::vector<LocalMinute> Walk::matching_local_minutes(const Rule& rule) const {
  std::vector<LocalMinute> matching;
  std::int64_t local = local_from_;
  for (const LocalMinute& minute : wall_) {
    if (is_of_rule(rule, local)) matching.push_back(minute);
    local += kMinute;
  }
  return matching;
}

std::vector<std::int64_t> Walk::matching_instants(const Rule& rule) const {
  std::vector<std::int64_t> matching;
  std::int64_t utc = walk_from_;
  for (const std::int64_t local : local_of_utc_) {
    const bool is_match = rule.kind == RuleKind::every_n_hours
                              ? utc >= rule.anchor && (utc - rule.anchor) % (rule.hours_apart * kHour) == 0
                              : is_of_rule(rule, local);
    if (is_match) matching.push_back(utc);
    utc += kMinute;
  }
  return matching;
}

std::vector<std::int64_t> fire_times(const ZoneOffsets& zone, const Rule& rule, Policy policy, std::int64_t from,
                                     std::int64_t to) {
  return Walk(zone, from, to).fire_times(rule, policy);
}

}  // namespace scan
