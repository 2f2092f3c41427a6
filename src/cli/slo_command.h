// `carillon slo`: how each objective stands.
#pragma once

#include "cli/outcome.h"
#include "cli/session.h"

namespace carillon {

CliResult<Printout> show_slo(Session& session);

}  // namespace carillon
