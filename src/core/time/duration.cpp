#include "core/time/duration.h"

#include <fmt/format.h>

#include <array>

#include "base/text_cursor.h"

namespace carillon {

namespace {

struct Unit {
  std::string_view name;
  Duration length;
};

constexpr std::array<Unit, 5> kUnits{{
    {"d", std::chrono::days{1}},
    {"h", std::chrono::hours{1}},
    {"m", std::chrono::minutes{1}},
    {"s", std::chrono::seconds{1}},
    {"ms", std::chrono::milliseconds{1}},
}};

constexpr std::string_view kAllowed = "write it like 90s, 10m, 1h30m or 7d";

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  TextCursor cursor("duration", text);
  if (cursor.peek() == '-') return cursor.fail("a duration cannot be negative");
  if (cursor.at_end()) return cursor.fail(fmt::format("is empty; {}", kAllowed));

  Duration total{0};
  std::size_t next_unit = 0;  // units get smaller from left to right
  while (!cursor.at_end()) {
    const std::size_t begin = cursor.position();
    if (!cursor.at_digit()) return cursor.expected(fmt::format("a digit ({})", kAllowed));
    TRY_ASSIGN(const std::int64_t count, cursor.number("the number"));

    const std::size_t unit_begin = cursor.position();
    const std::string_view name = cursor.letters();
    std::size_t unit = 0;
    while (unit < kUnits.size() && kUnits[unit].name != name) ++unit;
    if (unit == kUnits.size()) {
      return cursor.fail_at(
          unit_begin,
          name.empty() ? fmt::format("a unit is missing; allowed are d, h, m, s, ms ({} seconds are {}s)", count, count)
                       : "unknown unit; allowed are d, h, m, s, ms");
    }
    if (unit < next_unit) return cursor.fail_at(unit_begin, "units go from large to small, each once");
    next_unit = unit + 1;

    if (count > kDurationMax / kUnits[unit].length) return cursor.fail_at(begin, "longer than 400 years");
    total += count * kUnits[unit].length;
    if (total > kDurationMax) return cursor.fail_at(begin, "longer than 400 years");
  }
  return total;
}

std::string format_duration(Duration duration) {
  std::string out;
  for (const Unit& unit : kUnits) {
    const auto count = duration / unit.length;
    if (count == 0) continue;
    out += fmt::format("{}{}", count, unit.name);
    duration -= count * unit.length;
  }
  return out.empty() ? "0s" : out;
}

}  // namespace carillon
