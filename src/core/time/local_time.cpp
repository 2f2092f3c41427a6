#include "core/time/local_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/digits.h"

namespace carillon {

namespace {

constexpr std::array<std::string_view, 7> kDayNames{"monday", "tuesday",  "wednesday", "thursday",
                                                    "friday", "saturday", "sunday"};

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

struct Bounds {
  std::string_view what;
  std::int64_t min;
  std::int64_t max;
};

Result<std::int32_t> two_digits(TextCursor& cursor, Bounds bounds) {
  const std::size_t begin = cursor.position();
  TRY_ASSIGN(const std::int64_t value, cursor.number(bounds.what, {.min = 2, .max = 2}));
  if (value < bounds.min || value > bounds.max) {
    return cursor.fail_at(
        begin, fmt::format("{} must be {:02} to {:02}, not {:02}", bounds.what, bounds.min, bounds.max, value));
  }
  return static_cast<std::int32_t>(value);
}

}  // namespace

Result<Weekday> parse_weekday(TextCursor& cursor) {
  const std::size_t begin = cursor.position();
  const std::string name = lower(cursor.letters());
  for (std::size_t day = 0; day < kDayNames.size(); ++day) {
    if (name == kDayNames[day] || name == kDayNames[day].substr(0, 3)) return static_cast<Weekday>(day);
  }
  return cursor.fail_at(begin, "expected a day name: mon, tue, wed, thu, fri, sat, sun");
}

std::string_view short_name(Weekday day) { return kDayNames[static_cast<std::size_t>(day)].substr(0, 3); }

Result<TimeOfDay> read_time_of_day(TextCursor& cursor) {
  TRY_ASSIGN(const std::int32_t hour, two_digits(cursor, {"the hour", 0, 23}));
  if (!cursor.eat(':')) return cursor.expected("a colon (write HH:MM or HH:MM:SS)");
  TRY_ASSIGN(const std::int32_t minute, two_digits(cursor, {"the minute", 0, 59}));
  std::int32_t second = 0;
  if (cursor.eat(':')) {
    TRY_ASSIGN(second, two_digits(cursor, {"the second", 0, 59}));
  }
  return TimeOfDay{(hour * 60 + minute) * 60 + second};
}

Result<TimeOfDay> parse_time_of_day(std::string_view text) {
  TextCursor cursor("time of day", text);
  TRY_ASSIGN(const TimeOfDay time, read_time_of_day(cursor));
  if (!cursor.at_end()) return cursor.expected("the end after HH:MM:SS");
  return time;
}

std::string format_time_of_day(TimeOfDay time) {
  const int seconds = time.seconds % 60;
  const int minutes = time.seconds / 60 % 60;
  const int hours = time.seconds / 3600;
  return seconds == 0 ? fmt::format("{:02}:{:02}", hours, minutes)
                      : fmt::format("{:02}:{:02}:{:02}", hours, minutes, seconds);
}

Result<LocalDays> read_date(TextCursor& cursor) {
  const std::size_t begin = cursor.position();
  TRY_ASSIGN(const std::int64_t year, cursor.number("the year", {.min = 4, .max = 4}));
  if (year < kYearMin) return cursor.fail_at(begin, "the year must be 0001 to 9999");
  if (!cursor.eat('-')) return cursor.expected("a dash (write YYYY-MM-DD)");
  TRY_ASSIGN(const std::int32_t month, two_digits(cursor, {"the month", 1, 12}));
  if (!cursor.eat('-')) return cursor.expected("a dash (write YYYY-MM-DD)");
  const std::size_t day_begin = cursor.position();
  TRY_ASSIGN(const std::int32_t day, two_digits(cursor, {"the day", 1, 31}));
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return cursor.fail_at(day_begin, fmt::format("there is no day {:02} in that month", day));
  return LocalDays(date);
}

Result<LocalDays> parse_date(std::string_view text) {
  TextCursor cursor("date", text);
  TRY_ASSIGN(const LocalDays day, read_date(cursor));
  if (!cursor.at_end()) return cursor.expected("the end after YYYY-MM-DD");
  return day;
}

std::string format_date(LocalDays day) {
  const std::chrono::year_month_day date(day);
  const int year = static_cast<int>(date.year());
  if (year < 0 || year > 9999) {
    return fmt::format("{:04}-{:02}-{:02}", year, static_cast<unsigned>(date.month()),
                       static_cast<unsigned>(date.day()));
  }
  std::string text = "0000-00-00";
  const std::span<char> place(text);
  put_decimal(place.first(4), static_cast<std::uint64_t>(year));
  put_decimal(place.subspan(5, 2), static_cast<unsigned>(date.month()));
  put_decimal(place.last(2), static_cast<unsigned>(date.day()));
  return text;
}

Result<LocalSeconds> parse_local_seconds(std::string_view text) {
  TextCursor cursor("local time", text);
  TRY_ASSIGN(const LocalDays day, read_date(cursor));
  if (!cursor.eat('T') && !cursor.eat(' ')) return cursor.expected("T and a time (write YYYY-MM-DDTHH:MM:SS)");
  TRY_ASSIGN(const TimeOfDay time, read_time_of_day(cursor));
  if (!cursor.at_end()) return cursor.expected("the end: a local time has no zone and no fraction");
  return day + std::chrono::seconds(time.seconds);
}

std::string format_local_seconds(LocalSeconds time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const auto second = static_cast<std::uint64_t>((time - day).count());
  std::string text = format_date(day) + "T00:00:00";
  const std::span<char> clock = std::span(text).last(8);
  put_decimal(clock.first(2), second / 3600);
  put_decimal(clock.subspan(3, 2), second / 60 % 60);
  put_decimal(clock.last(2), second % 60);
  return text;
}

}  // namespace carillon
