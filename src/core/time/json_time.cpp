#include "core/time/json_time.h"

#include <fmt/format.h>

#include <algorithm>

namespace carillon {

namespace {

constexpr std::size_t kShownDigitsMax = 9;

// `"60s"` for 60: what somebody may have meant who forgot the unit.
std::string as_seconds(const std::string& number) {
  const bool is_count =
      number.size() <= kShownDigitsMax && std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
  return is_count ? fmt::format("a number; {} seconds are \"{}s\"", number, number) : "a number";
}

}  // namespace

Result<Instant> read_json_instant(std::string_view text, const Json& value, const std::string& path) {
  if (value.type != JsonType::string && value.type != JsonType::number) {
    return json_error(
        text, value.offset, path,
        fmt::format("expected an instant as RFC 3339 or Unix milliseconds, found {}", describe(value.type)));
  }
  auto parsed = parse_instant(value.text);
  if (!parsed) return json_error(text, value.offset, path, parsed.error().message);
  return parsed;
}

Result<Duration> read_json_duration(std::string_view text, const Json& value, const std::string& path) {
  if (value.type != JsonType::string) {
    return json_error(text, value.offset, path,
                      fmt::format("expected a duration like \"90s\", found {}",
                                  value.type == JsonType::number ? as_seconds(value.text) : describe(value.type)));
  }
  auto parsed = parse_duration(value.text);
  if (!parsed) return json_error(text, value.offset, path, parsed.error().message);
  return parsed;
}

}  // namespace carillon
