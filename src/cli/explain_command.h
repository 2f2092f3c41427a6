// `carillon explain`: why a job or schedule ran, did not run, or waits.
#pragma once

#include <string>

#include "cli/outcome.h"
#include "cli/session.h"

namespace carillon {

// `what` is a job's id, a schedule's name, or SCHEDULE/SUBJECT.
CliResult<Printout> explain(Session& session, const std::string& what);

}  // namespace carillon
