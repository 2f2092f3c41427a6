// Workers that fall silent: what the store ends by itself.
#include <algorithm>
#include <set>

#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST_P(StoreContract, ALostLeaseIsFoundWhenItRunsOutAndNotBefore) {  // invariant 12
  const JobId id = enqueue(job());
  claim_one(id, {.worker = "ada", .lease = 30s});
  clock().advance(30s - 1us);
  EXPECT_THAT(reap(), IsEmpty());
  EXPECT_EQ(state(id), JobState::processing);
  clock().advance(1us);
  const auto reaped = reap();

  ASSERT_THAT(reaped, SizeIs(1));
  EXPECT_EQ(reaped[0].id, id);
  EXPECT_EQ(reaped[0].result, AttemptResult::lease_lost);
  EXPECT_EQ(reaped[0].worker, "ada");
  EXPECT_EQ(reaped[0].state, JobState::queued);
  EXPECT_THAT(ids_of(reaped[0].ready), ElementsAre(id));
  EXPECT_THAT(reap(), IsEmpty());
  expect_counts_agree();
}

TEST_P(StoreContract, ALostLeaseUsesUpAnAttempt) {  // invariant 12
  const JobId id = enqueue(job());
  claim_one(id, {.worker = "ada", .lease = 30s});
  const Instant claimed = now();
  clock().advance(40s);
  reap();

  const JobView seen = view(id);
  EXPECT_EQ(seen.row.attempts, 1U);
  ASSERT_THAT(seen.attempts, SizeIs(1));
  EXPECT_EQ(seen.attempts[0].result, AttemptResult::lease_lost);
  EXPECT_EQ(seen.attempts[0].worker, "ada");
  EXPECT_EQ(seen.attempts[0].number, 1U);
  EXPECT_EQ(seen.attempts[0].started_at, claimed);
  EXPECT_EQ(seen.attempts[0].finished_at, now());
  EXPECT_EQ(claim_one(id).attempt, 2U);
}

TEST_P(StoreContract, TheFirstLossIsDueAtOnceFurtherOnesFollowThePolicy) {  // invariants 5, 8, 12
  const JobId id = enqueue(doubling_job(4));
  const auto lose = [&] {
    claim_one(id, {.lease = 10s});
    clock().advance(10s);
    return reap().at(0);
  };
  Reaped lost = lose();
  EXPECT_EQ(lost.state, JobState::queued);
  EXPECT_EQ(lost.ready.at(0).run_at, now());
  lost = lose();
  EXPECT_EQ(lost.ready.at(0).run_at, now() + 2min);
  EXPECT_FALSE(try_claim(id));
  clock().advance(2min);
  lost = lose();
  EXPECT_EQ(lost.ready.at(0).run_at, now() + 4min);
  clock().advance(4min);
  lost = lose();

  EXPECT_EQ(lost.state, JobState::dlq);
  EXPECT_THAT(lost.ready, IsEmpty());
  EXPECT_EQ(state(id), JobState::dlq);
  EXPECT_EQ(detail(id).reason, "max_retries_exceeded");
}

TEST_P(StoreContract, AReapedAttemptNamesTheTenantAndTypeOfItsJob) {  // invariant 34
  NewJob foreign = job("report.make");
  foreign.tenant = "acme";
  claim_one(enqueue(foreign), {.lease = 10s});
  clock().advance(10s);
  const Reaped lost = reap().at(0);

  EXPECT_EQ(lost.tenant, "acme");
  EXPECT_EQ(lost.type, "report.make");
}

TEST_P(StoreContract, AnotherEndBetweenTwoLossesBeginsANewRow) {  // invariant 12
  const JobId id = enqueue(doubling_job(9));
  claim_one(id, {.lease = 10s});
  clock().advance(10s);
  reap();
  settle(failed(claim_one(id)));
  clock().advance(1h);
  claim_one(id, {.lease = 10s});
  clock().advance(10s);

  EXPECT_EQ(reap().at(0).ready.at(0).run_at, now());
}

TEST_P(StoreContract, AJobWithOneAttemptIsParkedByItsFirstLoss) {  // invariants 12, 16
  const JobId id = enqueue(doubling_job(1));
  claim_one(id, {.lease = 10s});
  clock().advance(10s);

  EXPECT_EQ(reap().at(0).state, JobState::dlq);
}

TEST_P(StoreContract, AtItsTimeoutAnAttemptEndsAsTimeout) {  // invariant 13
  NewJob quick = doubling_job();
  quick.options.timeout = 20s;
  const JobId id = enqueue(quick);
  claim_one(id, {.lease = 60s});
  clock().advance(20s - 1us);
  EXPECT_THAT(reap(), IsEmpty());
  clock().advance(1us);
  const auto reaped = reap();

  ASSERT_THAT(reaped, SizeIs(1));
  EXPECT_EQ(reaped[0].result, AttemptResult::timeout);
  EXPECT_EQ(reaped[0].state, JobState::queued);
  EXPECT_EQ(reaped[0].ready.at(0).run_at, now() + 1min);  // a failure: by the policy
  EXPECT_EQ(view(id).attempts.at(0).result, AttemptResult::timeout);
}

TEST_P(StoreContract, ALeaseThatRanOutBeforeTheTimeoutIsLostHoweverLateItIsFound) {  // invariant 13
  NewJob quick = doubling_job();
  quick.options.timeout = 61s;
  claim_one(enqueue(quick), {.lease = 60s});
  clock().advance(24h);

  EXPECT_EQ(reap().at(0).result, AttemptResult::lease_lost);
}

TEST_P(StoreContract, ALostJobThatWasAskedToStopIsCancelled) {  // no retry
  const JobId id = enqueue(job());
  claim_one(id, {.lease = 10s});
  act(JobAction::cancel, id);
  clock().advance(10s);
  const auto reaped = reap();

  EXPECT_EQ(reaped.at(0).state, JobState::cancelled);
  EXPECT_EQ(state(id), JobState::cancelled);
  EXPECT_EQ(view(id).attempts.at(0).result, AttemptResult::lease_lost);
}

TEST_P(StoreContract, ATimeoutOfAJobThatWasAskedToStopCancelsIt) {
  NewJob quick = doubling_job();
  quick.options.timeout = 20s;
  const JobId id = enqueue(quick);
  claim_one(id, {.lease = 60s});
  act(JobAction::cancel, id);
  clock().advance(20s);

  EXPECT_EQ(reap().at(0).state, JobState::cancelled);
}

TEST_P(StoreContract, ReapingIsBoundedAndGoesOn) {  // invariant 12
  std::set<JobId> lost;
  for (int i = 0; i < 10; ++i) {
    const JobId id = enqueue(job());
    claim_one(id, {.lease = 10s});
    lost.insert(id);
  }
  const JobId kept = enqueue(job());
  claim_one(kept, {.lease = 60s});
  clock().advance(10s);
  std::set<JobId> found;
  for (int i = 0; i < 4; ++i) {
    const auto reaped = reap(3);
    EXPECT_LE(reaped.size(), 3U);
    for (const Reaped& one : reaped) EXPECT_TRUE(found.insert(one.id).second);
  }

  EXPECT_EQ(found, lost);
  EXPECT_EQ(state(kept), JobState::processing);
  expect_counts_agree();
}

TEST_P(StoreContract, WhatWasLostCanBeClaimedByAnother) {  // invariants 5, 8
  const JobId id = enqueue(job());
  const LeasedJob lost = claim_one(id, {.worker = "ada", .lease = 10s});
  clock().advance(10s);
  reap();
  EXPECT_THAT(live_ids(now()), ElementsAre(id));
  const LeasedJob again = claim_one(id, {.worker = "bob"});

  EXPECT_GT(again.token, lost.token);
  EXPECT_EQ(settle(completed(again)).state, JobState::done);
  EXPECT_THAT(view(id).attempts, SizeIs(2));
}

}  // namespace
}  // namespace carillon::test
