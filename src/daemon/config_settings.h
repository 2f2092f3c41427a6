// The table of all settings: those of the library, and what only a server has.
#pragma once

#include <vector>

#include "config/setting.h"
#include "daemon/config.h"

namespace carillon::daemon {

using config::GivenValue;
using config::SettingName;
using Setting = config::Setting<ServerConfig>;

const std::vector<Setting>& all_settings();

}  // namespace carillon::daemon
