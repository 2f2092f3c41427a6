// The half of a node that deals with workers outside: their leases, heartbeats and words are part of its rounds, and
// their attempts are counted, told and ended like those of its own handlers.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/json.h"
#include "base/json_check.h"
#include "engine/node.h"
#include "engine/settlement.h"
#include "store/reading.h"

namespace carillon {

namespace {

constexpr std::size_t kPullsMax = 1000;          // jobs leased in one round
constexpr std::size_t kOwnerLooksMax = 100'000;  // at rows, once at the start

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return std::ranges::find(list, name) != list.end();
}

std::unexpected<Error> stale(JobId job, std::int64_t token) {
  return failed(ErrorCode::stale_token,
                fmt::format("token {} of job {} is not the current one", token, format_job_id(job)));
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

void Node::add_pull(const Round& round, const PullCallPtr& call) {
  desk_.workers().seen({.tenants = call->request.filter.tenants, .name = call->request.worker}, round.now);
  desk_.add(call, dispatcher_, round.boot);
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
  std::vector<PulledJob> jobs;
  for (const RunPtr& run : runs) {
    run->pulled = true;
    run->phase = Run::Phase::started;
    if (is_there) run->started_boot = round.boot;
    desk_.lease(run, {.tenants = call->request.filter.tenants, .name = call->request.worker});
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
  if (!rules_.config().enabled) refused = Error{.code = ErrorCode::unavailable, .message = "the scheduler is disabled"};
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

namespace {

// Finds whose a job is, among tenants that may be its owner. Leases of one tenant mostly stand together.
class OwnerSearch {
 public:
  OwnerSearch(StoreReader& reader, std::vector<std::string> tenants) : reader_(reader), tenants_(std::move(tenants)) {}
  OwnerSearch(const OwnerSearch&) = delete;
  OwnerSearch& operator=(const OwnerSearch&) = delete;
  ~OwnerSearch() = default;

  std::optional<JobView> find(JobId job) {
    for (std::size_t i = 0; i < tenants_.size() && left_ > 0; ++i, --left_) {
      const std::size_t index = (last_ + i) % tenants_.size();
      auto view = reader_.job(tenants_[index], job);
      if (!view) continue;
      last_ = index;
      return *std::move(view);
    }
    return std::nullopt;
  }

 private:
  StoreReader& reader_;
  const std::vector<std::string> tenants_;
  std::size_t last_ = 0;
  std::size_t left_ = kOwnerLooksMax;
};

LeasedJob leased_job(const LeaseRow& lease, const std::optional<JobView>& view) {
  LeasedJob job{.id = lease.job, .attempt = lease.attempt, .token = lease.token, .lease = lease.length};
  if (!view) return job;
  job.tenant = view->lane.tenant;
  job.queue = view->lane.queue;
  job.type = view->type;
  job.priority = view->row.priority;
  job.run_at = view->row.run_at;
  job.deadline = view->row.deadline;
  job.schedule = view->schedule;
  job.subject = view->row.subject;
  job.slot = view->row.slot;
  job.options = view->row.options;
  return job;
}

}  // namespace

// They count under the next node as they did. Whose a job is, its id does not tell: it is looked for among the tenants
// that have rules, since only these have caps of their own. Others count under the limits for all, and among all.
Result<void> Node::adopt_leases(Round& round) {
  TRY_ASSIGN(const std::vector<LeaseRow> leases, store_.jobs().leases());
  std::vector<JobId> ids;
  for (const LeaseRow& lease : leases) {
    if (!lease.in_process) ids.push_back(lease.job);
  }
  TRY_ASSIGN(std::vector<JobTraits> traits, store_.jobs().traits(ids));
  round.on_commit.emplace_back([this, &round, leases, traits = std::move(traits)] {
    adopted_ = true;
    if (traits.empty()) return;
    std::unordered_map<JobId, const JobTraits*> by_job;
    for (const JobTraits& one : traits) by_job.emplace(one.id, &one);
    std::set<std::string> tenants;
    for (const DocumentKey& key : rules_.keys()) {
      if (!key.tenant.empty()) tenants.insert(key.tenant);
    }
    OwnerSearch search(store_.reader(), {tenants.begin(), tenants.end()});
    for (const LeaseRow& lease : leases) {
      const auto found = by_job.find(lease.job);
      if (found == by_job.end()) continue;
      const auto view = search.find(lease.job);
      auto run = std::make_shared<Run>();
      run->job = leased_job(lease, view);
      run->notifies = found->second->notifies;
      run->pulled = true;
      run->phase = Run::Phase::started;
      run->started_boot = std::max(BootTime(1), round.boot - (round.now - lease.claimed_at));
      run->place = dispatcher_.ready().place({.tenant = run->job.tenant,
                                              .queue = run->job.queue,
                                              .type = view ? view->row.type : TypeId(),
                                              .limits = found->second->limits,
                                              .notifies = run->notifies});
      dispatcher_.ready().adopt(run->place, round.now);
      desk_.lease(run, {.tenants = {}, .name = lease.worker});
    }
  });
  return {};
}

// ---- Heartbeats and words
// --------------------------------------------------------------------------------------------

// Whose the job is, if it is of one of these tenants; "" if that is not known and does not matter. A foreign one is
// absent. (invariant 28)
Result<std::string> Node::owner_of(Round& round, const std::vector<std::string>& tenants, JobId job) {
  for (const RunPtr& run : {desk_.find(job), runs_.find(job)}) {
    if (!run || run->job.tenant.empty()) continue;
    if (tenants.empty() || contains(tenants, run->job.tenant)) return run->job.tenant;
    return absent_job(job);
  }
  for (const std::string& tenant : tenants) {
    // A change of nothing: refused as absent, or because of a state that only the tenant's own job has.
    const auto asked = store_.jobs().patch(tenant, job, {});
    if (asked) {
      round.add_ready(asked->ready);
      return tenant;
    }
    const ErrorCode code = asked.error().code;
    if (code == ErrorCode::conflict || code == ErrorCode::job_already_running) return tenant;
    if (code != ErrorCode::not_found) return std::unexpected(asked.error());
  }
  if (!tenants.empty()) return absent_job(job);
  return std::string();
}

// A handler of our own has it: its lease is nobody else's to speak for.
bool Node::runs_here(JobId job, std::int64_t token) const {
  const RunPtr run = runs_.find(job);
  return run && !run->over && run->job.token == token;
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
    auto owner = owner_of(round, beat.tenants, beat.job);
    if (!owner) {
      answers[i] = std::unexpected(std::move(owner).error());
    } else if (runs_here(beat.job, beat.token)) {
      answers[i] = stale(beat.job, beat.token);
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
    auto owner = owner_of(round, word.tenants, word.job);
    if (!owner) {
      answers[i] = std::unexpected(std::move(owner).error());
      continue;
    }
    if (runs_here(word.job, word.token)) {
      answers[i] = stale(word.job, word.token);
      continue;
    }
    Settling settling{.run = desk_.find(word.job, word.token),
                      .settlement = settlement_of(word, round.now),
                      .kind = word.outcome.kind};
    if (!word.release && word.outcome.kind == Outcome::Kind::rate_limited) {
      settling.limit = word.outcome.limit;
      settling.limited_until = rate_limited_until(word.outcome, round.now);
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
