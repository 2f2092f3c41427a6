// The judge's half about time: what a node must have done by now, and what its store must hold.
#include <algorithm>

#include "sim/judge.h"

namespace carillon::sim {

namespace {

using namespace std::chrono_literals;

// Two looks so far apart that nothing but a mistake explains that a job did not start between them.
constexpr Duration kStartsWithin = 30s;
constexpr Duration kFoundWithin = 2s;
constexpr std::size_t kPage = 10'000;

}  // namespace

// ---- The life of nodes --------------------------------------------------------------------------------------------

void Judge::node_begins(std::size_t slots) {
  slots_of_node_ = slots;
  node_is_up_ = true;
  an_answer_was_lost_ = false;
  a_commit_failed_ = false;
  counted_ = {};
  node_since_ = clock_.boot();
  model_.words.clear();
  at_work_.clear();
  passed_over_.clear();
  rules_.node_begins();
  // The handlers of the one before died with it. (invariant 11)
  for (auto& [id, job] : model_.live) {
    if (job.lease) job.lease->until = clock_.boot();
  }
  forget_startable();
}

void Judge::compare(const Counters& counters) {
  // An answer that was lost comes when it is asked for again, or never.
  if (an_answer_was_lost_ || findings_.any()) return;
  const auto same = [&](const char* name, std::uint64_t told, std::uint64_t seen) {
    findings_.expect(told == seen, 34, "the node counted {} {}; there were {}", told, name, seen);
  };
  same("picked", counters.picked, counted_.picked);
  same("succeeded", counters.succeeded, counted_.succeeded);
  same("failed", counters.failed, counted_.failed);
  // Those that were put back, and those that gates held before their claim.
  findings_.expect(counters.deferred >= counted_.deferred, 34, "the node counted {} deferred; {} were put back",
                   counters.deferred, counted_.deferred);
  same("stalled", counters.stalled, counted_.stalled);
  same("rate limited", counters.rate_limited, counted_.rate_limited);
  same("parked", counters.dlq, counted_.dlq);
  same("missed", counters.missed, counted_.missed);
  same("finalized", counters.finalized, counted_.finalized);
  // In a healthy system a sweep finds nothing.
  same("repaired", counters.repaired, 0);
}

void Judge::forget_startable() {
  for (auto& [id, job] : model_.live) job.startable_since = {};
}

void Judge::clock_was_set() {
  clock_set_at_ = clock_.boot();
  // A gate may never have been closed by the new time.
  held_by_gates_.clear();
  for (auto& [id, job] : model_.live) job.is_gated = true;
  forget_startable();
}

void Judge::round_over(const RoundState& state) {
  rules_.round_over();
  entries_ = state.entries;
  if (!state.is_loaded || state.failed) return;
  for (const auto& [job, token] : at_work_) {
    const auto found = model_.live.find(job);
    const bool marked = found != model_.live.end() && found->second.lease && found->second.lease->token == token &&
                        found->second.lease->ahead;
    findings_.expect(!marked, 12, "job {} has begun, and a round has left the mark of its claim", Shown{job});
  }
  judge_due(state);
  if (const auto late = slots_.overdue(clock_.wall())) {
    findings_.add(19, "slot {} of {} is due, and a round did not plan it", ShownTime{late->first}, late->second);
  }
  if (const auto late = subjects_.overdue(clock_.wall())) {
    findings_.add(19, "a round did not plan {}", *late);
  }
}

void Judge::judge_due(const RoundState& state) {
  if (clock_.boot() < clock_set_at_ + state.tick + kFoundWithin) return;
  std::map<std::string, std::size_t> due;
  for (const auto& [id, job] : model_.live) {
    if (job.lease || job.row.state != JobState::queued || job.row.run_at > clock_.wall()) continue;
    ++due[""];
    ++due[job.tenant];
  }
  for (const auto& [tenant, shown] : state.due) {
    const auto found = due.find(tenant);
    const std::size_t rows = found == due.end() ? 0 : found->second;
    findings_.expect(shown == rows, 34, "{} jobs are shown as due and waiting{}{}; there are {}", shown,
                     tenant.empty() ? "" : " of ", tenant, rows);
  }
}

// ---- Audits -------------------------------------------------------------------------------------------------------

bool Judge::is_startable(const LiveJob& job, const RoundState& state) {
  const Instant now = clock_.wall();
  if (job.lease || job.row.state != JobState::queued || job.row.run_at > now) return false;
  if (job.row.deadline && *job.row.deadline <= now) return false;
  if (is_held(job.row, now)) {
    // One whose schedule is deleted ends when its turn comes.
    const ScheduleRow* const row = slots_.row(job.row.schedule);
    if (!row || !row->deleted_at) return false;
  }
  if (Rules::is_paused(*job.rules) || Rules::is_gated(*job.rules, job.spec->notifies, now)) return false;
  if (job.spec->notifies && !rules_.is_settled(job.tenant, *job.rules, now, clock_.boot())) return false;
  if (rules_.is_unsure(clock_.boot())) return false;
  const auto all = rules_.cap_of_all();
  if (state.runs >= std::min<std::size_t>(state.slots, all.value_or(UINT32_MAX))) return false;
  const auto tenant = Rules::cap_of_tenant(*job.rules);
  if (tenant && rules_.running(job.tenant) >= *tenant) return false;
  const auto queue = Rules::cap_of_queue(*job.rules);
  if (queue && rules_.running(job.tenant, job.queue) >= *queue) return false;
  return rules_.limits_allow(job.tenant, *job.spec, now);
}

void Judge::audit(const RoundState& state, Duration tick) {
  const BootTime boot = clock_.boot();
  if (!state.is_loaded || state.failed || !state.may_start || findings_.any()) {
    forget_startable();
    return;
  }
  const bool moved = std::exchange(audited_moves_, rules_.moves()) != rules_.moves();
  for (auto& [id, job] : model_.live) {
    // Whether it runs or not: at its cutoff it ends.
    if (job.row.deadline && *job.row.deadline + tick + kFoundWithin < clock_.wall() &&
        std::max({job.known_since, node_since_, clock_set_at_}) + tick + kFoundWithin < boot) {
      findings_.add(3, "the deadline of job {} has passed, {}, and it has not ended", Shown{id},
                    ShownTime{*job.row.deadline});
    }
    if (job.lease) {
      const Duration allowed = tick + kFoundWithin;
      findings_.expect(boot <= job.lease->until + allowed || boot <= node_since_ + allowed, 12,
                       "the lease of job {} ran out {} ago, and nobody noticed", Shown{id},
                       format_duration(boot - job.lease->until));
      const Duration recovered = kStartsWithin + allowed;
      findings_.expect(rules_.is_running({id, job.lease->token}) || boot <= job.lease->claimed + recovered ||
                           boot <= node_since_ + recovered || boot >= job.lease->claimed + job.spec->timeout,
                       8, "job {} is leased, and nobody runs it", Shown{id});
      continue;
    }
    look_at_gates(id, job);
    // What waits for a limit may have lost its turn to another.
    const bool contended = moved && !job.spec->limits.empty();
    if (contended || !is_startable(job, state)) {
      job.startable_since = {};
    } else if (job.startable_since == BootTime::zero()) {
      job.startable_since = boot;
    } else {
      findings_.expect(boot - job.startable_since < kStartsWithin, 5,
                       "job {} of {} has been due since {}, nothing holds it, and it has not started for {}", Shown{id},
                       job.tenant, ShownTime{job.row.run_at}, format_duration(boot - job.startable_since));
    }
  }
}

// Away from all edges: what is seen here was closed for certain, and open in between for certain.
void Judge::look_at_gates(JobId id, LiveJob& job) {
  const Instant now = clock_.wall();
  if (node_since_ + kStartsWithin > clock_.boot() || clock_set_at_ + kStartsWithin > clock_.boot()) return;
  if (rules_.is_settled(job.tenant, *job.rules, now, clock_.boot())) job.is_gated = false;
  const bool notifies = job.spec->notifies;
  const bool is_due = job.row.state == JobState::queued && job.row.run_at + kStartsWithin < now;
  if (job.is_gated || !is_due || !Rules::is_gated(*job.rules, notifies, now) ||
      !Rules::is_gated(*job.rules, notifies, now - kStartsWithin)) {
    return;
  }
  job.is_gated = true;
  HeldByGates& held = held_by_gates_[id];
  held.tenant = job.tenant;
  held.closings.push_back(now);
}

void Judge::read(JobId id, const Result<JobInfo>& info, const Result<Explanation>& why) {
  const auto held = held_by_gates_.find(id);
  if (held == held_by_gates_.end()) return;
  // The history of gates goes back twice as far as finished jobs are kept, which is 12 hours at least.
  const Instant since = clock_.wall() - Duration(24h);
  const auto closings = std::ranges::count_if(held->second.closings, [&](Instant at) { return at > since; });
  if (info) {
    findings_.expect(static_cast<std::int64_t>(info->deferrals) >= closings, 33,
                     "job {} was due before {} closings of gates, and {} are told", Shown{id}, closings,
                     info->deferrals);
  }
  if (info && why && closings > 0) {
    const auto told = std::ranges::count(why->steps, "deferred", &ExplainStep::what);
    findings_.expect(told > 0, 33, "no gate stands in the history of job {}, which was before a closed one", Shown{id});
  }
  const bool is_gone = !info && info.error().code == ErrorCode::not_found;
  if (is_gone || (info && is_final(info->state))) held_by_gates_.erase(held);
}

// ---- Stored rows --------------------------------------------------------------------------------------------------

void Judge::compare_rows(Backend& backend, StoreReader& reader) {
  if (findings_.any()) return;
  Transaction& tx = backend.begin();
  const std::vector<JobRow> jobs = tx.jobs_above({}, kPage);
  const std::vector<LeaseRow> leases = tx.leases();
  std::size_t archived = 0;
  JobId after;
  for (;;) {
    const std::vector<ArchiveRow> page = tx.archived_above(after, kPage);
    for (const ArchiveRow& row : page) {
      const auto found = model_.archive.find(row.job.id);
      findings_.expect(found != model_.archive.end() && found->second.state == row.job.state, 4,
                       "finished job {} is stored otherwise than it was written", Shown{row.job.id});
    }
    archived += page.size();
    if (page.size() < kPage) break;
    after = page.back().job.id;
  }
  compare_plans(tx);
  backend.roll_back();

  findings_.expect(jobs.size() == model_.live.size(), 4, "{} live jobs are stored; {} were written", jobs.size(),
                   model_.live.size());
  findings_.expect(archived == model_.archive.size(), 4, "{} finished jobs are stored; {} were written", archived,
                   model_.archive.size());
  for (const JobRow& row : jobs) {
    const auto found = model_.live.find(row.id);
    findings_.expect(found != model_.live.end() && found->second.row == row, 4,
                     "job {} is stored otherwise than it was written", Shown{row.id});
  }
  std::size_t leased = 0;
  for (const auto& [id, job] : model_.live) leased += job.lease ? 1U : 0U;
  findings_.expect(leased == leases.size(), 4, "{} leases are stored; {} were written", leases.size(), leased);
  for (const LeaseRow& row : leases) {
    const auto found = model_.live.find(row.job);
    findings_.expect(found != model_.live.end() && found->second.lease && found->second.lease->token == row.token, 9,
                     "the lease of job {} is not the one that was written", Shown{row.job});
  }

  // Kept counts against counted ones. (invariant 34)
  compare_outcome_counts(reader);
  std::map<std::pair<Lane, JobState>, std::int64_t> counts;
  for (const auto& [id, job] : model_.live) {
    ++counts[{model_.lanes.at(job.row.lane), job.lease ? JobState::processing : job.row.state}];
  }
  for (const auto& [id, job] : model_.archive) ++counts[{model_.lanes.at(job.lane), job.state}];
  std::set<std::string> tenants;
  for (const auto& [id, lane] : model_.lanes) tenants.insert(lane.tenant);
  for (const std::string& tenant : tenants) {
    const auto kept = reader.counts(tenant);
    if (!kept) continue;
    for (const StateCount& count : *kept) {
      findings_.expect(count.count == counts[{count.lane, count.state}], 34, "{}/{} has {} jobs that are {}, not {}",
                       count.lane.tenant, count.lane.queue, counts[{count.lane, count.state}], to_string(count.state),
                       count.count);
    }
  }
}

// What happened to occurrences, and the position of each subject: the record of a delivery is as durable as its job.
void Judge::compare_plans(Transaction& tx) {
  std::size_t outcomes = 0;
  for (OutcomeKey after{{}, {}, kInstantMin};;) {
    const std::vector<OutcomeRow> page = tx.outcomes_above(after, kPage);
    for (const OutcomeRow& row : page) {
      const auto found = model_.outcomes.find({row.schedule, row.subject, row.slot});
      findings_.expect(found != model_.outcomes.end() && found->second == row, 4,
                       "slot {} of {} of schedule {} is stored otherwise than it was written", ShownTime{row.slot},
                       row.subject, row.schedule.value);
    }
    outcomes += page.size();
    if (page.size() < kPage) break;
    after = {page.back().schedule, page.back().subject, page.back().slot};
  }
  findings_.expect(outcomes == model_.outcomes.size(), 4, "{} occurrences are stored; {} were written", outcomes,
                   model_.outcomes.size());
  std::size_t subjects = 0;
  for (SubjectKey after;;) {
    const std::vector<SubjectRow> page = tx.subjects_above(after, kPage);
    for (const SubjectRow& row : page) {
      if (!subjects_.knows(row.schedule)) continue;
      ++subjects;
      const SubjectRow* const known = subjects_.row({row.schedule, row.subject});
      findings_.expect(known && *known == row, 4, "subject {} of schedule {} is stored otherwise than it was written",
                       row.subject, row.schedule.value);
    }
    if (page.size() < kPage) break;
    after = {page.back().schedule, page.back().subject};
  }
  findings_.expect(subjects == subjects_.size(), 4, "{} subjects are stored; {} were written", subjects,
                   subjects_.size());
  for (ScheduleId after;;) {
    const std::vector<ScheduleRow> page = tx.schedules_above(after, kPage);
    for (const ScheduleRow& row : page) fortunes_.compare(row);
    if (page.size() < kPage) break;
    after = page.back().id;
  }
}

void Judge::compare_outcome_counts(StoreReader& reader) {
  for (const auto& [schedule, days] : outcome_counts_) {
    if (unsure_counts_.contains(schedule)) continue;
    for (const auto& [day, counts] : days) {
      const auto kept = reader.outcome_counts(schedule, day);
      if (!kept) return;
      std::int64_t sum = 0;
      for (const OutcomeCount& one : *kept) {
        const auto seen = counts.find({one.minute, one.outcome});
        findings_.expect(one.count == (seen == counts.end() ? 0 : seen->second), 34,
                         "of day {} of schedule {}, minute {}, {} are counted as {}, not {}", day, schedule.value,
                         one.minute, one.count, to_string(one.outcome), seen == counts.end() ? 0 : seen->second);
        sum += one.count;
      }
      std::int64_t all = 0;
      for (const auto& [key, count] : counts) all += count;
      findings_.expect(sum == all, 34, "{} occurrences of day {} of schedule {} are counted; there were {}", sum, day,
                       schedule.value, all);
    }
  }
}

// ---- The end ------------------------------------------------------------------------------------------------------

bool Judge::is_settled() const {
  return std::ranges::all_of(model_.live, [this](const auto& entry) {
    const LiveJob& job = entry.second;
    if (job.lease) return false;
    if (job.row.state == JobState::dlq) return true;
    // Those that wait for a parked one wait with it.
    return job.row.state == JobState::waiting && std::ranges::any_of(job.waits_for, [this](JobId parent) {
             const auto found = model_.live.find(parent);
             return found != model_.live.end();
           });
  });
}

std::string Judge::what_is_left() const {
  for (const auto& [id, job] : model_.live) {
    if (!job.lease && job.row.state == JobState::dlq) continue;
    return fmt::format("job {} of {}/{} is {}, due {}{}", Shown{id}, job.tenant, job.queue,
                       job.lease ? "processing" : to_string(job.row.state), ShownTime{job.row.run_at},
                       job.waits_for.empty() ? "" : ", and waits for others");
  }
  return "nothing";
}

}  // namespace carillon::sim
