#include "daemon/serve_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace carillon::daemon {

namespace {

constexpr auto kConfigFields =
    std::to_array<std::string_view>({"enabled", "max_concurrent_jobs", "check_interval_seconds", "timezone",
                                     "default_retry_max_attempts", "default_retry_backoff_seconds", "retention"});

// Only what was given holds against the stored configuration: a default ranks below it.
template <typename T>
std::optional<T> if_given(const LoadedConfig& loaded, std::string_view key, T value) {
  return loaded.pin(key) ? std::optional<T>(value) : std::nullopt;
}

}  // namespace

RuleBook::Base rules_of(const LoadedConfig& loaded) {
  const ServerConfig& config = loaded.config;
  return {
      .pins = {.enabled = config.enabled,
               .max_concurrent_jobs = config.max_concurrent_jobs,
               .check_interval = if_given(loaded, "tick_ms", config.tick),
               .timezone = config.timezone,
               .default_retry_max_attempts = if_given(loaded, "worker.max_attempts", config.worker.max_attempts),
               .default_retry_backoff = config.worker.retry_backoff,
               .retention = if_given(loaded, "retention", config.retention)},
      .job = {.timeout = config.job_timeout,
              .lease = config.worker.lease,
              .max_attempts = config.worker.max_attempts,
              .retry = std::nullopt},
      .windows = {.max_backfill = config.scheduler.max_backfill_windows, .min_window = config.scheduler.min_window}};
}

std::map<std::string, std::string, std::less<>> config_pins(const LoadedConfig& loaded) {
  std::map<std::string, std::string, std::less<>> pins;
  for (const std::string_view field : kConfigFields) {
    if (const auto pin = loaded.pin(field)) pins.emplace(field, *pin);
  }
  return pins;
}

}  // namespace carillon::daemon
