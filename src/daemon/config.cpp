#include "daemon/config.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "daemon/config_address.h"
#include "daemon/config_handlers.h"
#include "daemon/config_settings.h"
#include "daemon/config_toml.h"
#include "daemon/config_values.h"

namespace carillon::daemon {

namespace {

constexpr std::string_view kFileDefault = "carillon.toml";
constexpr std::string_view kFileVariable = "CARILLON_CONFIG";
// Of the command line's client side, and of where the file is.
constexpr std::array<std::string_view, 4> kOtherVariables{kFileVariable, "CARILLON_KEY", "CARILLON_SERVER",
                                                          "CARILLON_TENANT"};

// A value, under which name it was given, and where.
struct Given {
  const SettingName* name = nullptr;
  GivenValue value;
  ConfigSource source = ConfigSource::standard;
  std::string origin;
};

GivenValue plain(std::string text) { return {.kind = GivenValue::Kind::plain, .text = std::move(text), .items = {}}; }

std::unexpected<Error> wrong_value(const Setting& setting, const Given& given, std::string_view allowed) {
  return invalid_configuration(fmt::format("{} = {} ({}): must be {}", given.name->key,
                                           setting.is_secret ? "(not shown)" : without_password(shown(given.value)),
                                           given.origin, allowed));
}

// What a setting is called everywhere, for a name that nobody knows.
std::vector<std::string> known_keys() {
  std::vector<std::string> keys;
  for (const Setting& setting : all_settings()) {
    for (const SettingName& name : setting.names) keys.push_back(name.key);
  }
  return keys;
}

class Loader {
 public:
  Loader(const ServeFlags& flags, const Environment& environment, const std::optional<ConfigFile>& file)
      : flags_(flags), environment_(environment), file_(file) {}
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  ~Loader() = default;

  Result<LoadedConfig> load() {
    TRY(read_file_entries());
    TRY(refuse_unknown_flags());
    for (const Setting& setting : all_settings()) TRY(decide(setting));
    TRY(check_together());
    warn_of_near_variables();
    if (file_) loaded_.file = file_->path;
    return std::move(loaded_);
  }

 private:
  Result<void> read_file_entries() {
    if (!file_) return {};
    auto entries = read_toml(file_->text);
    if (!entries) return invalid_configuration(fmt::format("{}, {}", file_->path, entries.error().message));
    std::vector<TomlEntry> handlers;
    const std::vector<std::string> keys = known_keys();
    for (TomlEntry& entry : *entries) {
      if (entry.path.front() == "handlers") {
        handlers.push_back(std::move(entry));
        continue;
      }
      const std::string key = fmt::format("{}", fmt::join(entry.path, "."));
      const bool is_plain =
          std::ranges::none_of(entry.path, [](const std::string& part) { return part.contains('.'); });
      if (is_plain && std::ranges::find(keys, key) != keys.end()) {
        file_entries_.push_back(std::move(entry));
        continue;
      }
      if (entry.value.kind == GivenValue::Kind::other && is_section(key)) continue;  // an empty [worker]
      return unknown_key(key, entry, keys);
    }
    auto read = read_handlers(handlers);
    if (!read) return invalid_configuration(fmt::format("{}, {}", file_->path, read.error().message));
    loaded_.config.handlers = *std::move(read);
    return {};
  }

  static bool is_section(std::string_view key) {
    return key == "log" || key == "scheduler" || key == "worker" || key == "webhooks";
  }

  std::unexpected<Error> unknown_key(const std::string& key, const TomlEntry& entry,
                                     std::vector<std::string> known) const {
    known.emplace_back("handlers");
    std::string near = nearest_name(key, known);
    if (near.empty()) {
      // Right in its last part, but in the wrong table.
      const auto same_end = std::ranges::find_if(known, [&](const std::string& candidate) {
        return candidate.ends_with("." + entry.path.back()) || candidate == entry.path.back();
      });
      if (same_end != known.end()) near = *same_end;
    }
    return invalid_configuration(fmt::format(
        "unknown key {} ({}, line {}){}", carillon::quoted(key), file_->path, entry.line,
        near.empty() ? "; docs/configuration.md lists what is known" : fmt::format("; did you mean {}?", near)));
  }

  Result<void> refuse_unknown_flags() const {
    const std::vector<std::string> keys = known_keys();
    for (const auto& [key, value] : flags_.values) {
      if (std::ranges::find(keys, key) != keys.end()) continue;
      const std::string near = nearest_name(key, keys);
      return invalid_configuration(fmt::format("unknown setting {} on the command line{}", carillon::quoted(key),
                                               near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    }
    return {};
  }

  // All that was given for a setting, the strongest first.
  std::vector<Given> all_given(const Setting& setting) const {
    std::vector<Given> out;
    for (const SettingName& name : setting.names) {
      if (const auto flag = flags_.values.find(name.key); flag != flags_.values.end()) {
        const std::string shown_flag = name.flag.empty() ? "--set " + name.key : name.flag;
        out.push_back({&name, plain(flag->second), ConfigSource::flag, "flag " + shown_flag});
      }
    }
    for (const SettingName& name : setting.names) {
      for (const std::string& variable : name.environment) {
        const auto found = environment_.find(variable);
        // Set to nothing is not set.
        if (found == environment_.end() || found->second.empty()) continue;
        out.push_back({&name, plain(found->second), ConfigSource::environment, "environment " + variable});
      }
    }
    for (const SettingName& name : setting.names) {
      for (const TomlEntry& entry : file_entries_) {
        if (fmt::format("{}", fmt::join(entry.path, ".")) != name.key) continue;
        out.push_back({&name, entry.value, ConfigSource::file, fmt::format("{}, line {}", file_->path, entry.line)});
      }
    }
    return out;
  }

  Result<void> decide(const Setting& setting) {
    const std::vector<Given> given = all_given(setting);
    // By each name the strongest counts; the names must agree.
    const Given* chosen = nullptr;
    std::optional<std::string> chosen_value;
    for (const Given& each : given) {
      ServerConfig scratch;
      if (const auto set = setting.set(each.value, *each.name, scratch); !set) {
        return wrong_value(setting, each, set.error().message);
      }
      const std::optional<std::string> value = setting.show(scratch);
      if (chosen == nullptr) {
        chosen = &each;
        chosen_value = value;
      } else if (value != chosen_value && counts_beside(each, given)) {
        return invalid_configuration(fmt::format(
            "{} = {} ({}) and {} = {} ({}) set the same thing and disagree; keep one of them, or make them agree",
            chosen->name->key, shown(chosen->value), chosen->origin, each.name->key, shown(each.value), each.origin));
      }
    }
    if (chosen != nullptr) TRY(setting.set(chosen->value, *chosen->name, loaded_.config));
    loaded_.settings.push_back({.key = setting.names.front().key,
                                .value = setting.show(loaded_.config).value_or(""),
                                .source = chosen == nullptr ? ConfigSource::standard : chosen->source,
                                .origin = chosen == nullptr ? "default" : origin_of(*chosen, setting.names.front())});
    return {};
  }

  // A value that a stronger source gives under the same name is overridden, and cannot disagree.
  static bool counts_beside(const Given& each, const std::vector<Given>& given) {
    return std::ranges::none_of(
        given, [&](const Given& other) { return other.name == each.name && other.source > each.source; });
  }

  // Names the key as well, where it is not the one that the setting is shown by.
  static std::string origin_of(const Given& given, const SettingName& shown_as) {
    if (given.source == ConfigSource::file && given.name->key != shown_as.key) {
      return fmt::format("{} ({})", given.origin, given.name->key);
    }
    return given.origin;
  }

  const EffectiveSetting& effective(std::string_view key) const {
    return *std::ranges::find(loaded_.settings, key, &EffectiveSetting::key);
  }

  // What is right alone and wrong beside another.
  Result<void> check_together() const {
    const ServerConfig& config = loaded_.config;
    if (!config.listen.is_loopback() && !config.behind_proxy) {
      const EffectiveSetting& listen = effective("listen");
      return invalid_configuration(fmt::format(
          "listen = {} ({}): must be a loopback address, as there is no TLS here; with a proxy in front that does TLS, "
          "say --behind-proxy",
          carillon::quoted(listen.value), listen.origin));
    }
    if (config.clock && !config.db.starts_with("sqlite:")) {
      const EffectiveSetting& clock = effective("clock");
      return invalid_configuration(fmt::format("clock = {} ({}): must go with a database sqlite:PATH, not {}",
                                               carillon::quoted(clock.value), clock.origin,
                                               carillon::quoted(effective("db").value)));
    }
    return {};
  }

  // Others may set variables that begin as ours do (a container's links), so that a strange one is no error.
  void warn_of_near_variables() {
    std::vector<std::string> known(kOtherVariables.begin(), kOtherVariables.end());
    for (const Setting& setting : all_settings()) {
      for (const SettingName& name : setting.names) {
        known.insert(known.end(), name.environment.begin(), name.environment.end());
      }
    }
    for (const auto& [variable, value] : environment_) {
      const bool looks_ours =
          variable.starts_with("CARILLON_") || variable.starts_with("SCHEDULER_") || variable.starts_with("WORKER_");
      if (!looks_ours || std::ranges::find(known, variable) != known.end()) continue;
      constexpr std::size_t kPrefix = std::string_view("CARILLON_").size();
      const std::string near = nearest_name(variable, known);
      if (near.empty() || variable.size() <= kPrefix) continue;
      loaded_.warnings.push_back(
          fmt::format("environment {} is not known and has no effect; did you mean {}?", variable, near));
    }
  }

  const ServeFlags& flags_;
  const Environment& environment_;
  const std::optional<ConfigFile>& file_;
  std::vector<TomlEntry> file_entries_;
  LoadedConfig loaded_;
};

Result<ConfigFile> read_config_file(const std::string& path, std::string_view origin) {
  const auto refuse = [&](std::string_view why) {
    return invalid_configuration(
        fmt::format("cannot read the configuration {} ({}): {}", carillon::quoted(path), origin, why));
  };
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return refuse("it is a folder");
  std::ifstream file(path, std::ios::binary);
  if (!file) return refuse("no such file, or no permission");
  ConfigFile out{.path = path, .text = std::string(kConfigBytesMax + 1, '\0')};
  file.read(out.text.data(), static_cast<std::streamsize>(out.text.size()));
  if (file.bad()) return refuse("it is not a file that can be read");
  out.text.resize(static_cast<std::size_t>(file.gcount()));
  return out;
}

Result<std::optional<ConfigFile>> find_config_file(const ServeFlags& flags, const Environment& environment) {
  if (flags.config) return read_config_file(*flags.config, "flag --config");
  const auto variable = environment.find(std::string(kFileVariable));
  if (variable != environment.end() && !variable->second.empty()) {
    return read_config_file(variable->second, fmt::format("environment {}", kFileVariable));
  }
  std::error_code error;
  if (!std::filesystem::exists(kFileDefault, error)) return std::nullopt;
  return read_config_file(std::string(kFileDefault), "found in the working folder");
}

}  // namespace

Environment environment_of_process() {
  Environment out;
  if (environ == nullptr) return out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    out.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

std::optional<std::string> LoadedConfig::pin(std::string_view key) const {
  for (const Setting& setting : all_settings()) {
    if (std::ranges::find(setting.names, key, &SettingName::key) == setting.names.end()) continue;
    const auto found = std::ranges::find(settings, setting.names.front().key, &EffectiveSetting::key);
    if (found == settings.end() || found->source == ConfigSource::standard) return std::nullopt;
    return found->origin;
  }
  return std::nullopt;
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
  return Loader(flags, environment, file).load();
}

}  // namespace carillon::daemon
