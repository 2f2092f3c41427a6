// `carillon slo`: the state of each objective.
#pragma once

#include "cli/outcome.h"
#include "cli/session.h"

namespace carillon {

CliResult<Printout> show_slo(Session& session);

}  // namespace carillon
