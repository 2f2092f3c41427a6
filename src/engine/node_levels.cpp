// What a node says about itself.
#include <unordered_set>

#include "engine/node.h"

namespace carillon {

NodeLevels Node::levels(const Round& round) const {
  const auto planned = planner_.next_due();
  return {.ready = dispatcher_.ready().size(),
          .in_flight = runs_.size(),
          .leases = desk_.lease_count(),
          .oldest_due = dispatcher_.ready().oldest_due(),
          .planner_lag = planned && *planned < round.now ? round.now - *planned : Duration::zero(),
          .max_concurrency = options_.max_concurrency,
          .loaded = loader_.is_done()};
}

NodeLevels Node::levels_of(const std::vector<std::string>& tenants, Instant now) {
  const std::unordered_set<std::string_view> names(tenants.begin(), tenants.end());
  const auto is_theirs = [&](std::string_view tenant) { return names.contains(tenant); };
  const ReadySet& ready = dispatcher_.ready();
  NodeLevels levels{.oldest_due = ready.oldest_due(is_theirs), .loaded = loader_.is_done()};
  for (const std::string& tenant : tenants) levels.ready += ready.size(tenant);
  for (const RunPtr& run : runs_.all()) {
    if (is_theirs(run->job.tenant)) ++levels.in_flight;
  }
  if (tenants.empty()) return levels;  // which would mean all, there
  for (const PullWorker& worker : desk_.workers().list(tenants, now)) levels.leases += worker.leases;
  return levels;
}

std::optional<Duration> Node::since_commit() const {
  const BootTime at = committed_at_;
  if (at == BootTime::min()) return std::nullopt;
  return clock_.boot() - at;
}

EngineConfig Node::config() const {
  EngineConfig config = rules_.config_now();
  const JobDefaults defaults = rules_.job_defaults();
  if (!config.check_interval) config.check_interval = options_.tick;
  if (!config.timezone) config.timezone = Zone::utc().name();
  if (!config.default_retry_max_attempts) config.default_retry_max_attempts = defaults.max_attempts;
  if (!config.retention) config.retention = options_.retention;
  return config;
}

}  // namespace carillon
