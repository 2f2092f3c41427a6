// What a configuration that was read again changes in a server that runs.
//
//   for (const ConfigChange& change : changes_between(running, fresh)) ...   // what to report
//   running = reloaded(running, fresh);                                      // what holds from now on
//
// Pure. Handlers, the addresses that webhooks may reach, the level of the log and the thresholds of objectives are
// taken over; anything else stays as it was until a restart, and is reported each time.
#pragma once

#include <string>
#include <vector>

#include <carillon/log.h>
#include "daemon/config.h"

namespace carillon::daemon {

struct ConfigChange {
  std::string key;     // log.level, handlers."report.build"
  std::string before;  // as it is shown; "": not set
  std::string after;
  bool needs_restart = false;

  LogLine line() const;
  friend bool operator==(const ConfigChange&, const ConfigChange&) = default;
};

// In the order of the settings, then handlers by type.
std::vector<ConfigChange> changes_between(const LoadedConfig& running, const LoadedConfig& fresh);

// What runs after it: `running`, with what can be taken over from `fresh`.
LoadedConfig reloaded(LoadedConfig running, const LoadedConfig& fresh);

}  // namespace carillon::daemon
