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

  EXPECT_EQ(error_of(effects.done(holder, "1")).code, ErrorCode::conflict);
  EXPECT_EQ(error_of(effects.undone(holder)).code, ErrorCode::conflict);
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

TEST_P(StoreContract, AnEffectIsRememberedForThirtyDays) {  // invariant 18; interfaces.md: kept 30 days
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
