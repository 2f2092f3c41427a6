// Checks that yield: no attempt is made again that would not come before the subject's next check.
#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class YieldContract : public StoreContract {
 protected:
  // A check of "a", now, whose retries come after 5 minutes; the next one is planned for `next_at`.
  LeasedJob check(std::optional<Instant> next_at, std::optional<std::uint32_t> max_attempts = 5, bool yields = true) {
    id_ = schedule();
    const SubjectRow row = put_subject(id_, {.subject = "a"});
    Advance step;
    step.schedule = id_;
    step.subject = "a";
    step.version = row.version;
    step.next_at = next_at;
    step.position = now();
    NewJob one = occurrence_job(now(), "a");
    one.options.retry = RetryFixed{.delay = 5min};
    one.options.max_attempts = max_attempts;
    one.options.yields = yields;
    step.jobs = {one};
    return claim_one(advance(step).jobs.at(0).id);
  }

  ScheduleId id_;
};

RUN_OVER_EVERY_STORE(YieldContract);

TEST_P(YieldContract, ARetryThatComesBeforeTheNextCheckIsMade) {
  const LeasedJob leased = check(now() + 6min);
  EXPECT_EQ(settle(failed(leased)).state, JobState::queued);
  EXPECT_EQ(subject_of(id_, "a").open_job, leased.id);
  EXPECT_EQ(subject_state(id_, "a").last_status, "");
}

TEST_P(YieldContract, ARetryThatWouldNotIsSuperseded) {  // schedules: adaptive, one open check
  const LeasedJob leased = check(now() + 5min);
  const Settled settled = settle(failed(leased, "HTTP 503"));

  EXPECT_EQ(settled.state, JobState::skipped);
  EXPECT_THAT(settled.ready, IsEmpty());
  EXPECT_EQ(state(leased.id), JobState::skipped);
  EXPECT_EQ(detail(leased.id).reason, "superseded");
  EXPECT_EQ(outcomes_of(id_, "a").at(0).outcome, JobState::skipped);
  EXPECT_EQ(outcomes_of(id_, "a").at(0).reason, "superseded");
  EXPECT_FALSE(subject_of(id_, "a").open_job);
  const SubjectState kept = subject_state(id_, "a");
  EXPECT_EQ(kept.last_status, "error");
  EXPECT_EQ(kept.last_checked_at, now());
  EXPECT_EQ(kept.last_error, "HTTP 503");
  EXPECT_EQ(kept.error_count, 1U);
  EXPECT_EQ(settle(failed(leased, "HTTP 503")).state, JobState::skipped);  // invariant 10: asked again
  expect_counts_agree();
}

TEST_P(YieldContract, ARetryIsSupersededByTheCheckThatWaitsForItsEnd) {  // a push during a check
  const LeasedJob leased = check(now() + 6h);
  const SubjectRow row = subject_of(id_, "a");
  Advance step{.schedule = id_, .subject = "a", .version = row.version, .next_at = row.next_at, .position = now() + 1s};
  NewJob next = occurrence_job(now() + 1s, "a");
  next.options.yields = true;
  next.options.run_anyway = true;
  next.depends_on = {leased.id};
  step.jobs = {next};
  const Enqueued waits = advance(step).jobs.at(0);
  EXPECT_EQ(waits.state, JobState::waiting);

  const Settled settled = settle(failed(leased));
  EXPECT_EQ(settled.state, JobState::skipped);
  EXPECT_THAT(settled.ready, SizeIs(1));
  EXPECT_EQ(state(waits.id), JobState::queued);
  EXPECT_EQ(subject_of(id_, "a").open_job, waits.id);
  expect_counts_agree();
}

TEST_P(YieldContract, ACheckWithoutAttemptsLeftDoesNotFloodTheDlq) {
  const LeasedJob leased = check(now() + 6h, 1);
  EXPECT_EQ(settle(failed(leased)).state, JobState::skipped);
}

TEST_P(YieldContract, APermanentFailureIsParkedAllTheSame) {
  const LeasedJob leased = check(now() + 5min);
  EXPECT_EQ(settle(failed_for_good(leased)).state, JobState::dlq);
}

TEST_P(YieldContract, ACheckThatWasRateLimitedTooOftenDoesNotFloodTheDlqEither) {  // invariant 16
  LeasedJob leased = check(now() + 6h, 1);
  Settled settled;
  for (int i = 0; i < 20; ++i) {
    settled = settle(rate_limited(leased));
    if (settled.state != JobState::queued) break;
    clock().advance(2min);
    leased = claim_one(leased.id);
  }
  EXPECT_EQ(settled.state, JobState::skipped);
  EXPECT_EQ(detail(leased.id).reason, "superseded");
}

TEST_P(YieldContract, EveryCheckLeavesItsTimeAndASuccessTakesAnErrorAway) {
  const LeasedJob first = check(now() + 5min);
  settle(failed(first));
  ASSERT_EQ(subject_state(id_, "a").last_status, "error");
  Advance step;
  step.schedule = id_;
  step.subject = "a";
  step.version = subject_of(id_, "a").version;
  clock().advance(5min);
  step.position = now();
  step.jobs = {occurrence_job(now(), "a")};
  step.jobs[0].options.yields = true;
  settle(completed(claim_one(advance(step).jobs.at(0).id)));

  EXPECT_EQ(subject_state(id_, "a").last_status, "");
  EXPECT_EQ(subject_state(id_, "a").last_checked_at, now());
}

TEST_P(YieldContract, ALostCheckYieldsToo) {  // invariant 12
  const LeasedJob leased = check(now() + 30s);
  clock().advance(61s);
  const auto reaped = reap();

  ASSERT_THAT(reaped, SizeIs(1));
  EXPECT_EQ(reaped[0].state, JobState::skipped);
  EXPECT_EQ(detail(leased.id).reason, "superseded");
  EXPECT_EQ(subject_state(id_, "a").last_status, "error");
}

TEST_P(YieldContract, AReleasedOrRateLimitedCheckDoesNotYield) {
  const LeasedJob leased = check(now());
  EXPECT_EQ(settle(released(leased)).state, JobState::queued);
  EXPECT_EQ(settle(rate_limited(claim_one(leased.id))).state, JobState::queued);
}

TEST_P(YieldContract, OthersAreTriedAgainWhateverComesNext) {
  const LeasedJob leased = check(now(), 5, false);
  EXPECT_EQ(settle(failed(leased)).state, JobState::queued);
}

TEST_P(YieldContract, WithoutANextCheckThereIsNothingToYieldTo) {
  const LeasedJob leased = check(std::nullopt);
  EXPECT_EQ(settle(failed(leased)).state, JobState::queued);
}

}  // namespace
}  // namespace carillon::test
