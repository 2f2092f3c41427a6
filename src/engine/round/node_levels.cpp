// What a node says about itself.
#include <unordered_set>

#include "engine/round/node.h"

namespace carillon {

std::size_t Node::due_count(Instant now, std::optional<std::string_view> tenant) {
  return dispatcher_.due(now, tenant) + planner_.held_count(now, tenant);
}

NodeLevels Node::levels(const Round& round) {
  const auto planned = planner_.next_due();
  return {.ready = due_count(round.now),
          .in_flight = runs_.running(),
          .leases = desk_.lease_count(),
          .oldest_due = dispatcher_.ready().oldest_due(),
          .planner_lag = planned && *planned < round.now ? round.now - *planned : Duration::zero(),
          .max_concurrency = options_.max_concurrency,
          .loaded = loader_.is_done()};
}

NodeLevels Node::levels_of(const std::vector<std::string>& tenants, Instant now) {
  const std::unordered_set<std::string_view> names(tenants.begin(), tenants.end());
  const auto is_theirs = [&](std::string_view tenant) { return names.contains(tenant); };
  dispatcher_.tidy();
  NodeLevels levels{.in_flight = runs_.running(is_theirs),
                    .oldest_due = dispatcher_.ready().oldest_due(is_theirs),
                    .loaded = loader_.is_done()};
  for (const std::string& tenant : tenants) levels.ready += due_count(now, tenant);
  if (tenants.empty()) return levels;  // which would mean all, there
  for (const PullWorker& worker : desk_.workers().list(tenants, now)) levels.leases += worker.leases;
  return levels;
}

PlaceHolds Node::holds(const JobInfo& job, TypeId type, const Round& round) {
  ReadySet& ready = dispatcher_.ready();
  const PlaceId place = dispatcher_.place(
      {.tenant = job.tenant, .queue = job.queue, .type = type, .limits = job.limits, .notifies = job.notifies});
  PlaceHolds holds{.is_served = ready.is_served(place),
                   .queue_is_paused = ready.is_queue_closed(job.tenant, job.queue),
                   .released_at = released_at(job, round.now)};
  if (!holds.is_served) {
    holds.has_worker =
        desk_.workers().has_one_for({.tenant = job.tenant, .queue = job.queue, .type = job.type}, round.boot);
  }
  // A worker outside takes no slot of this node.
  const bool is_full = holds.is_served && runs_.size() >= options_.max_concurrency;
  if (is_full) holds.held_by.push_back({.why = "cap:node", .until = {}});
  const auto all = rules_.config().max_concurrent_jobs;
  const bool are_all_full = all && ready.running() >= *all;
  if (are_all_full) holds.held_by.push_back({.why = "cap:all", .until = {}});
  for (ReadySet::Held& held : ready.held_by(place, round.now)) {
    // A tenant's share of the slots means something only where slots are free.
    if (held.why == kHeldByShare && (is_full || are_all_full || !holds.is_served)) continue;
    holds.held_by.push_back(std::move(held));
  }
  return holds;
}

// Those that a gate held start within a few seconds of its opening, each at a time of its own.
std::optional<Instant> Node::released_at(const JobInfo& job, Instant now) const {
  std::optional<Instant> latest;
  for (const auto& [opened, at] : reopened_) {
    const bool was_held = (opened.tenant.empty() || opened.tenant == job.tenant) &&
                          (!opened.only_notifying || job.notifies) && job.run_at <= at && job.created_at < at;
    const Instant turn = add_clamped(at, release_delay(job.id));
    if (was_held && turn > now && (!latest || turn > *latest)) latest = turn;
  }
  return latest;
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
