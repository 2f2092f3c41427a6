// The handlers that an operator defines in the file.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "daemon/config.h"
#include "daemon/config_toml.h"

namespace carillon::daemon {

// `entries` are those under [handlers]. The error begins with line and key.
Result<std::vector<HandlerDefinition>> read_handlers(const std::vector<TomlEntry>& entries);

}  // namespace carillon::daemon
