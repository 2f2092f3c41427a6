#include "contract/job_oracle.h"

#include <fmt/format.h>

#include <algorithm>

namespace carillon::test {

namespace {

constexpr std::uint32_t kReleasesFree = 9;
constexpr std::uint32_t kRateLimitsFree = 19;

std::string differs(std::string_view call, JobId id, std::string_view expected, std::string_view got) {
  return fmt::format("{} of {}: expected {}, got {}", call, id.value, expected, got);
}

template <typename T>
std::string code_of(const Result<T>& answer) {
  return answer ? "an answer" : std::string(to_string(answer.error().code));
}

template <typename T>
std::string expect_code(std::string_view call, JobId id, ErrorCode expected, const Result<T>& answer) {
  if (!answer && answer.error().code == expected) return "";
  return differs(call, id, to_string(expected), code_of(answer));
}

std::string expect_state(std::string_view call, JobId id, JobState expected, JobState got) {
  return expected == got ? "" : differs(call, id, to_string(expected), to_string(got));
}

std::string said_by(const Settlement& settlement) {
  return settlement.defer ? "deferred" : std::string(to_string(settlement.end.result));
}

bool is_over(JobState state) {
  return state == JobState::done || state == JobState::skipped || state == JobState::cancelled ||
         state == JobState::cutoff_reached || state == JobState::missed;
}

}  // namespace

JobOracle::Job* JobOracle::find(JobId id) {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

JobOracle::Job* JobOracle::find(std::string_view tenant, JobId id) {
  Job* const job = find(id);
  return job != nullptr && job->asked.tenant == tenant ? job : nullptr;
}

// ---- In ----

std::string JobOracle::enqueue(const NewJob& asked, const Result<Enqueued>& answer) {
  const auto expect_known = [&](JobId id, bool deduplicated) -> std::string {
    if (!answer) return differs("enqueue", asked.id, "the job that is there", code_of(answer));
    if (answer->id != id || answer->deduplicated != deduplicated) return differs("enqueue", id, "itself", "another");
    return expect_state("enqueue", id, jobs_.at(id).state, answer->state);
  };
  if (const Job* const known = find(asked.id)) {
    if (known->asked.tenant != asked.tenant) return expect_code("enqueue", asked.id, ErrorCode::conflict, answer);
    return expect_known(asked.id, false);
  }
  if (const auto& name = asked.options.idempotency_key) {
    const auto key = keys_.find({asked.tenant, asked.type, *name});
    if (key != keys_.end() && (!key->second.until || clock_.wall() < *key->second.until)) {
      if (key->second.payload == asked.payload) return expect_known(key->second.job, true);
      return expect_code("enqueue", asked.id, ErrorCode::idempotency_conflict, answer);
    }
  }
  for (const JobId parent : asked.depends_on) {
    if (find(asked.tenant, parent) == nullptr) {
      return expect_code("enqueue", asked.id, ErrorCode::dependency_not_met, answer);
    }
  }
  if (!answer) return differs("enqueue", asked.id, "a new job", code_of(answer));
  if (answer->id != asked.id || answer->deduplicated) return differs("enqueue", asked.id, "a new job", "another");
  create(asked);
  return expect_state("enqueue", asked.id, jobs_.at(asked.id).state, answer->state);
}

void JobOracle::create(const NewJob& asked) {
  Job job;
  job.asked = asked;
  job.run_at = asked.run_at.value_or(clock_.wall());
  bool not_met = false;
  for (const JobId parent : asked.depends_on) {
    const JobState state = jobs_.at(parent).state;
    if (!is_over(state)) job.waits_for.insert(parent);
    not_met = not_met || (is_over(state) && state != JobState::done && !asked.options.run_anyway);
  }
  job.state = job.waits_for.empty() ? JobState::queued : JobState::waiting;
  jobs_[asked.id] = job;
  if (const auto& name = asked.options.idempotency_key) {
    Key key{.job = asked.id, .payload = asked.payload};
    const KeyHold& hold = asked.options.unique_until;
    if (hold.until == KeyHold::Until::elapsed) key.until = clock_.wall() + hold.duration;
    keys_[{asked.tenant, asked.type, *name}] = key;
  }
  if (not_met) return finish(asked.id, JobState::cancelled);
  if (overdue(job)) finish(asked.id, JobState::cutoff_reached);
}

// ---- Out ----

void JobOracle::finish(JobId id, JobState state) {
  Job& job = jobs_.at(id);
  job.state = state;
  job.finished_at = clock_.wall();
  job.waits_for.clear();
  if (job.asked.options.unique_until.until == KeyHold::Until::done) {
    std::erase_if(keys_, [&](const auto& key) { return key.second.job == id; });
  }
  for (auto& [child_id, child] : jobs_) {
    if (child.state != JobState::waiting || child.waits_for.erase(id) == 0) continue;
    if (state != JobState::done && !child.asked.options.run_anyway) {
      finish(child_id, JobState::cancelled);
    } else if (child.waits_for.empty()) {
      requeue(child, std::max(child.run_at, clock_.wall()));
    }
  }
}

void JobOracle::requeue(Job& job, Instant run_at) {
  job.state = JobState::queued;
  job.run_at = run_at;
}

void JobOracle::retry_or_park(Job& job) {
  const RetryPolicy& policy = *job.asked.options.retry;
  if (used_up(job) || std::holds_alternative<RetryNone>(policy)) {
    job.state = JobState::dlq;
  } else if (const auto* fixed = std::get_if<RetryFixed>(&policy)) {
    // Planned no earlier than it existed; by a clock that was set back that may be after its claim.
    const Instant planned = std::max(job.run_at, std::min(made_at(job.asked.id), job.claimed_at));
    requeue(job, std::max(clock_.wall(), planned + fixed->delay));
  } else {
    Duration delay = std::get<RetryExponential>(policy).base;
    for (std::uint32_t n = 1; n < job.attempts && n < 6; ++n) delay *= 2;
    requeue(job, clock_.wall() + delay);
  }
}

void JobOracle::end_attempt(JobId id, const AttemptEnd& end) {
  Job& job = jobs_.at(id);
  const bool back = end.result == AttemptResult::released || end.result == AttemptResult::rate_limited;
  const bool free_loss = end.result == AttemptResult::lease_lost && job.ahead && !job.lost_free;
  if (overdue(job) ||
      ((job.cancel_requested || end.result == AttemptResult::cancelled) && end.result != AttemptResult::ok)) {
    if (back || free_loss) --job.attempts;
    return finish(id, overdue(job) ? JobState::cutoff_reached : JobState::cancelled);
  }
  if (end.result == AttemptResult::ok) return finish(id, end.skipped ? JobState::skipped : JobState::done);
  if (end.result == AttemptResult::released && !end.started) {
    --job.attempts;
    return requeue(job, clock_.wall());
  }
  const std::uint32_t losses = std::exchange(job.losses, 0);
  const bool lost_free = std::exchange(job.lost_free, false);
  const std::uint32_t releases = std::exchange(job.releases, 0);
  const std::uint32_t rate_limits = std::exchange(job.rate_limits, 0);
  if (back) {
    const bool limited = end.result == AttemptResult::rate_limited;
    const bool free = limited ? rate_limits < kRateLimitsFree : releases < kReleasesFree;
    if (free) {
      --job.attempts;
      (limited ? job.rate_limits : job.releases) = (limited ? rate_limits : releases) + 1;
    } else if (used_up(job)) {
      job.state = JobState::dlq;
      return;
    }
    const Instant asked = end.retry_at.value_or(clock_.wall() + 60s);
    return requeue(job, limited ? std::clamp(asked, clock_.wall(), clock_.wall() + 1h) : clock_.wall());
  }
  if (end.result == AttemptResult::lease_lost) {
    job.losses = losses + 1;
    job.lost_free = lost_free || free_loss;
    if (free_loss) --job.attempts;
    if (losses == 0 && !used_up(job)) return requeue(job, clock_.wall());
  }
  if (end.permanent) {
    job.state = JobState::dlq;
    return;
  }
  retry_or_park(job);
}

// ---- Leases ----

std::string JobOracle::claim(const ClaimRequest& asked, const Claimed& answer) {
  std::map<JobId, LeasedJob> got;
  for (const LeasedJob& leased : answer.jobs) {
    if (!got.emplace(leased.id, leased).second) return differs("claim", leased.id, "one lease", "two");
  }
  std::set<JobId> ended;
  for (const Changed& changed : answer.overdue) ended.insert(changed.id);
  std::multiset<JobId> last;
  for (const ReadyJob& left : answer.last) last.insert(left.id);
  for (const JobId& id : asked.jobs) {
    Job* const job = find(id);
    const bool running = job != nullptr && job->state == JobState::processing;
    const bool due = job != nullptr && job->state == JobState::queued && job->run_at <= clock_.wall();
    if ((running || due) && overdue(*job)) {
      finish(id, JobState::cutoff_reached);
      job->last_word.reset();
      if (ended.erase(id) == 0) return differs("claim", id, "its end told", "silence");
      continue;
    }
    if (!due) continue;
    const bool ahead = static_cast<std::size_t>(&id - asked.jobs.data()) >= asked.slots;
    const bool is_last = std::holds_alternative<RetryNone>(*job->asked.options.retry) ||
                         (job->asked.options.max_attempts && job->attempts + 1 >= *job->asked.options.max_attempts);
    if (ahead && is_last) {
      const auto left = last.find(id);
      if (left == last.end()) return differs("claim", id, "left as it is", "silence");
      last.erase(left);
      continue;
    }
    const auto found = got.find(id);
    if (found == got.end()) return differs("claim", id, "a lease", "nothing");
    const LeasedJob leased = found->second;
    got.erase(found);
    if (leased.token <= job->token) return differs("claim", id, "a higher token", std::to_string(leased.token));
    ++job->attempts;
    if (leased.attempt != job->attempts) return differs("claim", id, "the next attempt", "another");
    job->state = JobState::processing;
    job->ahead = ahead;
    if (leased.ahead != ahead) return differs("claim", id, ahead ? "the mark" : "no mark", "the other");
    job->token = leased.token;
    job->claimed_at = clock_.wall();
    job->length = asked.lease.value_or(job->asked.options.lease);
    job->timeout_at = clock_.boot() + job->asked.options.timeout;
    job->until = std::min(clock_.boot() + job->length, job->timeout_at);
    job->last_word.reset();
    if (leased.lease_until != clock_.wall_at(job->until)) {
      return differs("claim", id, "its lease's end", format_instant(leased.lease_until));
    }
  }
  return got.empty() ? "" : differs("claim", got.begin()->first, "nothing", "a lease");
}

void JobOracle::begun(const LeaseKey& asked) {
  Job* const job = find(asked.job);
  if (job != nullptr && job->state == JobState::processing && job->token == asked.token) job->ahead = false;
}

std::string JobOracle::extend(const Extension& asked, const Result<Extended>& answer) {
  Job* const job = find(asked.job);
  const bool current = job != nullptr && job->state == JobState::processing && job->token == asked.token;
  if (current && !asked.started) job->timeout_at = clock_.boot() + job->asked.options.timeout;
  if (!current || job->timeout_at <= clock_.boot()) {
    return expect_code("extend", asked.job, ErrorCode::stale_token, answer);
  }
  if (!answer) return differs("extend", asked.job, "a longer lease", code_of(answer));
  job->until = std::min(clock_.boot() + job->length, job->timeout_at);
  const bool right =
      answer->lease_until == clock_.wall_at(job->until) && answer->cancel_requested == job->cancel_requested;
  return right ? "" : differs("extend", asked.job, "its lease", "another");
}

std::string JobOracle::settle(const Settlement& asked, const Result<Settled>& answer) {
  Job* const job = find(asked.job);
  if (job == nullptr) return expect_code("settle", asked.job, ErrorCode::not_found, answer);
  if (job->state != JobState::processing || job->token != asked.token) {
    const bool same = job->last_word && job->last_word->token == asked.token && job->state != JobState::processing;
    if (same && job->last_word->said == said_by(asked)) {
      if (!answer) return differs("settle", asked.job, "the first answer", code_of(answer));
      if (answer->state == JobState::queued && answer->run_at != job->last_word->run_at) {
        return differs("settle", asked.job, "the first time", format_instant(answer->run_at));
      }
      return expect_state("settle", asked.job, job->last_word->state, answer->state);
    }
    // Whether a word for the last attempt is a repetition is not always to be told from outside.
    if (job->token == asked.token && job->state != JobState::processing) {
      return answer && answer->state != job->state ? differs("settle", asked.job, "no change", "one") : "";
    }
    return expect_code("settle", asked.job, ErrorCode::stale_token, answer);
  }
  const bool bad_follow_up = std::ranges::any_of(asked.then, [](const NewJob& next) { return next.type.empty(); });
  const bool completes = asked.end.result == AttemptResult::ok && !asked.defer && !overdue(*job);
  if (completes && bad_follow_up) return expect_code("settle", asked.job, ErrorCode::invalid_request, answer);
  if (!answer) return differs("settle", asked.job, "an answer", code_of(answer));

  if (asked.defer && !overdue(*job) && !job->cancel_requested) {
    --job->attempts;
    const auto& until = asked.defer->until;
    requeue(*job, until ? std::max(clock_.wall(), *until) : std::min(clock_.wall(), job->run_at));
  } else {
    end_attempt(asked.job, asked.defer ? AttemptEnd{.result = AttemptResult::released, .started = false} : asked.end);
  }
  job->last_word = Word{.token = asked.token, .said = said_by(asked), .state = job->state, .run_at = job->run_at};
  if (job->state == JobState::queued && answer->run_at != job->run_at) {
    return differs("settle", asked.job, format_instant(job->run_at), format_instant(answer->run_at));
  }
  const JobState ended = job->state;
  if (completes) {
    for (const NewJob& follow_up : asked.then) create(follow_up);
  }
  return expect_state("settle", asked.job, ended, answer->state);
}

std::string JobOracle::reap(const std::vector<Reaped>& answer) {
  std::set<JobId> expected;
  for (const auto& [id, job] : jobs_) {
    if (job.state == JobState::processing && job.until <= clock_.boot()) expected.insert(id);
  }
  for (const Reaped& reaped : answer) {
    if (expected.erase(reaped.id) == 0) return differs("reap", reaped.id, "nothing", "its end");
    Job& job = jobs_.at(reaped.id);
    const AttemptResult result = job.until < job.timeout_at ? AttemptResult::lease_lost : AttemptResult::timeout;
    if (reaped.result != result) return differs("reap", reaped.id, to_string(result), to_string(reaped.result));
    end_attempt(reaped.id, {.result = result});
    job.last_word.reset();
    if (job.state != reaped.state) return expect_state("reap", reaped.id, job.state, reaped.state);
  }
  return expected.empty() ? "" : differs("reap", *expected.begin(), "its end", "nothing");
}

std::string JobOracle::finish_overdue(const std::vector<Changed>& answer) {
  std::vector<std::pair<Instant, JobId>> due;
  for (const auto& [id, job] : jobs_) {
    if (!is_over(job.state) && overdue(job)) due.emplace_back(*job.asked.deadline, id);
  }
  std::ranges::sort(due);
  std::vector<JobId> expected;
  for (const auto& [deadline, id] : due) {
    Job& job = jobs_.at(id);
    if (is_over(job.state)) continue;  // one before it took it along
    finish(id, JobState::cutoff_reached);
    job.last_word.reset();
    expected.push_back(id);
  }
  std::vector<JobId> got;
  for (const Changed& changed : answer) got.push_back(changed.id);
  return got == expected ? ""
                         : fmt::format("finish_overdue: expected {} in order, got {}", expected.size(), got.size());
}

// ---- People ----

Result<Changed> JobOracle::judge(std::string_view tenant, JobAction action, JobId id) {
  Job* const job = find(tenant, id);
  const auto refuse = [](ErrorCode code) { return std::unexpected(Error{.code = code}); };
  if (job == nullptr) return refuse(ErrorCode::not_found);
  const bool running = job->state == JobState::processing;
  const ErrorCode wrong_state = running ? ErrorCode::job_already_running : ErrorCode::conflict;
  switch (action) {
    case JobAction::cancel:
      if (job->state == JobState::cancelled) break;
      if (is_over(job->state)) return refuse(ErrorCode::conflict);
      if (running) {
        job->cancel_requested = true;
      } else {
        finish(id, JobState::cancelled);
      }
      break;
    case JobAction::discard:
      if (job->state != JobState::dlq) return refuse(wrong_state);
      finish(id, JobState::cancelled);
      break;
    case JobAction::retry:
      if (job->state != JobState::dlq) return refuse(wrong_state);
      job->attempts = job->losses = job->releases = job->rate_limits = 0;
      job->lost_free = false;
      requeue(*job, clock_.wall());
      break;
    case JobAction::run_now:
      if (job->state != JobState::queued) return refuse(wrong_state);
      job->run_at = std::min(job->run_at, clock_.wall());
      break;
  }
  job->last_word.reset();
  return Changed{.id = id, .state = job->state, .cancel_requested = running};
}

std::string JobOracle::act(std::string_view tenant, JobAction action, JobId id, const Result<Changed>& answer) {
  const auto expected = judge(tenant, action, id);
  if (!expected) return expect_code("act", id, expected.error().code, answer);
  if (!answer) return differs("act", id, "an answer", code_of(answer));
  return expect_state("act", id, expected->state, answer->state);
}

std::string JobOracle::patch(std::string_view tenant, JobId id, const JobPatch& patch, const Result<Changed>& answer) {
  Job* const job = find(tenant, id);
  if (job == nullptr) return expect_code("patch", id, ErrorCode::not_found, answer);
  if (job->state == JobState::processing) {
    return expect_code("patch", id, ErrorCode::job_already_running, answer);
  }
  if (job->state != JobState::queued && job->state != JobState::waiting) {
    return expect_code("patch", id, ErrorCode::conflict, answer);
  }
  if (!answer) return differs("patch", id, "an answer", code_of(answer));
  if (patch.run_at) job->run_at = *patch.run_at;
  if (patch.priority) job->asked.priority = *patch.priority;
  job->last_word.reset();
  return expect_state("patch", id, job->state, answer->state);
}

std::string JobOracle::act_on(std::string_view tenant, std::optional<JobState> state, JobAction action,
                              BulkTotal answer) {
  BulkTotal expected;
  for (auto& [id, job] : jobs_) {
    if (is_over(job.state) || job.asked.tenant != tenant || (state && job.state != *state)) continue;
    ++(judge(tenant, action, id) ? expected.changed : expected.refused);
  }
  if (expected.changed == answer.changed && expected.refused == answer.refused) return "";
  return fmt::format("act_on: expected {} and {} refused, got {} and {}", expected.changed, expected.refused,
                     answer.changed, answer.refused);
}

void JobOracle::pruned(Duration keep, StoreReader& reader) {
  std::vector<JobId> gone;
  for (const auto& [id, job] : jobs_) {
    if (!is_over(job.state) || *job.finished_at > clock_.wall() - keep) continue;
    const bool held = std::ranges::any_of(keys_, [&](const auto& key) {
      return key.second.job == id && key.second.until && *key.second.until > clock_.wall();
    });
    // A window may be needed by a cursor: that is judged elsewhere.
    if (held || (job.asked.occurrence && reader.job(job.asked.tenant, id))) continue;
    gone.push_back(id);
  }
  for (const JobId id : gone) {
    jobs_.erase(id);
    std::erase_if(keys_, [&](const auto& key) { return key.second.job == id; });
  }
}

std::string JobOracle::check(StoreReader& reader) const {
  std::map<std::string, std::size_t> by_tenant;
  for (const auto& [id, job] : jobs_) {
    ++by_tenant[job.asked.tenant];
    const auto view = reader.job(job.asked.tenant, id);
    if (!view) return differs("read", id, to_string(job.state), code_of(view));
    if (view->state != job.state) return expect_state("read", id, job.state, view->state);
    const std::uint32_t running = job.state == JobState::processing ? 1 : 0;
    if (view->row.attempts + running != job.attempts && !is_over(job.state)) {
      return differs("read", id, fmt::format("{} attempts", job.attempts), std::to_string(view->row.attempts));
    }
    if (job.state == JobState::queued && view->row.run_at != job.run_at) {
      return differs("read", id, format_instant(job.run_at), format_instant(view->row.run_at));
    }
    if (view->finished_at != job.finished_at) return differs("read", id, "its end", "another time");
    if (std::set(view->waits_for.begin(), view->waits_for.end()) != job.waits_for) {
      return differs("read", id, "its parents", "others");
    }
  }
  for (const auto& [tenant, expected] : by_tenant) {
    std::size_t kept = 0;
    const auto counts = reader.counts(tenant);
    if (!counts) return "the counts cannot be read";
    for (const StateCount& count : *counts) kept += static_cast<std::size_t>(count.count);
    if (kept != expected) return fmt::format("{} has {} jobs, its counts say {}", tenant, expected, kept);
  }
  return "";
}

}  // namespace carillon::test
