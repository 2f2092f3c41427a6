// The half of a node that deals with workers outside: their leases, heartbeats and words are part of its rounds, and
// their attempts are counted, told and ended like those of its own handlers.
#include <algorithm>
#include <unordered_map>

#include "base/json.h"
#include "base/json_check.h"
#include "engine/attempts/settlement.h"
#include "engine/round/node.h"
#include "store/refusals.h"

namespace carillon {

namespace {

constexpr std::size_t kPullsMax = 1000;  // jobs leased in one round

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return std::ranges::find(list, name) != list.end();
}

Extension extension_of(const PullBeat& beat) {
  Extension extension{.job = beat.job, .token = beat.token};
  if (beat.progress) extension.progress = check_json(*beat.progress) ? *beat.progress : json_string(*beat.progress);
  return extension;
}

}  // namespace

void Node::serving_changed(std::string_view tenant) {
  dispatcher_.serving_changed(tenant);
  // What waits for a thread would meet no handler any more.
  take_back([&](const Run& run) {
    return (tenant.empty() || run.job.tenant == tenant) && !dispatcher_.serves(run.job.tenant, run.job.type);
  });
  desk_.look_again();
  freed_ = true;
}

// ---- Leasing
// ---------------------------------------------------------------------------------------------------------

Result<void> Node::add_pull(const Round& round, const PullCallPtr& call) {
  TRY(desk_.add(call, dispatcher_, round.boot));
  const PullWorkers::Key worker{.tenants = call->request.filter.tenants, .name = call->request.worker};
  desk_.workers().seen(worker, round.now);
  desk_.workers().asked(worker, call->request.filter, round.boot + call->request.wait);
  return {};
}

std::size_t Node::room_for_pulls() const {
  const auto all = rules_.config().max_concurrent_jobs;
  if (!all) return SIZE_MAX;
  return *all - std::min(*all, dispatcher_.ready().running());
}

Result<void> Node::lease_pulls(Round& round) {
  if (!dispatching_ || !knows_rules() || !rules_.config().enabled || !desk_.has_waiting()) return {};
  desk_.notice(dispatcher_, round.now);
  if (!desk_.has_to_look()) return {};
  std::size_t left = kPullsMax;
  for (const auto& group : desk_.to_look()) TRY(serve(round, *group, left));
  return {};
}

Result<void> Node::serve(Round& round, PullGroup& group, std::size_t& left) {
  dispatcher_.look_for_places(group.view);
  for (const PullCallPtr& call : group.waiting) {
    if (!call->is_waiting()) continue;
    // Entries whose rows have moved on give nothing: it looks for others.
    for (bool has_jobs = false; !has_jobs;) {
      const std::size_t room = room_for_pulls();
      if (room == 0) {
        desk_.no_room_for(group);
        return {};
      }
      if (left == 0) {
        desk_.look_again(group);
        return {};
      }
      const ReadySet::Pulled pulled =
          dispatcher_.pull(group.view, std::min({call->request.limit, room, left}), round.now);
      if (pulled.picks.empty()) {
        desk_.nothing_for(group, pulled);
        return {};
      }
      left -= pulled.picks.size();
      serving_.push_back({.call = call, .picks = pulled.picks, .claimed = std::nullopt});
      std::vector<JobId> ids;
      ids.reserve(pulled.picks.size());
      for (const ReadySet::Pick& pick : pulled.picks) ids.push_back(pick.entry.id);
      TRY_ASSIGN(Claimed claimed,
                 claim_of(round, {.worker = call->request.worker, .lease = call->request.lease, .jobs = ids}));
      has_jobs = !claimed.jobs.empty();
      serving_.back().claimed = std::move(claimed.jobs);
    }
  }
  desk_.all_served(group);
  return {};
}

// After the commit. A caller that went meanwhile has no use for its jobs: they are handed back.
void Node::start_pulls(Round& round) {
  for (Serving& serving : std::exchange(serving_, {})) {
    if (!serving.claimed) {
      put_back(serving, round.now);
      continue;
    }
    std::unordered_map<JobId, LeasedJob*> leased;
    for (LeasedJob& job : *serving.claimed) leased.emplace(job.id, &job);
    std::vector<RunPtr> runs;
    for (const ReadySet::Pick& pick : serving.picks) {
      const auto found = leased.find(pick.entry.id);
      if (found == leased.end()) {
        dispatcher_.ready().pulled_back(pick, ReadySet::Entry::is_gone, round.now);
        continue;
      }
      runs.push_back(picked(round, pick, std::move(*found->second)));
      leased.erase(found);  // an entry that stood twice
    }
    if (!runs.empty()) hand_out(round, serving.call, runs);
  }
}

void Node::hand_out(const Round& round, const PullCallPtr& call, const std::vector<RunPtr>& runs) {
  const bool is_there = call->begin_answer();
  const PullWorkers::Key worker{.tenants = call->request.filter.tenants, .name = call->request.worker};
  desk_.workers().asked(worker, call->request.filter, round.boot);
  std::vector<PulledJob> jobs;
  for (const RunPtr& run : runs) {
    run->pulled = true;
    run->phase = Run::Phase::started;
    if (is_there) run->started_boot = round.boot;
    desk_.lease(run, worker);
    if (is_there) {
      jobs.push_back({.job = run->job, .lease_until = run->job.lease_until});
    } else {
      hand_back(run);
    }
  }
  desk_.remove(call, dispatcher_);
  if (!is_there) return;
  answers_.emplace_back(
      [call, jobs = std::move(jobs)]() mutable { std::exchange(call->done, nullptr)(std::move(jobs)); });
}

void Node::put_back(const Serving& serving, Instant now) {
  for (const ReadySet::Pick& pick : serving.picks) {
    dispatcher_.ready().pulled_back(pick, ReadySet::Entry::stands_again, now);
  }
}

// The end of a round: who waited long enough, or waits in vain, is told so; then all answers go out.
void Node::answer_pulls(BootTime boot) {
  std::optional<Error> refused;
  if (draining_) refused = Error{.code = ErrorCode::unavailable, .message = "the engine is stopping"};
  if (const auto enabled = rules_.check_enabled(); !enabled) refused = enabled.error();
  for (const PullCallPtr& call : refused ? desk_.take_all(dispatcher_) : desk_.take_ended(dispatcher_, boot)) {
    if (!call->begin_answer()) continue;
    answers_.emplace_back([call, refused] {
      // What it holds goes with its answer: its own end may be far off.
      const PullCall::Done done = std::exchange(call->done, nullptr);
      if (refused) {
        done(std::unexpected(*refused));
      } else {
        done(std::vector<PulledJob>());
      }
    });
  }
  for (const auto& answer : std::exchange(answers_, {})) answer();
}

// ---- Leases of an earlier node
// ---------------------------------------------------------------------------------------

// They count under the next node as they did.
Result<void> Node::adopt_leases(Round& round) {
  TRY_ASSIGN(std::vector<OutsideLease> held, store_.jobs().outside_leases());
  std::vector<std::pair<RunPtr, std::string>> runs;  // and its worker
  for (OutsideLease& one : held) {
    auto run = std::make_shared<Run>();
    run->job = std::move(one.job);
    TRY_ASSIGN(const JobOptions options, run->job.options.read());
    run->notifies = options.notifies;
    run->pulled = true;
    run->phase = Run::Phase::started;
    run->started_boot = std::max(BootTime(1), round.boot - (round.now - one.lease.claimed_at));
    run->place = dispatcher_.place({.tenant = run->job.tenant,
                                    .queue = run->job.queue,
                                    .type = one.type,
                                    .limits = options.limits,
                                    .notifies = run->notifies});
    runs.emplace_back(std::move(run), std::move(one.lease.worker));
  }
  round.on_commit.emplace_back([this, &round, runs = std::move(runs)] {
    adopted_ = true;
    for (const auto& [run, worker] : runs) {
      dispatcher_.ready().adopt(run->place, round.now);
      desk_.lease(run, {.tenants = {}, .name = worker});
    }
  });
  return {};
}

// ---- Heartbeats and words
// --------------------------------------------------------------------------------------------

// Whose the job is, if it is of one of these tenants (none: of any). A foreign one is absent. (invariant 28)
Result<std::string> Node::owner_of(const std::vector<std::string>& tenants, JobId job) {
  const auto is_meant = [&](const std::string& tenant) { return tenants.empty() || contains(tenants, tenant); };
  for (const RunPtr& run : {desk_.find(job), runs_.find(job)}) {
    if (!run) continue;
    if (is_meant(run->job.tenant)) return run->job.tenant;
    return absent_job(job);
  }
  TRY_ASSIGN(std::optional<std::string> tenant, store_.jobs().tenant_of(job));
  if (!tenant || !is_meant(*tenant)) return absent_job(job);
  return *std::move(tenant);
}

// A handler of our own has it: its lease is nobody else's to speak for.
Result<void> Node::check_held_outside(JobId job, std::int64_t token) const {
  const RunPtr run = runs_.find(job);
  if (!run || run->over || run->job.token != token) return {};
  return stale_word(job, token,
                    {.text = "a handler of the server runs the job, and its lease is not the caller's",
                     .state = JobState::processing,
                     .reason = {},
                     .when = run->job.claimed_at});
}

Result<std::vector<Result<BeatAnswer>>> Node::extend_pulled(Round& round, const std::vector<PullBeat>& beats) {
  std::vector<Result<BeatAnswer>> answers(beats.size());
  std::vector<Extension> extensions;
  struct Asked {
    std::size_t index;
    std::string tenant;
  };
  std::vector<Asked> asked;
  for (std::size_t i = 0; i < beats.size(); ++i) {
    const PullBeat& beat = beats[i];
    auto owner = owner_of(beat.tenants, beat.job);
    if (!owner) {
      answers[i] = std::unexpected(std::move(owner).error());
    } else if (auto held = check_held_outside(beat.job, beat.token); !held) {
      answers[i] = std::unexpected(std::move(held).error());
    } else {
      extensions.push_back(extension_of(beat));
      asked.push_back({.index = i, .tenant = *std::move(owner)});
    }
  }
  const auto extended = store_.jobs().extend(extensions);
  for (std::size_t i = 0; i < extended.size(); ++i) {
    const PullBeat& beat = beats[asked[i].index];
    Result<BeatAnswer>& answer = answers[asked[i].index];
    if (!extended[i]) {
      answer = std::unexpected(extended[i].error());
      if (extended[i].error().code == ErrorCode::stale_token) {
        round.tell(StaleWord{.job = beat.job, .tenant = asked[i].tenant});
      }
      continue;
    }
    const RunPtr run = desk_.find(beat.job, beat.token);
    answer = BeatAnswer{.lease_until = extended[i]->lease_until,
                        .cancel_requested = extended[i]->cancel_requested,
                        .gate = rules_.closed_for(asked[i].tenant, run && run->notifies, round.now)};
    desk_.heard_of(beat.job, round.now);
  }
  return answers;
}

Result<std::vector<Result<WordAnswer>>> Node::settle_pulled(Round& round, const std::vector<PullWord>& words) {
  std::vector<Result<WordAnswer>> answers(words.size());
  std::vector<Settling> said;
  struct Said {
    std::size_t index;
    std::string tenant;
  };
  std::vector<Said> by;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const PullWord& word = words[i];
    auto owner = owner_of(word.tenants, word.job);
    if (!owner) {
      answers[i] = std::unexpected(std::move(owner).error());
      continue;
    }
    if (auto held = check_held_outside(word.job, word.token); !held) {
      answers[i] = std::unexpected(std::move(held).error());
      continue;
    }
    Settling settling{.run = desk_.find(word.job, word.token),
                      .settlement = settlement_of(word, round.now),
                      .kind = word.outcome.kind};
    if (!word.release && word.outcome.kind == Outcome::Kind::rate_limited) {
      settling.limit = word.outcome.limit;
      settling.limited_until = rate_limited_until(word.outcome, round.now);
      settling.may_teach_global = word.speaks_for_all;
    }
    said.push_back(std::move(settling));
    by.push_back({.index = i, .tenant = *std::move(owner)});
    desk_.heard_of(word.job, round.now);
  }
  TRY_ASSIGN(auto settled_as, say(round, said));
  for (std::size_t i = 0; i < said.size(); ++i) {
    Result<WordAnswer>& answer = answers[by[i].index];
    const Result<Settled>& one = settled_as[i];
    if (one) {
      const bool is_queued = one->state == JobState::queued;
      answer = WordAnswer{
          .id = one->id, .state = one->state, .run_at = is_queued ? std::optional(one->run_at) : std::nullopt};
      if (!said[i].settlement.then.empty()) answer->then = one->then;
      if (said[i].run) rest_limit(said[i], round.now);
    } else {
      answer = std::unexpected(one.error());
    }
    // Of one that is over already: said once more, or too late.
    if (!said[i].run && !one && one.error().code == ErrorCode::stale_token) {
      const Settlement& word = said[i].settlement;
      round.tell(StaleWord{
          .job = word.job, .tenant = by[i].tenant, .success = word.end.result == AttemptResult::ok && !word.defer});
    }
  }
  round.on_commit.emplace_back([this, &round, said = std::move(said), settled_as = std::move(settled_as)] {
    for (std::size_t i = 0; i < said.size(); ++i) {
      if (said[i].run) settled(round, said[i], settled_as[i]);
    }
  });
  return answers;
}

}  // namespace carillon
