// `carillon queues` and `carillon limits`: what holds jobs back.
#pragma once

#include <optional>
#include <string>

#include "cli/outcome.h"
#include "cli/session.h"

namespace carillon {

struct QueueChange {
  std::string queue;
  std::optional<std::string> max_concurrency;  // a number, or none
  std::optional<bool> paused;
};

CliResult<Printout> list_queues(Session& session);
CliResult<Printout> change_queue(Session& session, const QueueChange& change);

struct LimitRequest {
  std::string name;
  bool global = false;  // for all tenants
  std::optional<double> rate;
  std::optional<std::string> per;
  std::optional<double> burst;
  std::optional<int> concurrency;
};

CliResult<Printout> list_limits(Session& session, const Paging& paging, bool global);
CliResult<Printout> show_limit(Session& session, const LimitRequest& request);
CliResult<Printout> put_limit(Session& session, const LimitRequest& request);
CliResult<Printout> delete_limit(Session& session, const LimitRequest& request);

}  // namespace carillon
