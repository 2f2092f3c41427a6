#include "core/settings/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json_writer.h"
#include "core/jobs/job.h"
#include "core/settings/settings_reader.h"

namespace carillon {

namespace {

constexpr auto kQuietHoursFields = field_names("start", "end", "days", "timezone");
constexpr auto kSettingsFields =
    field_names("timezone", "quiet_hours", "max_concurrency", "weight", "retention", "paused");
constexpr auto kMaintenanceFields = field_names("until", "reason");
constexpr auto kQueueFields = field_names("max_concurrency", "paused");
constexpr auto kConfigFields = field_names("enabled", "max_concurrent_jobs", "check_interval_seconds", "timezone",
                                           "default_retry_max_attempts", "default_retry_backoff_seconds", "retention");

// ---- Reading -------------------------------------------------------------------------------------------------------

Result<TimeOfDay> read_time(std::string_view text, SettingsReader& reader, std::string_view name) {
  TRY_ASSIGN(const Json* const value, reader.required(name, JsonType::string));
  const auto time = parse_time_of_day(value->text);
  if (!time) return json_error(text, value->offset, reader.path_of(name), time.error().message);
  return *time;
}

Result<Weekday> read_day(std::string_view text, const Json& value, const std::string& path) {
  if (value.type != JsonType::string) {
    return json_error(text, value.offset, path, fmt::format("expected a day name, found {}", describe(value.type)));
  }
  TextCursor cursor("day", value.text);
  const auto day = parse_weekday(cursor);
  if (!day) return json_error(text, value.offset, path, day.error().message);
  if (!cursor.at_end()) {
    return json_error(text, value.offset, path, cursor.expected("the end after the day's name").error().message);
  }
  return *day;
}

Result<std::vector<Weekday>> read_days(std::string_view text, SettingsReader& reader) {
  std::vector<Weekday> days;
  TRY_ASSIGN(const Json* const named, reader.optional("days", JsonType::array));
  if (named == nullptr) return days;
  for (std::size_t i = 0; i < named->items.size(); ++i) {
    TRY_ASSIGN(const Weekday day, read_day(text, named->items[i], fmt::format("{}[{}]", reader.path_of("days"), i)));
    days.push_back(day);
  }
  std::ranges::sort(days);
  const auto repeated = std::ranges::unique(days);
  days.erase(repeated.begin(), repeated.end());
  return days;
}

// Whole seconds, from 1 to `max`.
Result<void> read_seconds(SettingsReader& reader, std::string_view name, std::optional<Duration>& into,
                          std::uint32_t max) {
  std::optional<std::uint32_t> seconds;
  TRY(reader.count(name, seconds, max));
  if (seconds) {
    into = std::chrono::seconds(*seconds);
  } else if (reader.has(name)) {
    into.reset();
  }
  return {};
}

Result<QuietHours> read_quiet_hours(std::string_view text, const Json& value, std::string path) {
  TRY_ASSIGN(SettingsReader reader, SettingsReader::of(text, value, std::move(path), kQuietHoursFields));
  QuietHours quiet;
  TRY_ASSIGN(quiet.start, read_time(text, reader, "start"));
  TRY_ASSIGN(quiet.end, read_time(text, reader, "end"));
  TRY_ASSIGN(quiet.days, read_days(text, reader));
  TRY(reader.zone("timezone", quiet.timezone));
  if (quiet.start == quiet.end) {
    return reader.cannot_work(*value.find("end"), reader.path_of("end"),
                              "must differ from start; to hold all starts, pause the tenant");
  }
  return quiet;
}

// ---- Writing -------------------------------------------------------------------------------------------------------

std::string text_or_null(const std::optional<std::string>& text) { return text ? json_string(*text) : "null"; }

std::string count_or_null(std::optional<std::uint32_t> count) { return count ? std::to_string(*count) : "null"; }

std::string duration_or_null(std::optional<Duration> duration) {
  return duration ? json_string(format_duration(*duration)) : "null";
}

// As a number, whole if it can be.
std::string seconds_or_null(std::optional<Duration> duration) {
  return duration ? fmt::format("{}", std::chrono::duration<double>(*duration).count()) : "null";
}

}  // namespace

Result<QuietHours> parse_quiet_hours(std::string_view json) {
  TRY_ASSIGN(const Json root, parse_settings_object(json, "quiet_hours"));
  return read_quiet_hours(json, root, "");
}

Result<TenantSettings> parse_tenant_settings(std::string_view json, TenantSettings onto) {
  TRY_ASSIGN(const Json root, parse_settings_object(json, "settings"));
  TRY_ASSIGN(SettingsReader reader, SettingsReader::of(json, root, "", kSettingsFields));
  TRY(reader.zone("timezone", onto.timezone));
  TRY_ASSIGN(const Json* const quiet, reader.optional("quiet_hours", JsonType::object));
  if (reader.has("quiet_hours")) onto.quiet_hours.reset();
  if (quiet != nullptr) {
    TRY_ASSIGN(onto.quiet_hours, read_quiet_hours(json, *quiet, "quiet_hours"));
  }
  TRY(reader.count("max_concurrency", onto.max_concurrency, kConcurrencyMax));
  std::optional<std::uint32_t> weight = onto.weight;
  TRY(reader.count("weight", weight, kWeightMax));
  onto.weight = weight.value_or(TenantSettings{}.weight);
  TRY(reader.duration("retention", onto.retention, {.min = kRetentionMin, .max = kDurationMax}));
  TRY(reader.flag("paused", onto.paused, false));
  return onto;
}

Result<Maintenance> parse_maintenance(std::string_view json) {
  TRY_ASSIGN(const Json root, parse_settings_object(json, "maintenance"));
  TRY_ASSIGN(SettingsReader reader, SettingsReader::of(json, root, "", kMaintenanceFields));
  Maintenance maintenance;
  TRY(reader.instant("until", maintenance.until));
  TRY(reader.line("reason", maintenance.reason, kReasonBytesMax));
  return maintenance;
}

Result<QueueSettings> parse_queue_settings(std::string_view json, QueueSettings onto) {
  TRY_ASSIGN(const Json root, parse_settings_object(json, "queue"));
  TRY_ASSIGN(SettingsReader reader, SettingsReader::of(json, root, "", kQueueFields));
  TRY(reader.count("max_concurrency", onto.max_concurrency, kConcurrencyMax));
  TRY(reader.flag("paused", onto.paused, false));
  return onto;
}

Result<EngineConfig> parse_engine_config(std::string_view json, EngineConfig onto) {
  TRY_ASSIGN(const Json root, parse_settings_object(json, "config"));
  TRY_ASSIGN(SettingsReader reader, SettingsReader::of(json, root, "", kConfigFields));
  TRY(reader.flag("enabled", onto.enabled, true));
  TRY(reader.count("max_concurrent_jobs", onto.max_concurrent_jobs, kConcurrencyMax));
  TRY(read_seconds(reader, "check_interval_seconds", onto.check_interval, kCheckIntervalSecondsMax));
  TRY(reader.zone("timezone", onto.timezone));
  TRY(reader.count("default_retry_max_attempts", onto.default_retry_max_attempts, kMaxAttemptsMax));
  TRY(read_seconds(reader, "default_retry_backoff_seconds", onto.default_retry_backoff, kRetryBackoffSecondsMax));
  TRY(reader.duration("retention", onto.retention, {.min = kRetentionMin, .max = kDurationMax}));
  return onto;
}

std::string write_quiet_hours(const QuietHours& quiet) {
  JsonArray days;
  for (const Weekday day : quiet.days) days.raw(json_string(short_name(day)));
  JsonObject object;
  object.text("start", format_time_of_day(quiet.start)).text("end", format_time_of_day(quiet.end));
  object.raw("days", days.str()).raw("timezone", text_or_null(quiet.timezone));
  return object.str();
}

std::string write_tenant_settings(const TenantSettings& settings) {
  JsonObject object;
  object.raw("timezone", text_or_null(settings.timezone));
  object.raw("quiet_hours", settings.quiet_hours ? write_quiet_hours(*settings.quiet_hours) : "null");
  object.raw("max_concurrency", count_or_null(settings.max_concurrency)).integer("weight", settings.weight);
  object.raw("retention", duration_or_null(settings.retention)).boolean("paused", settings.paused);
  return object.str();
}

std::string write_maintenance(const Maintenance& maintenance) {
  JsonObject object;
  object.raw("until", maintenance.until ? json_string(format_instant(*maintenance.until)) : "null");
  object.text("reason", maintenance.reason);
  return object.str();
}

std::string write_queue_settings(const QueueSettings& settings) {
  JsonObject object;
  object.raw("max_concurrency", count_or_null(settings.max_concurrency)).boolean("paused", settings.paused);
  return object.str();
}

std::string write_engine_config(const EngineConfig& config) {
  JsonObject object;
  object.boolean("enabled", config.enabled).raw("max_concurrent_jobs", count_or_null(config.max_concurrent_jobs));
  object.raw("check_interval_seconds", seconds_or_null(config.check_interval));
  object.raw("timezone", text_or_null(config.timezone));
  object.raw("default_retry_max_attempts", count_or_null(config.default_retry_max_attempts));
  object.raw("default_retry_backoff_seconds", seconds_or_null(config.default_retry_backoff));
  object.raw("retention", duration_or_null(config.retention));
  return object.str();
}

EngineConfig pinned(EngineConfig stored, const ConfigPins& pins) {
  if (pins.enabled) stored.enabled = *pins.enabled;
  if (pins.max_concurrent_jobs) stored.max_concurrent_jobs = pins.max_concurrent_jobs;
  if (pins.check_interval) stored.check_interval = pins.check_interval;
  if (pins.timezone) stored.timezone = pins.timezone;
  if (pins.default_retry_max_attempts) stored.default_retry_max_attempts = pins.default_retry_max_attempts;
  if (pins.default_retry_backoff) stored.default_retry_backoff = pins.default_retry_backoff;
  if (pins.retention) stored.retention = pins.retention;
  return stored;
}

}  // namespace carillon
