// Guards of effects that must happen once.
#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using Kind = EffectClaim::Kind;

class Effects {
 public:
  explicit Effects(JobStore& jobs, std::string_view tenant = kTenant) : jobs_(jobs), tenant_(tenant) {}

  Result<EffectClaim> claim(const LeasedJob& by, std::string_view key = "mail:1") {
    return jobs_.claim_effect(tenant_, key, by.id, by.token);
  }
  Result<void> done(const LeasedJob& by, std::string_view result, std::string_view key = "mail:1") {
    return jobs_.effect_done(tenant_, key, by.id, by.token, result);
  }
  Result<void> undone(const LeasedJob& by, std::string_view key = "mail:1") {
    return jobs_.effect_undone(tenant_, key, by.id, by.token);
  }

 private:
  JobStore& jobs_;
  std::string_view tenant_;
};

TEST_P(StoreContract, TheFirstToAskIsTheFirstAlsoWhenItAsksAgain) {  // invariant 18
  Effects effects(jobs());
  const LeasedJob holder = claim_one(enqueue(job()));

  EXPECT_EQ(value_of(effects.claim(holder)).kind, Kind::first);
  EXPECT_EQ(value_of(effects.claim(holder)).kind, Kind::first);
  EXPECT_EQ(value_of(effects.claim(holder, "mail:2")).kind, Kind::first);
}

TEST_P(StoreContract, AnEffectThatIsDoneIsToldWithItsResult) {  // invariant 18
  Effects effects(jobs());
  const JobId id = enqueue(doubling_job());
  const LeasedJob first = claim_one(id);
  ASSERT_TRUE(effects.claim(first));
  value_of(effects.done(first, R"({"message_id": 7})"));
  EXPECT_EQ(value_of(effects.claim(first)).kind, Kind::done);
  settle(failed(first));
  clock().advance(1h);
  const LeasedJob second = claim_one(id);
  const EffectClaim told = value_of(effects.claim(second));

  EXPECT_EQ(told.kind, Kind::done);
  EXPECT_EQ(told.result, R"({"message_id": 7})");
}

TEST_P(StoreContract, AnEffectWithoutAWordSinceIsUnknown) {  // invariant 18
  Effects effects(jobs());
  const JobId id = enqueue(doubling_job());
  const LeasedJob lost = claim_one(id, {.lease = 10s});
  ASSERT_TRUE(effects.claim(lost));
  clock().advance(10s);
  reap();
  const LeasedJob next = claim_one(id);

  EXPECT_EQ(value_of(effects.claim(next)).kind, Kind::unknown);
  EXPECT_FALSE(value_of(effects.claim(next)).is_under_way);
}

TEST_P(StoreContract, AnUnknownEffectStaysUnknownHoweverOftenItIsAskedFor) {  // invariant 18: the answer may be lost
  Effects effects(jobs());
  const JobId id = enqueue(doubling_job());
  const LeasedJob lost = claim_one(id, {.lease = 10s});
  ASSERT_TRUE(effects.claim(lost));
  clock().advance(10s);
  reap();
  const LeasedJob next = claim_one(id);
  EXPECT_EQ(value_of(effects.claim(next)).kind, Kind::unknown);

  EXPECT_EQ(value_of(effects.claim(next)).kind, Kind::unknown);
}

TEST_P(StoreContract, WhoTriesAnUnknownEffectAgainMaySayThatItIsDone) {  // invariant 18
  Effects effects(jobs());
  const JobId id = enqueue(doubling_job());
  ASSERT_TRUE(effects.claim(claim_one(id, {.lease = 10s})));
  clock().advance(10s);
  reap();
  const LeasedJob next = claim_one(id);
  ASSERT_TRUE(effects.claim(next));

  EXPECT_TRUE(effects.done(next, "1"));
  EXPECT_EQ(value_of(effects.claim(next)).kind, Kind::done);
}

TEST_P(StoreContract, AnEffectThatSurelyDidNotHappenIsFirstAgain) {  // invariant 18
  Effects effects(jobs());
  const JobId id = enqueue(doubling_job());
  const LeasedJob first = claim_one(id);
  ASSERT_TRUE(effects.claim(first));
  EXPECT_TRUE(effects.undone(first));
  settle(failed(first));
  clock().advance(1h);
  const LeasedJob second = claim_one(id, {.lease = 10s});
  EXPECT_EQ(value_of(effects.claim(second)).kind, Kind::first);

  // The same after having looked: the one that asks next may go ahead.
  clock().advance(10s);
  reap();
  clock().advance(1h);
  const LeasedJob third = claim_one(id);
  EXPECT_EQ(value_of(effects.claim(third)).kind, Kind::unknown);
  EXPECT_TRUE(effects.undone(third));
  EXPECT_EQ(value_of(effects.claim(third)).kind, Kind::first);
}

TEST_P(StoreContract, AnEffectThatIsDoneCannotBeUndone) {  // invariant 18
  Effects effects(jobs());
  const LeasedJob holder = claim_one(enqueue(job()));
  ASSERT_TRUE(effects.claim(holder));
  ASSERT_TRUE(effects.done(holder, "1"));

  EXPECT_EQ(error_of(effects.undone(holder)).code, ErrorCode::conflict);
  EXPECT_EQ(value_of(effects.claim(holder)).kind, Kind::done);
}

TEST_P(StoreContract, AnEffectNobodyAskedForCannotBeRecorded) {  // invariant 18
  Effects effects(jobs());
  const LeasedJob holder = claim_one(enqueue(job()));

  EXPECT_EQ(error_of(effects.done(holder, "1")).code, ErrorCode::not_found);
  EXPECT_EQ(error_of(effects.undone(holder)).code, ErrorCode::not_found);
  // What was undone is nobody's again.
  ASSERT_TRUE(effects.claim(holder));
  ASSERT_TRUE(effects.undone(holder));
  EXPECT_EQ(error_of(effects.undone(holder)).code, ErrorCode::not_found);
  EXPECT_EQ(error_of(effects.done(holder, "1")).code, ErrorCode::not_found);
}

TEST_P(StoreContract, OnlyTheHolderOfTheClaimFinishesOrUndoesIt) {  // invariant 18
  Effects effects(jobs());
  const LeasedJob ada = claim_one(enqueue(job()));
  const LeasedJob bob = claim_one(enqueue(job()));
  ASSERT_TRUE(effects.claim(ada));
  EXPECT_EQ(error_of(effects.done(bob, "1")).code, ErrorCode::conflict);
  EXPECT_EQ(error_of(effects.undone(bob)).code, ErrorCode::conflict);
  // Asking does not make it his, as long as she is at it.
  EXPECT_TRUE(value_of(effects.claim(bob)).is_under_way);
  EXPECT_EQ(error_of(effects.undone(bob)).code, ErrorCode::conflict);
  EXPECT_EQ(error_of(effects.done(bob, "2")).code, ErrorCode::conflict);
  ASSERT_TRUE(effects.done(ada, "1"));
  // What is done stays as it was told; saying so again is saying it once.
  EXPECT_TRUE(effects.done(ada, " 1 "));
  EXPECT_EQ(error_of(effects.done(ada, "2")).code, ErrorCode::conflict);
  EXPECT_EQ(error_of(effects.done(bob, "2")).code, ErrorCode::conflict);
  EXPECT_EQ(value_of(effects.claim(bob)).result, "1");
}

TEST_P(StoreContract, ALaterAttemptHasTheClaimOnceItHasAskedForIt) {  // invariant 18
  Effects effects(jobs());
  const JobId id = enqueue(doubling_job());
  ASSERT_TRUE(effects.claim(claim_one(id, {.lease = 10s})));
  clock().advance(10s);
  reap();
  const LeasedJob next = claim_one(id, {.lease = 10s});
  EXPECT_EQ(error_of(effects.done(next, "1")).code, ErrorCode::conflict);
  EXPECT_EQ(error_of(effects.undone(next)).code, ErrorCode::conflict);
  EXPECT_EQ(value_of(effects.claim(next)).kind, Kind::unknown);
  // From now on another finds this one at it.
  const LeasedJob other = claim_one(enqueue(job()));
  EXPECT_TRUE(value_of(effects.claim(other)).is_under_way);
  clock().advance(10s);
  reap();
  EXPECT_FALSE(value_of(effects.claim(other)).is_under_way);
  EXPECT_EQ(value_of(effects.claim(other)).kind, Kind::unknown);
  EXPECT_TRUE(effects.done(other, "1"));
}

// As a handler's attempt ends that found the effect in doubt, of a job that says hold.
Settlement held_for_effect(const LeasedJob& leased) {
  Settlement held = failed(leased);
  held.hold = true;
  return held;
}

TEST_P(StoreContract, AnOperatorsRetryLiftsTheHoldAndOnlyThatOne) {  // invariant 18
  Effects effects(jobs());
  const auto hold = [&](JobId held) {
    const LeasedJob leased = claim_one(held);
    EXPECT_EQ(value_of(effects.claim(leased)).kind, Kind::unknown);
    settle(held_for_effect(leased));
    EXPECT_EQ(state(held), JobState::dlq);
  };
  const JobId id = enqueue(doubling_job());
  ASSERT_TRUE(effects.claim(claim_one(id, {.lease = 10s})));
  clock().advance(10s);
  reap();
  clock().advance(1h);
  hold(id);
  act(JobAction::retry, id);
  const LeasedJob lifted = claim_one(id, {.lease = 10s});
  const EffectClaim claim = value_of(effects.claim(lifted));
  EXPECT_EQ(claim.kind, Kind::first);
  EXPECT_TRUE(claim.is_lifted);
  EXPECT_EQ(value_of(effects.claim(lifted)).kind, Kind::first) << "asked again: the answer was lost";
  clock().advance(10s);
  reap();
  clock().advance(1h);

  // It vanished once more: that is a new doubt, which nobody has decided about.
  hold(id);
  act(JobAction::retry, id);
  const LeasedJob again = claim_one(id);
  EXPECT_EQ(value_of(effects.claim(again)).kind, Kind::first);
  EXPECT_TRUE(effects.done(again, "1"));
}

TEST_P(StoreContract, ARetryOfWhatWasParkedForAnotherReasonLiftsNothing) {  // invariant 18
  Effects effects(jobs());
  const JobId id = enqueue(doubling_job());
  const LeasedJob first = claim_one(id);
  ASSERT_TRUE(effects.claim(first));
  settle(failed_for_good(first));
  act(JobAction::retry, id);

  EXPECT_EQ(value_of(effects.claim(claim_one(id))).kind, Kind::unknown);
}

TEST_P(StoreContract, ARetryLiftsTheHoldAlsoIfAnotherJobHasAskedSince) {  // invariant 18
  Effects effects(jobs());
  const auto hold = [&](JobId held) {
    const LeasedJob leased = claim_one(held);
    EXPECT_EQ(value_of(effects.claim(leased)).kind, Kind::unknown);
    settle(held_for_effect(leased));
  };
  const JobId ada = enqueue(doubling_job());
  ASSERT_TRUE(effects.claim(claim_one(ada, {.lease = 10s})));
  clock().advance(10s);
  reap();
  clock().advance(1h);
  hold(ada);
  const JobId bob = enqueue(doubling_job());
  hold(bob);  // he has the claim now
  act(JobAction::retry, ada);
  const LeasedJob lifted = claim_one(ada);
  EXPECT_EQ(value_of(effects.claim(lifted)).kind, Kind::first);
  ASSERT_TRUE(effects.done(lifted, "1"));
  act(JobAction::retry, bob);

  EXPECT_EQ(value_of(effects.claim(claim_one(bob))).kind, Kind::done);
}

TEST_P(StoreContract, TwoJobsShareAnEffect) {  // invariant 18
  Effects effects(jobs());
  const LeasedJob ada = claim_one(enqueue(job()));
  const LeasedJob bob = claim_one(enqueue(job()));
  ASSERT_TRUE(effects.claim(ada));
  EXPECT_EQ(value_of(effects.claim(bob)).kind, Kind::unknown);
  EXPECT_TRUE(value_of(effects.claim(bob)).is_under_way);

  // That another asked takes nothing from the one who is at it.
  EXPECT_TRUE(effects.done(ada, "1"));
  EXPECT_EQ(value_of(effects.claim(bob)).kind, Kind::done);
}

TEST_P(StoreContract, OnlyTheHolderOfTheLeaseGuardsAnEffect) {  // invariants 10, 18
  Effects effects(jobs());
  const JobId id = enqueue(doubling_job());
  const LeasedJob stale = claim_one(id, {.lease = 10s});
  ASSERT_TRUE(effects.claim(stale));
  clock().advance(10s);
  reap();

  EXPECT_EQ(error_of(effects.claim(stale)).code, ErrorCode::stale_token);
  EXPECT_EQ(error_of(effects.done(stale, "1")).code, ErrorCode::stale_token);
  EXPECT_EQ(error_of(effects.undone(stale)).code, ErrorCode::stale_token);
  EXPECT_EQ(value_of(effects.claim(claim_one(id))).kind, Kind::unknown);
}

TEST_P(StoreContract, AnEffectBelongsToItsTenant) {  // invariants 18, 28
  NewJob foreign_job = job();
  foreign_job.tenant = "acme";
  const LeasedJob ours = claim_one(enqueue(job()));
  const LeasedJob foreign = claim_one(enqueue(foreign_job));
  Effects effects(jobs());
  Effects foreign_effects(jobs(), "acme");
  ASSERT_TRUE(effects.claim(ours));

  EXPECT_EQ(value_of(foreign_effects.claim(foreign)).kind, Kind::first);
}

TEST_P(StoreContract, TheLeaseOfAForeignJobIsLikeThatOfAnAbsentOne) {  // invariant 28
  Effects foreign_effects(jobs(), "acme");
  const LeasedJob ours = claim_one(enqueue(job()));
  LeasedJob absent = ours;
  absent.id = jobs().new_job_id();

  EXPECT_EQ(error_of(foreign_effects.claim(ours)).code, error_of(foreign_effects.claim(absent)).code);
  EXPECT_EQ(error_of(foreign_effects.done(ours, "1")).code, error_of(foreign_effects.done(absent, "1")).code);
  EXPECT_EQ(error_of(foreign_effects.undone(ours)).code, error_of(foreign_effects.undone(absent)).code);
}

TEST_P(StoreContract, TheKeyOfAnEffectHasItsBounds) {
  Effects effects(jobs());
  const LeasedJob holder = claim_one(enqueue(job()));

  EXPECT_EQ(error_of(effects.claim(holder, "")).code, ErrorCode::invalid_request);
  EXPECT_EQ(error_of(effects.claim(holder, std::string(513, 'k'))).code, ErrorCode::invalid_request);
  EXPECT_TRUE(effects.claim(holder, std::string(512, 'k')));
}

TEST_P(StoreContract, AnEffectIsRememberedForThirtyDays) {  // invariant 18; kept 30 days
  Effects effects(jobs());
  const LeasedJob first = claim_one(enqueue(job()));
  ASSERT_TRUE(effects.claim(first));
  ASSERT_TRUE(effects.done(first, "1"));
  settle(completed(first));
  clock().advance(std::chrono::days(29));
  EXPECT_EQ(prune(1h), 1U);
  EXPECT_EQ(value_of(effects.claim(claim_one(enqueue(job())))).kind, Kind::done);
  clock().advance(std::chrono::days(2));
  prune(1h);

  EXPECT_EQ(value_of(effects.claim(claim_one(enqueue(job())))).kind, Kind::first);
}

}  // namespace
}  // namespace carillon::test
