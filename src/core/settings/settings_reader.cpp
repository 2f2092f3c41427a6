#include "core/settings/settings_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/jobs/job_fields.h"
#include "core/time/zone.h"
#include "core/triggers/trigger.h"

namespace carillon {

namespace {

constexpr std::size_t kShownDigitsMax = 32;

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

Result<Json> parse_settings_object(std::string_view text, std::string_view name) {
  TRY_ASSIGN(Json root, parse_sent_json(text));
  if (root.type != JsonType::object) {
    return json_error(text, root.offset, name, fmt::format("expected an object, found {}", describe(root.type)));
  }
  return root;
}

Result<void> SettingsReader::flag(std::string_view name, bool& into, bool otherwise) {
  TRY_ASSIGN(const Json* const value, fields_.optional(name, JsonType::boolean));
  if (has(name)) into = value == nullptr ? otherwise : value->boolean;
  return {};
}

Result<void> SettingsReader::count(std::string_view name, std::optional<std::uint32_t>& into, std::uint32_t max) {
  TRY_ASSIGN(const Json* const value, fields_.optional(name, JsonType::number));
  if (has(name)) into.reset();
  if (value == nullptr) return {};
  TRY_ASSIGN(const std::int64_t count, JsonFields::integer_of(text_, *value, path_of(name), {.min = 1, .max = max}));
  into = static_cast<std::uint32_t>(count);
  return {};
}

Result<void> SettingsReader::duration(std::string_view name, std::optional<Duration>& into, Durations range) {
  const Json* const value = fields_.optional(name);
  if (has(name)) into.reset();
  if (value == nullptr) return {};
  TRY_ASSIGN(const Duration duration, read_json_duration(text_, *value, path_of(name)));
  if (duration < range.min || duration > range.max) {
    return fields_.fail(*value, name,
                        fmt::format("expected a duration from {} to {}, found {}", format_duration(range.min),
                                    format_duration(range.max), format_duration(duration)));
  }
  into = duration;
  return {};
}

Result<void> SettingsReader::instant(std::string_view name, std::optional<Instant>& into) {
  const Json* const value = fields_.optional(name);
  if (has(name)) into.reset();
  if (value == nullptr) return {};
  TRY_ASSIGN(const Instant instant, read_json_instant(text_, *value, path_of(name)));
  into = std::chrono::floor<std::chrono::milliseconds>(instant);
  return {};
}

Result<void> SettingsReader::number(std::string_view name, std::optional<double>& into, Numbers range) {
  TRY_ASSIGN(const Json* const value, fields_.optional(name, JsonType::number));
  if (has(name)) into.reset();
  if (value == nullptr) return {};
  double number = 0;
  const char* const end = value->text.data() + value->text.size();
  const auto [parsed_to, ec] = std::from_chars(value->text.data(), end, number);
  const bool too_small = number < range.min || (range.above_min && number == range.min);
  if (ec != std::errc{} || parsed_to != end || too_small || number > range.max) {
    return fields_.fail(
        *value, name,
        fmt::format("expected a number {} {}, at most {}, found {}", range.above_min ? "above" : "of at least",
                    range.min, range.max, value->text.substr(0, kShownDigitsMax)));
  }
  into = number;
  return {};
}

Result<void> SettingsReader::zone(std::string_view name, std::optional<std::string>& into) {
  TRY_ASSIGN(const Json* const value, fields_.optional(name, JsonType::string));
  if (has(name)) into.reset();
  if (value == nullptr) return {};
  if (const auto zone = Zone::load(value->text); !zone) {
    Error error = cannot_work(*value, path_of(name), zone.error().message).error();
    error.code = zone.error().code;  // a machine without a database is not the document's fault
    return std::unexpected(std::move(error));
  }
  into = value->text;
  return {};
}

Result<void> SettingsReader::line(std::string_view name, std::string& into, std::size_t bytes_max) {
  TRY_ASSIGN(const Json* const value, fields_.optional(name, JsonType::string));
  if (has(name)) into.clear();
  if (value == nullptr) return {};
  if (value->text.size() > bytes_max) {
    return fields_.fail(*value, name,
                        fmt::format("has {} bytes; at most {} are allowed", value->text.size(), bytes_max));
  }
  if (std::ranges::any_of(value->text, is_control)) {
    return fields_.fail(*value, name, "contains a control character; one line of text is allowed");
  }
  into = value->text;
  return {};
}

std::unexpected<Error> SettingsReader::cannot_work(const Json& at, const std::string& path,
                                                   std::string_view message) const {
  Error error = json_error(text_, at.offset, path, message).error();
  error.code = ErrorCode::invalid_configuration;
  return std::unexpected(std::move(error));
}

}  // namespace carillon
