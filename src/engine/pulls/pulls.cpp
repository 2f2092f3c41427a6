#include "engine/pulls/pulls.h"

#include <algorithm>
#include <unordered_map>

namespace carillon {

namespace {

constexpr std::size_t kPullsMax = 1000;  // jobs leased in one round

}  // namespace

Result<void> Pulls::add(Round& round, const PullCallPtr& call) {
  TRY(attempts_.desk().add(call, dispatcher_, round.boot));
  round.on_failure.emplace_back([this, call] { attempts_.desk().remove(call, dispatcher_); });
  const PullWorkers::Key worker{.tenants = call->request.filter.tenants, .name = call->request.worker};
  attempts_.desk().workers().seen(worker, round.now);
  attempts_.desk().workers().asked(worker, call->request.filter, round.boot + call->request.wait);
  return {};
}

void Pulls::add_picks(std::vector<ReadySet::Pick>& picks) const {
  for (const Serving& serving : serving_) picks.insert(picks.end(), serving.picks.begin(), serving.picks.end());
}

void Pulls::next_at(Wake& wake) {
  if (readiness_.is_open() && attempts_.desk().has_to_look()) wake.at_once = true;
  wake.by(attempts_.desk().next_look());
  wake.by(attempts_.desk().next_end());
}

void Pulls::committed(Round& round, const Result<void>& commit) {
  if (commit) {
    start(round);
    return;
  }
  for (const Serving& serving : std::exchange(serving_, {})) put_back(serving, round.now);
}

// ---- Leasing ------------------------------------------------------------------------------------------------------

std::size_t Pulls::room_for_pulls() const {
  const auto all = rules_.config().max_concurrent_jobs;
  if (!all) return SIZE_MAX;
  return *all - std::min(*all, dispatcher_.ready().running());
}

Result<void> Pulls::write(Round& round) {
  if (!readiness_.is_open() || !readiness_.knows_rules() || !rules_.config().enabled || !attempts_.desk().has_waiting())
    return {};
  attempts_.desk().notice(dispatcher_, round.now);
  if (!attempts_.desk().has_to_look()) return {};
  std::size_t left = kPullsMax;
  for (const auto& group : attempts_.desk().to_look()) TRY(serve(round, *group, left));
  return {};
}

Result<void> Pulls::serve(Round& round, PullGroup& group, std::size_t& left) {
  dispatcher_.look_for_places(group.view);
  for (const PullCallPtr& call : group.waiting) {
    if (!call->is_waiting()) continue;
    // Entries whose rows have moved on give nothing: it looks for others.
    for (bool has_jobs = false; !has_jobs;) {
      const std::size_t room = room_for_pulls();
      if (room == 0) {
        attempts_.desk().no_room_for(group);
        return {};
      }
      if (left == 0) {
        attempts_.desk().look_again(group);
        return {};
      }
      const ReadySet::Pulled pulled =
          dispatcher_.pull(group.view, std::min({call->request.limit, room, left}), round.now);
      if (pulled.picks.empty()) {
        attempts_.desk().nothing_for(group, pulled);
        return {};
      }
      left -= pulled.picks.size();
      serving_.push_back({.call = call, .picks = pulled.picks, .claimed = std::nullopt});
      std::vector<JobId> ids;
      ids.reserve(pulled.picks.size());
      for (const ReadySet::Pick& pick : pulled.picks) ids.push_back(pick.entry.id);
      TRY_ASSIGN(Claimed claimed,
                 leasing_.claim(round, {.worker = call->request.worker, .lease = call->request.lease, .jobs = ids},
                                serving_.back().picks));
      has_jobs = !claimed.jobs.empty();
      serving_.back().claimed = std::move(claimed.jobs);
    }
  }
  attempts_.desk().all_served(group);
  return {};
}

// After the commit. A caller that went meanwhile has no use for its jobs: they are handed back.
void Pulls::start(Round& round) {
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
      runs.push_back(leasing_.picked(round, pick, std::move(*found->second)));
      leased.erase(found);  // an entry that stood twice
    }
    if (!runs.empty()) hand_out(round, serving.call, runs);
  }
}

void Pulls::hand_out(const Round& round, const PullCallPtr& call, const std::vector<RunPtr>& runs) {
  const bool is_there = call->begin_answer();
  const PullWorkers::Key worker{.tenants = call->request.filter.tenants, .name = call->request.worker};
  attempts_.desk().workers().asked(worker, call->request.filter, round.boot);
  std::vector<PulledJob> jobs;
  for (const RunPtr& run : runs) {
    run->pulled = true;
    run->phase = Run::Phase::started;
    if (is_there) run->started_boot = round.boot;
    attempts_.desk().lease(run, worker);
    if (is_there) {
      jobs.push_back({.job = run->job, .lease_until = run->job.lease_until});
    } else {
      attempts_.hand_back(run);
    }
  }
  attempts_.desk().remove(call, dispatcher_);
  if (!is_there) return;
  answers_.emplace_back(
      [call, jobs = std::move(jobs)]() mutable { std::exchange(call->done, nullptr)(std::move(jobs)); });
}

void Pulls::put_back(const Serving& serving, Instant now) {
  for (const ReadySet::Pick& pick : serving.picks) {
    dispatcher_.ready().pulled_back(pick, ReadySet::Entry::stands_again, now);
  }
}

void Pulls::over(const Round& round) {
  std::optional<Error> refused;
  if (readiness_.is_draining()) refused = Error{.code = ErrorCode::unavailable, .message = "the engine is stopping"};
  if (const auto enabled = rules_.check_enabled(); !enabled) refused = enabled.error();
  for (const PullCallPtr& call :
       refused ? attempts_.desk().take_all(dispatcher_) : attempts_.desk().take_ended(dispatcher_, round.boot)) {
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

}  // namespace carillon
