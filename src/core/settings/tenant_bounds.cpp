#include "core/settings/tenant_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/json_writer.h"
#include "core/settings/settings_reader.h"

namespace carillon {

namespace {

constexpr std::string_view kMaxConcurrency = "max_concurrency";
constexpr std::string_view kWeight = "weight";
constexpr std::string_view kRetention = "retention";

template <typename T>
std::optional<T> tighter(const std::optional<T>& own, const std::optional<T>& bound) {
  if (!own || !bound) return own ? own : bound;
  return std::min(*own, *bound);
}

std::unexpected<Error> above_bound(std::string_view field, const std::string& wanted, const std::string& bound) {
  Error error{.code = ErrorCode::invalid_configuration,
              .message = fmt::format("{} is {}; the operator lets this tenant have at most {}", field, wanted, bound)};
  error.field = field;
  return std::unexpected(std::move(error));
}

}  // namespace

Result<TenantBounds> parse_tenant_bounds(std::string_view json) {
  TRY_ASSIGN(const Json root, parse_settings_object(json, "bounds"));
  static constexpr auto kFields = field_names(kMaxConcurrency, kWeight, kRetention);
  TRY_ASSIGN(SettingsReader reader, SettingsReader::of(json, root, "", kFields));
  TenantBounds bounds;
  TRY(reader.count(kMaxConcurrency, bounds.max_concurrency, kConcurrencyMax));
  std::optional<std::uint32_t> weight;
  TRY(reader.count(kWeight, weight, kWeightMax));
  bounds.weight = weight.value_or(TenantBounds{}.weight);
  TRY(reader.duration(kRetention, bounds.retention, {.min = kRetentionMin, .max = kDurationMax}));
  return bounds;
}

std::string write_tenant_bounds(const TenantBounds& bounds) {
  JsonObject object;
  object.raw(kMaxConcurrency, bounds.max_concurrency ? std::to_string(*bounds.max_concurrency) : "null");
  object.integer(kWeight, bounds.weight);
  object.raw(kRetention, bounds.retention ? json_string(format_duration(*bounds.retention)) : "null");
  return object.str();
}

TenantBounds bounds_of(const TenantSettings& settings) {
  return {.max_concurrency = settings.max_concurrency, .weight = settings.weight, .retention = settings.retention};
}

TenantSettings bounded(TenantSettings settings, const TenantBounds& bounds, std::optional<Duration> retention) {
  settings.max_concurrency = tighter(settings.max_concurrency, bounds.max_concurrency);
  settings.weight = std::min(settings.weight, bounds.weight);
  if (bounds.retention) {
    settings.retention = tighter(settings.retention, bounds.retention);
  } else if (settings.retention) {
    settings.retention = tighter(settings.retention, retention);
  }
  return settings;
}

Result<SettingsAfter> put_by_operator(std::string_view body, SettingsBefore before) {
  TRY_ASSIGN(const Json given, parse_settings_object(body, "settings"));
  TRY_ASSIGN(before.settings, parse_tenant_settings(body, std::move(before.settings)));
  const TenantBounds set = bounds_of(before.settings);
  if (given.find(kMaxConcurrency) != nullptr) before.bounds.max_concurrency = set.max_concurrency;
  if (given.find(kWeight) != nullptr) before.bounds.weight = set.weight;
  if (given.find(kRetention) != nullptr) before.bounds.retention = set.retention;
  return before;
}

Result<SettingsAfter> put_by_tenant(std::string_view body, SettingsBefore before, std::optional<Duration> retention) {
  TRY_ASSIGN(const Json given, parse_settings_object(body, "settings"));
  TRY_ASSIGN(before.settings, parse_tenant_settings(body, std::move(before.settings)));
  TenantSettings& settings = before.settings;
  const TenantBounds& bounds = before.bounds;
  const auto is_null = [&](std::string_view field) {
    const Json* const value = given.find(field);
    return value != nullptr && value->type == JsonType::null;
  };
  // What is not its own is its bound: the other two say nothing then, and are bounded when they are read.
  if (is_null(kWeight)) settings.weight = bounds.weight;
  if (given.find(kMaxConcurrency) != nullptr && settings.max_concurrency && bounds.max_concurrency &&
      *settings.max_concurrency > *bounds.max_concurrency) {
    return above_bound(kMaxConcurrency, std::to_string(*settings.max_concurrency),
                       std::to_string(*bounds.max_concurrency));
  }
  if (given.find(kWeight) != nullptr && settings.weight > bounds.weight) {
    return above_bound(kWeight, std::to_string(settings.weight), std::to_string(bounds.weight));
  }
  const std::optional<Duration> kept = bounds.retention ? bounds.retention : retention;
  if (given.find(kRetention) != nullptr && settings.retention && kept && *settings.retention > *kept) {
    return above_bound(kRetention, format_duration(*settings.retention), format_duration(*kept));
  }
  return before;
}

}  // namespace carillon
