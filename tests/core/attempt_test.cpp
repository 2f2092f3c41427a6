#include "core/jobs/attempt.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "core/random_triggers.h"
#include "core/times.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::draw;
using test::utc;
using enum AttemptResult;

const Instant kNow = utc("2026-03-29T07:00:00Z");

AttemptFacts facts(std::uint32_t attempts = 1) {
  return {
      .job = "job-1", .attempts = attempts, .retry = RetryTable{.jitter = 0}, .planned_at = kNow - 5s, .deadline = {}};
}

TEST(AfterAttempt, SuccessIsDone) {
  const Verdict verdict = after_attempt(facts(), {.result = ok}, kNow);
  EXPECT_EQ(verdict.state, JobState::done);
  EXPECT_EQ(verdict.attempts, 1U);
  EXPECT_EQ(verdict.reason, VerdictReason::none);
}

TEST(AfterAttempt, NothingToDoIsSkipped) {
  EXPECT_EQ(after_attempt(facts(), {.result = ok, .skipped = true}, kNow).state, JobState::skipped);
}

TEST(AfterAttempt, AnErrorOrTimeoutIsRetriedByThePolicy) {
  for (const AttemptResult result : {error, timeout}) {
    for (std::uint32_t attempts = 1; attempts <= 4; ++attempts) {
      const Verdict verdict = after_attempt(facts(attempts), {.result = result}, kNow);
      EXPECT_EQ(verdict.state, JobState::queued);
      EXPECT_EQ(verdict.run_at - kNow, (std::vector<Duration>{1min, 5min, 15min, 60min})[attempts - 1]);
      EXPECT_EQ(verdict.attempts, attempts);
    }
  }
}

TEST(AfterAttempt, TheLastFailureParksTheJob) {  // invariant 16
  for (const AttemptResult result : {error, timeout, lease_lost}) {
    const Verdict verdict = after_attempt(facts(5), {.result = result}, kNow);
    EXPECT_EQ(verdict.state, JobState::dlq) << to_string(result);
    EXPECT_EQ(verdict.reason, VerdictReason::max_retries_exceeded);
    EXPECT_EQ(verdict.attempts, 5U);
  }
}

TEST(AfterAttempt, MaxAttemptsOfZeroMeansOne) {  // S1
  AttemptFacts single = facts();
  single.max_attempts = 0;
  EXPECT_EQ(after_attempt(single, {.result = error}, kNow).state, JobState::dlq);
  single.max_attempts = 1;
  EXPECT_EQ(after_attempt(single, {.result = error}, kNow).state, JobState::dlq);
  single.max_attempts = 2;
  EXPECT_EQ(after_attempt(single, {.result = error}, kNow).state, JobState::queued);
}

TEST(AfterAttempt, WithoutALimitOnlyTheDeadlineEnds) {
  AttemptFacts endless = facts(2'000'000'000);
  endless.max_attempts = std::nullopt;
  EXPECT_EQ(after_attempt(endless, {.result = error}, kNow).state, JobState::queued);
}

TEST(AfterAttempt, WithoutAPolicyTheFirstFailureParks) {
  AttemptFacts once = facts();
  once.retry = RetryNone{};
  EXPECT_EQ(after_attempt(once, {.result = error}, kNow).state, JobState::dlq);
  EXPECT_EQ(after_attempt(once, {.result = error}, kNow).reason, VerdictReason::max_retries_exceeded);
}

TEST(AfterAttempt, PermanentGoesStraightToTheDlq) {
  const Verdict verdict = after_attempt(facts(), {.result = error, .permanent = true}, kNow);
  EXPECT_EQ(verdict.state, JobState::dlq);
  EXPECT_EQ(verdict.reason, VerdictReason::execution_failed);
}

TEST(AfterAttempt, RetryAfterIsTakenInPlaceOfThePolicy) {
  EXPECT_EQ(after_attempt(facts(), {.result = error, .retry_at = kNow + 3h}, kNow).run_at, kNow + 3h);
  EXPECT_EQ(after_attempt(facts(), {.result = error, .retry_at = kNow - 3h}, kNow).run_at, kNow);
  EXPECT_EQ(after_attempt(facts(5), {.result = error, .retry_at = kNow + 3h}, kNow).state, JobState::dlq);
  EXPECT_EQ(after_attempt(facts(), {.result = timeout, .retry_at = kNow + 3h}, kNow).run_at, kNow + 1min);
}

TEST(AfterAttempt, TheFirstLossInARowIsDueAtOnceFurtherOnesFollowThePolicy) {  // invariant 12
  AttemptFacts lost = facts(1);
  Verdict verdict = after_attempt(lost, {.result = lease_lost}, kNow);
  EXPECT_EQ(verdict.state, JobState::queued);
  EXPECT_EQ(verdict.run_at, kNow);
  EXPECT_EQ(verdict.losses, 1U);
  EXPECT_EQ(verdict.attempts, 1U) << "a lost lease uses up an attempt";

  lost = facts(2);
  lost.losses = verdict.losses;
  verdict = after_attempt(lost, {.result = lease_lost}, kNow);
  EXPECT_EQ(verdict.run_at, kNow + 5min);
  EXPECT_EQ(verdict.losses, 2U);
}

TEST(AfterAttempt, AJobThatKillsItsWorkerEndsInTheDlq) {  // invariant 12
  AttemptFacts killer = facts(0);
  Instant now = kNow;
  std::vector<Duration> waits;
  for (int i = 0; i < 5; ++i) {
    ++killer.attempts;
    const Verdict verdict = after_attempt(killer, {.result = lease_lost}, now);
    killer.attempts = verdict.attempts;
    killer.losses = verdict.losses;
    if (verdict.state == JobState::dlq) {
      EXPECT_EQ(i, 4);
      break;
    }
    waits.push_back(verdict.run_at - now);
    now = verdict.run_at;
  }
  EXPECT_THAT(waits, testing::ElementsAre(0min, 5min, 15min, 60min));
}

TEST(AfterAttempt, AnotherEndBetweenBreaksTheRowOfLosses) {
  AttemptFacts lost = facts(2);
  lost.losses = 1;
  EXPECT_EQ(after_attempt(lost, {.result = error}, kNow).losses, 0U);
}

TEST(AfterAttempt, TheLossOfAClaimThatNeverBeganCostsNoAttemptOnceInARow) {  // invariant 12
  const AttemptEnd ahead{.result = lease_lost, .ahead = true};
  AttemptFacts lost = facts(1);
  Verdict verdict = after_attempt(lost, ahead, kNow);
  EXPECT_EQ(verdict.state, JobState::queued);
  EXPECT_EQ(verdict.run_at, kNow);
  EXPECT_EQ(verdict.attempts, 0U);
  EXPECT_TRUE(verdict.lost_ahead);

  lost = facts(1);
  lost.losses = verdict.losses;
  lost.lost_ahead = true;
  verdict = after_attempt(lost, ahead, kNow);
  EXPECT_EQ(verdict.attempts, 1U) << "a row of such losses must end too";
  EXPECT_EQ(verdict.run_at, kNow + 1min) << "and follows the policy";
  EXPECT_TRUE(verdict.lost_ahead) << "the row goes on";

  lost.losses = verdict.losses;
  EXPECT_EQ(after_attempt(lost, {.result = released, .started = false}, kNow).lost_ahead, true) << "nothing happened";
  EXPECT_FALSE(after_attempt(lost, {.result = error}, kNow).lost_ahead) << "another end breaks the row";
  EXPECT_FALSE(after_attempt(facts(1), {.result = lease_lost}, kNow).lost_ahead);
}

TEST(AfterAttempt, OnlyALossIsFreeHoweverItWasClaimed) {
  EXPECT_EQ(after_attempt(facts(2), {.result = error, .ahead = true}, kNow).attempts, 2U);
  EXPECT_EQ(after_attempt(facts(2), {.result = timeout, .ahead = true}, kNow).attempts, 2U);
}

TEST(AfterAttempt, AFreeLossOfACancelledJobEndsIt) {
  AttemptFacts lost = facts(1);
  lost.cancel_requested = true;
  const Verdict verdict = after_attempt(lost, {.result = lease_lost, .ahead = true}, kNow);
  EXPECT_EQ(verdict.state, JobState::cancelled);
  EXPECT_EQ(verdict.attempts, 0U);
}

TEST(AfterAttempt, AReleaseIsDueAtOnceAndCostsNothing) {  // invariant 16
  for (const bool started : {false, true}) {
    const Verdict verdict = after_attempt(facts(5), {.result = released, .started = started}, kNow);
    EXPECT_EQ(verdict.state, JobState::queued);
    EXPECT_EQ(verdict.run_at, kNow);
    EXPECT_EQ(verdict.attempts, 4U);
    EXPECT_EQ(verdict.releases, started ? 1U : 0U);
  }
}

// Claims, ends and claims again until the attempts are used up; answers how many times.
int ends_until_parked(AttemptEnd end, std::uint32_t max_attempts) {
  AttemptFacts job = facts(0);
  job.max_attempts = max_attempts;
  for (int ends = 1; ends <= 1000; ++ends) {
    ++job.attempts;
    EXPECT_LE(job.attempts, max_attempts);
    const Verdict verdict = after_attempt(job, end, kNow);
    if (verdict.state == JobState::dlq) {
      EXPECT_EQ(verdict.reason, VerdictReason::max_retries_exceeded);
      return ends;
    }
    EXPECT_EQ(verdict.state, JobState::queued);
    job.attempts = verdict.attempts;
    job.releases = verdict.releases;
    job.rate_limits = verdict.rate_limits;
  }
  return -1;
}

TEST(AfterAttempt, EveryTenthReleaseOfAStartedAttemptUsesOneUp) {  // invariant 16
  EXPECT_EQ(ends_until_parked({.result = released}, 1), 10);
  EXPECT_EQ(ends_until_parked({.result = released}, 3), 30);
}

TEST(AfterAttempt, ReleasesOfAttemptsThatNeverStartedCostNothingForEver) {  // invariant 16
  EXPECT_EQ(ends_until_parked({.result = released, .started = false}, 1), -1);
}

TEST(AfterAttempt, AnAttemptThatNeverStartedLeavesEveryRowAsItWas) {
  AttemptFacts job = facts(3);
  job.losses = 1;
  job.releases = 2;
  job.rate_limits = 3;
  const Verdict verdict = after_attempt(job, {.result = released, .started = false}, kNow);
  EXPECT_EQ(verdict.losses, 1U);
  EXPECT_EQ(verdict.releases, 2U);
  EXPECT_EQ(verdict.rate_limits, 3U);
}

TEST(AfterAttempt, EveryTwentiethRateLimitUsesOneUp) {  // invariant 16
  EXPECT_EQ(ends_until_parked({.result = rate_limited}, 1), 20);
  EXPECT_EQ(ends_until_parked({.result = rate_limited}, 2), 40);
}

TEST(AfterAttempt, ARateLimitWaitsAsToldUpToAnHour) {
  const auto run_at = [](std::optional<Instant> retry_at) {
    return after_attempt(facts(), {.result = rate_limited, .retry_at = retry_at}, kNow).run_at;
  };
  EXPECT_EQ(run_at(std::nullopt), kNow + 60s);
  EXPECT_EQ(run_at(kNow + 10min), kNow + 10min);
  EXPECT_EQ(run_at(kNow + 1h), kNow + 1h);
  EXPECT_EQ(run_at(kNow + 2h), kNow + 1h);
  EXPECT_EQ(run_at(kNow - 2h), kNow);
}

TEST(AfterAttempt, ACancelledJobIsNotRetriedButASuccessCounts) {
  AttemptFacts job = facts();
  job.cancel_requested = true;
  EXPECT_EQ(after_attempt(job, {.result = ok}, kNow).state, JobState::done);
  for (const AttemptResult result : {error, timeout, lease_lost, released, cancelled, rate_limited}) {
    const Verdict verdict = after_attempt(job, {.result = result}, kNow);
    EXPECT_EQ(verdict.state, JobState::cancelled) << to_string(result);
    EXPECT_EQ(verdict.reason, VerdictReason::cancelled);
  }
  EXPECT_EQ(after_attempt(facts(), {.result = cancelled}, kNow).state, JobState::cancelled);
}

TEST(AfterAttempt, AtTheDeadlineEverythingIsCutOff) {  // invariant 23
  AttemptFacts job = facts();
  job.deadline = kNow;
  for (const AttemptResult result : kAttemptResults) {
    const Verdict verdict = after_attempt(job, {.result = result}, kNow);
    EXPECT_EQ(verdict.state, JobState::cutoff_reached) << to_string(result);
    EXPECT_EQ(verdict.reason, VerdictReason::deadline);
    EXPECT_EQ(verdict.attempts, gives_attempt_back(result) ? 0U : 1U) << to_string(result);
    EXPECT_NE(after_attempt(job, {.result = result}, kNow - 1us).state, JobState::cutoff_reached);
  }
}

TEST(AttemptResult, OnlyReleaseAndRateLimitGiveTheAttemptBack) {
  for (const AttemptResult result : kAttemptResults) {
    EXPECT_EQ(gives_attempt_back(result), result == released || result == rate_limited) << to_string(result);
  }
}

TEST(AttemptResult, NamesAreThoseOfTheSemantics) {
  std::vector<std::string_view> names;
  for (const AttemptResult result : kAttemptResults) names.push_back(to_string(result));
  EXPECT_THAT(names,
              testing::ElementsAre("ok", "error", "timeout", "lease_lost", "released", "cancelled", "rate_limited"));
  EXPECT_EQ(to_string(VerdictReason::max_retries_exceeded), "max_retries_exceeded");
  EXPECT_EQ(to_string(VerdictReason::execution_failed), "execution_failed");
  EXPECT_EQ(to_string(VerdictReason::deadline), "deadline");
  EXPECT_EQ(to_string(VerdictReason::cancelled), "cancelled");
  EXPECT_EQ(to_string(VerdictReason::none), "none");
}

RC_GTEST_PROP(AfterAttempt, EveryVerdictIsAMoveOfTheTableAndNotInThePast, ()) {  // invariants 14, 15, 16
  AttemptFacts job = facts(draw<std::uint32_t>(1, 4'294'967'290));
  if (draw(0, 2) == 0) job.attempts = draw<std::uint32_t>(1, 6);
  job.max_attempts = std::max(job.attempts, draw<std::uint32_t>(1, 10));
  if (draw(0, 3) == 0) job.max_attempts = std::nullopt;
  if (draw(0, 2) == 0) job.deadline = kNow + std::chrono::seconds(draw(-10, 10));
  job.cancel_requested = draw(0, 3) == 0;
  job.losses = draw<std::uint32_t>(0, 3);
  job.lost_ahead = draw(0, 1) == 0;
  job.releases = draw<std::uint32_t>(0, 9);
  job.rate_limits = draw<std::uint32_t>(0, 19);
  switch (draw(0, 3)) {
    case 0: job.retry = RetryTable{}; break;
    case 1: job.retry = RetryExponential{}; break;
    case 2: job.retry = RetryFixed{}; break;
    default: job.retry = RetryNone{}; break;
  }
  AttemptEnd end{.result = kAttemptResults[draw<std::size_t>(0, kAttemptResults.size() - 1)]};
  end.skipped = draw(0, 1) == 0;
  end.permanent = draw(0, 3) == 0;
  end.started = draw(0, 1) == 0;
  end.ahead = draw(0, 1) == 0;
  if (draw(0, 2) == 0) end.retry_at = kNow + std::chrono::seconds(draw(-10'000, 10'000));

  const Verdict verdict = after_attempt(job, end, kNow);
  RC_ASSERT(can_move(JobState::processing, verdict.state));
  if (verdict.state == JobState::queued) {
    RC_ASSERT(verdict.run_at >= kNow);
    // In parentheses: the macro takes an expression apart, and then || would look at both sides.
    RC_ASSERT((!job.max_attempts || verdict.attempts < *job.max_attempts));
  }
  const bool is_free_loss = end.result == lease_lost && end.ahead && !job.lost_ahead;
  RC_ASSERT((verdict.attempts == job.attempts ||
             ((gives_attempt_back(end.result) || is_free_loss) && verdict.attempts == job.attempts - 1)));
  RC_ASSERT((!is_free_loss || verdict.attempts == job.attempts - 1));
  RC_ASSERT(verdict.releases < kReleasesPerAttempt);
  RC_ASSERT(verdict.rate_limits < kRateLimitsPerAttempt);
}

}  // namespace
}  // namespace carillon
