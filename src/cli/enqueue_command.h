// `carillon enqueue`: one job, by hand.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/outcome.h"
#include "cli/session.h"

namespace carillon {

struct EnqueueRequest {
  std::string type;
  std::optional<std::string> payload;  // JSON, @FILE or -
  std::optional<std::string> queue;
  std::optional<int> priority;
  std::optional<std::string> at;
  std::optional<std::string> in;
  std::optional<std::string> key;
  std::optional<int> max_attempts;
  std::optional<std::string> timeout;
  std::optional<std::string> deadline;
  std::optional<std::string> subject;
  std::vector<std::string> depends_on;
  std::vector<std::string> tags;
  std::vector<std::string> limits;
};

// Prints the id alone, also in a pipe, so that a script can keep it; with --json the whole job.
CliResult<Printout> enqueue(Session& session, const EnqueueRequest& request, bool whole_job);

}  // namespace carillon
