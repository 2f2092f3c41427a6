#include "engine/pulls/pull_workers.h"

#include <algorithm>

namespace carillon {

namespace {

constexpr Duration kKept = std::chrono::hours(1);
constexpr Duration kAsksAgainWithin = std::chrono::seconds(30);
constexpr std::size_t kFiltersMax = 8;  // of one worker

bool means(const PullFilter& filter, const PullWorkers::Wanted& job) {
  return filter.tenants.is_any_or_has(job.tenant) && filter.queues.is_any_or_has(job.queue) &&
         filter.types.is_any_or_has(job.type);
}

std::size_t bytes_of(const PullFilter& filter) {
  return sizeof filter + filter.tenants.bytes() + filter.queues.bytes() + filter.types.bytes();
}

}  // namespace

PullWorkers::Found PullWorkers::find_or_make(const Key& key) {
  Party& party = parties_[key.tenants];
  const auto [worker, is_new] = party.workers.try_emplace(key.name);
  if (is_new) {
    worker->second.in_idle = party.idle.insert(party.idle.end(), worker);
    ++workers_;
  }
  return {.party = party, .worker = worker};
}

// The party stays, though it may be empty.
void PullWorkers::remove(Party& party, Workers::iterator worker) {
  drop_filters(party, worker->second);
  if (worker->second.in_idle) party.idle.erase(*worker->second.in_idle);
  party.workers.erase(worker);
  --workers_;
}

void PullWorkers::drop_filters(Party& party, Worker& worker) {
  if (!worker.in_asking) return;
  std::size_t bytes = 0;
  for (const PullFilter& filter : worker.filters) bytes += bytes_of(filter);
  party.filter_bytes -= bytes;
  filter_bytes_ -= bytes;
  worker.filters = {};
  party.asking.erase(*std::exchange(worker.in_asking, std::nullopt));
}

void PullWorkers::bound_workers() {
  while (workers_ > kWorkersMax) {
    const auto most = std::ranges::max_element(parties_, {}, [](const auto& one) { return one.second.idle.size(); });
    if (most->second.idle.empty()) return;  // all of them work
    remove(most->second, most->second.idle.front());
    if (most->second.workers.empty()) parties_.erase(most);
  }
}

void PullWorkers::bound_filters() {
  while (filter_bytes_ > kFilterBytesMax) {
    Party& most =
        std::ranges::max_element(parties_, {}, [](const auto& one) { return one.second.filter_bytes; })->second;
    drop_filters(most, most.asking.front()->second);
  }
}

void PullWorkers::seen(const Key& worker, Instant now) {
  const std::scoped_lock lock(mutex_);
  const auto [party, found] = find_or_make(worker);
  found->second.last_seen = now;
  if (found->second.in_idle) party.idle.splice(party.idle.end(), party.idle, *found->second.in_idle);
  while (party.idle.size() > 1 && party.idle.front()->second.last_seen + kKept < now) {
    remove(party, party.idle.front());
  }
  bound_workers();
}

void PullWorkers::asked(const Key& worker, const PullFilter& filter, BootTime until) {
  const std::scoped_lock lock(mutex_);
  const auto [party, found] = find_or_make(worker);
  Worker& one = found->second;
  one.asks_until = until;
  if (one.in_asking) {
    party.asking.splice(party.asking.end(), party.asking, *one.in_asking);
  } else {
    one.in_asking = party.asking.insert(party.asking.end(), found);
  }
  if (std::ranges::find(one.filters, filter) != one.filters.end()) return;
  const auto count = [&](std::size_t more, std::size_t less) {
    party.filter_bytes += more - less;
    filter_bytes_ += more - less;
  };
  if (one.filters.size() == kFiltersMax) {
    count(0, bytes_of(one.filters.front()));
    one.filters.erase(one.filters.begin());
  }
  one.filters.push_back(filter);
  count(bytes_of(filter), 0);
  bound_filters();
}

bool PullWorkers::has_one_for(const Wanted& job, BootTime boot) const {
  const std::scoped_lock lock(mutex_);
  const auto takes = [&](const Workers::value_type& entry) {
    const Worker& one = entry.second;
    if (one.leases.empty() && one.asks_until + kAsksAgainWithin < boot) return false;
    return std::ranges::any_of(one.filters, [&](const PullFilter& filter) { return means(filter, job); });
  };
  return std::ranges::any_of(parties_, [&](const Parties::value_type& entry) {
    return entry.first.is_any_or_has(job.tenant) && std::ranges::any_of(entry.second.workers, takes);
  });
}

void PullWorkers::leased(const Key& worker, const std::string& tenant) {
  const std::scoped_lock lock(mutex_);
  const auto [party, found] = find_or_make(worker);
  Worker& one = found->second;
  ++one.leases[tenant];
  if (one.in_idle) party.idle.erase(*std::exchange(one.in_idle, std::nullopt));
}

void PullWorkers::ended(const Key& worker, const std::string& tenant) {
  const std::scoped_lock lock(mutex_);
  const auto party = parties_.find(worker.tenants);
  if (party == parties_.end()) return;
  const auto found = party->second.workers.find(worker.name);
  if (found == party->second.workers.end()) return;
  Worker& one = found->second;
  const auto count = one.leases.find(tenant);
  if (count == one.leases.end() || --count->second > 0) return;
  one.leases.erase(count);
  if (one.leases.empty() && !one.in_idle) one.in_idle = party->second.idle.insert(party->second.idle.end(), found);
}

std::vector<PullWorker> PullWorkers::list(const std::vector<std::string>& tenants, Instant now) const {
  const NameSet wanted(tenants);
  const std::scoped_lock lock(mutex_);
  std::map<std::string, PullWorker> by_name;
  for (const auto& [asks_for, party] : parties_) {
    const bool asks = tenants.empty() || asks_for.empty() ||
                      std::ranges::any_of(tenants, [&](const std::string& one) { return asks_for.contains(one); });
    for (const auto& [name, worker] : party.workers) {
      std::size_t leases = 0;
      for (const auto& [tenant, count] : worker.leases) {
        if (wanted.is_any_or_has(tenant)) leases += count;
      }
      if (leases == 0 && (!asks || worker.last_seen + kKept < now)) continue;
      PullWorker& listed = by_name[name];
      listed.name = name;
      listed.leases += leases;
      listed.last_seen = std::max(listed.last_seen, worker.last_seen);
    }
  }
  std::vector<PullWorker> list;
  list.reserve(by_name.size());
  for (auto& [name, worker] : by_name) list.push_back(std::move(worker));
  return list;
}

std::size_t PullWorkers::filter_bytes() const {
  const std::scoped_lock lock(mutex_);
  return filter_bytes_;
}

}  // namespace carillon
