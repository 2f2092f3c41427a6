#include "engine/pulls/pull_words.h"

#include <algorithm>

#include "base/json.h"
#include "base/json_check.h"
#include "store/refusals.h"

namespace carillon {

namespace {

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return std::ranges::find(list, name) != list.end();
}

Extension extension_of(const PullBeat& beat) {
  Extension extension{.job = beat.job, .token = beat.token};
  if (beat.progress) extension.progress = check_json(*beat.progress) ? *beat.progress : json_string(*beat.progress);
  return extension;
}

}  // namespace

// Whose the job is, if it is of one of these tenants (none: of any). A foreign one is absent. (invariant 28)
Result<std::string> PullWords::owner_of(const std::vector<std::string>& tenants, JobId job) {
  const auto is_meant = [&](const std::string& tenant) { return tenants.empty() || contains(tenants, tenant); };
  for (const RunPtr& run : {attempts_.desk().find(job), attempts_.runs().find(job)}) {
    if (!run) continue;
    if (is_meant(run->job.tenant)) return run->job.tenant;
    return absent_job(job);
  }
  TRY_ASSIGN(std::optional<std::string> tenant, store_.jobs().tenant_of(job));
  if (!tenant || !is_meant(*tenant)) return absent_job(job);
  return *std::move(tenant);
}

// A handler of our own has it: its lease is nobody else's to speak for.
Result<void> PullWords::check_held_outside(JobId job, std::int64_t token) const {
  const RunPtr run = attempts_.runs().find(job);
  if (!run || run->over || run->job.token != token) return {};
  return stale_word(job, token,
                    {.text = "a handler of the server runs the job, and its lease is not the caller's",
                     .state = JobState::processing,
                     .reason = {},
                     .when = run->job.claimed_at});
}

Result<std::vector<Result<BeatAnswer>>> PullWords::extend(Round& round, const std::vector<PullBeat>& beats) {
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
    const RunPtr run = attempts_.desk().find(beat.job, beat.token);
    answer = BeatAnswer{.lease_until = extended[i]->lease_until,
                        .cancel_requested = extended[i]->cancel_requested,
                        .gate = rules_.closed_for(asked[i].tenant, run && run->notifies, round.now)};
    attempts_.desk().heard_of(beat.job, round.now);
  }
  return answers;
}

Result<std::vector<Result<WordAnswer>>> PullWords::settle(Round& round, const std::vector<PullWord>& words) {
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
    Settling settling{.run = attempts_.desk().find(word.job, word.token),
                      .settlement = settlement_of(word, round.now),
                      .kind = word.outcome.kind};
    if (!word.release && word.outcome.kind == Outcome::Kind::rate_limited) {
      settling.limit = word.outcome.limit;
      settling.limited_until = rate_limited_until(word.outcome, round.now);
      settling.may_teach_global = word.speaks_for_all;
    }
    said.push_back(std::move(settling));
    by.push_back({.index = i, .tenant = *std::move(owner)});
    attempts_.desk().heard_of(word.job, round.now);
  }
  TRY_ASSIGN(auto settled_as, settlements_.say(round, said));
  for (std::size_t i = 0; i < said.size(); ++i) {
    Result<WordAnswer>& answer = answers[by[i].index];
    const Result<Settled>& one = settled_as[i];
    if (one) {
      const bool is_queued = one->state == JobState::queued;
      answer = WordAnswer{
          .id = one->id, .state = one->state, .run_at = is_queued ? std::optional(one->run_at) : std::nullopt};
      if (!said[i].settlement.then.empty()) answer->then = one->then;
      if (said[i].run) settlements_.rest_limit(said[i], round.now);
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
      if (said[i].run) settlements_.settled(round, said[i], settled_as[i]);
    }
  });
  return answers;
}

}  // namespace carillon
