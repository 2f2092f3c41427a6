// The judge's half about rows: what a transaction may write.
#include "sim/judge.h"

#include <algorithm>

namespace carillon::sim {

namespace {

// The table of moves, written a second time. (invariant 14)
bool may_move(JobState from, JobState to) {
  using enum JobState;
  if (from == to) return !is_final(from);  // seen again, or changed by hand
  switch (from) {
    case waiting: return to == queued || to == cancelled || to == cutoff_reached || to == skipped;
    case queued: return to == processing || to == cancelled || to == cutoff_reached || to == skipped;
    case processing:
      return to == queued || to == dlq || to == done || to == skipped || to == cancelled || to == cutoff_reached;
    case dlq: return to == queued || to == cancelled || to == cutoff_reached;
    default: return false;
  }
}

JobState counted_as(const OutcomeRow& row) { return row.outcome.value_or(row.parked ? JobState::dlq : kOpenOutcome); }

}  // namespace

void Judge::committed(const std::vector<Op>& ops, bool answered) {
  if (ops.empty() || findings_.any()) return;
  now_ = clock_.wall();
  boot_ = clock_.boot();
  if (!answered) an_answer_was_lost_ = true;
  for (const Op& op : ops) {
    trace_.add(op.index());
    std::visit([this](const auto& one) { see(one); }, op);
    if (findings_.any()) return;
  }
  while (!endings_.empty()) flush(endings_.begin()->first);
  for (const std::string& payload : follow_ups_due_) {
    findings_.expect(follow_ups_made_.contains(payload), 30, "the follow-up {} was not made with its cause", payload);
  }
  for (const std::string& payload : follow_ups_made_) {
    findings_.expect(follow_ups_due_.contains(payload), 30, "the follow-up {} was made without its cause", payload);
  }
  for (const auto& slot : final_slots_) {
    findings_.expect(final_outcomes_.contains(slot), 3, "slot {} of schedule {} ended without an outcome",
                     ShownTime{slot.slot}, slot.schedule.value);
  }
  slots_.end_of_transaction(now_, model_);
  subjects_.end_of_transaction(now_, model_);
  fortunes_.end_of_transaction();
  for (const CountedSlot& slot : slots_.take_counted()) count_outcome(slot, 1);
  const Subjects::Counted of_subjects = subjects_.take_counted();
  for (const CountedSlot& slot : of_subjects.slots) count_outcome(slot, 1);
  unsure_counts_.insert(of_subjects.unsure.begin(), of_subjects.unsure.end());
  follow_ups_due_.clear();
  follow_ups_made_.clear();
  final_slots_.clear();
  final_outcomes_.clear();
}

void Judge::undone(const std::vector<Op>& ops) {
  a_commit_failed_ = true;
  for (const Op& op : ops) {
    if (const auto* inserted = std::get_if<JobInserted>(&op);
        inserted && inserted->row.slot && inserted->row.schedule && !subjects_.knows(inserted->row.schedule)) {
      slots_.note_undone(inserted->row);
    }
  }
}

// ---- Jobs ---------------------------------------------------------------------------------------------------------

void Judge::see(const JobInserted& op) {
  const JobId id = op.row.id;
  trace_.add(static_cast<std::uint64_t>(id.value));
  trace_.add(op.row.run_at);
  trace_.say(now_, "insert {} of {}/{} {} {} run_at {}{}", Shown{id}, op.lane.tenant, op.lane.queue, op.payload,
             to_string(op.row.state), ShownTime{op.row.run_at},
             op.row.slot ? " slot " + format_instant(*op.row.slot) : "");
  LiveJob job{.row = op.row, .tenant = op.lane.tenant, .queue = op.lane.queue, .type = op.type};
  job.spec = specs_.job(op.payload, op.row.slot.has_value());
  job.known_since = boot_;
  job.rules = &rules_.lane(job.tenant, job.queue);
  if (job.spec == nullptr) return findings_.add(4, "job {} was stored, but nobody asked for {}", Shown{id}, op.payload);
  findings_.expect(job.tenant == job.spec->tenant, 28, "job {} of {} is stored under {}", Shown{id}, job.spec->tenant,
                   job.tenant);
  findings_.expect(!model_.archive.contains(id) && !model_.live.contains(id), 14, "id {} is given twice", Shown{id});
  model_.highest = std::max(model_.highest, id);
  if (op.row.slot && subjects_.knows(op.row.schedule)) {
    subjects_.insert_job(op.row, now_);
  } else if (op.row.slot && op.row.schedule) {
    slots_.insert_job(op.row);
  } else {
    subjects_.insert_plain_job(op.row, op.lane.tenant, op.payload);
  }
  if (job.spec->follows) {
    follow_ups_made_.insert(op.payload);
    findings_.expect(follow_ups_seen_.insert(op.payload).second, 30, "the follow-up {} was made twice", op.payload);
  }
  if (!job.spec->key.empty()) {
    findings_.expect(holder(*job.spec) == nullptr, 17, "key {} is held, and a second job was made", job.spec->key);
    KeyHolder held{.job = id, .spec = job.spec};
    if (job.spec->hold.until == KeyHold::Until::elapsed) held.until = add_clamped(now_, job.spec->hold.duration);
    model_.keys[{job.tenant, job.type, job.spec->key}] = held;
  }
  plain_changed(job, true);
  model_.lanes.emplace(op.row.lane, op.lane);
  model_.live.emplace(id, std::move(job));
}

void Judge::moves(const LiveJob& job, JobState to) {
  const JobState from = job.lease ? JobState::processing : job.row.state;
  findings_.expect(may_move(from, to), 14, "job {} went from {} to {}", Shown{job.row.id}, to_string(from),
                   to_string(to));
}

void Judge::see(const JobUpdated& op) {
  const JobId id = op.after.id;
  const auto found = model_.live.find(id);
  if (!findings_.expect(found != model_.live.end(), 14, "job {} was changed, and is not live", Shown{id})) return;
  if (const auto ending = endings_.find(id); ending != endings_.end()) {
    if (!ending->second.back) {
      ending->second.back = op.after;
      return;
    }
    flush(id);
  }
  LiveJob& job = found->second;
  const JobState from = job.lease ? JobState::processing : job.row.state;
  const JobState to = job.lease ? JobState::processing : op.after.state;
  moves(job, to);
  trace_.add(static_cast<std::uint64_t>(to));
  trace_.add(op.after.run_at);
  trace_.say(now_, "change {} {} to {} run_at {}", Shown{id}, to_string(from), to_string(to),
             ShownTime{op.after.run_at});
  if (from == JobState::dlq && to == JobState::queued) {
    findings_.expect(asks_ == Asks::retry, 14, "job {} left the DLQ, and nobody asked", Shown{id});
    findings_.expect(op.after.attempts == 0, 16, "job {} came out of the DLQ without fresh attempts", Shown{id});
    job.losses = job.releases = job.rate_limits = 0;
    job.lost_ahead = false;
    job.was_parked = true;
  } else {
    findings_.expect(op.after.attempts == job.row.attempts && op.after.token == job.row.token, 10,
                     "attempts or token of {} changed without an attempt", Shown{id});
  }
  if (from == JobState::waiting && to == JobState::queued) {
    findings_.expect(job.waits_for.empty(), 31, "job {} was released while it waits", Shown{id});
  }
  if (job.lease && !job.cancel_requested) {
    const auto detail = op.after.detail.read();
    job.cancel_requested = detail && detail->cancel_requested;
  }
  plain_changed(job, false);
  job.row = op.after;
  plain_changed(job, true);
}

void Judge::see(const JobArchived& op) {
  const JobId id = op.row.job.id;
  if (const auto detail = op.row.job.detail.read(); detail && detail->last_error) fortunes_.ended_with_error(id);
  const auto found = model_.live.find(id);
  if (!findings_.expect(found != model_.live.end(), 3, "job {} ended twice", Shown{id})) return;
  if (const auto ending = endings_.find(id); ending != endings_.end()) {
    if (!ending->second.back) {
      ending->second.archived = op.row;
      flush(id);
      return;
    }
    flush(id);
  }
  LiveJob& job = found->second;
  const JobState state = op.row.job.state;
  moves(job, state);
  trace_.add(static_cast<std::uint64_t>(state));
  trace_.say(now_, "end {} {}", Shown{id}, to_string(state));
  if (state == JobState::cutoff_reached) {
    findings_.expect(job.row.deadline && *job.row.deadline <= now_, 22, "job {} reached a cutoff before its deadline",
                     Shown{id});
  } else if (job.row.state == JobState::dlq) {
    // An operator discarded or cancelled it.
    findings_.expect(state == JobState::cancelled, 14, "job {} left the DLQ as {}", Shown{id}, to_string(state));
  }
  if (job.row.schedule && job.row.slot) final_slots_.insert({job.row.schedule, job.row.subject, *job.row.slot});
  plain_changed(job, false);
  model_.archive.emplace(id, ArchivedJob{.state = state, .lane = job.row.lane});
  model_.live.erase(found);
}

void Judge::see(const ArchivedErased& op) {
  for (const auto& [id, job] : model_.live) {
    findings_.expect(!job.waits_for.contains(op.job), 31, "job {} was pruned, and {} waits for it", Shown{op.job},
                     Shown{id});
  }
  findings_.expect(model_.archive.erase(op.job) == 1, 14, "job {} was pruned, and was not finished", Shown{op.job});
}

void Judge::see(const DependencyInserted& op) {
  if (const auto found = model_.live.find(op.child); found != model_.live.end()) {
    found->second.waits_for.insert(op.parent);
  }
}

void Judge::see(const DependencyErased& op) {
  const auto found = model_.live.find(op.child);
  if (found != model_.live.end()) found->second.waits_for.erase(op.parent);
}

// ---- Leases -------------------------------------------------------------------------------------------------------

void Judge::see(const LeaseInserted& op) {
  const JobId id = op.row.job;
  trace_.add(static_cast<std::uint64_t>(id.value));
  trace_.add(static_cast<std::uint64_t>(op.row.token));
  trace_.say(now_, "claim {} token {} attempt {}", Shown{id}, op.row.token, op.row.attempt);
  flush(id);
  const auto found = model_.live.find(id);
  if (!findings_.expect(found != model_.live.end(), 9, "job {} was claimed, and is not live", Shown{id})) return;
  LiveJob& job = found->second;
  const Shown name{id};
  findings_.expect(!job.lease, 9, "job {} is under two leases", name);
  findings_.expect(job.row.state == JobState::queued, 14, "job {} was claimed as {}", name, to_string(job.row.state));
  findings_.expect(op.row.token > job.row.token, 9, "token {} of job {} is not above {}", op.row.token, name,
                   job.row.token);
  findings_.expect(op.row.attempt == job.row.attempts + 1, 16, "attempt {} of job {} follows {}", op.row.attempt, name,
                   job.row.attempts);
  findings_.expect(!job.spec->attempts() || op.row.attempt <= *job.spec->attempts(), 16,
                   "job {} is in attempt {}, and may have {}", name, op.row.attempt, job.spec->attempts().value_or(0));
  findings_.expect(job.row.run_at <= now_, 8, "job {} was claimed before its time, {}", name,
                   ShownTime{job.row.run_at});
  findings_.expect(!job.row.deadline || *job.row.deadline > now_, 22, "job {} was claimed after its deadline", name);
  findings_.expect(!is_held(job.row, now_), 32, "job {} was claimed while its schedule or subject is paused", name);
  findings_.expect(!Rules::is_paused(*job.rules), 32, "job {} was claimed while {} or its queue {} is paused", name,
                   job.tenant, job.queue);
  judge_slot(job, op.row);
  plain_changed(job, false);
  job.lease = LeaseModel{.token = op.row.token,
                         .attempt = op.row.attempt,
                         .claimed = boot_,
                         .claimed_at = now_,
                         .until = boot_ + std::min(job.spec->lease, job.spec->timeout),
                         .length = job.spec->lease,
                         .ahead = op.row.ahead,
                         .stored_until = op.row.until};
  findings_.expect(op.row.length == job.spec->lease, 12, "the lease of job {} has another length than it asked for",
                   name);
}

// Whoever is claimed while all slots are taken waits for one: that is said in its lease. (invariant 12)
void Judge::judge_slot(const LiveJob& job, const LeaseRow& lease) {
  if (!lease.ahead) {
    std::size_t taken = 0;
    for (const auto& [id, other] : model_.live) {
      if (!other.lease) continue;
      const AttemptKey key{id, other.lease->token};
      if (!at_work_.contains(key) && !model_.words.contains(key)) ++taken;  // it waits to begin
    }
    taken += at_work_.size();
    findings_.expect(taken < slots_of_node_, 12, "job {} was claimed though all {} slots are taken, and is not marked",
                     Shown{lease.job}, slots_of_node_);
    return;
  }
  findings_.expect(!job.spec->attempts() || lease.attempt < *job.spec->attempts(), 12,
                   "the last attempt of job {} was claimed ahead of a free slot", Shown{lease.job});
}

void Judge::see(const LeaseUpdated& op) {
  const auto found = model_.live.find(op.row.job);
  const bool current = found != model_.live.end() && found->second.lease && found->second.lease->token == op.row.token;
  if (!findings_.expect(current, 10, "a lease of job {} was renewed with token {}", Shown{op.row.job}, op.row.token)) {
    return;
  }
  const LiveJob& job = found->second;
  LeaseModel& lease = *found->second.lease;
  findings_.expect(lease.ahead || !op.row.ahead, 12, "job {} was claimed for a slot, and is now ahead of one",
                   Shown{op.row.job});
  if (lease.ahead && !op.row.ahead) {
    findings_.expect(lease.started != BootTime::zero(), 12, "job {} has not begun, and was taken for begun",
                     Shown{op.row.job});
  }
  // That it has begun renews nothing.
  if (std::exchange(lease.ahead, op.row.ahead) != op.row.ahead && lease.stored_until == op.row.until) return;
  lease.stored_until = op.row.until;
  BootTime timeout_at = boot_ + job.spec->timeout;
  // The first renewal after the start says when that was; none after it may move the end.
  if (lease.timeout_at != BootTime::zero() && !an_answer_was_lost_) timeout_at = lease.timeout_at;
  if (lease.started != BootTime::zero()) lease.timeout_at = op.row.timeout_at;
  findings_.expect(op.row.timeout_at <= timeout_at && op.row.until <= op.row.timeout_at, 13,
                   "the lease of job {} reaches past its timeout", Shown{op.row.job});
  lease.until = std::min(boot_ + lease.length, op.row.timeout_at);
}

void Judge::see(const LeaseErased& op) {
  const auto found = model_.live.find(op.job);
  if (found == model_.live.end() || !found->second.lease) return;
  flush(op.job);
  endings_.emplace(op.job, Ending{.job = found->second, .next_check = subjects_.next_check(found->second.row)});
  found->second.lease.reset();
}

void Judge::see(const AttemptInserted& op) {
  const auto ending = endings_.find(op.row.job);
  const bool known = ending != endings_.end() && ending->second.job.lease->token == op.row.token;
  if (!findings_.expect(known, 14, "an attempt of job {} was written, and none has ended", Shown{op.row.job})) {
    return;
  }
  ending->second.attempt = op.row;
}

// ---- Outcomes -----------------------------------------------------------------------------------------------------

void Judge::see(const OutcomePut& op) {
  const OutcomeKey key{op.row.schedule, op.row.subject, op.row.slot};
  trace_.say(now_, "outcome of {} of {}, {}{}: {} {}, {} in minute {}", op.row.subject, op.row.schedule.value,
             ShownTime{op.row.slot}, op.row.until ? " to " + format_instant(*op.row.until) : "",
             op.row.outcome  ? to_string(*op.row.outcome)
             : op.row.parked ? "parked"
                             : "open",
             op.row.reason, op.row.count, op.row.local_minute);
  OutcomeRow& known = model_.outcomes[key];
  const bool by_subject = subjects_.knows(op.row.schedule);
  // A range of checks that fell due while one was open may grow.
  const bool grows = by_subject && known.outcome && !known.job && known.reason == op.row.reason && op.row.until &&
                     op.row.count == known.count + 1 && *op.row.until > known.until.value_or(known.slot);
  if (known.outcome && !grows) {
    findings_.expect(known.outcome == op.row.outcome && known.count == op.row.count, 3,
                     "slot {} of schedule {} has its outcome, and got another", ShownTime{op.row.slot},
                     op.row.schedule.value);
  }
  // What ended without a job is counted slot by slot, once the transaction is over.
  if (known.job) count_outcome({known.schedule, known.local_minute, counted_as(known)}, -1);
  if (op.row.job) count_outcome({op.row.schedule, op.row.local_minute, counted_as(op.row)}, 1);
  if (grows) counted_.finalized += static_cast<std::uint64_t>(op.row.count - known.count);
  if (op.row.outcome && !known.outcome) {
    final_outcomes_.insert(key);
    counted_.finalized += static_cast<std::uint64_t>(op.row.count);
    if (*op.row.outcome == JobState::missed) counted_.missed += static_cast<std::uint64_t>(op.row.count);
    trace_.add(static_cast<std::uint64_t>(*op.row.outcome));
    trace_.add(op.row.slot);
  }
  const OutcomeRow before = std::exchange(known, op.row);
  fortunes_.put_outcome(before, op.row, subjects_.delivers(op.row.schedule));
  if (by_subject) {
    subjects_.put_outcome(before, op.row, now_);
  } else if (!op.row.job) {
    slots_.close(op.row);
  }
}

void Judge::count_outcome(const CountedSlot& slot, std::int64_t count) {
  constexpr std::int64_t kMinutes = 1440;
  const std::int64_t day = (slot.local_minute - (slot.local_minute < 0 ? kMinutes - 1 : 0)) / kMinutes;
  const auto minute = static_cast<int>(slot.local_minute - day * kMinutes);
  outcome_counts_[slot.schedule][day][{minute, slot.outcome}] += count;
}

void Judge::see(const OutcomeErased& op) {
  const auto found = model_.outcomes.find(op.key);
  if (found == model_.outcomes.end()) return;
  findings_.expect(found->second.outcome.has_value(), 1, "the row of an occurrence without an outcome was erased");
  model_.outcomes.erase(found);
}

// ---- Schedules and subjects ---------------------------------------------------------------------------------------

void Judge::see(const SubjectPut& op) {
  fortunes_.put_subject(op.row);
  trace_.say(now_, "subject {} of {}: next {}, position {}{}{}", op.row.subject, op.row.schedule.value,
             op.row.next_at ? format_instant(*op.row.next_at) : "none",
             op.row.position ? format_instant(*op.row.position) : "none",
             op.row.cursor ? ", cursor " + format_instant(*op.row.cursor) : "", op.row.deleted_at ? ", deleted" : "");
  if (subjects_.knows(op.row.schedule)) {
    if (op.row.next_at) trace_.add(*op.row.next_at);
    subjects_.put_subject(op.row, now_);
  } else {
    slots_.put_subject(op.row);
  }
}

void Judge::see(const SubjectErased& op) {
  fortunes_.erase_subject(op.key);
  if (subjects_.knows(op.key.schedule)) {
    subjects_.erase_subject(op.key);
  } else {
    slots_.erase_subject(op.key.schedule);
  }
}

void Judge::see(const SchedulePut& op) {
  slots_.put_schedule(op.row);
  subjects_.put_schedule(op.row, now_);
  fortunes_.put_schedule(op.row);
}

void Judge::see(const ScheduleErased& op) {
  slots_.erase_schedule(op.id);
  subjects_.erase_schedule(op.id);
  fortunes_.erase_schedule(op.id);
  outcome_counts_.erase(op.id);
}

bool Judge::is_held(const JobRow& row, Instant now) const {
  if (!row.schedule) return false;
  return !slots_.is_running(row.schedule, now) || !subjects_.is_enabled(row.schedule, row.subject);
}

// ---- Clients ------------------------------------------------------------------------------------------------------

const KeyHolder* Judge::holder(const JobSpec& spec) const {
  if (spec.key.empty()) return nullptr;
  const auto found = model_.keys.find({spec.tenant, spec.type, spec.key});
  if (found == model_.keys.end()) return nullptr;
  const KeyHolder& holder = found->second;
  const bool live = model_.live.contains(holder.job);
  if (!live && !model_.archive.contains(holder.job)) return nullptr;
  if (holder.until) return *holder.until > clock_.wall() ? &holder : nullptr;
  if (holder.spec->hold.until == KeyHold::Until::done && !live) return nullptr;
  return &holder;
}

void Judge::answered(const JobSpec& spec, const std::optional<KeyHolder>& holder, const Result<EnqueuedJob>& answer) {
  trace_.add(answer ? static_cast<std::uint64_t>(answer->id.value) : static_cast<std::uint64_t>(answer.error().code));
  if (!answer) {
    if (answer.error().code == ErrorCode::idempotency_conflict) {
      findings_.expect(holder && holder->spec->payload != spec.payload, 17, "key {} gave a conflict, and is free",
                       spec.key);
    }
    return;
  }
  const bool is_stored = model_.live.contains(answer->id) || model_.archive.contains(answer->id);
  findings_.expect(is_stored, 4, "job {} was acknowledged, and is not stored", Shown{answer->id});
  if (holder) {
    findings_.expect(answer->deduplicated && answer->id == holder->job, 17,
                     "key {} is held by job {}, and the answer was {}", spec.key, Shown{holder->job},
                     Shown{answer->id});
  } else {
    findings_.expect(!answer->deduplicated, 17, "job {} was given for key \"{}\", which is free", Shown{answer->id},
                     spec.key);
  }
}

}  // namespace carillon::sim
