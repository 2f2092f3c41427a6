#include "core/policies/gate_history.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "core/policies/gate.h"

namespace carillon {

namespace {

constexpr std::array<std::string_view, kGateKinds> kNames{"maintenance", "quiet_hours", "maintenance:all"};

}  // namespace

std::string_view to_string(GateKind gate) { return kNames.at(static_cast<std::size_t>(gate)); }

std::optional<GateKind> gate_kind(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<GateKind>(found - kNames.begin());
}

std::vector<GateHeld> closings_that_held(std::span<const PastClosing> closings, const GateWait& wait) {
  std::vector<GateHeld> all;
  std::array<std::optional<Instant>, kGateKinds> let_go;  // by the last closing of each gate
  for (const PastClosing& closing : closings) {
    if (closing.gate == GateKind::quiet_hours && !wait.notifies) continue;
    Instant due = wait.due;
    for (const auto& before : let_go) {
      if (before && *before <= closing.closed_at) due = std::max(due, add_clamped(*before, release_delay(wait.job)));
    }
    const Instant from = std::max(closing.closed_at, due);
    if (from >= wait.until || (closing.opened_at && *closing.opened_at <= from)) continue;
    all.push_back({.gate = closing.gate,
                   .from = from,
                   .until = closing.opened_at ? closing.opened_at : closing.until,
                   .closed_at = closing.closed_at,
                   .opened_at = closing.opened_at});
    let_go.at(static_cast<std::size_t>(closing.gate)) = closing.opened_at;
  }
  return all;
}

std::vector<GateHeld> closings_that_held(std::span<const PastClosing> own, std::span<const PastClosing> for_all,
                                         const GateWait& wait) {
  // Mostly none of them is as late as that.
  const auto may_hold = [&](const PastClosing& one) { return !one.opened_at || *one.opened_at > wait.due; };
  if (std::ranges::none_of(own, may_hold) && std::ranges::none_of(for_all, may_hold)) return {};
  std::vector<PastClosing> both;
  both.reserve(own.size() + for_all.size());
  std::ranges::merge(own, for_all, std::back_inserter(both), {}, &PastClosing::closed_at, &PastClosing::closed_at);
  return closings_that_held(both, wait);
}

std::vector<std::optional<std::size_t>> records_of(std::span<const GateHeld> held,
                                                   std::span<const PastDeferral> records) {
  std::vector<std::optional<std::size_t>> found(held.size());
  std::vector<bool> used(records.size());
  const auto look = [&](std::size_t closing, std::string_view name) {
    for (std::size_t i = 0; i < records.size() && !found[closing]; ++i) {
      const GateHeld& one = held[closing];
      const bool within = records[i].at >= one.closed_at && (!one.opened_at || records[i].at <= *one.opened_at);
      if (used[i] || records[i].reason != name || !within) continue;
      found[closing] = i;
      used[i] = true;
    }
  };
  for (std::size_t i = 0; i < held.size(); ++i) look(i, to_string(held[i].gate));
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (held[i].gate == GateKind::maintenance_for_all) look(i, to_string(GateKind::maintenance));
  }
  return found;
}

}  // namespace carillon
