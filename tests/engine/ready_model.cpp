#include "engine/ready_model.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace carillon::test {

namespace {

LimitRule without_concurrency(LimitRule rule) {
  rule.concurrency.reset();
  return rule;
}

std::set<std::string> names_of(const ReadyPlace& place) { return {place.limits.begin(), place.limits.end()}; }

}  // namespace

void ReadyModel::set_limit(const LimitKey& key, const std::optional<LimitRule>& rule, Instant now) {
  if (!key.first.empty()) tenants.insert(key.first);
  if (rule || limits_.contains(key)) {
    std::erase_if(closings_, [&](const auto& closed) {
      return closed.first.second == key.second && (key.first.empty() || closed.first.first == key.first);
    });
  }
  if (!rule) {
    limits_.erase(key);
    return;
  }
  const auto found = limits_.find(key);
  if (found == limits_.end()) {
    limits_.emplace(key, Limit{.rule = *rule, .rate = LimitState(without_concurrency(*rule), now)});
    return;
  }
  found->second.rule = *rule;
  found->second.rate.change(without_concurrency(*rule), now);
}

void ReadyModel::add(const ReadyPlace& place, const ReadyEntry& entry) {
  tenants.insert(place.tenant);
  entries_.emplace_back(place, entry);
}

void ReadyModel::adopt(const ReadyPlace& place) {
  tenants.insert(place.tenant);
  running_.push_back(place);
}

std::size_t ReadyModel::size() const { return entries_.size(); }

std::optional<ReadyModel::LimitKey> ReadyModel::effective(const std::string& tenant, const std::string& name) const {
  for (const LimitKey& key : {LimitKey(tenant, name), LimitKey("", name)}) {
    if (limits_.contains(key)) return key;
  }
  return std::nullopt;
}

std::size_t ReadyModel::running_under(const LimitKey& key) const {
  return static_cast<std::size_t>(std::ranges::count_if(running_, [&](const ReadyPlace& place) {
    return names_of(place).contains(key.second) && effective(place.tenant, key.second) == key;
  }));
}

std::size_t ReadyModel::running_under(const LimitKey& key, const std::string& tenant) const {
  return static_cast<std::size_t>(std::ranges::count_if(running_, [&](const ReadyPlace& place) {
    return place.tenant == tenant && names_of(place).contains(key.second) && effective(tenant, key.second) == key;
  }));
}

std::uint32_t ReadyModel::weight_of(const std::string& tenant) const {
  const auto found = weights.find(tenant);
  return found == weights.end() ? 1 : std::max(found->second, 1U);
}

bool ReadyModel::slots_open(const std::string& tenant, const LimitKey& key) const {
  const auto concurrency = limits_.at(key).rule.concurrency;
  if (!concurrency) return true;
  const std::size_t running = running_under(key);
  if (running >= *concurrency) return false;
  if (!key.first.empty()) return true;
  SharedLimit shared{.concurrency = *concurrency,
                     .running = static_cast<std::uint32_t>(running),
                     .held = static_cast<std::uint32_t>(running_under(key, tenant)),
                     .weight = weight_of(tenant),
                     .weights = 0};
  for (const std::string& one : tenants) {
    const bool holds = running_under(key, one) > 0;
    if (holds) shared.weights += weight_of(one);
    if (!holds && one != tenant) shared.has_newcomers = true;
  }
  return may_take_one(shared);
}

Opening ReadyModel::closing(const std::string& tenant, const LimitKey& key, Instant now) {
  const auto found = key.first.empty() ? closings_.find({tenant, key.second}) : closings_.end();
  return found == closings_.end() ? Opening{} : found->second.opening(now);
}

bool ReadyModel::gates_open(const ReadyPlace& place) const {
  return !all_closed && !closed_tenants.contains(place.tenant) &&
         !closed_queues.contains({place.tenant, place.queue}) && !closed_types.contains(place.type.value) &&
         !(place.notifies && quiet_tenants.contains(place.tenant));
}

bool ReadyModel::caps_open(const ReadyPlace& place) const {
  const auto of_tenant = std::ranges::count(running_, place.tenant, &ReadyPlace::tenant);
  const auto of_queue = std::ranges::count_if(
      running_, [&](const ReadyPlace& r) { return r.tenant == place.tenant && r.queue == place.queue; });
  const auto tenant_cap = tenant_caps.find(place.tenant);
  const auto queue_cap = queue_caps.find({place.tenant, place.queue});
  return (tenant_cap == tenant_caps.end() || of_tenant < tenant_cap->second) &&
         (queue_cap == queue_caps.end() || of_queue < queue_cap->second);
}

bool ReadyModel::limits_open(const ReadyPlace& place, Instant now) {
  return std::ranges::all_of(names_of(place), [&](const std::string& name) {
    const auto key = effective(place.tenant, name);
    if (!key) return true;
    return slots_open(place.tenant, *key) && closing(place.tenant, *key, now).kind == Opening::Kind::now &&
           limits_.at(*key).rate.opening(now).kind == Opening::Kind::now;
  });
}

bool ReadyModel::may_start(const ReadyPlace& place, const ReadyEntry& entry, Instant now) {
  if (std::ranges::find(entries_, std::pair(place, entry)) == entries_.end()) return false;
  if (!gates_open(place) || !caps_open(place) || !limits_open(place, now)) return false;
  const auto rank = [](const ReadyEntry& e) { return std::tuple(e.priority, e.run_at, e.id); };
  const auto age = [](const ReadyEntry& e) { return std::tuple(e.run_at, e.id); };
  bool is_first = true;
  bool is_oldest = true;
  for (const auto& [other_place, other] : entries_) {
    if (other_place != place) continue;
    is_first = is_first && rank(entry) <= rank(other);
    is_oldest = is_oldest && age(entry) <= age(other);
  }
  return is_first || is_oldest;
}

bool ReadyModel::may_anything_start(Instant now) {
  return std::ranges::any_of(entries_, [&](const auto& standing) {
    const ReadyPlace& place = standing.first;
    return gates_open(place) && caps_open(place) && limits_open(place, now);
  });
}

std::optional<Instant> ReadyModel::next_opening(Instant now) {
  std::optional<Instant> earliest;
  for (const auto& [place, entry] : entries_) {
    if (!gates_open(place) || !caps_open(place)) continue;
    Instant opens = now;
    bool by_time = true;
    for (const std::string& name : names_of(place)) {
      const auto key = effective(place.tenant, name);
      if (!key) continue;
      if (!slots_open(place.tenant, *key)) by_time = false;
      for (const Opening& opening : {limits_.at(*key).rate.opening(now), closing(place.tenant, *key, now)}) {
        if (opening.kind == Opening::Kind::at) opens = std::max(opens, opening.at);
      }
    }
    if (by_time && (!earliest || opens < *earliest)) earliest = opens;
  }
  return earliest;
}

void ReadyModel::start(const ReadyPlace& place, const ReadyEntry& entry, Instant now) {
  entries_.erase(std::ranges::find(entries_, std::pair(place, entry)));
  for (const std::string& name : names_of(place)) {
    if (const auto key = effective(place.tenant, name)) limits_.at(*key).rate.take(now);
  }
  running_.push_back(place);
}

void ReadyModel::end(const ReadyPlace& place) {
  const auto found = std::ranges::find(running_, place);
  CHECK(found != running_.end());
  running_.erase(found);
}

void ReadyModel::give_back(const ReadyPlace& place, Instant now) {
  for (const std::string& name : names_of(place)) {
    const auto key = effective(place.tenant, name);
    if (!key) continue;
    LimitState& rate = limits_.at(*key).rate;
    if (rate.running() == 0) rate.adopt(1);  // It was taken from another limit: only the token matters here.
    rate.give_back(now);
  }
  end(place);
}

void ReadyModel::rate_limited(const ReadyPlace& place, const std::string& limit, Instant until, Instant now,
                              bool may_teach_global) {
  const std::string name = limit.empty() && !place.limits.empty() ? place.limits.front() : limit;
  if (!names_of(place).contains(name)) return;
  const auto key = effective(place.tenant, name);
  if (!key) return;
  if (!key->first.empty() || may_teach_global) return limits_.at(*key).rate.rate_limited(until, now);
  closings_.try_emplace({place.tenant, name}, LimitRule{}, now).first->second.rate_limited(until, now);
}

}  // namespace carillon::test
