// The end of an attempt, and what it makes of its job.
#include <array>

#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST_P(StoreContract, ASuccessIsDoneWithItsOutputAndAttempt) {  // invariant 14
  const JobId id = enqueue(job());
  clock().advance(1s);
  const LeasedJob leased = claim_one(id, {.worker = "ada"});
  clock().advance(2s);
  Settlement said = completed(leased);
  said.output = R"({"sent": 3.0})";
  said.started_at = now() - 1s;
  const Settled answer = settle(said);

  EXPECT_EQ(answer.id, id);
  EXPECT_EQ(answer.state, JobState::done);
  EXPECT_THAT(answer.ready, IsEmpty());
  const JobView ended = view(id);
  EXPECT_EQ(ended.state, JobState::done);
  EXPECT_EQ(ended.finished_at, now());
  EXPECT_FALSE(ended.lease);
  EXPECT_EQ(detail(id).output, R"({"sent": 3.0})");
  ASSERT_THAT(ended.attempts, SizeIs(1));
  EXPECT_EQ(ended.attempts[0].number, 1U);
  EXPECT_EQ(ended.attempts[0].result, AttemptResult::ok);
  EXPECT_EQ(ended.attempts[0].worker, "ada");
  EXPECT_EQ(ended.attempts[0].started_at, now() - 1s);
  EXPECT_EQ(ended.started_at, now() - 1s);
  EXPECT_EQ(all_jobs().front().started_at, now() - 1s);
  EXPECT_EQ(ended.attempts[0].finished_at, now());
  EXPECT_THAT(value_of(jobs().leases()), IsEmpty());
  expect_counts_agree();
}

TEST_P(StoreContract, NothingToDoIsSkippedWithItsReason) {
  const JobId id = enqueue(job());
  EXPECT_EQ(settle(skipped(claim_one(id), "no_credits")).state, JobState::skipped);

  EXPECT_EQ(state(id), JobState::skipped);
  EXPECT_EQ(detail(id).reason, "no_credits");
}

TEST_P(StoreContract, AFailureIsTriedAgainAsThePolicySays) {  // invariants 14, 15
  const JobId id = enqueue(doubling_job());
  const std::array<Duration, 4> delays{1min, 2min, 4min, 8min};
  for (std::size_t i = 0; i < delays.size(); ++i) {
    const LeasedJob leased = claim_one(id);
    EXPECT_EQ(leased.attempt, i + 1);
    const Settled answer = settle(failed(leased, "broke " + std::to_string(i)));
    EXPECT_EQ(answer.state, JobState::queued);
    EXPECT_EQ(answer.run_at, now() + delays[i]);
    ASSERT_THAT(answer.ready, SizeIs(1));
    EXPECT_EQ(answer.ready[0].id, id);
    EXPECT_EQ(answer.ready[0].run_at, answer.run_at);
    EXPECT_EQ(view(id).row.run_at, answer.run_at);
    EXPECT_FALSE(try_claim(id));
    clock().advance(delays[i]);
  }
  const JobView seen = view(id);
  EXPECT_EQ(seen.row.attempts, 4U);
  ASSERT_THAT(seen.attempts, SizeIs(4));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(seen.attempts[i].number, i + 1);
    EXPECT_EQ(seen.attempts[i].result, AttemptResult::error);
    EXPECT_EQ(seen.attempts[i].error, "broke " + std::to_string(i));
    EXPECT_EQ(seen.attempts[i].error_class, "req");
  }
  EXPECT_EQ(detail(id).last_error->message, "broke 3");
}

TEST_P(StoreContract, TheDefaultPolicyStaysInItsJitterBounds) {  // invariant 15
  for (int i = 0; i < 20; ++i) {
    const Settled answer = settle(failed(claim_one(enqueue(job()))));
    EXPECT_GE(answer.run_at, now() + 54s);
    EXPECT_LE(answer.run_at, now() + 66s);
  }
}

TEST_P(StoreContract, ASteadyRetryKeepsItsBeat) {  // invariant 15
  NewJob delivery = job();
  delivery.options.retry = RetryFixed{.delay = 10min};
  delivery.options.max_attempts = std::nullopt;
  const JobId id = enqueue(delivery);
  const LeasedJob hung = claim_one(id, {.lease = 1h});
  const Instant planned = now();
  clock().advance(4min);
  EXPECT_EQ(settle(failed(hung)).run_at, planned + 10min);
  clock().advance(6min);
  const LeasedJob late = claim_one(id, {.lease = 1h});
  clock().advance(15min);
  EXPECT_EQ(settle(failed(late)).run_at, planned + 25min);  // at once: the planned time has passed
  const LeasedJob next = claim_one(id);
  clock().advance(1min);

  EXPECT_EQ(settle(failed(next)).run_at, planned + 35min);
}

TEST_P(StoreContract, TheLastFailureParksTheJob) {  // invariant 16
  const JobId id = enqueue(doubling_job(2));
  settle(failed(claim_one(id)));
  clock().advance(1h);
  const Settled answer = settle(failed(claim_one(id)));

  EXPECT_EQ(answer.state, JobState::dlq);
  EXPECT_THAT(answer.ready, IsEmpty());
  const JobView parked = view(id);
  EXPECT_EQ(parked.state, JobState::dlq);
  EXPECT_EQ(parked.row.attempts, 2U);
  EXPECT_THAT(parked.attempts, SizeIs(2));
  EXPECT_FALSE(parked.finished_at);
  EXPECT_EQ(detail(id).reason, "max_retries_exceeded");
  EXPECT_EQ(count_of(JobState::dlq), 1);
  expect_counts_agree();
}

TEST_P(StoreContract, APermanentFailureParksAtOnce) {
  const JobId id = parked_job(job());

  EXPECT_EQ(detail(id).reason, "execution_failed");
  EXPECT_EQ(view(id).row.attempts, 1U);
}

TEST_P(StoreContract, AHandlerMayChooseWhenToTryAgain) {
  Settlement said = failed(claim_one(enqueue(doubling_job())));
  said.end.retry_at = now() + 42min;

  EXPECT_EQ(settle(said).run_at, now() + 42min);
  EXPECT_THAT(ids_of(value_of(jobs().load_later(now(), now() + 42min, 10))), ElementsAre(said.job));
}

TEST_P(StoreContract, WithoutALimitOnlyTheDeadlineEnds) {  // invariant 16
  const JobId id = enqueue(doubling_job(std::nullopt));
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(settle(failed(claim_one(id))).state, JobState::queued);
    clock().advance(1h);
  }
  EXPECT_EQ(view(id).row.attempts, 50U);
}

TEST_P(StoreContract, AReleaseCostsNoAttemptAndIsDueAtOnce) {  // invariant 16
  const JobId id = enqueue(doubling_job(1));
  for (int i = 0; i < 30; ++i) {
    const LeasedJob leased = claim_one(id);
    EXPECT_EQ(leased.attempt, 1U);
    const Settled answer = settle(released(leased, false));
    EXPECT_EQ(answer.state, JobState::queued);
    EXPECT_EQ(answer.run_at, now());
  }
  EXPECT_EQ(view(id).row.attempts, 0U);
}

TEST_P(StoreContract, TheTenthReleaseOfAStartedAttemptCostsOne) {  // invariant 16
  const JobId id = enqueue(doubling_job(1));
  for (int i = 0; i < 9; ++i) ASSERT_EQ(settle(released(claim_one(id))).state, JobState::queued);
  EXPECT_EQ(view(id).row.attempts, 0U);

  EXPECT_EQ(settle(released(claim_one(id))).state, JobState::dlq);
  EXPECT_EQ(view(id).row.attempts, 1U);
}

TEST_P(StoreContract, TheTwentiethRateLimitInARowCostsAnAttempt) {  // invariant 16
  const JobId id = enqueue(doubling_job(1));
  for (int i = 0; i < 19; ++i) {
    const Settled answer = settle(rate_limited(claim_one(id), now() + 5s));
    ASSERT_EQ(answer.state, JobState::queued);
    ASSERT_EQ(answer.run_at, now() + 5s);
    clock().advance(5s);
  }
  EXPECT_EQ(view(id).row.attempts, 0U);

  EXPECT_EQ(settle(rate_limited(claim_one(id))).state, JobState::dlq);
}

TEST_P(StoreContract, ADeferralCostsNothingAndIsExplained) {  // invariants 16, 33
  const JobId id = enqueue(doubling_job(1));
  const Settled answer = settle(deferred(claim_one(id), now() + 8h, "quiet_hours"));

  EXPECT_EQ(answer.state, JobState::queued);
  EXPECT_EQ(answer.run_at, now() + 8h);
  const JobDetail why = detail(id);
  EXPECT_EQ(why.deferrals, 1U);
  EXPECT_EQ(why.deferred_until, now() + 8h);
  EXPECT_EQ(why.defer_reason, "quiet_hours");
  EXPECT_EQ(view(id).row.attempts, 0U);
  expect_counts_agree();
  EXPECT_THAT(ids_of(value_of(jobs().load_later(now(), now() + 8h, 10))), ElementsAre(id));
  clock().advance(8h);
  EXPECT_EQ(claim_one(id).attempt, 1U);
}

TEST_P(StoreContract, ADeferralWithoutAnEndStaysDueForTheGateToHold) {  // parked until lifted
  const Instant due = now();
  const JobId id = enqueue(job());
  clock().advance(1h);
  const LeasedJob leased = claim_one(id);
  // The wall clock is set back to before the job's time: due is due.
  clock().step_wall(-2h);
  const Settled early = settle(deferred(leased, std::nullopt));
  EXPECT_EQ(early.run_at, now());
  clock().advance(2h);
  const Settled answer = settle(deferred(claim_one(id), std::nullopt, "maintenance"));

  EXPECT_EQ(answer.state, JobState::queued);
  EXPECT_EQ(answer.run_at, due - 1h);
  EXPECT_THAT(ids_of(answer.ready), ElementsAre(id));
  EXPECT_FALSE(detail(id).deferred_until);
  EXPECT_EQ(detail(id).defer_reason, "maintenance");
  EXPECT_EQ(detail(id).deferrals, 2U);
  EXPECT_EQ(view(id).row.attempts, 0U);
  EXPECT_THAT(live_ids(now()), ElementsAre(id));
  EXPECT_TRUE(try_claim(id));
}

TEST_P(StoreContract, TheLastTwentyDeferralsAreKept) {  // invariant 14
  const JobId id = enqueue(job());
  for (int i = 0; i < 25; ++i) {
    settle(deferred(claim_one(id), now() + 1min, "gate-" + std::to_string(i)));
    clock().advance(1min);
  }
  const JobDetail kept = detail(id);
  EXPECT_EQ(kept.deferrals, 25U);
  ASSERT_THAT(kept.recent_deferrals, SizeIs(20));
  EXPECT_EQ(kept.recent_deferrals.front().reason, "gate-5");
  EXPECT_EQ(kept.recent_deferrals.back().reason, "gate-24");
  EXPECT_EQ(kept.recent_deferrals.back().until, now());
}

TEST_P(StoreContract, ATroubledEffectIsHeldForAnOperator) {  // invariant 18
  const JobId id = enqueue(doubling_job(5));
  Settlement said = failed(claim_one(id));
  said.hold = true;

  EXPECT_EQ(settle(said).state, JobState::dlq);
  EXPECT_EQ(detail(id).reason, "ambiguous_effect");
}

TEST_P(StoreContract, ATroubledEffectIsShownAlsoWhenNoAttemptIsLeft) {  // invariant 18
  const JobId id = enqueue(doubling_job(1));
  Settlement said = failed(claim_one(id));
  said.hold = true;

  EXPECT_EQ(settle(said).state, JobState::dlq);
  EXPECT_EQ(detail(id).reason, "ambiguous_effect");
}

TEST_P(StoreContract, ProgressEndsWithItsAttempt) {
  const JobId id = enqueue(doubling_job());
  const LeasedJob leased = claim_one(id);
  extend({.job = id, .token = leased.token, .progress = "50"});
  settle(failed(leased));

  EXPECT_EQ(detail(id).progress, "");
}

TEST_P(StoreContract, AFollowUpIsMadeByTheCompletionThatCausesIt) {  // invariant 30
  NewJob parent = job();
  parent.tenant = "acme";
  const JobId id = enqueue(parent);
  Settlement said = completed(claim_one(id));
  said.then = {job("second"), job("third")};
  const Settled answer = settle(said);

  ASSERT_THAT(answer.ready, SizeIs(2));
  for (const ReadyJob& ready : answer.ready) {
    const JobView made = view(ready.id, "acme");
    EXPECT_EQ(made.state, JobState::queued);
    const JobOptions options = value_of(made.row.options.read());
    EXPECT_EQ(options.origin, Origin::dependent);
    EXPECT_EQ(options.parent, id);
  }
  expect_counts_agree("acme");
}

TEST_P(StoreContract, AFailureMakesNoFollowUp) {  // invariant 30
  Settlement said = failed(claim_one(enqueue(doubling_job())));
  said.then = {job("second")};
  settle(said);

  EXPECT_THAT(all_ids(), SizeIs(1));
}

TEST_P(StoreContract, ASkippedCompletionMakesItsFollowUpsToo) {  // invariant 30: it is a completion
  Settlement said = skipped(claim_one(enqueue(job())));
  said.then = {job("second")};

  EXPECT_THAT(settle(said).ready, SizeIs(1));
  EXPECT_THAT(all_ids(), SizeIs(2));
}

TEST_P(StoreContract, AnAttemptKeepsItsNumberInTheHistory) {  // invariant 14
  const JobId id = enqueue(doubling_job());
  const LeasedJob leased = claim_one(id);
  act(JobAction::cancel, id);
  settle(released(leased));

  ASSERT_THAT(view(id).attempts, SizeIs(1));
  EXPECT_EQ(view(id).attempts[0].number, leased.attempt);
}

TEST_P(StoreContract, AnErrorOfAnEarlierAttemptIsNotThatOfTheLast) {  // invariant 14
  const JobId id = enqueue(doubling_job());
  settle(failed(claim_one(id), "first"));
  clock().advance(1min);
  const LeasedJob second = claim_one(id);
  act(JobAction::cancel, id);
  settle(cancelled(second));

  const JobView ended = view(id);
  ASSERT_THAT(ended.attempts, SizeIs(2));
  EXPECT_EQ(ended.attempts[0].error, "first");
  EXPECT_EQ(ended.attempts[1].result, AttemptResult::cancelled);
  EXPECT_EQ(ended.attempts[1].error, "");
}

// What a handler throws may be anything. It must not make its job unreadable, and with it every batch that it is in.
TEST_P(StoreContract, AnErrorThatIsNoTextHarmsNobody) {  // invariant 5
  const JobId id = enqueue(doubling_job());
  const JobId other = enqueue(job());
  settle(failed(claim_one(id), "caf\xe9 \xff"));
  clock().advance(1h);
  const std::array both{completed(claim_one(id)), completed(claim_one(other))};
  for (const auto& settled : jobs().settle(both)) EXPECT_TRUE(settled);

  EXPECT_EQ(state(id), JobState::done);
  EXPECT_EQ(state(other), JobState::done);
  EXPECT_EQ(detail(id).last_error->message, "caf\xEF\xBF\xBD \xEF\xBF\xBD");
}

TEST_P(StoreContract, AKeyOrNameThatIsNoTextIsRefused) {
  NewJob keyed = job();
  keyed.options.idempotency_key = "evt-\xff";
  EXPECT_EQ(error_of(try_enqueue(keyed)).code, ErrorCode::invalid_request);
  NewJob named = job();
  named.options.created_by = "caf\xe9";
  EXPECT_EQ(error_of(try_enqueue(named)).code, ErrorCode::invalid_request);
  named.options.created_by = "caf\xc3\xa9";
  EXPECT_TRUE(try_enqueue(named));
}

}  // namespace
}  // namespace carillon::test
