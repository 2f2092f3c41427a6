// Work over many jobs: asked for once, then watched until it ends.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/outcome.h"
#include "cli/session.h"

namespace carillon {

struct BulkCommand {
  std::string action;                // retry, cancel, discard
  std::vector<std::string> filters;  // name=value
  std::optional<std::string> state;  // of the jobs, where the command has said it already
  bool all = false;                  // no filter is meant
  bool detach = false;               // do not wait for its end
  std::optional<double> rate;        // jobs per second
};

// Without a filter and without `all` it is refused: nobody means every job by forgetting an option. On a terminal a bar
// shows how far it is. Jobs that could not be worked on make the command fail.
CliResult<Printout> run_bulk(Session& session, const BulkCommand& command);

struct BulkEnd {
  std::string action;
  bool detach = false;
};
// The same for work that is begun already, and described by `bulk`.
CliResult<Printout> finish_bulk(Session& session, JsonValue bulk, const BulkEnd& end);

}  // namespace carillon
