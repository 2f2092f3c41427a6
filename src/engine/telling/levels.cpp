#include "engine/telling/levels.h"

#include <unordered_set>

namespace carillon {

std::size_t Levels::due_count(Instant now, std::optional<std::string_view> tenant) {
  return dispatcher_.due(now, tenant) + planner_.held_count(now, tenant);
}

NodeLevels Levels::of_all(const Round& round) {
  const auto planned = planner_.next_due();
  return {.ready = due_count(round.now),
          .in_flight = attempts_.runs().running(),
          .leases = attempts_.desk().lease_count(),
          .oldest_due = dispatcher_.ready().oldest_due(),
          .planner_lag = planned && *planned < round.now ? round.now - *planned : Duration::zero(),
          .max_concurrency = max_concurrency_,
          .loaded = readiness_.is_loaded()};
}

NodeLevels Levels::of(const std::vector<std::string>& tenants, Instant now) {
  const std::unordered_set<std::string_view> names(tenants.begin(), tenants.end());
  const auto is_theirs = [&](std::string_view tenant) { return names.contains(tenant); };
  dispatcher_.tidy();
  NodeLevels levels{.in_flight = attempts_.runs().running(is_theirs),
                    .oldest_due = dispatcher_.ready().oldest_due(is_theirs),
                    .loaded = readiness_.is_loaded()};
  for (const std::string& tenant : tenants) levels.ready += due_count(now, tenant);
  if (tenants.empty()) return levels;  // which would mean all, there
  for (const PullWorker& worker : attempts_.desk().workers().list(tenants, now)) levels.leases += worker.leases;
  return levels;
}

PlaceHolds Levels::holds(const JobInfo& job, TypeId type, const Round& round) {
  ReadySet& ready = dispatcher_.ready();
  const PlaceId place = dispatcher_.place(
      {.tenant = job.tenant, .queue = job.queue, .type = type, .limits = job.limits, .notifies = job.notifies});
  PlaceHolds holds{.is_served = ready.is_served(place),
                   .queue_is_paused = ready.is_queue_closed(job.tenant, job.queue),
                   .released_at = gates_.released_at(job, round.now)};
  if (!holds.is_served) {
    holds.has_worker = attempts_.desk().workers().has_one_for(
        {.tenant = job.tenant, .queue = job.queue, .type = job.type}, round.boot);
  }
  // A worker outside takes no slot of this node.
  const bool is_full = holds.is_served && attempts_.runs().size() >= max_concurrency_;
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

void Levels::committed(Round& round, const Result<void>& commit) {
  if (!commit || !round.is_tick) return;
  round.tell(QueueDepth{.depth = due_count(round.now)});
  round.tell(InFlight{.in_flight = static_cast<std::uint32_t>(attempts_.runs().running()),
                      .max_concurrency = static_cast<std::uint32_t>(attempts_.slot_count())});
}

}  // namespace carillon
