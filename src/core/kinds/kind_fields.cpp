#include "core/kinds/kind_fields.h"

#include "core/jobs/job_fields.h"

namespace carillon {

Result<TimeOfDay> required_time_of_day(std::string_view text, const JsonFields& fields, std::string_view name) {
  TRY_ASSIGN(const Json* value, fields.required(name, JsonType::string));
  return read_text_as(text, *value, fields.path_of(name), parse_time_of_day);
}

Result<Duration> required_duration(std::string_view text, const JsonFields& fields, std::string_view name,
                                   Result<Duration> (*parse)(std::string_view)) {
  const Json* const value = fields.optional(name);
  if (value == nullptr) return fields.missing(name, "a duration like \"90s\"");
  if (value->type != JsonType::string) return read_json_duration(text, *value, fields.path_of(name));
  return read_text_as(text, *value, fields.path_of(name), parse);
}

Result<TimeOfDay> hour_and_minute(const JsonFields& fields) {
  TRY_ASSIGN(const std::int64_t hour, fields.integer("hour", {0, 23}));
  TRY_ASSIGN(const std::int64_t minute, fields.integer("minute", {0, 59}));
  return TimeOfDay{static_cast<std::int32_t>(hour * 3600 + minute * 60)};
}

Result<void> check_bounds(const JsonFields& fields, std::string_view name, Duration duration, DurationBounds bounds) {
  if (duration >= bounds.min && duration <= bounds.max) return {};
  return cannot_work(fields.fail(
      *fields.optional(name), name,
      bounds.max == kDurationMax
          ? fmt::format("must be at least {}, not {}", format_duration(bounds.min), format_duration(duration))
          : fmt::format("must lie between {} and {}, not be {}", format_duration(bounds.min),
                        format_duration(bounds.max), format_duration(duration))));
}

Result<void> read_bounded(std::string_view text, const JsonFields& fields, std::string_view name, DurationBounds bounds,
                          Duration& into) {
  TRY_ASSIGN(const auto given, read_duration_field(text, fields, name));
  if (!given) return {};
  TRY(check_bounds(fields, name, *given, bounds));
  into = *given;
  return {};
}

Result<void> read_bounded(std::string_view text, const JsonFields& fields, std::string_view name, DurationBounds bounds,
                          std::optional<Duration>& into) {
  if (fields.optional(name) == nullptr) return {};
  return read_bounded(text, fields, name, bounds, into.emplace());
}

}  // namespace carillon
