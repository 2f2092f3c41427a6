#include "core/time/instant.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/digits.h"
#include "base/text_cursor.h"
#include "core/time/local_time.h"

namespace carillon {

namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

Result<Instant> in_calendar(const TextCursor& cursor, Instant instant) {
  if (instant < kInstantMin || instant > kInstantMax) return cursor.fail_at(0, "outside the years 0001 to 9999");
  return instant;
}

Result<Instant> read_unix_milliseconds(TextCursor& cursor) {
  const bool negative = cursor.eat('-');
  TRY_ASSIGN(const std::int64_t count, cursor.number("the number of milliseconds", {.min = 1, .max = 15}));
  if (!cursor.at_end()) return cursor.expected("the end after Unix milliseconds");
  return in_calendar(cursor, Instant(std::chrono::milliseconds(negative ? -count : count)));
}

Result<microseconds> read_fraction(TextCursor& cursor) {
  if (!cursor.eat('.')) return microseconds(0);
  if (!cursor.at_digit()) return cursor.expected("a digit after the point");
  std::int64_t value = 0;
  int digits = 0;
  for (; cursor.at_digit(); cursor.advance()) {
    if (digits == 6) continue;  // finer than we keep
    value = value * 10 + (cursor.peek() - '0');
    ++digits;
  }
  for (; digits < 6; ++digits) value *= 10;
  return microseconds(value);
}

// `Z` or `±HH:MM`.
Result<seconds> read_offset(TextCursor& cursor) {
  if (cursor.eat('Z') || cursor.eat('z')) return seconds(0);
  const bool behind = cursor.peek() == '-';
  if (!cursor.eat('+') && !cursor.eat('-')) return cursor.expected("Z or an offset like +01:00");
  TRY_ASSIGN(const TimeOfDay offset, read_time_of_day(cursor));
  return seconds(behind ? -offset.seconds : offset.seconds);
}

bool all_digits(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Result<Instant> parse_instant(std::string_view text) {
  TextCursor cursor("instant", text);
  if (text.empty()) return cursor.fail("is empty; write 2026-03-29T01:00:00Z or Unix milliseconds");
  if (all_digits(text.starts_with('-') ? text.substr(1) : text)) return read_unix_milliseconds(cursor);

  if (!cursor.at_digit()) return cursor.expected("a time like 2026-03-29T01:00:00Z, or Unix milliseconds");
  TRY_ASSIGN(const LocalDays day, read_date(cursor));
  if (!cursor.eat('T') && !cursor.eat('t') && !cursor.eat(' ')) return cursor.expected("T and a time");
  const std::size_t time_begin = cursor.position();
  TRY_ASSIGN(const TimeOfDay time, read_time_of_day(cursor));
  if (cursor.position() - time_begin != 8) return cursor.expected("a colon and seconds (an instant is exact)");
  TRY_ASSIGN(const microseconds fraction, read_fraction(cursor));
  TRY_ASSIGN(const seconds offset, read_offset(cursor));
  if (!cursor.at_end()) return cursor.expected("the end after the offset");
  return in_calendar(cursor, Instant(day.time_since_epoch() + seconds(time.seconds) + fraction - offset));
}

namespace {

std::string format_cut(Instant instant) {
  const auto second = std::chrono::floor<seconds>(instant);
  const auto millis = std::chrono::floor<std::chrono::milliseconds>(instant - second);
  std::string text = format_local_seconds(LocalSeconds(second.time_since_epoch())) + ".000Z";
  put_decimal(std::span(text).last(4).first(3), static_cast<std::uint64_t>(millis.count()));
  return text;
}

}  // namespace

std::string format_instant(Instant instant) { return format_cut(up_to_millisecond(instant)); }

std::string format_with_offset(Instant instant, seconds offset) {
  const auto local = std::chrono::floor<seconds>(instant) + offset;
  const auto magnitude = std::chrono::abs(offset);
  std::string out = fmt::format("{}{}{:02}:{:02}", format_local_seconds(LocalSeconds(local.time_since_epoch())),
                                offset < seconds(0) ? '-' : '+', magnitude.count() / 3600, magnitude.count() / 60 % 60);
  // Local mean times before about 1970 are not whole minutes.
  if (magnitude.count() % 60 != 0) out += fmt::format(":{:02}", magnitude.count() % 60);
  return out;
}

Instant add_clamped(Instant instant, Duration duration) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(instant.time_since_epoch().count(), duration.count(), &sum)) {
    return duration.count() < 0 ? kInstantMin : kInstantMax;
  }
  return std::clamp(Instant(Duration(sum)), kInstantMin, kInstantMax);
}

std::string format_exact(Instant instant) {
  std::string text = format_cut(instant);
  const auto micros = (instant - std::chrono::floor<std::chrono::milliseconds>(instant)).count();
  if (micros != 0) text.replace(text.size() - 1, 1, fmt::format("{:03}Z", micros));
  return text;
}

}  // namespace carillon
