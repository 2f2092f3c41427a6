// `carillon doctor`: what keeps a server from working, on this machine and over the network.
#pragma once

#include <optional>
#include <string>

#include "cli/outcome.h"
#include "cli/session.h"
#include "core/time/instant.h"
#include "daemon/config.h"

namespace carillon {

struct DoctorRequest {
  daemon::ServeFlags flags;  // as of the server that is meant
  ClientOptions client;
  bool offline = false;  // leave the server out
  bool json = false;
};

// One line for each check: ok, warning or problem. A problem makes the command fail.
CliResult<Printout> run_doctor(const DoctorRequest& request, Instant now);

}  // namespace carillon
