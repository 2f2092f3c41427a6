// Running one attempt, on whatever thread: the last checks before the start, the handler, and its word.
#pragma once

#include <carillon/job_context.h>

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "engine/attempts/finished.h"
#include "engine/attempts/port.h"

namespace carillon {

using Handlers = std::map<std::string, Handler, std::less<>>;

// The last checks, right before the handler would be entered: why it is not, or nothing, and then the run has started.
std::optional<Finished> refuse_to_start(const RunPtr& run, Port& port);

// Never throws: what a handler throws fails its attempt with the message. A type without a handler fails as
// `no_handler`.
Finished execute(const RunPtr& run, const Handlers& handlers, Port& port);

}  // namespace carillon
