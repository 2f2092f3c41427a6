#include "engine/attempts/settlements.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/hole.h"
#include "base/mutant.h"
#include "engine/telling/told_error.h"

namespace carillon {

namespace {

constexpr Duration kQuick = std::chrono::milliseconds(10);

bool is_stale(const Error& error) { return error.code == ErrorCode::stale_token || error.code == ErrorCode::not_found; }

}  // namespace

// ---- What handlers said -------------------------------------------------------------------------------------------

// Of most attempts nothing follows.
JobDefaults Settlements::defaults_of_follow_ups(const Finished& finished) const {
  return finished.outcome.follow_ups.empty() ? JobDefaults() : rules_.job_defaults();
}

void Settlements::collect(const Round& round) {
  for (Finished& finished : finished_.take()) {
    Run& run = *finished.run;
    if (run.over) {
      // Its attempt has ended long ago; now its thread is free.
      Round late{.now = round.now, .listening = round.listening};
      late.tell(StaleWord{
          .job = run.job.id,
          .tenant = run.job.tenant,
          .success = finished.how == Finished::How::returned && finished.outcome.kind == Outcome::Kind::done});
      telling_.tell(late);
      attempts_.runs().remove(run, round.boot);
      attempts_.freed();
      continue;
    }
    Settling settling{.run = finished.run,
                      .settlement = settlement_of(finished, round.now, defaults_of_follow_ups(finished)),
                      .how = finished.how,
                      .quick = duration_of(run, round.boot) <= std::max(kQuick, 2 * commits_.took()),
                      .kind = finished.outcome.kind};
    if (finished.how == Finished::How::returned && finished.outcome.kind == Outcome::Kind::rate_limited) {
      settling.limit = finished.outcome.limit;
      settling.limited_until = rate_limited_until(finished.outcome, round.now);
      settling.may_teach_global = finished.said_by == Finished::SaidBy::operators_own;
      rest_limit(settling, round.now);
    }
    run.ending = true;
    attempts_.say(std::move(settling));
  }
}

Result<void> Settlements::write(Round& round) {
  if (attempts_.words().empty()) return {};
  TRY_ASSIGN(auto answers, say(round, attempts_.words()));
  round.on_commit.emplace_back([this, &round, answers = std::move(answers)] {
    const std::vector<Settling> said = attempts_.take_words();
    for (std::size_t i = 0; i < said.size(); ++i) settled(round, said[i], answers[i]);
  });
  return {};
}

void Settlements::committed(Round& /*round*/, const Result<void>& commit) {
  if (!commit && mutant(Mutant::settlements_forgotten)) attempts_.take_words();
}

// What an attempt that is over says once more is answered as at first: only one that runs is refused.
Result<void> Settlements::check_follow_ups(const Settling& settling) const {
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

Result<std::vector<Result<Settled>>> Settlements::say(Round& round, const std::vector<Settling>& said) {
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

void Settlements::rest_limit(const Settling& settling, Instant now) {
  Run& run = *settling.run;
  if (!settling.limited_until || std::exchange(run.rested_limit, true)) return;
  const bool may_teach_global = settling.may_teach_global || reopened(Hole::tenant_teaches_global);
  const auto closed =
      dispatcher_.ready().rate_limited(run.place, settling.limit, *settling.limited_until, now, may_teach_global);
  // Nothing of the limit starts before then, not even what was claimed already.
  if (closed) attempts_.take_back([&](const Run& other) { return dispatcher_.ready().draws_on(other.place, *closed); });
}

void Settlements::settled(Round& round, const Settling& settling, const Result<Settled>& answer) {
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
    Settling again{.run = settling.run,
                   .settlement = settlement_of(refused, round.now, JobDefaults()),
                   .how = Finished::How::held,  // not again, should this be refused too
                   .kind = Outcome::Kind::failed};
    again.settlement.hold = false;
    attempts_.say(std::move(again));
    return;
  }
  if (answer) {
    told_settled(round, settling, *answer);
  } else {
    tell_stale(round, settling);
  }
  const bool unstarted = run.started_boot.load() == BootTime::zero();
  attempts_.free_caps(run, unstarted, round.now);
  if (run.pulled) {
    run.over = true;
    attempts_.desk().remove(run);
  } else if (settling.thread_is_back) {
    attempts_.runs().remove(run, round.boot);
  } else {
    run.over = true;
    run.stop_requested = true;
  }
}

void Settlements::tell_stale(Round& round, const Settling& settling) {
  const Run& run = *settling.run;
  round.tell(StaleWord{.job = run.job.id,
                       .tenant = run.job.tenant,
                       .success = settling.settlement.end.result == AttemptResult::ok && !settling.settlement.defer});
}

void Settlements::tell_stopped(Round& round, const Settling& settling) {
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

void Settlements::told_settled(Round& round, const Settling& settling, const Settled& answer) {
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
    gates_.note_put_back(run, word.defer->reason, round.now);
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

}  // namespace carillon
