// The table of all settings: how each is called, what it may be, and where it goes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "daemon/config.h"
#include "daemon/config_toml.h"

namespace carillon::daemon {

// One way to call a setting.
struct SettingName {
  std::string key;                       // in the file: tick_ms, worker.poll_ms
  std::vector<std::string> environment;  // CARILLON_TICK_MS, and what else it is known by
  std::string flag;                      // --tick-ms; nothing: none
  std::int64_t scale = 1;                // of a number: how many of the setting's own unit are one of this name's
};

struct Setting {
  std::vector<SettingName> names;  // the first one is how it is shown
  std::string help;
  std::string value_name;  // nothing: a switch
  bool is_secret = false;

  // Puts the value, as called by `name`, into the configuration. The error says only what is allowed.
  std::function<Result<void>(const GivenValue& value, const SettingName& name, ServerConfig& into)> set;
  // As it would be given under the first name; nothing if it is not set.
  std::function<std::optional<std::string>(const ServerConfig& config)> show;
};

const std::vector<Setting>& all_settings();

}  // namespace carillon::daemon
