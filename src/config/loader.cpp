#include "config/loader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/nearest_name.h"

namespace carillon::config {

namespace {

GivenValue plain(std::string text) { return {.kind = GivenValue::Kind::plain, .text = std::move(text), .items = {}}; }

std::string key_of(const TomlEntry& entry) { return fmt::format("{}", fmt::join(entry.path, ".")); }

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

SourceReader::SourceReader(const Sources& from, std::vector<const std::vector<SettingName>*> names)
    : from_(from), names_(std::move(names)) {}

// What a setting is called everywhere, for a name that nobody knows.
std::vector<std::string> SourceReader::known_keys() const {
  std::vector<std::string> keys;
  for (const auto* const names : names_) {
    for (const SettingName& name : *names) keys.push_back(name.key);
  }
  return keys;
}

Result<void> SourceReader::read_file(std::vector<TomlEntry>& own) {
  if (!from_.file) return {};
  auto entries = read_toml(from_.file->text);
  if (!entries) return invalid_configuration(fmt::format("{}, {}", from_.file->path, entries.error().message));
  const std::vector<std::string> keys = known_keys();
  const auto is_section = [&](const std::string& key) {
    return std::ranges::any_of(keys, [&](const std::string& known) { return known.starts_with(key + "."); });
  };
  for (TomlEntry& entry : *entries) {
    if (!from_.own_table.empty() && entry.path.front() == from_.own_table) {
      own.push_back(std::move(entry));
      continue;
    }
    const std::string key = key_of(entry);
    const bool is_plain = std::ranges::none_of(entry.path, [](const std::string& part) { return part.contains('.'); });
    if (is_plain && std::ranges::find(keys, key) != keys.end()) {
      entries_.push_back(std::move(entry));
      continue;
    }
    if (entry.value.kind == GivenValue::Kind::other && is_section(key)) continue;  // an empty [worker]
    return unknown_key(key, entry);
  }
  return {};
}

std::unexpected<Error> SourceReader::unknown_key(const std::string& key, const TomlEntry& entry) const {
  std::vector<std::string> known = known_keys();
  if (!from_.own_table.empty()) known.push_back(from_.own_table);
  std::string near = nearest_name(key, known);
  if (near.empty()) {
    // Right in its last part, but in the wrong table.
    const auto same_end = std::ranges::find_if(known, [&](const std::string& candidate) {
      return candidate.ends_with("." + entry.path.back()) || candidate == entry.path.back();
    });
    if (same_end != known.end()) near = *same_end;
  }
  return invalid_configuration(fmt::format(
      "unknown key {} ({}, line {}){}", carillon::quoted(key), from_.file->path, entry.line,
      near.empty() ? "; docs/configuration.md lists what is known" : fmt::format("; did you mean {}?", near)));
}

Result<void> SourceReader::refuse_unknown_values() const {
  const std::vector<std::string> keys = known_keys();
  for (const auto& [key, value] : from_.values) {
    if (std::ranges::find(keys, key) != keys.end()) continue;
    const std::string near = nearest_name(key, keys);
    return invalid_configuration(fmt::format("unknown setting {} {}{}", carillon::quoted(key),
                                             from_.values_are == "flag" ? "on the command line" : "of the program",
                                             near.empty() ? "" : fmt::format("; did you mean {}?", near)));
  }
  return {};
}

std::vector<Given> SourceReader::all_given(const std::vector<SettingName>& names) const {
  std::vector<Given> out;
  for (const SettingName& name : names) {
    if (const auto flag = from_.values.find(name.key); flag != from_.values.end()) {
      const bool has_flags = from_.values_are == "flag";
      const std::string shown_flag = name.flag.empty() ? "--set " + name.key : name.flag;
      out.push_back({&name, plain(flag->second), ConfigSource::flag,
                     has_flags ? "flag " + shown_flag : std::string(from_.values_are)});
    }
  }
  for (const SettingName& name : names) {
    for (const std::string& variable : name.environment) {
      const auto found = from_.environment.find(variable);
      // Set to nothing is not set.
      if (found == from_.environment.end() || found->second.empty()) continue;
      out.push_back({&name, plain(found->second), ConfigSource::environment, "environment " + variable});
    }
  }
  for (const SettingName& name : names) {
    for (const TomlEntry& entry : entries_) {
      if (key_of(entry) != name.key) continue;
      out.push_back({&name, entry.value, ConfigSource::file, fmt::format("{}, line {}", from_.file->path, entry.line)});
    }
  }
  return out;
}

std::vector<std::string> SourceReader::near_variables() const {
  std::vector<std::string> known = from_.other_variables;
  for (const auto* const names : names_) {
    for (const SettingName& name : *names) {
      known.insert(known.end(), name.environment.begin(), name.environment.end());
    }
  }
  std::vector<std::string> warnings;
  for (const auto& [variable, value] : from_.environment) {
    const bool looks_ours =
        variable.starts_with("CARILLON_") || variable.starts_with("SCHEDULER_") || variable.starts_with("WORKER_");
    if (!looks_ours || std::ranges::find(known, variable) != known.end()) continue;
    constexpr std::size_t kPrefix = std::string_view("CARILLON_").size();
    const std::string near = nearest_name(variable, known);
    if (near.empty() || variable.size() <= kPrefix) continue;
    warnings.push_back(fmt::format("environment {} is not known and has no effect; did you mean {}?", variable, near));
  }
  return warnings;
}

std::unexpected<Error> wrong_value(const Given& given, bool is_secret, std::string_view allowed) {
  return invalid_configuration(fmt::format("{} = {} ({}): must be {}", given.name->key,
                                           is_secret ? "(not shown)" : without_password(shown(given.value)),
                                           given.origin, allowed));
}

std::unexpected<Error> disagreement(const Given& one, const Given& other) {
  return invalid_configuration(
      fmt::format("{} = {} ({}) and {} = {} ({}) set the same thing and disagree; keep one of them, or make them agree",
                  one.name->key, shown(one.value), one.origin, other.name->key, shown(other.value), other.origin));
}

bool counts_beside(const Given& each, const std::vector<Given>& given) {
  return std::ranges::none_of(
      given, [&](const Given& other) { return other.name == each.name && other.source > each.source; });
}

std::string origin_of(const Given& given, const SettingName& shown_as) {
  if (given.source == ConfigSource::file && given.name->key != shown_as.key) {
    return fmt::format("{} ({})", given.origin, given.name->key);
  }
  return given.origin;
}

}  // namespace carillon::config
