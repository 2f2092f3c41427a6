// What the settings of `carillon serve` mean for the engine and for `/v1/config`.
#pragma once

#include <carillon/engine_options.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/config.h"

namespace carillon::daemon {

// How its engine runs, what is pinned, and what jobs get that say nothing.
EngineOptions engine_options_of(const LoadedConfig& loaded);

// Fields of `/v1/config` that cannot be changed there, and what has set them.
std::map<std::string, std::string, std::less<>> config_pins(const LoadedConfig& loaded);

}  // namespace carillon::daemon
