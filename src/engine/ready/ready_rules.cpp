// The rules of the ready set: what they change at once, and how they explain themselves.
#include <algorithm>
#include <utility>

#include "engine/ready/ready_set.h"

namespace carillon {

const ReadySet::Tenant* ReadySet::find_tenant(std::string_view name) const {
  const auto found = tenant_numbers_.find(name);
  return found == tenant_numbers_.end() ? nullptr : &tenants_[found->second];
}

std::optional<Instant> ReadySet::oldest_due(const std::function<bool(std::string_view)>& of_tenant) const {
  std::optional<Instant> oldest;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const ReadyLine& line = lines_[i];
    if (line.empty() || (of_tenant && !of_tenant(places_[i]->tenant))) continue;
    if (!oldest || line.oldest().run_at < *oldest) oldest = line.oldest().run_at;
  }
  return oldest;
}

std::size_t ReadySet::size(std::string_view tenant) const {
  const Tenant* const found = find_tenant(tenant);
  return found == nullptr ? 0 : found->size;
}

std::uint32_t ReadySet::running(std::string_view tenant) const {
  const Tenant* const found = find_tenant(tenant);
  return found == nullptr ? 0 : found->running;
}

void ReadySet::refresh_tenant(std::uint32_t number) {
  Tenant& tenant = tenants_[number];
  const bool held = tenant.closed || (tenant.cap && tenant.running >= *tenant.cap);
  if (held == tenant.held) return;
  tenant.held = held;
  if (!held) ++openings_;
  open_.hold_tenant(number, held);
}

void ReadySet::refresh_lane(std::uint32_t number) {
  Lane& lane = lanes_[number];
  const bool held = lane.closed || (lane.cap && lane.running >= *lane.cap);
  if (held == lane.held) return;
  lane.held = held;
  if (!held) ++openings_;
  open_.hold_lane(lane.tenant, number, held);
}

void ReadySet::set_weight(std::string_view tenant, std::uint32_t weight, Instant now) {
  const std::uint32_t number = tenant_number(tenant);
  tenants_[number].weight = weight;
  open_.set_weight(number, weight);
  limits_.set_weight(number, weight, now);
  ++openings_;
}

void ReadySet::set_tenant_cap(std::string_view tenant, std::optional<std::uint32_t> cap) {
  const std::uint32_t number = tenant_number(tenant);
  tenants_[number].cap = cap;
  refresh_tenant(number);
}

void ReadySet::set_queue_cap(std::string_view tenant, std::string_view queue, std::optional<std::uint32_t> cap) {
  const std::uint32_t number = lane_number(tenant_number(tenant), queue);
  lanes_[number].cap = cap;
  refresh_lane(number);
}

void ReadySet::set_tenant_closed(std::string_view tenant, bool closed) {
  const std::uint32_t number = tenant_number(tenant);
  tenants_[number].closed = closed;
  refresh_tenant(number);
}

void ReadySet::set_queue_closed(std::string_view tenant, std::string_view queue, bool closed) {
  const std::uint32_t number = lane_number(tenant_number(tenant), queue);
  lanes_[number].closed = closed;
  refresh_lane(number);
}

void ReadySet::set_quiet(std::string_view tenant, bool quiet) {
  Tenant& changed = tenants_[tenant_number(tenant)];
  changed.quiet = quiet;
  ++openings_;
  for (ReadyLine* const line : changed.notifying) settle(*line);
}

void ReadySet::set_type_closed(TypeId type, bool closed) {
  Type& changed = types_[type];
  changed.closed = closed;
  ++openings_;
  for (ReadyLine* const line : changed.lines) settle(*line);
}

void ReadySet::set_type_closed(std::string_view tenant, TypeId type, bool closed) {
  Tenant::Type& changed = tenants_[tenant_number(tenant)].types[type];
  changed.closed = closed;
  ++openings_;
  for (ReadyLine* const line : changed.lines) {
    line->unserved = closed;
    settle(*line);
  }
}

void ReadySet::set_type_limits(std::string_view tenant, TypeId type, const std::vector<std::string>& limits,
                               Instant now) {
  Tenant::Type& changed = tenants_[tenant_number(tenant)].types[type];
  if (changed.limits == limits) return;
  changed.limits = limits;
  changed.outside = std::ranges::find(limits, kOutsideShare) != limits.end();
  ++openings_;
  for (ReadyLine* const line : changed.lines) {
    line->outside = changed.outside;
    leave(*line);
    limits_.set_limits(*line, limits_at(place(line->place)), now);
    settle(*line);
  }
}

void ReadySet::set_limit(std::string_view tenant, std::string_view name, const std::optional<LimitRule>& rule,
                         Instant now) {
  ++openings_;
  const std::uint32_t owner = tenant.empty() ? kEveryTenant : tenant_number(tenant);
  for (ReadyLine* const line : limits_.set_rule(limits_.intern(owner, name), rule, now)) settle(*line);
}

const std::optional<LimitRule>& ReadySet::limit_rule(std::string_view tenant, std::string_view name) {
  return limits_.rule(limits_.intern(tenant.empty() ? kEveryTenant : tenant_number(tenant), name));
}

void ReadySet::forget_tenant(std::string_view tenant, Instant now) {
  const auto found = tenant_numbers_.find(tenant);
  if (found == tenant_numbers_.end() || !std::exchange(tenants_[found->second].known, false)) return;
  ++openings_;
  for (ReadyLine* const line : limits_.forget(found->second, now)) settle(*line);
  limits_.set_tenant_count(--known_, now);
}

bool ReadySet::is_queue_closed(std::string_view tenant, std::string_view queue) const {
  const Tenant* const found = find_tenant(tenant);
  if (found == nullptr) return false;
  const auto lane = found->lanes.find(queue);
  return lane != found->lanes.end() && lanes_[lane->second].closed;
}

std::vector<ReadySet::Held> ReadySet::held_by(PlaceId place, Instant now) {
  const ReadyLine& line = lines_[place.value];
  const Tenant& tenant = tenants_[line.tenant];
  const Lane& lane = lanes_[line.lane];
  std::vector<Held> held;
  if (tenant.cap && tenant.running >= *tenant.cap) held.push_back({.why = "cap:tenant", .until = {}});
  if (lane.cap && lane.running >= *lane.cap) held.push_back({.why = "cap:queue", .until = {}});
  for (const ReadyLimits::Blocked& blocked : limits_.all_blocking(line, now)) {
    const std::string& name = limits_.name(blocked.limit);
    held.push_back(
        {.why = name == kOutsideShare ? std::string(kHeldByShare) : "limit:" + name, .until = blocked.until});
  }
  return held;
}

std::optional<std::string> ReadySet::holds(PlaceId place, Instant now) {
  const ReadyLine& line = lines_[place.value];
  if (all_closed_) return "maintenance";
  if (tenants_[line.tenant].closed || lanes_[line.lane].closed) return "paused";
  if (is_unserved(line)) return "no_worker";
  if (is_quiet(line)) return "quiet_hours";
  std::vector<Held> held = held_by(place, now);
  return held.empty() ? std::nullopt : std::optional(std::move(held.front().why));
}

}  // namespace carillon
