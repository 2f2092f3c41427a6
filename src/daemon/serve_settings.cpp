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

}  // namespace

EngineOptions engine_options_of(const LoadedConfig& loaded) {
  return config::engine_options_of(loaded.config, [&](std::string_view key) { return loaded.pin(key).has_value(); });
}

std::map<std::string, std::string, std::less<>> config_pins(const LoadedConfig& loaded) {
  std::map<std::string, std::string, std::less<>> pins;
  for (const std::string_view field : kConfigFields) {
    if (const auto pin = loaded.pin(field)) pins.emplace(field, *pin);
  }
  return pins;
}

}  // namespace carillon::daemon
