#include "core/recurrence/rrule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/text_cursor.h"

namespace carillon {

namespace {

constexpr std::int64_t kIntervalMax = 1'000'000'000;
constexpr std::int64_t kCountMax = 1'000'000'000'000;
// A list longer than this can only repeat itself: 366 days counted from both ends.
constexpr std::size_t kListMax = 732;

constexpr std::array<std::string_view, 7> kDays{"MO", "TU", "WE", "TH", "FR", "SA", "SU"};
constexpr std::array<std::string_view, 7> kFrequencies{"YEARLY", "MONTHLY",  "WEEKLY",  "DAILY",
                                                       "HOURLY", "MINUTELY", "SECONDLY"};

std::string upper(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return out;
}

class RruleParser {
 public:
  explicit RruleParser(std::string_view text) : cursor_("rrule", text) {}

  Result<RecurrenceRule> parse() {
    if (upper(cursor_.rest().substr(0, 6)) == "RRULE:") cursor_.advance(6);
    if (upper(cursor_.rest().substr(0, 7)) == "DTSTART") {
      return cursor_.fail("a rule has no DTSTART in it; give the start apart, as \"start\"");
    }
    while (true) {
      TRY(part());
      if (cursor_.at_end()) break;
      if (!cursor_.eat(';')) return cursor_.expected("a semicolon or the end");
      if (cursor_.at_end()) break;  // a trailing semicolon is common and harmless
    }
    if (!has("FREQ")) return cursor_.fail_at(0, "FREQ is missing; a rule begins with it: FREQ=DAILY");
    TRY(check_combinations());
    return std::move(rule_);
  }

 private:
  struct Range {
    int min;
    int max;
    bool from_end = false;  // negative values count from the end
  };

  struct Seen {
    std::string name;
    std::size_t position;
  };

  bool has(std::string_view name) const {
    return std::ranges::any_of(seen_, [&](const Seen& seen) { return seen.name == name; });
  }
  std::size_t position_of(std::string_view name) const { return std::ranges::find(seen_, name, &Seen::name)->position; }

  Result<void> part() {
    const std::size_t begin = cursor_.position();
    const std::string name = upper(cursor_.letters());
    if (has(name)) return cursor_.fail_at(begin, fmt::format("{} is given twice", name));
    const std::array<std::string_view, 14> known{"FREQ",     "INTERVAL",  "COUNT",      "UNTIL", "BYMONTH",
                                                 "BYWEEKNO", "BYYEARDAY", "BYMONTHDAY", "BYDAY", "BYHOUR",
                                                 "BYMINUTE", "BYSECOND",  "BYSETPOS",   "WKST"};
    if (std::ranges::find(known, name) == known.end()) {
      return cursor_.fail_at(begin, fmt::format("unknown part; allowed are {}", fmt::join(known, ", ")));
    }
    seen_.push_back({.name = name, .position = begin});
    if (!cursor_.eat('=')) return cursor_.expected(fmt::format("= after {}", name));

    if (name == "FREQ") return frequency();
    if (name == "INTERVAL") return whole_number(name, kIntervalMax, rule_.interval);
    if (name == "COUNT") {
      std::int64_t count = 0;
      TRY(whole_number(name, kCountMax, count));
      rule_.count = static_cast<std::uint64_t>(count);
      return {};
    }
    if (name == "UNTIL") return until();
    if (name == "WKST") return weekday("WKST", rule_.week_start);
    if (name == "BYDAY") return by_day();
    if (name == "BYMONTH") return list(name, {1, 12}, rule_.by_month);
    if (name == "BYWEEKNO") return list(name, {1, 53, true}, rule_.by_week_number);
    if (name == "BYYEARDAY") return list(name, {1, 366, true}, rule_.by_year_day);
    if (name == "BYMONTHDAY") return list(name, {1, 31, true}, rule_.by_month_day);
    if (name == "BYHOUR") return list(name, {0, 23}, rule_.by_hour);
    if (name == "BYMINUTE") return list(name, {0, 59}, rule_.by_minute);
    if (name == "BYSETPOS") return list(name, {1, 366, true}, rule_.by_set_position);
    TRY(list(name, {0, 60}, rule_.by_second));
    // Without leap seconds the 60th is read as the 59th, as RFC 5545 says of times.
    std::ranges::replace(rule_.by_second, 60, 59);
    return {};
  }

  Result<void> frequency() {
    const std::size_t begin = cursor_.position();
    const auto found = std::ranges::find(kFrequencies, upper(cursor_.letters()));
    if (found == kFrequencies.end()) {
      return cursor_.fail_at(begin, fmt::format("unknown frequency; allowed are {}", fmt::join(kFrequencies, ", ")));
    }
    rule_.frequency = static_cast<Frequency>(found - kFrequencies.begin());
    return {};
  }

  Result<void> whole_number(std::string_view name, std::int64_t max, std::int64_t& out) {
    const std::size_t begin = cursor_.position();
    TRY_ASSIGN(out, cursor_.number(fmt::format("a whole number for {}", name)));
    if (out < 1 || out > max) return cursor_.fail_at(begin, fmt::format("{} must be 1 to {}", name, max));
    return {};
  }

  Result<int> number_in(std::string_view name, Range range) {
    const std::size_t begin = cursor_.position();
    const bool negative = cursor_.peek() == '-';
    if (range.from_end && !cursor_.eat('-')) cursor_.eat('+');
    TRY_ASSIGN(const std::int64_t value, cursor_.number(fmt::format("a number for {}", name)));
    if (value < range.min || value > range.max) {
      return cursor_.fail_at(
          begin, fmt::format("{} must be {} to {}{}", name, range.min, range.max,
                             range.from_end ? fmt::format(" or -{} to -{}", range.min, range.max) : std::string()));
    }
    return static_cast<int>(negative ? -value : value);
  }

  Result<void> list(std::string_view name, Range range, std::vector<int>& out) {
    do {
      if (out.size() == kListMax) return cursor_.fail(fmt::format("{} has more than {} values", name, kListMax));
      TRY_ASSIGN(const int value, number_in(name, range));
      out.push_back(value);
    } while (cursor_.eat(','));
    std::ranges::sort(out);
    const auto repeated = std::ranges::unique(out);
    out.erase(repeated.begin(), repeated.end());
    return {};
  }

  Result<void> weekday(std::string_view name, Weekday& out) {
    const std::size_t begin = cursor_.position();
    const auto found = std::ranges::find(kDays, upper(cursor_.letters()));
    if (found == kDays.end()) {
      return cursor_.fail_at(begin, fmt::format("{} takes days: {}", name, fmt::join(kDays, ", ")));
    }
    out = static_cast<Weekday>(found - kDays.begin());
    return {};
  }

  Result<void> by_day() {
    std::size_t given = 0;
    do {
      if (++given > kListMax) return cursor_.fail(fmt::format("BYDAY has more than {} values", kListMax));
      NthWeekday day;
      if (cursor_.at_digit() || cursor_.peek() == '-' || cursor_.peek() == '+') {
        TRY_ASSIGN(day.nth, number_in("the number before a day", {1, 53, true}));
      }
      TRY(weekday("BYDAY", day.day));
      if (std::ranges::find(rule_.by_day, day) == rule_.by_day.end()) rule_.by_day.push_back(day);
    } while (cursor_.eat(','));
    return {};
  }

  // 20261231, 20261231T090000 or 20261231T080000Z.
  Result<void> until() {
    const std::size_t begin = cursor_.position();
    rule_.until_column = begin + 1;
    std::array<int, 6> fields{};
    constexpr std::array<int, 6> kWidths{4, 2, 2, 2, 2, 2};
    bool has_time = false;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (i == 3) {
        has_time = cursor_.eat('T') || cursor_.eat('t');
        if (!has_time) break;
      }
      for (int digit = 0; digit < kWidths[i]; ++digit) {
        if (!cursor_.at_digit()) {
          return cursor_.expected("a digit (write UNTIL=20261231T080000Z, 20261231T090000 or 20261231)");
        }
        fields[i] = fields[i] * 10 + (cursor_.peek() - '0');
        cursor_.advance();
      }
    }
    const std::chrono::year_month_day date{std::chrono::year(fields[0]),
                                           std::chrono::month(static_cast<unsigned>(fields[1])),
                                           std::chrono::day(static_cast<unsigned>(fields[2]))};
    if (!date.ok() || fields[0] < kYearMin) return cursor_.fail_at(begin, "UNTIL is not a date of the calendar");
    if (fields[3] > 23 || fields[4] > 59 || fields[5] > 60) {
      return cursor_.fail_at(begin, "UNTIL is not a time of the day");
    }
    if (!has_time) {
      rule_.until_local = LocalDays(date) + std::chrono::days(1) - std::chrono::seconds(1);
      rule_.until_whole_day = true;
      return {};
    }
    const LocalSeconds local = LocalDays(date) + std::chrono::hours(fields[3]) + std::chrono::minutes(fields[4]) +
                               std::chrono::seconds(std::min(fields[5], 59));
    if (cursor_.eat('Z') || cursor_.eat('z')) {
      rule_.until = Instant(local.time_since_epoch());
    } else {
      rule_.until_local = local;
    }
    return {};
  }

  std::unexpected<Error> refuse(std::string_view name, std::string_view why) const {
    return cursor_.fail_at(position_of(name), std::string(why));
  }

  // The "MUST NOT" of section 3.3.10.
  Result<void> check_combinations() const {
    const Frequency frequency = rule_.frequency;
    const bool yearly = frequency == Frequency::yearly;
    // Further apart than searches reach: the second one would never be found.
    constexpr std::array<std::int64_t, 7> kPeriods{400, 4800, 20'871, 146'097, 3'506'328, 210'379'680, 12'622'780'800};
    if (rule_.interval > kPeriods[static_cast<std::size_t>(frequency)]) {
      return refuse("INTERVAL", "INTERVAL is longer than 400 years");
    }
    if (has("COUNT") && has("UNTIL")) return refuse("UNTIL", "COUNT and UNTIL do not go together");
    if (has("BYWEEKNO") && !yearly) return refuse("BYWEEKNO", "BYWEEKNO goes only with FREQ=YEARLY");
    if (has("BYYEARDAY") &&
        (frequency == Frequency::daily || frequency == Frequency::weekly || frequency == Frequency::monthly)) {
      return refuse("BYYEARDAY", "BYYEARDAY does not go with FREQ=DAILY, WEEKLY or MONTHLY");
    }
    if (has("BYMONTHDAY") && frequency == Frequency::weekly) {
      return refuse("BYMONTHDAY", "BYMONTHDAY does not go with FREQ=WEEKLY");
    }
    const bool numbered = std::ranges::any_of(rule_.by_day, [](const NthWeekday& day) { return day.nth != 0; });
    if (numbered && !yearly && frequency != Frequency::monthly) {
      return refuse("BYDAY", "a number before a day goes only with FREQ=MONTHLY or YEARLY");
    }
    if (numbered && has("BYWEEKNO")) return refuse("BYDAY", "a number before a day does not go with BYWEEKNO");
    const bool other_by = std::ranges::any_of(
        seen_, [](const Seen& seen) { return seen.name.starts_with("BY") && seen.name != "BYSETPOS"; });
    if (has("BYSETPOS") && !other_by) return refuse("BYSETPOS", "BYSETPOS needs another BY part to pick from");
    return {};
  }

  TextCursor cursor_;
  RecurrenceRule rule_;
  std::vector<Seen> seen_;
};

}  // namespace

Result<RecurrenceRule> parse_rrule(std::string_view text) { return RruleParser(text).parse(); }

}  // namespace carillon
