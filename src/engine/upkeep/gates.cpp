#include "engine/upkeep/gates.h"

#include <algorithm>

#include "base/mutant.h"
#include "store/gate_document.h"

namespace carillon {

namespace {

// Of jobs that left a gate before it opened. Beyond it they may be told twice.
constexpr std::size_t kToldMax = 1'000'000;

std::string gate_owner(GateKind gate, std::string_view tenant) {
  return gate == GateKind::maintenance_for_all ? std::string() : std::string(tenant);
}

}  // namespace

void Gates::next_at(Wake& wake) {
  if (!noted_) wake.at_once = true;
  wake.by(rules_.next_change());
}

void Gates::open(const Round& round) {
  const auto next = rules_.next_change();
  const bool is_time = (next && *next <= round.now) || rules_.is_ahead_of(round.now);
  // Before anything is let go: what an opening held is counted where it stands. Once all of it is in memory.
  const bool may_note = readiness_.is_loaded();
  if (may_note && (is_time || !noted_)) note(round);
  noted_ = may_note;
  if (!is_time) return;
  std::erase_if(reopened_,
                [&](const Reopened& one) { return one.at > round.now || round.now - one.at > kReleaseSpread; });
  for (const RuleBook::Opened& opened : rules_.refresh(dispatcher_.ready(), round.now)) {
    reopened_.push_back({.what = opened, .at = round.now});
    // All that one gate held would else start in the same instant.
    for (const ReadySet::Pick& held : dispatcher_.ready().take_all(opened.tenant, opened.only_notifying)) {
      if (mutant(Mutant::opening_forgets_jobs)) continue;
      dispatcher_.add_later(held.place, held.entry, add_clamped(round.now, release_delay(held.entry.id)));
    }
  }
}

void Gates::note(const Round& round) {
  RuleBook::NotedGates noted = rules_.note_gates(round.now, rules_.retention(retention_));
  for (std::string& tenant : noted.changed) to_write_.insert(std::move(tenant));
  for (const RuleBook::NotedGates::Opening& opened : noted.opened) count_held(opened);
}

// One event for each queue, with how many of its jobs the closing held.
void Gates::count_held(const RuleBook::NotedGates::Opening& opened) {
  const std::unordered_set<JobId> told = std::exchange(told_[{opened.tenant, opened.gate}], {});
  told_.erase({opened.tenant, opened.gate});
  std::map<std::pair<std::string, std::string>, std::set<JobId>> held;
  dispatcher_.tidy();
  const ReadySet& ready = dispatcher_.ready();
  for (const ReadySet::Pick& one : ready.standing(opened.tenant, opened.gate == GateKind::quiet_hours)) {
    if (one.entry.run_at >= opened.at || told.contains(one.entry.id)) continue;
    const ReadyPlace& place = ready.place(one.place);
    held[{place.tenant, place.queue}].insert(one.entry.id);
  }
  for (const auto& [lane, jobs] : held) {
    to_tell_.push_back({.job = {},
                        .tenant = lane.first,
                        .reason = std::string(to_string(opened.gate)),
                        .until = opened.at,
                        .queue = lane.second,
                        .count = jobs.size()});
  }
}

Result<void> Gates::write(Round& round) {
  if (to_write_.empty()) return {};
  for (const std::string& tenant : to_write_) {
    TRY(store_.admin().put_document(
        {.key = gate_history_key(tenant), .body = write_gate_history(rules_.gate_history(tenant))}, std::nullopt));
  }
  for (const Deferred& opening : to_tell_) round.tell(opening);
  round.on_commit.emplace_back([this] {
    to_write_.clear();
    to_tell_.clear();
  });
  return {};
}

void Gates::tell_deferred(Round& round) {
  std::vector<DeferredJob> left = store_.jobs().deferred_along();
  if (left.empty()) return;
  for (const DeferredJob& one : left) {
    round.tell(Deferred{.job = one.job,
                        .tenant = one.tenant,
                        .reason = std::string(to_string(one.gate)),
                        .until = one.until,
                        .queue = one.queue});
  }
  round.on_commit.emplace_back([this, left = std::move(left)] {
    for (const DeferredJob& one : left) note_told({gate_owner(one.gate, one.tenant), one.gate}, one.job);
  });
}

void Gates::note_told(const GateKey& gate, JobId job) {
  std::unordered_set<JobId>& told = told_[gate];
  if (told.size() < kToldMax) told.insert(job);
}

void Gates::note_put_back(const Run& run, std::string_view reason, Instant now) {
  const RuleBook::Held held = rules_.held(run.job.tenant, run.notifies, now);
  const auto note = [&](GateKind gate) { note_told({gate_owner(gate, run.job.tenant), gate}, run.job.id); };
  if (reason == "maintenance" && held.maintenance) {
    note(GateKind::maintenance);
  } else if (reason == "maintenance" && held.maintenance_for_all) {
    note(GateKind::maintenance_for_all);
  } else if (reason == "quiet_hours" && held.quiet_hours) {
    note(GateKind::quiet_hours);
  }
}

std::optional<Instant> Gates::released_at(const JobInfo& job, Instant now) const {
  std::optional<Instant> latest;
  for (const auto& [opened, at] : reopened_) {
    const bool was_held = (opened.tenant.empty() || opened.tenant == job.tenant) &&
                          (!opened.only_notifying || job.notifies) && job.run_at <= at && job.created_at < at;
    const Instant turn = add_clamped(at, release_delay(job.id));
    if (was_held && turn > now && (!latest || turn > *latest)) latest = turn;
  }
  return latest;
}

}  // namespace carillon
