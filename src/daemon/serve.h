// `carillon serve`: the whole product in one process.
#pragma once

#include "daemon/config.h"

namespace carillon::daemon {

// Until SIGTERM or SIGINT. The exit code of the process.
int serve(const ServeFlags& flags);

}  // namespace carillon::daemon
