// `carillon config`: the settings of a running server, and whether a file would be accepted.
#pragma once

#include <string>
#include <vector>

#include "cli/outcome.h"
#include "cli/session.h"
#include "daemon/config.h"

namespace carillon {

CliResult<Printout> show_config(Session& session);
CliResult<Printout> set_config(Session& session, const std::vector<std::string>& fields);

// Offline: every setting with its value and where it came from, as `carillon serve` with these flags would find it.
CliResult<Printout> check_config(const daemon::ServeFlags& flags, bool json);

}  // namespace carillon
