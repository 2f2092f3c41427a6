// `carillon jobs` and `carillon dlq`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/outcome.h"
#include "cli/session.h"

namespace carillon {

struct JobsListRequest {
  std::optional<std::string> state;
  std::optional<std::string> type;
  std::optional<std::string> queue;
  std::optional<std::string> schedule;
  std::optional<std::string> subject;
  std::optional<std::string> tag;
  std::optional<std::string> text;
  std::optional<std::string> since;
  std::optional<std::string> until;
  Paging paging;
};

CliResult<Printout> list_jobs(Session& session, const JobsListRequest& request);
CliResult<Printout> list_dlq(Session& session, JobsListRequest request);

// With `wait`, answers when the job is final, or after that time.
CliResult<Printout> show_job(Session& session, const std::string& id, const std::optional<std::string>& wait);

// cancel, retry, rerun, run.
CliResult<Printout> act_on_job(Session& session, const std::string& id, std::string_view action);

}  // namespace carillon
