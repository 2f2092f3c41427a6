// The half of a node that deals with attempts: how they end, how they are kept, what becomes of those that are lost.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_set>

#include "base/hole.h"
#include "base/mutant.h"
#include "engine/attempts/settlement.h"
#include "engine/round/node.h"
#include "engine/telling/told_error.h"

namespace carillon {

namespace {

constexpr Duration kQuick = std::chrono::milliseconds(10);
constexpr std::size_t kSchedulesMax = 200;  // planned in one round
constexpr Duration kReapEvery = std::chrono::seconds(1);
constexpr std::size_t kUpkeepMax = 500;  // attempts or jobs ended in one round by time

bool is_stale(const Error& error) { return error.code == ErrorCode::stale_token || error.code == ErrorCode::not_found; }

Duration duration_of(const Run& run, BootTime now) {
  const BootTime started = run.started_boot;
  return started == BootTime::zero() ? Duration::zero() : now - started;
}

}  // namespace

// ---- What handlers said -------------------------------------------------------------------------------------------

void Node::take_finished(const Round& round) {
  for (Finished& finished : finished_->take()) {
    Run& run = *finished.run;
    if (run.over) {
      // Its attempt has ended long ago; now its thread is free.
      Round late{.now = round.now, .listening = round.listening};
      late.tell(StaleWord{
          .job = run.job.id,
          .tenant = run.job.tenant,
          .success = finished.how == Finished::How::returned && finished.outcome.kind == Outcome::Kind::done});
      tell(late);
      runs_.remove(run, round.boot);
      freed();
      continue;
    }
    Settling settling{.run = finished.run,
                      .settlement = settlement_of(finished, round.now, defaults_of_follow_ups(finished)),
                      .how = finished.how,
                      .quick = duration_of(run, round.boot) <= std::max(kQuick, 2 * commit_took_),
                      .kind = finished.outcome.kind};
    if (finished.how == Finished::How::returned && finished.outcome.kind == Outcome::Kind::rate_limited) {
      settling.limit = finished.outcome.limit;
      settling.limited_until = rate_limited_until(finished.outcome, round.now);
      settling.may_teach_global = finished.said_by == Finished::SaidBy::operators_own;
      rest_limit(settling, round.now);
    }
    run.ending = true;
    settling_.push_back(std::move(settling));
  }
}

Result<void> Node::write_settlements(Round& round) {
  if (settling_.empty()) return {};
  TRY_ASSIGN(auto answers, say(round, settling_));
  round.on_commit.emplace_back([this, &round, answers = std::move(answers)] {
    const std::vector<Settling> said = std::exchange(settling_, {});
    for (std::size_t i = 0; i < said.size(); ++i) settled(round, said[i], answers[i]);
  });
  return {};
}

// What an attempt that is over says once more is answered as at first: only one that runs is refused.
Result<void> Node::check_follow_ups(const Settling& settling) const {
  if (!settling.run || settling.run->over) return {};
  const std::vector<NewJob>& then = settling.settlement.then;
  for (std::size_t i = 0; i < then.size(); ++i) {
    auto known = rules_.check_limits(settling.run->job.tenant, then[i].options.limits);
    if (known) continue;
    known.error().field = fmt::format("then[{}].limits", i);
    return known;
  }
  return {};
}

Result<std::vector<Result<Settled>>> Node::say(Round& round, const std::vector<Settling>& said) {
  std::vector<Settlement> words;
  words.reserve(said.size());
  std::map<std::size_t, Error> refused;
  for (std::size_t i = 0; i < said.size(); ++i) {
    const auto known = check_follow_ups(said[i]);
    if (!known) refused.emplace(i, known.error());
    if (known) words.push_back(said[i].settlement);
  }
  auto answers = store_.jobs().settle(words);
  for (const auto& [i, error] : refused) {
    answers.insert(answers.begin() + static_cast<std::ptrdiff_t>(i), std::unexpected(error));
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(i), said[i].settlement);
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i]) continue;
    round.add_ready(answers[i]->ready);
    const RunPtr& run = said[i].run;
    if (run && answers[i]->state == JobState::done) TRY(planner_.parent_done(round, run->job));
    if (run && words[i].subject) TRY(planner_.subject_learnt(round, run->job));
  }
  return answers;
}

// As soon as it is heard, whatever becomes of the commit: the next start may be in this very round.
void Node::rest_limit(const Settling& settling, Instant now) {
  Run& run = *settling.run;
  if (!settling.limited_until || std::exchange(run.rested_limit, true)) return;
  const bool may_teach_global = settling.may_teach_global || reopened(Hole::tenant_teaches_global);
  const auto closed =
      dispatcher_.ready().rate_limited(run.place, settling.limit, *settling.limited_until, now, may_teach_global);
  // Nothing of the limit starts before then, not even what was claimed already.
  if (closed) take_back([&](const Run& other) { return dispatcher_.ready().draws_on(other.place, *closed); });
}

void Node::settled(Round& round, const Settling& settling, const Result<Settled>& answer) {
  Run& run = *settling.run;
  if (run.pulled && run.over) {
    // The same word twice; or another one, which comes too late.
    if (!answer && is_stale(answer.error())) tell_stale(round, settling);
    return;
  }
  if (!answer && !is_stale(answer.error()) && settling.thread_is_back && settling.how == Finished::How::returned) {
    if (run.pulled) return;  // its holder is told, and says something else
    // Follow-ups that cannot be: the attempt has failed, and says why.
    Finished refused{.run = settling.run, .outcome = fail(answer.error().message, "refused")};
    settling_.push_back({.run = settling.run,
                         .settlement = settlement_of(refused, round.now, JobDefaults()),
                         .how = Finished::How::held,  // not again, should this be refused too
                         .kind = Outcome::Kind::failed});
    settling_.back().settlement.hold = false;
    return;
  }
  if (answer) {
    told_settled(round, settling, *answer);
  } else {
    tell_stale(round, settling);
  }
  const bool unstarted = run.started_boot.load() == BootTime::zero();
  free_caps(run, unstarted, round.now);
  if (run.pulled) {
    run.over = true;
    desk_.remove(run);
  } else if (settling.thread_is_back) {
    runs_.remove(run, round.boot);
  } else {
    run.over = true;
    run.stop_requested = true;
  }
}

void Node::tell_stale(Round& round, const Settling& settling) {
  const Run& run = *settling.run;
  round.tell(StaleWord{.job = run.job.id,
                       .tenant = run.job.tenant,
                       .success = settling.settlement.end.result == AttemptResult::ok && !settling.settlement.defer});
}

void Node::tell_stopped(Round& round, const Settling& settling) {
  const Run& run = *settling.run;
  round.tell(JobStopped{.job = run.job.id,
                        .tenant = run.job.tenant,
                        .type = run.job.type,
                        .attempt = run.job.attempt,
                        .duration = duration_of(run, round.boot),
                        .result = settling.settlement.end.result,
                        .error_class = settling.settlement.error.error_class,
                        .error = told_error(settling.settlement.error.message, run.job.payload)});
}

void Node::told_settled(Round& round, const Settling& settling, const Settled& answer) {
  const Run& run = *settling.run;
  const Settlement& word = settling.settlement;
  const AttemptResult result = word.end.result;
  for (const ReadyJob& ready : answer.ready) {
    if (ready.id != run.job.id) {
      round.tell(JobChanged{.job = ready.id, .tenant = run.job.tenant, .state = JobState::queued});
    }
  }
  for (std::size_t i = 0; i < answer.then.size(); ++i) {
    const FollowedUp& one = answer.then[i];
    if (!one.deduplicated && !one.error) continue;
    round.tell(EnqueueIgnored{.job = one.id,
                              .tenant = run.job.tenant,
                              .type = word.then[i].type,
                              .reason = one.error ? "idempotency_conflict" : "idempotency_key"});
  }
  const bool completed = answer.state == JobState::done || answer.state == JobState::skipped;
  if (word.defer && is_final(answer.state)) {
    // It was to be put back and ended instead: cancelled, or past its deadline.
  } else if (result == AttemptResult::ok && !word.defer && !completed) {
    // A success after the deadline is an event, never an outcome (invariant 23).
    round.tell(StaleWord{.job = run.job.id, .tenant = run.job.tenant, .success = true});
    tell_stopped(round, settling);
  } else if (word.defer) {
    note_put_back(run, word.defer->reason, round.now);
    round.tell(Deferred{
        .job = run.job.id, .tenant = run.job.tenant, .reason = word.defer->reason, .until = word.defer->until});
  } else if (result == AttemptResult::rate_limited) {
    round.tell(RateLimited{.job = run.job.id,
                           .tenant = run.job.tenant,
                           .limit = settling.limit,
                           .until = settling.limited_until.value_or(answer.run_at)});
  } else if (result == AttemptResult::ok || result == AttemptResult::error || result == AttemptResult::timeout) {
    tell_stopped(round, settling);
  }
  if (!settling.thread_is_back && result == AttemptResult::timeout) {
    round.tell(HandlerAbandoned{.job = run.job.id, .tenant = run.job.tenant, .type = run.job.type});
  }
  round.tell(JobChanged{.job = run.job.id, .tenant = run.job.tenant, .state = answer.state});
}

void Node::freed() {
  freed_ = true;
  desk_.room_is_there();
}

void Node::free_caps(Run& run, bool tokens_too, Instant now) {
  freed();
  if (!run.holds_caps) return;
  run.holds_caps = false;
  if (tokens_too && run.pulled) {
    dispatcher_.ready().pulled_back({.place = run.place, .entry = {}}, ReadySet::Entry::is_gone, now);
  } else if (tokens_too) {
    dispatcher_.ready().gave_back(run.place, now);
  } else {
    dispatcher_.ready().ended(run.place, now);
  }
}

// ---- Keeping leases -----------------------------------------------------------------------------------------------

void Node::collect_due(const Round& round) {
  due_ = runs_.due(round.boot);
  for (const RunPtr& run : due_.timeouts) {
    run->ending = true;
    settling_.push_back({.run = run, .settlement = timeout_of(*run), .thread_is_back = false});
  }
}

// Before leases are looked at that have run out: one that has begun is lost as any other is.
Result<void> Node::write_begun(Round& round) {
  if (runs_.begun().empty()) return {};
  std::vector<LeaseKey> begun;
  for (const RunPtr& run : runs_.begun()) {
    if (!run->over && !run->ending) begun.push_back({.job = run->job.id, .token = run->job.token});
  }
  TRY(store_.jobs().begun(begun));
  round.on_commit.emplace_back([this] { runs_.begun_is_stored(); });
  return {};
}

Result<void> Node::write_heartbeats(Round& round) {
  if (due_.beats.empty()) return {};
  std::vector<Extension> extensions;
  std::vector<bool> rebased;
  for (const RunPtr& run : due_.beats) {
    // The timeout counts from the moment the handler starts: until then, and once after, it begins anew.
    const bool rebase = RunTable::timeout_is_early(*run);
    rebased.push_back(rebase);
    extensions.push_back(
        {.job = run->job.id, .token = run->job.token, .started = !rebase, .progress = run->take_progress()});
  }
  auto answers = store_.jobs().extend(extensions);
  round.on_commit.emplace_back([this, &round, rebased = std::move(rebased), answers = std::move(answers)] {
    for (std::size_t i = 0; i < answers.size(); ++i) {
      Run& run = *due_.beats[i];
      if (answers[i]) {
        if (rebased[i]) run.timeout_from = round.boot;
        runs_.renewed(run, round.boot);
        if (answers[i]->cancel_requested) run.stop_requested = true;
      } else if (is_stale(answers[i].error())) {
        lost(run, round.now);
      }
    }
  });
  return {};
}

// The attempt is not ours any more: what it says will be refused. Its thread keeps its slot until it returns.
void Node::lost(Run& run, Instant now) {
  run.stop_requested = true;
  run.lease_until = BootTime::zero();
  free_caps(run, false, now);
  if (run.pulled) {
    run.over = true;
    desk_.remove(run);
  } else if (run.withdraw()) {
    runs_.remove(run, clock_.boot());
  } else {
    run.over = true;
  }
}

void Node::lease_is_gone(JobId job, Instant now) {
  for (const RunPtr& run : {runs_.find(job), desk_.find(job)}) {
    if (run && !run->over) lost(*run, now);
  }
}

// ---- Upkeep, once a tick --------------------------------------------------------------------------------------------

Result<void> Node::keep_up(Round& round) {
  round.is_tick = true;
  TRY_ASSIGN(const std::size_t reaped, reap(round));
  const BootTime begun = clock_.boot();
  TRY_ASSIGN(const std::size_t overdue, finish_overdue(round));
  round.tick.duration += clock_.boot() - begun;
  const bool more = reaped == kUpkeepMax || overdue == kUpkeepMax;
  cutoffs_are_behind_ = overdue == kUpkeepMax;
  TRY(loader_.load_later(round));
  round.on_commit.emplace_back([this, &round, more] {
    // A lost lease is found within two seconds, however long the tick is (invariant 12).
    const bool has_leases = !runs_.empty() || desk_.lease_count() > 0;
    next_tick_ = more ? round.boot : round.boot + (has_leases ? std::min(tick(), kReapEvery) : tick());
  });
  return {};
}

Result<std::size_t> Node::reap(Round& round) {
  TRY_ASSIGN(const std::vector<Reaped> reaped, store_.jobs().reap(kUpkeepMax));
  for (const Reaped& one : reaped) {
    round.add_ready(one.ready);
    if (one.result == AttemptResult::timeout) {
      const RunPtr held = desk_.find(one.id);
      const RunPtr run = held ? held : runs_.find(one.id);
      round.tell(JobStopped{.job = one.id,
                            .tenant = one.tenant,
                            .type = one.type,
                            .attempt = run ? run->job.attempt : 1,
                            .duration = run ? duration_of(*run, round.boot) : Duration::zero(),
                            .result = AttemptResult::timeout,
                            .error_class = "timeout"});
    } else {
      round.tell(LeaseLost{.job = one.id, .tenant = one.tenant, .worker = one.worker});
    }
    round.tell(JobChanged{.job = one.id, .tenant = one.tenant, .state = one.state});
    round.on_commit.emplace_back([this, id = one.id, now = round.now] { lease_is_gone(id, now); });
  }
  return reaped.size();
}

Result<std::size_t> Node::finish_overdue(Round& round) {
  if (mutant(Mutant::deadline_ignored)) return 0;
  TRY_ASSIGN(const std::vector<OverdueJob> overdue, store_.jobs().overdue(kUpkeepMax));
  std::vector<WhyNotStarted> why;
  for (const OverdueJob& job : overdue) {
    const Lane lane = store_.jobs().lane(job.lane);
    const bool paused = rules_.is_paused(lane.tenant) || dispatcher_.ready().is_queue_closed(lane.tenant, lane.queue);
    if (rules_.closed_for(lane.tenant, job.notifies, round.now)) {
      why.push_back({.job = job.id, .reason = VerdictReason::gated});
    } else if (paused) {
      why.push_back({.job = job.id, .reason = VerdictReason::paused});
    }
  }
  TRY_ASSIGN(const std::vector<Changed> finished, store_.jobs().finish_overdue(kUpkeepMax, why));
  for (const Changed& one : finished) changed(round, one);
  return finished.size();
}

void Node::changed(Round& round, const Changed& changed) {
  round.add_ready(changed.ready);
  round.tell(JobChanged{.job = changed.id, .tenant = changed.tenant, .state = changed.state});
  if (!is_final(changed.state)) return;
  round.on_commit.emplace_back([this, id = changed.id, now = round.now] { lease_is_gone(id, now); });
}

Result<void> Node::recover_leases(Round& round) {
  if (mutant(Mutant::leases_not_recovered)) {
    recover_ = false;
    return {};
  }
  TRY_ASSIGN(const std::vector<LeaseRow> leases, store_.jobs().leases());
  std::vector<Settlement> releases;
  std::set<std::pair<JobId, std::int64_t>> held_outside;
  for (const LeaseRow& lease : leases) {
    if (lease.in_process && lease.worker != options_.worker) continue;
    if (!lease.in_process) held_outside.emplace(lease.job, lease.token);
    const RunPtr run = lease.in_process ? runs_.find(lease.job) : desk_.find(lease.job);
    if (run && run->job.token == lease.token) continue;
    // Of a worker outside too: it was never told of the lease.
    releases.push_back(
        {.job = lease.job, .token = lease.token, .end = {.result = AttemptResult::released, .started = false}});
  }
  for (const Result<Settled>& released : store_.jobs().settle(releases)) {
    if (released) round.add_ready(released->ready);
  }
  round.on_commit.emplace_back([this, held_outside = std::move(held_outside), now = round.now] {
    recover_ = false;
    loader_.reload();
    // Their end is stored, though nobody was told that it is.
    for (const RunPtr& run : desk_.all_leases()) {
      if (!held_outside.contains({run->job.id, run->job.token})) lost(*run, now);
    }
  });
  return {};
}

// ---- What is queued
// --------------------------------------------------------------------------------------------------

void Node::follow_queue(Round& round) {
  // What is known of a job now is no doubt any more: `left` is told already.
  const auto no_doubt = [&](JobId job, const ReadyJob* left) {
    const auto doubt = doubts_.find(job);
    if (doubt == doubts_.end()) return;
    const auto& stood = doubt->second;
    if (stood && (left == nullptr || stood->entry != entry_of(*left))) dispatcher_.left(*stood);
    doubts_.erase(doubt);
  };
  std::unordered_set<JobId> ids;
  for (const LeftQueue& left : round.left) {
    dispatcher_.left(left.job);
    planner_.left(left);
    ids.insert(left.job.id);
    if (!doubts_.empty()) no_doubt(left.job.id, &left.job);
  }
  if (ids.empty() && doubts_.empty()) return;
  for (const ReadyJob& job : round.added) {
    if (ids.contains(job.id) || doubts_.contains(job.id)) round.moved.push_back(job);
    if (!doubts_.empty()) no_doubt(job.id, nullptr);
  }
}

// Nothing of it is to be counted; but if only the answer was lost, it is there.
void Node::doubt(const Round& round) {
  std::unordered_map<JobId, ReadyEntry> added;
  for (const ReadyJob& job : round.added) {
    dispatcher_.left(job);
    added.insert_or_assign(job.id, entry_of(job));
  }
  // What stood before the round stands on, until the rows say otherwise.
  const auto stands = [&](const std::optional<ReadySet::Pick>& at) {
    if (!at) return;
    const auto made = added.find(at->entry.id);
    if (made == added.end() || made->second != at->entry) doubts_.try_emplace(at->entry.id, at);
  };
  for (const LeftQueue& left : round.left) stands(dispatcher_.standing(left.job));
  for (const ReadySet::Pick& pick : picks_) stands(pick);
  for (const Serving& serving : serving_) {
    for (const ReadySet::Pick& pick : serving.picks) stands(pick);
  }
  for (const auto& [id, entry] : added) doubts_.try_emplace(id);
  for (const ReadyJob& job : round.read_back) dispatcher_.left(job);
}

Result<void> Node::settle_doubts(Round& round) {
  if (doubts_.empty()) return {};
  std::unordered_set<JobId> known;
  for (const ReadyJob& job : round.ready) known.insert(job.id);
  for (const ReadyJob& job : planner_.released()) known.insert(job.id);
  std::vector<JobId> asked;
  for (const auto& [id, stood] : doubts_) {
    if (!known.contains(id)) asked.push_back(id);
  }
  TRY_ASSIGN(const std::vector<ReadyJob> queued, store_.jobs().queued(asked));
  std::unordered_set<JobId> as_they_stood;
  for (const ReadyJob& job : queued) {
    const auto& stood = doubts_.at(job.id);
    if (stood && stood->entry == entry_of(job)) {
      as_they_stood.insert(job.id);
    } else {
      round.ready.push_back(job);
    }
  }
  round.on_commit.emplace_back([this, as_they_stood = std::move(as_they_stood)] {
    for (const auto& [id, stood] : doubts_) {
      if (stood && !as_they_stood.contains(id)) dispatcher_.left(*stood);
    }
    doubts_.clear();
  });
  return {};
}

// ---- The end ------------------------------------------------------------------------------------------------------

void Node::open() {
  dispatching_ = true;
  desk_.look_again();
}

void Node::begin_drain() {
  dispatching_ = false;
  draining_ = true;
  take_back([](const Run&) { return true; });
}

void Node::take_back_of(Round& round, std::string_view tenant, std::string_view schedule,
                        std::optional<std::string_view> subject) {
  std::optional<std::string> only;
  if (subject) only = *subject;
  round.on_commit.emplace_back(
      [this, tenant = std::string(tenant), schedule = std::string(schedule), only = std::move(only)] {
        take_back([&](const Run& run) {
          const auto& held = run.job.occurrence_of;
          return held && run.job.tenant == tenant && run.job.schedule == schedule && (!only || held->subject == *only);
        });
      });
}

void Node::take_back(const std::function<bool(const Run&)>& which) {
  for (const RunPtr& run : runs_.all()) {
    if (!run->over && which(*run) && run->withdraw()) hand_back(run);
  }
}

void Node::hand_back(const RunPtr& run) {
  settling_.push_back({.run = run, .settlement = release_of(*run, false), .how = Finished::How::not_started});
}

void Node::release_all() {
  for (const RunPtr& run : runs_.all()) {
    if (run->over || run->ending) continue;
    run->stop_requested = true;
    run->ending = true;
    settling_.push_back({.run = run, .settlement = release_of(*run, true), .thread_is_back = false});
  }
}

bool Node::is_idle() const {
  return settling_.empty() && std::ranges::all_of(runs_.all(), [](const RunPtr& run) { return run->over; });
}

Result<void> Node::plan(Round& round) {
  const auto due = planner_.next_due();
  if ((!due || *due > round.now) && !planner_.has_background()) return {};
  const BootTime begun = clock_.boot();
  // Between two ticks too a day that is over is closed before another one is planned: the clock may have been set
  // forward over both (invariant 3).
  if (!round.is_tick) {
    TRY_ASSIGN(const std::size_t overdue, finish_overdue(round));
    cutoffs_are_behind_ = overdue == kUpkeepMax;
  }
  TRY_ASSIGN(const Planner::Stepped stepped,
             planner_.step(round, {.schedules_max = kSchedulesMax, .leave_deliveries = cutoffs_are_behind_}));
  round.tick.duration += clock_.boot() - begun;
  round.tick.users_scanned += stepped.looked_at;
  return {};
}

}  // namespace carillon
