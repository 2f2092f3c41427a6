// The judge's half about attempts: who may run, how an attempt may end, what becomes of its job.
#include <algorithm>

#include "sim/judge.h"

namespace carillon::sim {

namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kReleasesInARow = 10;
constexpr std::uint32_t kRateLimitsInARow = 20;

// However many commits fail, what a worker said is written long before this.
constexpr Duration kHeardWithin = 3min;

// The store hears of a start that comes later than this after the claim.
constexpr Duration kStartKnownTo = 200ms;

struct Delays {
  Duration least;
  Duration most;
};

Delays around(Duration delay, double jitter) {
  const auto spread = Duration(static_cast<std::int64_t>(static_cast<double>(delay.count()) * jitter) + 1);
  if (jitter <= 0) return {.least = delay, .most = delay};
  return {.least = delay - spread, .most = delay + spread};
}

// How long a policy waits after `failures`; nothing: it does not retry, or counts otherwise. (semantics: Retry)
std::optional<Delays> delays_of(const RetryPolicy& policy, std::uint32_t failures) {
  if (const auto* table = std::get_if<RetryTable>(&policy)) {
    const std::size_t at = std::min<std::size_t>(failures, table->delays.size()) - 1;
    return around(table->delays[at], table->jitter);
  }
  if (const auto* exponential = std::get_if<RetryExponential>(&policy)) {
    return around(exponential->base * (1 << std::min(failures - 1, 5U)), exponential->jitter);
  }
  return std::nullopt;
}

}  // namespace

// ---- What runners saw ---------------------------------------------------------------------------------------------

void Judge::given(const Run& run) {
  const Instant now = clock_.wall();
  ++counted_.picked;
  const auto found = model_.live.find(run.job.id);
  const bool leased = found != model_.live.end() && found->second.lease && found->second.lease->token == run.job.token;
  if (!findings_.expect(leased, 30, "job {} was given to a worker without a stored lease", Shown{run.job.id})) {
    return;
  }
  const LiveJob& job = found->second;
  const BootTime boot = clock_.boot();
  rules_.begins({run.job.id, run.job.token},
                {.tenant = job.tenant, .queue = job.queue, .spec = job.spec, .until = boot + job.spec->timeout}, now,
                boot);
  if (const auto most = rules_.cap_of_all(); most && *most < slots_of_node_) {
    findings_.expect(rules_.running() <= *most, 6, "{} jobs run; all together may run {}", rules_.running(), *most);
  }
  judge_turns(run);
}

void Judge::started(const Run& run) {
  const Instant now = clock_.wall();
  const auto found = model_.live.find(run.job.id);
  trace_.add(static_cast<std::uint64_t>(run.job.id.value));
  trace_.say(now, "start {} token {}", Shown{run.job.id}, run.job.token);
  // Counted where they start, however many were claimed. A cap whose answer was lost is not known to the node yet.
  at_work_.insert({run.job.id, run.job.token});
  std::size_t most = slots_of_node_;
  if (const auto all = rules_.cap_of_all(); all && !an_answer_was_lost_) most = std::min<std::size_t>(most, *all);
  findings_.expect(at_work_.size() <= most, 6, "{} handlers run at once; {} may", at_work_.size(), most);
  const bool leased = found != model_.live.end() && found->second.lease && found->second.lease->token == run.job.token;
  if (!leased) return;  // it lost its lease while it waited, and will hear of it
  LiveJob& job = found->second;
  job.lease->started = clock_.boot();
  findings_.expect(!Rules::is_gated(*job.rules, job.spec->notifies, now), 27, "job {} started behind a closed gate",
                   Shown{run.job.id});
  findings_.expect(!job.row.deadline || *job.row.deadline > now, 22, "job {} started after its deadline",
                   Shown{run.job.id});
}

void Judge::said(const Finished& finished) {
  at_work_.erase({finished.run->job.id, finished.run->job.token});
  Word word{.how = static_cast<Word::How>(0), .kind = finished.outcome.kind, .again = finished.outcome.again};
  switch (finished.how) {
    case Finished::How::returned: word.how = Word::How::returned; break;
    case Finished::How::not_started: word.how = Word::How::not_started; break;
    case Finished::How::gated: word.how = Word::How::gated; break;
    case Finished::How::held: word.how = Word::How::held; break;
  }
  word.limit = finished.outcome.limit;
  word.expected_at = finished.outcome.expected_at;
  word.status = finished.outcome.status;
  word.said_at = clock_.wall();
  word.said_boot = clock_.boot();
  for (const JobRequest& follow_up : finished.outcome.follow_ups) word.follow_ups.push_back(follow_up.payload);
  trace_.add(static_cast<std::uint64_t>(word.kind));
  trace_.say(word.said_at, "said {} token {} how {} kind {}", Shown{finished.run->job.id}, finished.run->job.token,
             static_cast<int>(word.how), static_cast<int>(word.kind));
  model_.words[{finished.run->job.id, finished.run->job.token}] = std::move(word);
}

// ---- Turns --------------------------------------------------------------------------------------------------------

// Jobs that nothing but their turn holds back.
void Judge::plain_changed(const LiveJob& job, bool is_there) {
  if (job.spec == nullptr || !job.spec->limits.empty() || job.spec->notifies || job.row.schedule ||
      job.queue != "default" || job.row.state != JobState::queued || job.lease) {
    return;
  }
  if (is_there) {
    plain_[job.tenant].emplace(job.row.run_at, job.row.id);
  } else {
    plain_[job.tenant].erase({job.row.run_at, job.row.id});
  }
}

// Each tenant with runnable work has a turn before any has a second one. (invariant 29)
void Judge::judge_turns(const Run& run) {
  const Instant now = clock_.wall();
  // Entries whose jobs have ended meanwhile use up turns until they are met: then nobody can know.
  const auto due = static_cast<std::size_t>(std::ranges::count_if(model_.live, [&](const auto& entry) {
    const LiveJob& job = entry.second;
    return !job.lease && job.row.state == JobState::queued && job.row.run_at <= now && !is_held(job.row, now);
  }));
  if (an_answer_was_lost_ || entries_ > due || a_commit_failed_) {
    passed_over_.clear();
    return;
  }
  std::uint32_t round = 0;
  for (const auto& [tenant, jobs] : plain_) round += rules_.weight(tenant);
  passed_over_[run.job.tenant] = 0;
  for (const auto& [tenant, jobs] : plain_) {
    if (tenant == run.job.tenant) continue;
    const auto cap = rules_.cap(tenant);
    const bool runnable = !jobs.empty() && jobs.begin()->first + 5s < now &&
                          std::max(node_since_, clock_set_at_) + 2min < clock_.boot() &&
                          rules_.is_settled(tenant, rules_.lane(tenant, "default"), now, clock_.boot()) &&
                          (!cap || rules_.running(tenant) < *cap) &&
                          model_.live.at(jobs.begin()->second).known_since + 5s < clock_.boot();
    std::uint32_t& passed = passed_over_[tenant];
    passed = runnable ? passed + 1 : 0;
    findings_.expect(passed <= 4 * round + 8, 29, "tenant {} has runnable work, job {}, and was passed over {} times",
                     tenant, Shown{jobs.empty() ? JobId{} : jobs.begin()->second}, passed);
  }
}

// ---- The end of an attempt ----------------------------------------------------------------------------------------

void Judge::flush(JobId job) {
  const auto found = endings_.find(job);
  if (found == endings_.end()) return;
  Ending ending = std::move(found->second);
  endings_.erase(found);
  judge_end(ending);
}

void Judge::judge_end(Ending& ending) {
  LiveJob& before = ending.job;
  const JobId id = before.row.id;
  const Shown name{id};
  const LeaseModel& lease = *before.lease;
  if (!findings_.expect(ending.back || ending.archived, 14, "the lease of job {} is gone, and its job has not moved",
                        name)) {
    return;
  }
  const JobRow& after = ending.back ? *ending.back : ending.archived->job;
  moves(before, after.state);
  findings_.expect(after.token == lease.token, 10, "an attempt with token {} ended job {}, which had {}", after.token,
                   name, lease.token);
  std::optional<AttemptResult> result;
  if (ending.attempt) result = ending.attempt->result;
  if (ending.archived) result = ending.archived->result;
  const auto found = model_.words.find({id, lease.token});
  const Word* const word = found == model_.words.end() ? nullptr : &found->second;
  judge_result(ending, result, word);
  if (findings_.any()) return;

  const Expected expected = expect(ending, result, word);
  trace_.add(static_cast<std::uint64_t>(id.value));
  trace_.add(static_cast<std::uint64_t>(after.state));
  trace_.say(now_, "ended {} token {} {} -> {} run_at {}", name, lease.token, result ? to_string(*result) : "deferred",
             to_string(after.state), ShownTime{after.run_at});
  findings_.expect(!lease.ahead || before.lost_ahead || result != AttemptResult::lease_lost || is_final(after.state) ||
                       after.attempts == before.row.attempts,
                   12, "the claim of job {} never began, and its loss has cost an attempt", name);
  findings_.expect(after.state == expected.state, result == AttemptResult::lease_lost ? 12 : 14,
                   "attempt {} of job {} ended as {}: the job is {}, and should be {}", lease.attempt, name,
                   result ? to_string(*result) : "deferred", to_string(after.state), to_string(expected.state));
  findings_.expect(is_final(after.state) || after.attempts == expected.attempts, 16,
                   "job {} has used {} attempts, and should have used {}", name, after.attempts, expected.attempts);
  if (after.state == JobState::queued) {
    trace_.add(after.run_at);
    findings_.expect(after.run_at >= expected.earliest && after.run_at <= expected.latest, 15,
                     "job {} comes again at {}; allowed is {} to {}", name, ShownTime{after.run_at},
                     ShownTime{expected.earliest}, ShownTime{expected.latest});
  }
  judge_follow_ups(ending, word, after.state);
  judge_learning(ending, result, word, after.state);
  const bool unstarted = lease.started == BootTime::zero();
  rules_.ends({id, lease.token}, unstarted, now_);

  if (ending.archived) {
    if (before.row.schedule && before.row.slot)
      final_slots_.insert({before.row.schedule, before.row.subject, *before.row.slot});
    if (after.state == JobState::done && subjects_.knows(before.row.schedule)) {
      subjects_.job_done(before);
    } else if (after.state == JobState::done) {
      slots_.job_done(before);
    }
    model_.archive.emplace(id, ArchivedJob{.state = after.state, .lane = before.row.lane});
    model_.live.erase(id);
    return;
  }
  LiveJob& job = model_.live.at(id);
  job.row = after;
  job.losses = expected.losses;
  job.lost_ahead = expected.lost_ahead;
  job.releases = expected.releases;
  job.rate_limits = expected.rate_limits;
  job.known_since = boot_;
  plain_changed(job, true);
}

// Whether somebody has said what the attempt ended as, or time did. (invariants 10, 12, 13)
void Judge::judge_result(const Ending& ending, std::optional<AttemptResult> result, const Word* word) {
  const LeaseModel& lease = *ending.job.lease;
  const Shown name{ending.job.row.id};
  const bool returned = word && (word->how == Word::How::returned || word->how == Word::How::held);
  if (!result) {
    findings_.expect(word && (word->how == Word::How::gated || word->kind == Outcome::Kind::deferred), 33,
                     "job {} was deferred, and nobody asked", name);
    const auto detail = ending.back ? ending.back->detail.read() : Result<JobDetail>();
    findings_.expect(detail && !detail->defer_reason.empty(), 33, "job {} was deferred without a reason", name);
    ++counted_.deferred;
    return;
  }
  switch (*result) {
    case AttemptResult::ok:
      findings_.expect(returned && (word->kind == Outcome::Kind::done || word->kind == Outcome::Kind::skipped), 10,
                       "job {} is a success, and its worker did not say so", name);
      ++counted_.succeeded;
      return;
    case AttemptResult::error:
      findings_.expect(returned && (word->kind == Outcome::Kind::failed || word->kind == Outcome::Kind::permanent), 10,
                       "job {} failed, and its worker did not say so", name);
      ++counted_.failed;
      return;
    case AttemptResult::rate_limited:
      findings_.expect(returned && word->kind == Outcome::Kind::rate_limited, 10,
                       "job {} was rate limited, and its worker did not say so", name);
      ++counted_.rate_limited;
      return;
    case AttemptResult::timeout:
      findings_.expect(!returned || word->said_boot + kHeardWithin > boot_, 8,
                       "job {} timed out long after its worker had said how it ended", name);
      // A node that stood still from before the start could not say when that was.
      findings_.expect(boot_ >= (lease.timeout_at == BootTime::zero() ? lease.claimed : lease.started - kStartKnownTo) +
                                    ending.job.spec->timeout,
                       13, "job {} timed out too early", name);
      ++counted_.failed;
      return;
    case AttemptResult::lease_lost:
      findings_.expect(boot_ >= lease.until, 12, "the lease of job {} was taken for lost too early", name);
      ++counted_.stalled;
      return;
    case AttemptResult::released:
    case AttemptResult::cancelled: return;
  }
}

void Judge::expect_retry(const Ending& ending, const Word* word, Expected& expected) const {
  const JobSpec& spec = *ending.job.spec;
  const RetryPolicy policy = spec.retry.value_or(RetryTable{});
  const bool used_up = spec.attempts() && expected.attempts >= *spec.attempts();
  if (used_up || std::holds_alternative<RetryNone>(policy)) {
    expected.state = JobState::dlq;
    return;
  }
  expected.state = JobState::queued;
  if (word && word->how == Word::How::returned && word->kind == Outcome::Kind::failed && word->again) {
    const Instant low = std::min(word->said_at, now_);
    expected.earliest = std::max(now_, low + word->again->delay);
    expected.latest = std::max(now_, std::max(word->said_at, now_) + word->again->delay);
  } else if (const auto* fixed = std::get_if<RetryFixed>(&policy)) {
    // Planned no earlier than the job existed; and if a gate held it, no earlier than that opened.
    const Instant claimed_at = ending.job.lease->claimed_at;
    const JobRow& row = ending.job.row;
    const Instant planned = std::max(row.run_at, std::min(made_at(row.id), claimed_at));
    expected.earliest = std::max(now_, planned + fixed->delay);
    expected.latest = std::max(now_, std::max(planned, claimed_at) + fixed->delay);
  } else if (const auto delays = delays_of(policy, expected.attempts)) {
    expected.earliest = now_ + delays->least;
    expected.latest = now_ + delays->most;
  }
}

// A failed check is not tried again once the next one would come first, nor parked for want of attempts.
void Judge::expect_yield(const Ending& ending, Expected& expected) const {
  if (!ending.next_check || !ending.job.row.slot) return;
  const bool ended_so = ending.archived && ending.archived->job.state == JobState::skipped;
  const bool must = expected.state == JobState::dlq || expected.earliest >= *ending.next_check;
  const bool may = expected.latest >= *ending.next_check;
  if (must || (may && ended_so)) expected.state = JobState::skipped;
}

// What becomes of the job, from the written rules alone. (invariants 12, 15, 16)
Judge::Expected Judge::expect(const Ending& ending, std::optional<AttemptResult> result, const Word* word) const {
  const LiveJob& job = ending.job;
  Expected expected{.earliest = now_, .latest = now_, .attempts = job.lease->attempt};
  const bool overdue = job.row.deadline && *job.row.deadline <= now_;
  if (overdue) {
    expected.state = JobState::cutoff_reached;
    return expected;
  }
  if (result == AttemptResult::ok) {
    expected.state = word->kind == Outcome::Kind::skipped ? JobState::skipped : JobState::done;
    return expected;
  }
  if (job.cancel_requested) {
    expected.state = JobState::cancelled;
    return expected;
  }
  if (!result) {
    expected.attempts = job.row.attempts;
    expected.losses = job.losses;
    expected.lost_ahead = job.lost_ahead;
    expected.releases = job.releases;
    expected.rate_limits = job.rate_limits;
    if (word->how == Word::How::gated || !word->again) {
      expected.earliest = kInstantMin;
      expected.latest = kInstantMax;
    } else {
      expected.earliest = std::max(now_, std::min(word->said_at, now_) + word->again->delay);
      expected.latest = std::max(now_, std::max(word->said_at, now_) + word->again->delay);
    }
    return expected;
  }
  switch (*result) {
    case AttemptResult::error:
      if (word->kind == Outcome::Kind::permanent || word->how == Word::How::held) {
        expected.state = JobState::dlq;
      } else {
        expect_retry(ending, word, expected);
        expect_yield(ending, expected);
      }
      break;
    case AttemptResult::timeout:
      expect_retry(ending, nullptr, expected);
      expect_yield(ending, expected);
      break;
    case AttemptResult::lease_lost:
      expected.losses = job.losses + 1;
      expected.lost_ahead = job.lost_ahead || job.lease->ahead;
      if (job.lease->ahead && !job.lost_ahead) --expected.attempts;
      if (job.losses > 0 || (job.spec->attempts() && expected.attempts >= *job.spec->attempts())) {
        expect_retry(ending, nullptr, expected);
      }
      expect_yield(ending, expected);
      break;
    case AttemptResult::released:
      expected.losses = job.losses;
      expected.lost_ahead = job.lost_ahead;
      expected.releases = job.releases;
      expected.rate_limits = job.rate_limits;
      if (job.lease->started != BootTime::zero()) {
        expected.losses = expected.rate_limits = 0;
        expected.lost_ahead = false;
        if (++expected.releases >= kReleasesInARow) {
          expected.releases = 0;
          if (job.spec->attempts() && expected.attempts >= *job.spec->attempts()) expected.state = JobState::dlq;
          break;
        }
      }
      --expected.attempts;
      break;
    case AttemptResult::rate_limited: {
      expected.rate_limits = job.rate_limits + 1;
      const Duration delay = std::min<Duration>(word->again ? word->again->delay : Duration(60s), 1h);
      expected.earliest = std::max(now_, std::min(word->said_at, now_) + delay);
      expected.latest = std::max(now_, std::max(word->said_at, now_) + delay);
      if (expected.rate_limits >= kRateLimitsInARow) {
        expected.rate_limits = 0;
        if (job.spec->attempts() && expected.attempts >= *job.spec->attempts()) expected.state = JobState::dlq;
        break;
      }
      --expected.attempts;
      break;
    }
    case AttemptResult::ok:
    case AttemptResult::cancelled: break;
  }
  return expected;
}

// What is known of a subject after a check of it.
void Judge::judge_learning(const Ending& ending, std::optional<AttemptResult> result, const Word* word,
                           JobState state) {
  const JobRow& row = ending.job.row;
  if (!row.slot || !subjects_.knows(row.schedule) || !result) return;
  const bool is_said = *result == AttemptResult::ok || *result == AttemptResult::error;
  if (state == JobState::skipped && *result != AttemptResult::ok) subjects_.superseded(row);
  if (state == JobState::done) subjects_.checked(row);
  if (is_said && word && word->how == Word::How::returned) subjects_.learnt(row, *word);
}

void Judge::judge_follow_ups(const Ending& ending, const Word* word, JobState state) {
  if (state == JobState::dlq) ++counted_.dlq;
  if (!word) return;
  if (state == JobState::done || state == JobState::skipped) {
    for (const std::string& payload : word->follow_ups) follow_ups_due_.insert(payload);
  }
  if (word->how == Word::How::returned && word->kind == Outcome::Kind::rate_limited && state == JobState::queued) {
    const std::vector<std::string>& limits = ending.job.spec->limits;
    const std::string& limit = word->limit.empty() && !limits.empty() ? limits.front() : word->limit;
    const Duration delay = std::min<Duration>(word->again ? word->again->delay : Duration(60s), 1h);
    rules_.rate_limited(ending.job.tenant, limit, std::min(word->said_at, now_) + delay);
  }
}

}  // namespace carillon::sim
