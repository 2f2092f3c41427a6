// Events as streams tell them.
#pragma once

#include <carillon/events.h>

#include <string>
#include <string_view>

#include "core/time/instant.h"

namespace carillon::server {

// Of whom an event tells; "": of the engine itself.
std::string_view tenant_of(const Event& event);

// The event, as a stream of server-sent events has it. A job that is picked is told a second time, as one that changed:
// who follows jobs wants to know that one runs.
std::string stream_text(const Event& event);

// Instead of events that a stream was not told: who follows something reads it anew.
std::string lost_text(Instant at);

// A line that keeps a quiet stream open.
inline constexpr std::string_view kStillHere = ": still here\n\n";

}  // namespace carillon::server
