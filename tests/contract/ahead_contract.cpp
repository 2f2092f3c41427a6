// Claims that are made ahead of a free slot: what their loss costs. (invariant 12)
#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class AheadContract : public StoreContract {
 protected:
  Claimed claim_ahead(const std::vector<JobId>& ids, std::size_t slots = 0, bool in_process = false) {
    return value_of(
        jobs().claim({.worker = "ada", .lease = 10s, .in_process = in_process, .jobs = ids, .slots = slots}));
  }
  LeasedJob claimed_ahead(JobId id) { return claim_ahead({id}).jobs.at(0); }
  Reaped lose() {
    clock().advance(10s);
    return reap().at(0);
  }
  void begin(const LeasedJob& leased) {
    const LeaseKey key{.job = leased.id, .token = leased.token};
    ASSERT_TRUE(jobs().begun({&key, 1}).has_value());
  }
  bool is_ahead(JobId id) { return view(id).lease.value().ahead; }
};

TEST_P(AheadContract, TheFirstHaveASlotAndTheRestIsMarked) {
  std::vector<JobId> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(enqueue(job()));
  const Claimed claimed = claim_ahead(ids, 2);
  ASSERT_THAT(claimed.jobs, SizeIs(4));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(claimed.jobs[i].ahead, i >= 2);
    EXPECT_EQ(is_ahead(ids[i]), i >= 2);
  }
  EXPECT_FALSE(is_ahead(claim_one(enqueue(job())).id));
}

TEST_P(AheadContract, ALossWithTheMarkCostsNoAttempt) {
  const JobId id = enqueue(doubling_job(4));
  claimed_ahead(id);
  const Reaped lost = lose();
  EXPECT_EQ(lost.result, AttemptResult::lease_lost);
  EXPECT_EQ(lost.state, JobState::queued);
  EXPECT_EQ(lost.ready.at(0).run_at, now());
  const JobView seen = view(id);
  EXPECT_EQ(seen.row.attempts, 0U);
  ASSERT_THAT(seen.attempts, SizeIs(1)) << "it stands in its history all the same";
  EXPECT_EQ(claim_one(id).attempt, 1U);
}

TEST_P(AheadContract, OnceInARow) {
  const JobId id = enqueue(doubling_job(5));
  claimed_ahead(id);
  Reaped lost = lose();
  EXPECT_EQ(lost.ready.at(0).run_at, now());
  claimed_ahead(id);
  lost = lose();
  EXPECT_EQ(lost.ready.at(0).run_at, now() + 1min) << "the second loss in a row follows the policy";
  EXPECT_EQ(view(id).row.attempts, 1U);
  clock().advance(1min);
  claimed_ahead(id);
  EXPECT_EQ(lose().state, JobState::queued);
  EXPECT_EQ(view(id).row.attempts, 2U) << "the row goes on";
  clock().advance(2min);
  settle(failed(claim_one(id)));
  EXPECT_EQ(view(id).row.attempts, 3U);
  clock().advance(1h);
  claimed_ahead(id);
  lose();
  EXPECT_EQ(view(id).row.attempts, 3U) << "a new row";
}

TEST_P(AheadContract, WhatHasBegunCostsOne) {
  const JobId id = enqueue(doubling_job(4));
  begin(claimed_ahead(id));
  EXPECT_FALSE(is_ahead(id));
  lose();
  EXPECT_EQ(view(id).row.attempts, 1U);
}

TEST_P(AheadContract, OnlyTheHoldersWordLiftsTheMark) {
  const JobId id = enqueue(job());
  const LeasedJob leased = claimed_ahead(id);
  const std::vector<LeaseKey> others{{.job = id, .token = leased.token + 1}, {.job = JobId{12345}, .token = 1}};
  ASSERT_TRUE(jobs().begun(others).has_value());
  EXPECT_TRUE(is_ahead(id));
  const auto until = view(id).lease->until;
  begin(leased);
  EXPECT_EQ(view(id).lease->until, until) << "it is no heartbeat";
}

TEST_P(AheadContract, AHeartbeatLeavesTheMark) {
  const JobId id = enqueue(job());
  const LeasedJob leased = claimed_ahead(id);
  extend({.job = id, .token = leased.token, .started = false});
  EXPECT_TRUE(is_ahead(id));
}

TEST_P(AheadContract, ALastAttemptIsNotClaimedAhead) {
  NewJob once = doubling_job(1);
  NewJob never_again = job();
  never_again.options.retry = RetryNone{};
  const std::vector<JobId> ids{enqueue(job()), enqueue(once), enqueue(never_again)};
  const Claimed claimed = claim_ahead(ids);
  ASSERT_THAT(claimed.jobs, SizeIs(1));
  EXPECT_EQ(claimed.jobs[0].id, ids[0]);
  ASSERT_THAT(claimed.last, SizeIs(2));
  EXPECT_EQ(claimed.last[0].id, ids[1]);
  for (const std::size_t i : {1U, 2U}) {
    EXPECT_EQ(state(ids[i]), JobState::queued);
    EXPECT_TRUE(value_of(jobs().traits({&ids[i], 1})).at(0).last_attempt);
  }
  EXPECT_THAT(claim_ahead({ids[1], ids[2]}, 2).jobs, SizeIs(2)) << "with a slot they are";
  expect_counts_agree();
}

TEST_P(AheadContract, AttemptsAreUsedUpUntilOneIsTheLast) {
  const JobId id = enqueue(doubling_job(3));
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(value_of(jobs().traits({&id, 1})).at(0).last_attempt);
    settle(failed(claimed_ahead(id)));
    clock().advance(1h);
  }
  EXPECT_TRUE(value_of(jobs().traits({&id, 1})).at(0).last_attempt);
  EXPECT_THAT(claim_ahead({id}).last, SizeIs(1));
  NewJob endless = doubling_job(std::nullopt);
  EXPECT_THAT(claim_ahead({enqueue(endless)}).jobs, SizeIs(1));
}

TEST_P(AheadContract, APlainJobSaysThatItIsOnItsLastAttempt) {
  const JobId id = enqueue(job());
  const auto is_last = [&] { return value_of(jobs().load_live({}, kInstantMax, 10)).jobs.at(0).last_attempt; };
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(is_last()) << i;
    const Settled settled = settle(failed(claim_one(id)));
    EXPECT_EQ(settled.ready.at(0).last_attempt, i == 3);
    clock().advance(2h);
  }
  EXPECT_TRUE(is_last());
}

TEST_P(AheadContract, AProcessThatDiedLosesItsClaimsForNothing) {  // invariants 11, 12
  if (!GetParam().outlives_close) GTEST_SKIP() << "it is gone with its process";
  const JobId id = enqueue(doubling_job(2));
  const JobId begun = enqueue(doubling_job(2));
  claim_ahead({id}, 0, true);
  begin(claim_ahead({begun}, 0, true).jobs.at(0));
  clock().restart_machine(1min);
  reopen();
  EXPECT_THAT(reap(), SizeIs(2));
  EXPECT_EQ(view(id).row.attempts, 0U);
  EXPECT_EQ(view(begun).row.attempts, 1U);
}

RUN_OVER_EVERY_STORE(AheadContract);

}  // namespace
}  // namespace carillon::test
