// The operator's handlers, made from what the file says of them.
#pragma once

#include <carillon/job_context.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "daemon/config.h"

namespace carillon::daemon {

// Looks at the machine as well: a program that is not there, a user that nobody knows, and rights that nobody has given
// are errors here and not when the first job runs. The error names the handler. Errors: invalid_configuration.
Result<Handler> handler_of(const HandlerDefinition& definition);

// A line for each that cannot work; nothing is started.
std::vector<std::string> wrong_handlers(const ServerConfig& config);

const std::vector<std::string>& limits_of(const HandlerDefinition& definition);

}  // namespace carillon::daemon
