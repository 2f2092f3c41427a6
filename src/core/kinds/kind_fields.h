// How the kinds of trigger read their fields.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "core/time/duration.h"
#include "core/time/local_time.h"

namespace carillon {

// Reads a text of its own kind (a time, a duration) out of a JSON string, and says where in the document it was.
template <typename T>
Result<T> read_text_as(std::string_view text, const Json& value, const std::string& path,
                       Result<T> (*parse)(std::string_view)) {
  if (value.type != JsonType::string) {
    return json_error(text, value.offset, path, fmt::format("expected a string, found {}", describe(value.type)));
  }
  auto parsed = parse(value.text);
  if (!parsed) return json_error(text, value.offset, path, parsed.error().message);
  return parsed;
}

Result<TimeOfDay> required_time_of_day(std::string_view text, const JsonFields& fields, std::string_view name);
Result<Duration> required_duration(std::string_view text, const JsonFields& fields, std::string_view name,
                                   Result<Duration> (*parse)(std::string_view) = parse_duration);
// As S1 says it.
Result<TimeOfDay> hour_and_minute(const JsonFields& fields);

struct DurationBounds {
  Duration min{};
  Duration max = kDurationMax;
};
// Refuses a duration outside its bounds. `name` was read from `fields`.
Result<void> check_bounds(const JsonFields& fields, std::string_view name, Duration duration, DurationBounds bounds);
// Left as it is if it is not given.
Result<void> read_bounded(std::string_view text, const JsonFields& fields, std::string_view name, DurationBounds bounds,
                          Duration& into);
Result<void> read_bounded(std::string_view text, const JsonFields& fields, std::string_view name, DurationBounds bounds,
                          std::optional<Duration>& into);

}  // namespace carillon
