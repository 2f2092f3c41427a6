// The rule book's history of gates: what closed and opened, for as long as it is of use.
#include <algorithm>

#include "base/mutant.h"
#include "engine/upkeep/rule_book.h"

namespace carillon {

void RuleBook::read_history(const std::string& tenant, std::optional<std::string_view> body) {
  if (!body) {
    gates_.erase(tenant);
    return;
  }
  // What is known is as new as what is stored, or newer.
  if (gates_.contains(tenant)) return;
  if (auto closings = read_gate_history(*body)) gates_.emplace(tenant, *std::move(closings));
}

RuleBook::NotedGates RuleBook::note_gates(Instant now, const RetentionRule& keep) {
  const std::scoped_lock lock(mutex_);
  NotedGates noted;
  if (mutant(Mutant::deferral_untold)) return noted;
  forget_future_closings(now, noted);
  note_gate({.tenant = {},
             .gate = GateKind::maintenance_for_all,
             .closed = maintenance_at(maintenance_for_all_, now),
             .since = maintenance_for_all_set_at_.value_or(now)},
            now, keep, noted);
  for (const auto& [name, tenant] : tenants_) {
    note_gate({.tenant = name,
               .gate = GateKind::maintenance,
               .closed = maintenance_at(tenant.maintenance, now),
               .since = tenant.maintenance_set_at.value_or(now)},
              now, keep, noted);
    GateNow quiet{.tenant = name, .gate = GateKind::quiet_hours, .closed = {}, .since = now};
    if (tenant.settings.quiet_hours) {
      quiet.closed = quiet_at(*tenant.settings.quiet_hours, tenant.quiet_zone, now);
      if (quiet.closed) {
        const auto begun = quiet_since(*tenant.settings.quiet_hours, tenant.quiet_zone, now);
        quiet.since = std::max(begun.value_or(now), tenant.quiet_set_at.value_or(kInstantMin));
      }
    }
    note_gate(quiet, now, keep, noted);
  }
  return noted;
}

void RuleBook::forget_future_closings(Instant now, NotedGates& noted) {
  for (auto& [tenant, closings] : gates_) {
    bool has_changed = false;
    for (PastClosing& one : closings) {
      if (one.closed_at <= now && (!one.opened_at || *one.opened_at <= now)) continue;
      // One that is closed is so by any clock.
      one.closed_at = std::min(one.closed_at, now);
      if (one.opened_at) one.opened_at = now;
      has_changed = true;
    }
    if (!has_changed) continue;
    std::erase_if(closings, [](const PastClosing& one) { return one.opened_at && *one.opened_at <= one.closed_at; });
    std::ranges::sort(closings, {}, &PastClosing::closed_at);
    noted.changed.push_back(tenant);
  }
}

void RuleBook::note_gate(const GateNow& gate, Instant now, const RetentionRule& keep, NotedGates& noted) {
  const auto found = gates_.find(gate.tenant);
  if (found == gates_.end() && !gate.closed) return;
  std::vector<PastClosing>& closings = gates_[gate.tenant];
  const auto is_open = [&](const PastClosing& one) { return one.gate == gate.gate && !one.opened_at; };
  auto last = std::ranges::find_if(closings, is_open);
  bool has_changed = false;
  if (last != closings.end()) {
    const bool is_over = last->until && *last->until <= now;
    if (is_over || !gate.closed) {
      last->opened_at = is_over ? *last->until : now;
      noted.opened.push_back({.tenant = gate.tenant, .gate = gate.gate, .at = *last->opened_at});
      // Over before it began: the clock was set back.
      if (*last->opened_at <= last->closed_at) closings.erase(last);
      last = closings.end();
      has_changed = true;
    } else if (last->until != gate.closed->until) {
      last->until = gate.closed->until;
      has_changed = true;
    }
  }
  if (gate.closed && last == closings.end()) {
    const PastClosing closing{.gate = gate.gate, .closed_at = std::min(gate.since, now), .until = gate.closed->until};
    closings.insert(std::ranges::upper_bound(closings, closing.closed_at, {}, &PastClosing::closed_at), closing);
    forget_old_closings(gate.tenant, gate.gate, now, keep);
    has_changed = true;
  }
  if (has_changed && std::ranges::find(noted.changed, gate.tenant) == noted.changed.end()) {
    noted.changed.push_back(gate.tenant);
  }
}

// Twice as long as jobs: one that ended late may have been held long before.
void RuleBook::forget_old_closings(const std::string& tenant, GateKind gate, Instant now, const RetentionRule& keep) {
  std::vector<PastClosing>& closings = gates_[tenant];
  const auto is_old = [&](const PastClosing& one) {
    if (!one.opened_at || *one.opened_at >= now) return false;
    const Instant halfway = *one.opened_at + (now - *one.opened_at) / 2;
    if (!tenant.empty()) return keep.is_over(tenant, halfway, now);
    return keep.is_over({}, halfway, now) && std::ranges::all_of(keep.by_tenant, [&](const auto& other) {
             return keep.is_over(other.first, halfway, now);
           });
  };
  std::erase_if(closings, is_old);
  auto many = std::ranges::count(closings, gate, &PastClosing::gate);
  std::erase_if(closings, [&](const PastClosing& one) {
    return one.gate == gate && one.opened_at && many-- > static_cast<std::ptrdiff_t>(kClosingsKept);
  });
}

std::vector<PastClosing> RuleBook::gate_history(std::string_view tenant) const {
  const std::scoped_lock lock(mutex_);
  const auto found = gates_.find(tenant);
  return found == gates_.end() ? std::vector<PastClosing>() : found->second;
}

std::vector<GateHeld> RuleBook::gates_that_held(std::string_view tenant, const GateWait& wait) const {
  const std::scoped_lock lock(mutex_);
  if (gates_.empty() || wait.due >= wait.until) return {};
  const auto closings_of = [&](std::string_view owner) {
    const auto found = gates_.find(owner);
    return found == gates_.end() ? std::span<const PastClosing>() : std::span<const PastClosing>(found->second);
  };
  return closings_that_held(closings_of(tenant), closings_of({}), wait);
}

}  // namespace carillon
