// Running one attempt, on whatever thread: the last checks before the start, the handler, and its word.
#pragma once

#include <carillon/job_context.h>

#include <functional>
#include <map>
#include <string>

#include "engine/finished.h"
#include "engine/port.h"

namespace carillon {

using Handlers = std::map<std::string, Handler, std::less<>>;

// Never throws: what a handler throws fails its attempt with the message. A type without a handler fails as
// `no_handler`.
Finished execute(const RunPtr& run, const Handlers& handlers, Port& port);

}  // namespace carillon
