// Events of the engine as lines of the log.
//
// At debug: attempts and how they ended, jobs that were not made because one like them is there, words that came too
// late. Above it only what an operator should know: leases whose worker is gone, handlers that ignore their timeout, a
// store that goes on failing.
#pragma once

#include <carillon/events.h>

#include "observe/log.h"

namespace carillon {

// So many rounds in a row that the store refused are no hiccup any more; after that it is told again now and then.
inline constexpr std::uint32_t kFailuresToWarn = 3;
inline constexpr std::uint32_t kFailuresToWarnAgain = 60;

// On the engine's thread.
void log_event(Log& log, const Event& event);

}  // namespace carillon
