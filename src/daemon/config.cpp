#include "daemon/config.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "daemon/config_handlers.h"
#include "daemon/config_settings.h"

namespace carillon::daemon {

namespace {

constexpr std::string_view kFileDefault = "carillon.toml";
constexpr std::string_view kFileVariable = "CARILLON_CONFIG";
constexpr std::string_view kHandlers = "handlers";

const EffectiveSetting& effective(const LoadedConfig& loaded, std::string_view key) {
  return *std::ranges::find(loaded.settings, key, &EffectiveSetting::key);
}

// What is right alone and wrong beside another.
Result<void> check_together(const LoadedConfig& loaded) {
  const ServerConfig& config = loaded.config;
  if (!config.listen.is_loopback() && !config.behind_proxy) {
    const EffectiveSetting& listen = effective(loaded, "listen");
    return invalid_configuration(fmt::format(
        "listen = {} ({}): must be a loopback address, as there is no TLS here; with a proxy in front that does TLS, "
        "say --behind-proxy",
        carillon::quoted(listen.value), listen.origin));
  }
  if (config.clock && !config.db.starts_with("sqlite:")) {
    const EffectiveSetting& clock = effective(loaded, "clock");
    return invalid_configuration(fmt::format("clock = {} ({}): must go with a database sqlite:PATH, not {}",
                                             carillon::quoted(clock.value), clock.origin,
                                             carillon::quoted(effective(loaded, "db").value)));
  }
  return {};
}

Result<std::optional<ConfigFile>> find_config_file(const ServeFlags& flags, const Environment& environment) {
  if (flags.config) return config::read_config_file(*flags.config, "flag --config");
  const auto variable = environment.find(std::string(kFileVariable));
  if (variable != environment.end() && !variable->second.empty()) {
    return config::read_config_file(variable->second, fmt::format("environment {}", kFileVariable));
  }
  std::error_code error;
  if (!std::filesystem::exists(kFileDefault, error)) return std::nullopt;
  return config::read_config_file(std::string(kFileDefault), "found in the working folder");
}

}  // namespace

std::optional<std::string> LoadedConfig::pin(std::string_view key) const {
  return config::pin_of(all_settings(), settings, key);
}

std::map<std::string, std::string> LoadedConfig::pins() const {
  std::map<std::string, std::string> out;
  for (const Setting& setting : all_settings()) {
    for (const SettingName& name : setting.names) {
      if (const auto origin = pin(name.key)) out.emplace(name.key, *origin);
    }
  }
  return out;
}

Result<LoadedConfig> load_config(const ServeFlags& flags, const Environment& environment) {
  TRY_ASSIGN(const std::optional<ConfigFile> file, find_config_file(flags, environment));
  return load_config(flags, environment, file);
}

Result<LoadedConfig> load_config(const ServeFlags& flags, const Environment& environment,
                                 const std::optional<ConfigFile>& file) {
  config::Sources sources{.values = flags.values};
  sources.environment = environment;
  sources.file = file;
  sources.own_table = kHandlers;
  TRY_ASSIGN(auto found, config::load(all_settings(), sources));
  LoadedConfig loaded{.config = std::move(found.config),
                      .settings = std::move(found.settings),
                      .warnings = std::move(found.warnings),
                      .file = std::nullopt};
  auto handlers = read_handlers(found.own);
  if (!handlers) return invalid_configuration(fmt::format("{}, {}", file->path, handlers.error().message));
  loaded.config.handlers = *std::move(handlers);
  TRY(check_together(loaded));
  if (file) loaded.file = file->path;
  return loaded;
}

}  // namespace carillon::daemon
