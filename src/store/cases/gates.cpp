#include "store/cases/gates.h"

#include <algorithm>

namespace carillon {

namespace {

// What was read of one tenant's gates, for as long as nobody writes it.
const std::vector<PastClosing>& closings_of(Context& context, const std::string& tenant) {
  const auto known = context.gates_read.known.find(tenant);
  if (known != context.gates_read.known.end()) return known->second;
  std::vector<PastClosing> closings;
  if (const auto document = context.tx.document(gate_history_key(tenant))) {
    // One that cannot be read tells nothing.
    if (auto read = read_gate_history(document->body)) closings = *std::move(read);
  }
  return context.gates_read.known.insert_or_assign(tenant, std::move(closings)).first->second;
}

// Those that held it until then.
std::vector<GateHeld> held_by(Context& context, const JobRow& row, bool notifies, Instant until) {
  if (row.run_at >= until) return {};
  const std::vector<PastClosing>& for_all = closings_of(context, {});
  const std::vector<PastClosing>& own = closings_of(context, context.tx.lane_names(row.lane).tenant);
  if (own.empty() && for_all.empty()) return {};
  return closings_that_held(own, for_all, {.job = row.id, .notifies = notifies, .due = row.run_at, .until = until});
}

// Those of them that no record tells of.
std::vector<GateHeld> untold(const std::vector<GateHeld>& all, const JobDetail& detail) {
  std::vector<PastDeferral> known;
  for (const DeferralRecord& one : detail.recent_deferrals) known.push_back({.reason = one.reason, .at = one.at});
  const auto records = records_of(all, known);
  std::vector<GateHeld> rest;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!records[i]) rest.push_back(all[i]);
  }
  return rest;
}

}  // namespace

void add_deferral(JobDetail& detail, DeferralRecord deferral) {
  ++detail.deferrals;
  detail.recent_deferrals.push_back(std::move(deferral));
  if (detail.recent_deferrals.size() > kDeferralsKept) detail.recent_deferrals.erase(detail.recent_deferrals.begin());
}

void fold_closings(Context& context, const JobRow& row, JobDetail& detail, Instant until) {
  if (row.run_at >= until) return;
  const std::vector<GateHeld> all = held_by(context, row, options_of(context, row).notifies, until);
  if (all.empty()) return;
  const Lane lane = context.tx.lane_names(row.lane);
  for (const GateHeld& held : untold(all, detail)) {
    add_deferral(detail, {.at = held.from, .until = held.until, .reason = std::string(to_string(held.gate))});
    if (held.opened_at) continue;  // its opening has told of all that it held
    context.deferred_along.push_back(
        {.job = row.id, .tenant = lane.tenant, .queue = lane.queue, .gate = held.gate, .until = held.until});
  }
}

std::uint32_t closings_beside(Context& context, const JobRow& row, bool notifies, Instant until) {
  const std::vector<GateHeld> all = held_by(context, row, notifies, until);
  if (all.empty()) return 0;
  return static_cast<std::uint32_t>(untold(all, detail_of(context, row)).size());
}

std::optional<Instant> last_opening(Context& context, const JobRow& row, bool notifies, Instant until) {
  std::optional<Instant> last;
  for (const GateHeld& held : held_by(context, row, notifies, until)) {
    if (held.opened_at && *held.opened_at <= until) last = std::max(last, held.opened_at);
  }
  return last;
}

}  // namespace carillon
