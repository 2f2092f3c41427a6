#include "engine/pull_workers.h"

#include <algorithm>

namespace carillon {

namespace {

constexpr Duration kKept = std::chrono::hours(1);
constexpr Duration kAsksAgainWithin = std::chrono::seconds(30);
constexpr std::size_t kFiltersMax = 8;       // of one worker
constexpr std::size_t kWorkersMax = 10'000;  // above it, those that hold nothing go

bool contains(const std::vector<std::string>& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

bool means(const PullFilter& filter, const PullWorkers::Wanted& job) {
  const auto names = [](const std::vector<std::string>& list, std::string_view name) {
    return list.empty() || contains(list, name);
  };
  return names(filter.tenants, job.tenant) && names(filter.queues, job.queue) && names(filter.types, job.type);
}

}  // namespace

void PullWorkers::forget_old(Instant now) {
  std::erase_if(workers_, [&](const auto& one) {
    return one.second.leases.empty() && (one.second.last_seen + kKept < now || workers_.size() > kWorkersMax);
  });
}

void PullWorkers::seen(const Key& worker, Instant now) {
  const std::scoped_lock lock(mutex_);
  const auto [found, is_new] = workers_.try_emplace(worker);
  found->second.last_seen = now;
  if (is_new && workers_.size() > kWorkersMax / 2) forget_old(now);
}

void PullWorkers::asked(const Key& worker, const PullFilter& filter, BootTime until) {
  const std::scoped_lock lock(mutex_);
  Worker& one = workers_[worker];
  one.asks_until = until;
  if (std::ranges::find(one.filters, filter) != one.filters.end()) return;
  if (one.filters.size() == kFiltersMax) one.filters.erase(one.filters.begin());
  one.filters.push_back(filter);
}

bool PullWorkers::has_one_for(const Wanted& job, BootTime boot) const {
  const std::scoped_lock lock(mutex_);
  return std::ranges::any_of(workers_, [&](const auto& entry) {
    const Worker& one = entry.second;
    if (one.leases.empty() && one.asks_until + kAsksAgainWithin < boot) return false;
    return std::ranges::any_of(one.filters, [&](const PullFilter& filter) { return means(filter, job); });
  });
}

void PullWorkers::leased(const Key& worker, const std::string& tenant) {
  const std::scoped_lock lock(mutex_);
  ++workers_[worker].leases[tenant];
}

void PullWorkers::ended(const Key& worker, const std::string& tenant) {
  const std::scoped_lock lock(mutex_);
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return;
  const auto count = found->second.leases.find(tenant);
  if (count != found->second.leases.end() && --count->second == 0) found->second.leases.erase(count);
}

std::vector<PullWorker> PullWorkers::list(const std::vector<std::string>& tenants, Instant now) const {
  const std::scoped_lock lock(mutex_);
  std::map<std::string, PullWorker> by_name;
  for (const auto& [key, worker] : workers_) {
    std::size_t leases = 0;
    for (const auto& [tenant, count] : worker.leases) {
      if (tenants.empty() || contains(tenants, tenant)) leases += count;
    }
    const bool asks = tenants.empty() || key.tenants.empty() ||
                      std::ranges::any_of(key.tenants, [&](const std::string& one) { return contains(tenants, one); });
    if (leases == 0 && (!asks || worker.last_seen + kKept < now)) continue;
    PullWorker& listed = by_name[key.name];
    listed.name = key.name;
    listed.leases += leases;
    listed.last_seen = std::max(listed.last_seen, worker.last_seen);
  }
  std::vector<PullWorker> list;
  list.reserve(by_name.size());
  for (auto& [name, worker] : by_name) list.push_back(std::move(worker));
  return list;
}

}  // namespace carillon
