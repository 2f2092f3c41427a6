// The handlers that an operator defines in the file.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "config/toml.h"
#include "daemon/config.h"

namespace carillon::daemon {

using config::GivenValue;
using config::TomlEntry;

// `entries` are those under [handlers]. The error begins with line and key.
Result<std::vector<HandlerDefinition>> read_handlers(const std::vector<TomlEntry>& entries);

}  // namespace carillon::daemon
