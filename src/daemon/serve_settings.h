// What the settings of `carillon serve` mean for the engine and for `/v1/config`.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/config.h"
#include "engine/engine_host.h"

namespace carillon::daemon {

// What is pinned, and what jobs get that say nothing.
RuleBook::Base rules_of(const LoadedConfig& loaded);

// Fields of `/v1/config` that cannot be changed there, and what has set them.
std::map<std::string, std::string, std::less<>> config_pins(const LoadedConfig& loaded);

}  // namespace carillon::daemon
