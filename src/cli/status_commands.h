// `carillon status`: how the server is.
#pragma once

#include "cli/outcome.h"
#include "cli/session.h"

namespace carillon {

CliResult<Printout> show_status(Session& session);

}  // namespace carillon
