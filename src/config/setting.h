// One setting: how it is called, what it may be, and where in a configuration it goes.
//
// `Config` is what it belongs to. A setting of a base is one of what is derived from it, too: the table of the library
// is part of the server's.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/toml.h"
#include "config/values.h"
#include "core/time/duration.h"

namespace carillon::config {

// One way to call a setting.
struct SettingName {
  std::string key;                       // in the file: tick_ms, worker.poll_ms
  std::vector<std::string> environment;  // CARILLON_TICK_MS, and what else it is known by
  std::string flag;                      // --tick-ms; nothing: none
  std::int64_t scale = 1;                // of a number: how many of the setting's own unit are one of this name's
};

// tick_ms is CARILLON_TICK_MS in the environment, worker.poll_ms CARILLON_WORKER_POLL_MS.
inline std::string environment_name(std::string_view key) {
  std::string out = "CARILLON_";
  for (const char c : key) out += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

struct NameOptions {
  std::string_view also;  // another name in the environment
  std::string_view flag;
  std::int64_t scale = 1;
};

inline SettingName named(std::string_view key, const NameOptions& options = {}) {
  SettingName name{.key = std::string(key), .environment = {environment_name(key)}, .flag = std::string(options.flag)};
  if (!options.also.empty()) name.environment.emplace_back(options.also);
  name.scale = options.scale;
  return name;
}

template <typename Config>
struct Setting {
  std::vector<SettingName> names;  // the first one is how it is shown
  std::string help;
  std::string value_name;  // nothing: a switch
  bool is_secret = false;

  // Puts the value, as called by `name`, into the configuration. The error says only what is allowed.
  std::function<Result<void>(const GivenValue& value, const SettingName& name, Config& into)> set;
  // As it would be given under the first name; nothing if it is not set.
  std::function<std::optional<std::string>(const Config& config)> show;
};

// As one of what is derived from `Base`.
template <typename Config, typename Base>
Setting<Config> of_derived(const Setting<Base>& setting) {
  return {.names = setting.names,
          .help = setting.help,
          .value_name = setting.value_name,
          .is_secret = setting.is_secret,
          .set = setting.set,
          .show = setting.show};
}

// The usual kinds. `member` gives the place in a configuration, constant or not.
template <typename Config>
struct Kinds {
  using One = Setting<Config>;

  template <typename T>
  static auto at(T Config::* member) {
    return [member](auto& config) -> auto& { return config.*member; };
  }
  // The member at the end of a path of members: slo, then eval.
  template <typename Outer, typename Inner>
  static auto inside(Outer Config::* outer, Inner Outer::* inner) {
    return [outer, inner](auto& config) -> auto& { return (config.*outer).*inner; };
  }

  // Whole milliseconds (or what `unit` is) in the names, a duration in the configuration.
  template <typename Member>
  static One span(std::vector<SettingName> names, std::string help, IntegerRange range, Member member,
                  Duration unit = std::chrono::milliseconds(1)) {
    One setting{.names = std::move(names), .help = std::move(help), .value_name = "N"};
    setting.set = [=](const GivenValue& value, const SettingName& name, Config& into) -> Result<void> {
      const IntegerRange scaled{.min = (range.min + name.scale - 1) / name.scale, .max = range.max / name.scale};
      TRY_ASSIGN(const std::int64_t count, read_integer(value, scaled));
      member(into) = unit * (count * name.scale);
      return {};
    };
    setting.show = [=](const Config& config) -> std::optional<std::string> {
      if constexpr (requires { member(config).has_value(); }) {
        if (!member(config)) return std::nullopt;
        return fmt::to_string(*member(config) / unit);
      } else {
        return fmt::to_string(member(config) / unit);
      }
    };
    return setting;
  }

  template <typename Member>
  static One count(std::vector<SettingName> names, std::string help, IntegerRange range, Member member) {
    One setting{.names = std::move(names), .help = std::move(help), .value_name = "N"};
    setting.set = [=](const GivenValue& value, const SettingName& /*name*/, Config& into) -> Result<void> {
      TRY_ASSIGN(const std::int64_t read, read_integer(value, range));
      member(into) = static_cast<std::uint32_t>(read);
      return {};
    };
    setting.show = [=](const Config& config) -> std::optional<std::string> {
      if constexpr (requires { member(config).has_value(); }) {
        if (!member(config)) return std::nullopt;
        return fmt::to_string(*member(config));
      } else {
        if (member(config) == 0) return std::nullopt;
        return fmt::to_string(member(config));
      }
    };
    return setting;
  }

  template <typename Member>
  static One number(std::string_view key, std::string help, NumberRange range, Member member) {
    One setting{.names = {named(key)}, .help = std::move(help), .value_name = "N"};
    setting.set = [=](const GivenValue& value, const SettingName& /*name*/, Config& into) -> Result<void> {
      TRY_ASSIGN(member(into), read_number(value, range));
      return {};
    };
    setting.show = [=](const Config& config) { return fmt::format("{}", member(config)); };
    return setting;
  }

  template <typename Member>
  static One duration(SettingName name, std::string help, DurationRange range, Member member) {
    One setting{.names = {std::move(name)}, .help = std::move(help), .value_name = "DURATION"};
    setting.set = [=](const GivenValue& value, const SettingName& /*name*/, Config& into) -> Result<void> {
      TRY_ASSIGN(member(into), read_duration(value, range));
      return {};
    };
    setting.show = [=](const Config& config) { return format_duration(member(config)); };
    return setting;
  }

  template <typename Member>
  static One boolean(SettingName name, std::string help, Member member) {
    One setting{.names = {std::move(name)}, .help = std::move(help)};
    setting.set = [=](const GivenValue& value, const SettingName& /*name*/, Config& into) -> Result<void> {
      TRY_ASSIGN(member(into), read_boolean(value));
      return {};
    };
    setting.show = [=](const Config& config) -> std::optional<std::string> {
      if constexpr (requires { member(config).has_value(); }) {
        if (!member(config)) return std::nullopt;
        return *member(config) ? "true" : "false";
      } else {
        return member(config) ? "true" : "false";
      }
    };
    return setting;
  }

  // A text that `check` takes; its error says what is allowed.
  template <typename Member, typename Check>
  static One text(SettingName name, std::string help, std::string value_name, Member member, Check check) {
    One setting{.names = {std::move(name)}, .help = std::move(help), .value_name = std::move(value_name)};
    setting.set = [=](const GivenValue& value, const SettingName& /*name*/, Config& into) -> Result<void> {
      TRY_ASSIGN(std::string read, read_text(value));
      TRY(check(read));
      member(into) = std::move(read);
      return {};
    };
    setting.show = [=](const Config& config) -> std::optional<std::string> { return member(config); };
    return setting;
  }

  template <typename E, std::size_t kCount>
  static One choice(SettingName name, std::string help, const std::array<std::pair<std::string_view, E>, kCount>& words,
                    E Config::* member) {
    std::vector<std::string_view> known;
    for (const auto& [word, value] : words) known.push_back(word);
    One setting{
        .names = {std::move(name)}, .help = std::move(help), .value_name = fmt::format("{}", fmt::join(known, "|"))};
    setting.set = [=](const GivenValue& value, const SettingName& /*name*/, Config& into) -> Result<void> {
      const bool is_text = value.kind == GivenValue::Kind::plain || value.kind == GivenValue::Kind::text;
      const auto found = std::ranges::find(words, value.text, &std::pair<std::string_view, E>::first);
      if (!is_text || found == words.end()) return invalid_request(fmt::format("one of {}", fmt::join(known, ", ")));
      into.*member = found->second;
      return {};
    };
    setting.show = [=](const Config& config) {
      return std::string(std::ranges::find(words, config.*member, &std::pair<std::string_view, E>::second)->first);
    };
    return setting;
  }
};

}  // namespace carillon::config
