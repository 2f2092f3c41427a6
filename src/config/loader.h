// Which of several sources counts: flags over the environment, that over the file, that over defaults.
//
//   TRY_ASSIGN(const auto loaded, load(library_settings(), sources));
//   loaded.config.tick
//   pin_of(library_settings(), loaded.settings, "tick_ms")     // "environment WORKER_POLL_MS"
//
// Some things have several names (`tick_ms`, `SCHEDULER_TICK_MINUTES`, `WORKER_POLL_MS`): names that disagree are an
// error, as nobody can know which one was meant.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/setting.h"
#include "config/toml.h"

namespace carillon::config {

using Environment = std::map<std::string, std::string>;
Environment environment_of_process();

// A text, and what it is called in messages.
struct ConfigFile {
  std::string path;
  std::string text;
};
// `origin`: who has named it. Errors: invalid_configuration.
Result<ConfigFile> read_config_file(const std::string& path, std::string_view origin);

enum class ConfigSource : std::uint8_t { standard, file, environment, flag };

// One setting as it came out.
struct EffectiveSetting {
  std::string key;    // its first name
  std::string value;  // as it would be written; nothing secret
  ConfigSource source = ConfigSource::standard;
  std::string origin;  // "default", "flag --db", "environment WORKER_POLL_MS", "carillon.toml, line 3"
};

struct Sources {
  std::map<std::string, std::string> values;  // by key: flags, or what a program says itself
  std::string_view values_are = "flag";       // how messages call them
  Environment environment;
  std::optional<ConfigFile> file;
  std::string own_table;  // a table of the file that is read by somebody else; "": none
  // That are known besides, so that nothing is taken for a mistake of them: those of the command line's client side.
  std::vector<std::string> other_variables = {"CARILLON_CONFIG", "CARILLON_KEY", "CARILLON_SERVER", "CARILLON_TENANT"};
};

template <typename Config>
struct Loaded {
  Config config;
  std::vector<EffectiveSetting> settings;
  std::vector<std::string> warnings;  // what is probably a mistake, a line each
  std::vector<TomlEntry> own;         // what was in the own table
};

// A value, under which name it was given, and where.
struct Given {
  const SettingName* name = nullptr;
  GivenValue value;
  ConfigSource source = ConfigSource::standard;
  std::string origin;
};

// What does not depend on where the values go.
class SourceReader {
 public:
  SourceReader(const Sources& from, std::vector<const std::vector<SettingName>*> names);

  // Divides what the file has, and refuses what nobody knows.
  Result<void> read_file(std::vector<TomlEntry>& own);
  Result<void> refuse_unknown_values() const;
  // All that was given for a setting, the strongest first.
  std::vector<Given> all_given(const std::vector<SettingName>& names) const;
  // Others may set variables that begin as ours do (a container's links), so that a strange one is no error.
  std::vector<std::string> near_variables() const;

 private:
  std::vector<std::string> known_keys() const;
  std::unexpected<Error> unknown_key(const std::string& key, const TomlEntry& entry) const;

  const Sources& from_;
  const std::vector<const std::vector<SettingName>*> names_;
  std::vector<TomlEntry> entries_;
};

std::unexpected<Error> wrong_value(const Given& given, bool is_secret, std::string_view allowed);
std::unexpected<Error> disagreement(const Given& one, const Given& other);
// A value that a stronger source gives under the same name is overridden, and cannot disagree.
bool counts_beside(const Given& each, const std::vector<Given>& given);
// Names the key as well, where it is not the one that the setting is shown by.
std::string origin_of(const Given& given, const SettingName& shown_as);

template <typename Config>
Result<void> decide(const Setting<Config>& setting, const std::vector<Given>& given, Loaded<Config>& loaded) {
  // By each name the strongest counts; the names must agree.
  const Given* chosen = nullptr;
  std::optional<std::string> chosen_value;
  for (const Given& each : given) {
    Config scratch;
    if (const auto set = setting.set(each.value, *each.name, scratch); !set) {
      return wrong_value(each, setting.is_secret, set.error().message);
    }
    const std::optional<std::string> value = setting.show(scratch);
    if (chosen == nullptr) {
      chosen = &each;
      chosen_value = value;
    } else if (value != chosen_value && counts_beside(each, given)) {
      return disagreement(*chosen, each);
    }
  }
  if (chosen != nullptr) TRY(setting.set(chosen->value, *chosen->name, loaded.config));
  loaded.settings.push_back({.key = setting.names.front().key,
                             .value = setting.show(loaded.config).value_or(""),
                             .source = chosen == nullptr ? ConfigSource::standard : chosen->source,
                             .origin = chosen == nullptr ? "default" : origin_of(*chosen, setting.names.front())});
  return {};
}

template <typename Config>
Result<Loaded<Config>> load(const std::vector<Setting<Config>>& table, const Sources& from) {
  std::vector<const std::vector<SettingName>*> names;
  names.reserve(table.size());
  for (const Setting<Config>& setting : table) names.push_back(&setting.names);
  SourceReader reader(from, std::move(names));
  Loaded<Config> loaded;
  TRY(reader.read_file(loaded.own));
  TRY(reader.refuse_unknown_values());
  for (const Setting<Config>& setting : table) TRY(decide(setting, reader.all_given(setting.names), loaded));
  loaded.warnings = reader.near_variables();
  return loaded;
}

// Where a setting was given, by any of its names; nothing: it is the default, or there is none of that name.
template <typename Config>
std::optional<std::string> pin_of(const std::vector<Setting<Config>>& table,
                                  const std::vector<EffectiveSetting>& settings, std::string_view key) {
  for (const Setting<Config>& setting : table) {
    if (std::ranges::find(setting.names, key, &SettingName::key) == setting.names.end()) continue;
    const auto found = std::ranges::find(settings, setting.names.front().key, &EffectiveSetting::key);
    if (found == settings.end() || found->source == ConfigSource::standard) return std::nullopt;
    return found->origin;
  }
  return std::nullopt;
}

}  // namespace carillon::config
