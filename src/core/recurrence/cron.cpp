#include "core/recurrence/cron.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <string>
#include <vector>

#include "base/text_cursor.h"

namespace carillon {

namespace {

struct FieldKind {
  enum class Days : std::uint8_t { no, of_month, of_week };
  std::string_view name;
  int min;
  int max;  // the largest that may be written
  int top;  // the largest that means something of its own: 7 is Sunday again
  Days days = Days::no;
  std::span<const std::string_view> names;  // of the values from `min` on
};

constexpr std::array<std::string_view, 12> kMonths{"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                                   "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::array<std::string_view, 7> kWeekdays{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};

constexpr FieldKind kSecond{.name = "second", .min = 0, .max = 59, .top = 59, .names = {}};
constexpr FieldKind kMinute{.name = "minute", .min = 0, .max = 59, .top = 59, .names = {}};
constexpr FieldKind kHour{.name = "hour", .min = 0, .max = 23, .top = 23, .names = {}};
constexpr FieldKind kDay{
    .name = "day of month", .min = 1, .max = 31, .top = 31, .days = FieldKind::Days::of_month, .names = {}};
constexpr FieldKind kMonth{.name = "month", .min = 1, .max = 12, .top = 12, .names = kMonths};
constexpr FieldKind kWeekday{
    .name = "day of week", .min = 0, .max = 7, .top = 6, .days = FieldKind::Days::of_week, .names = kWeekdays};

struct Nickname {
  std::string_view name;
  std::string_view meaning;
};
constexpr std::array<Nickname, 7> kNicknames{{
    {"@hourly", "0 * * * *"},
    {"@daily", "0 0 * * *"},
    {"@midnight", "0 0 * * *"},
    {"@weekly", "0 0 * * 0"},
    {"@monthly", "0 0 1 * *"},
    {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
}};

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }

bool is_space(char c) { return c == ' ' || c == '\t'; }

// 0 and 7 are Sunday in cron; our week begins on Monday.
Weekday weekday_from_cron(int number) { return static_cast<Weekday>((number + 6) % 7); }

// What one field allows, bit n for the value n.
struct Field {
  std::uint64_t values = 0;
  bool open = false;     // exactly * or ?
  bool starred = false;  // * or a step of it is among its items
};

class CronParser {
 public:
  explicit CronParser(std::string_view text) : cursor_("cron", text) {}

  Result<RecurrenceRule> parse() {
    skip_space();
    const std::size_t fields = count_fields();
    if (fields != 5 && fields != 6) {
      return cursor_.fail_at(0,
                             fmt::format("has {} fields; expected 5 (minute hour day month weekday) or 6 with seconds "
                                         "first",
                                         fields));
    }
    Field second{.values = 1};
    if (fields == 6) {
      TRY_ASSIGN(second, field(kSecond));
    }
    TRY_ASSIGN(const Field minute, field(kMinute));
    TRY_ASSIGN(const Field hour, field(kHour));
    TRY_ASSIGN(const Field day, field(kDay));
    TRY_ASSIGN(const Field month, field(kMonth));
    TRY_ASSIGN(const Field weekday, field(kWeekday));

    const bool every_hour = hour.starred || std::popcount(hour.values) == 24;
    rule_.frequency = every_hour ? Frequency::hourly : Frequency::daily;
    rule_.by_second = list_of(second.values);
    rule_.by_minute = list_of(minute.values);
    rule_.by_hour = list_of(hour.values);
    if (!month.open) rule_.by_month = list_of(month.values);
    if (!day.open) {
      for (const int value : list_of(day.values)) rule_.by_month_day.push_back(value);
    }
    if (!weekday.open) {
      for (const int value : list_of(weekday.values)) {
        const NthWeekday plain{.day = weekday_from_cron(value), .nth = 0};
        if (std::ranges::find(rule_.by_day, plain) == rule_.by_day.end()) rule_.by_day.push_back(plain);
      }
    }
    rule_.either_day = !day.open && !weekday.open;
    return std::move(rule_);
  }

 private:
  void skip_space() {
    while (is_space(cursor_.peek())) cursor_.advance();
  }

  std::size_t count_fields() const {
    std::size_t count = 0;
    bool inside = false;
    for (const char c : cursor_.rest()) {
      if (!is_space(c) && !inside) ++count;
      inside = !is_space(c);
    }
    return count;
  }

  bool at_field_end() const { return cursor_.at_end() || is_space(cursor_.peek()); }

  static std::vector<int> list_of(std::uint64_t values) {
    std::vector<int> list;
    for (; values != 0; values &= values - 1) list.push_back(std::countr_zero(values));
    return list;
  }

  Result<Field> field(const FieldKind& kind) {
    Field out;
    const std::size_t begin = cursor_.position();
    do {
      TRY(item(kind, out));
    } while (cursor_.eat(','));
    if (!at_field_end()) return cursor_.expected(fmt::format("a comma or the end of the {} field", kind.name));
    const std::string_view written = cursor_.text().substr(begin, cursor_.position() - begin);
    out.open = written == "*" || written == "?";
    skip_space();
    return out;
  }

  Result<void> item(const FieldKind& kind, Field& out) {
    using Days = FieldKind::Days;
    const std::size_t begin = cursor_.position();
    if (upper(cursor_.peek()) == 'L') {
      if (kind.days == Days::of_month) return last_day();
      if (kind.days == Days::of_week) return cursor_.fail("L needs a day before it here, like 5L or FRI#L");
    }

    int low = kind.min;
    int high = kind.top;
    bool single = false;
    if (cursor_.eat('*')) {
      out.starred = true;
    } else if (kind.days == Days::no || !cursor_.eat('?')) {
      TRY_ASSIGN(low, value(kind));
      if (kind.days == Days::of_month && upper(cursor_.peek()) == 'W') return nearest_weekday(low);
      if (kind.days == Days::of_week && (cursor_.peek() == '#' || upper(cursor_.peek()) == 'L'))
        return nth_weekday(low);
      single = !cursor_.eat('-');
      if (single && low > kind.top) low = kind.min;  // 7 alone is Sunday, where the week begins
      if (!single) {
        TRY_ASSIGN(high, value(kind));
        if (kind.days == Days::of_week && high == 0 && low > 0) high = 7;  // fri-sun
        if (high < low) {
          return cursor_.fail_at(
              begin, fmt::format("the range goes backwards; write {}-{},{}-{}", low, kind.top, kind.min, high));
        }
      }
    }
    int step = 1;
    if (cursor_.eat('/')) {
      TRY_ASSIGN(step, step_of(kind));
    } else if (single) {
      high = low;
    }
    for (int value = low; value <= high; value += step) {
      out.values |= std::uint64_t{1} << static_cast<unsigned>(value > kind.top ? kind.min : value);
    }
    return {};
  }

  Result<int> step_of(const FieldKind& kind) {
    const std::size_t begin = cursor_.position();
    TRY_ASSIGN(const std::int64_t given, cursor_.number("a step"));
    const int span = kind.top - kind.min + 1;
    if (given < 1 || given > span) {
      return cursor_.fail_at(begin,
                             fmt::format("a step of the {} field must be 1 to {}, not {}", kind.name, span, given));
    }
    return static_cast<int>(given);
  }

  // A number or a name of the field.
  Result<int> value(const FieldKind& kind) {
    const std::size_t begin = cursor_.position();
    const std::string allowed = fmt::format(
        "{} to {}{}", kind.min, kind.max,
        kind.names.empty() ? std::string() : fmt::format(" or {} to {}", kind.names.front(), kind.names.back()));
    if (cursor_.at_digit()) {
      TRY_ASSIGN(const std::int64_t number, cursor_.number("a number"));
      if (number < kind.min || number > kind.max) {
        return cursor_.fail_at(begin, fmt::format("the {} field takes {}, not {}", kind.name, allowed, number));
      }
      return static_cast<int>(number);
    }
    for (std::size_t i = 0; i < kind.names.size(); ++i) {
      const std::string_view name = kind.names[i];
      if (std::ranges::equal(cursor_.rest().substr(0, name.size()), name, {}, upper)) {
        cursor_.advance(name.size());
        return kind.min + static_cast<int>(i);
      }
    }
    return cursor_.expected(fmt::format("a value of the {} field ({})", kind.name, allowed));
  }

  // L, L-3 or LW.
  Result<void> last_day() {
    cursor_.advance();
    if (upper(cursor_.peek()) == 'W') {
      cursor_.advance();
      rule_.last_weekday = true;
      return {};
    }
    int before = 0;
    if (cursor_.eat('-')) {
      const std::size_t begin = cursor_.position();
      TRY_ASSIGN(const std::int64_t given, cursor_.number("how many days before the last"));
      if (given < 1 || given > 30) return cursor_.fail_at(begin, "L- takes 1 to 30 days before the last");
      before = static_cast<int>(given);
    }
    rule_.by_month_day.push_back(-1 - before);
    return {};
  }

  Result<void> nearest_weekday(int day) {
    cursor_.advance();
    rule_.nearest_weekdays.push_back(day);
    return {};
  }

  // 5L, fri#2 or fri#L.
  Result<void> nth_weekday(int day) {
    int nth = -1;
    if (cursor_.eat('#') && upper(cursor_.peek()) != 'L') {
      const std::size_t begin = cursor_.position();
      TRY_ASSIGN(const std::int64_t given, cursor_.number("which one in the month"));
      if (given < 1 || given > 5) return cursor_.fail_at(begin, "# takes 1 to 5, or L for the last");
      nth = static_cast<int>(given);
    } else {
      cursor_.advance();  // the L
    }
    rule_.by_day.push_back({.day = weekday_from_cron(day), .nth = nth});
    return {};
  }

  TextCursor cursor_;
  RecurrenceRule rule_;
};

}  // namespace

Result<RecurrenceRule> parse_cron(std::string_view text) {
  if (text.starts_with('@')) {
    for (const Nickname& nickname : kNicknames) {
      if (std::ranges::equal(text, nickname.name, {}, upper, upper)) return CronParser(nickname.meaning).parse();
    }
    std::vector<std::string_view> names;
    for (const Nickname& nickname : kNicknames) names.push_back(nickname.name);
    return TextCursor("cron", text).fail(fmt::format("unknown nickname; allowed are {}", fmt::join(names, ", ")));
  }
  return CronParser(text).parse();
}

}  // namespace carillon
