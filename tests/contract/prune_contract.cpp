// What is old goes, and what still guards something stays.
#include <array>

#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST_P(StoreContract, WhatEndedLongerAgoThanItIsKeptIsErased) {
  const JobId old_one = done_job(job());
  clock().advance(24h);
  const JobId newer = done_job(job());
  clock().advance(24h);
  EXPECT_EQ(prune(24h + 1s), 1U);

  EXPECT_FALSE(exists(old_one));
  EXPECT_TRUE(exists(newer));
  EXPECT_EQ(count_of(JobState::done), 1);
  expect_counts_agree();
  EXPECT_EQ(prune(24h + 1s), 0U);
}

TEST_P(StoreContract, OnlyWhatIsFinalIsErased) {  // invariants 4, 5
  const JobId queued = enqueue(job());
  NewJob child = job();
  child.depends_on = {queued};
  const JobId waiting = enqueue(child);
  const JobId parked = parked_job(job());
  const JobId running = enqueue(job());
  claim_one(running, {.lease = 24h});
  clock().advance(std::chrono::days(1000));
  EXPECT_EQ(prune(1s), 0U);

  for (const JobId id : {queued, waiting, parked, running}) EXPECT_TRUE(exists(id));
  expect_counts_agree();
}

TEST_P(StoreContract, AnErasedJobIsGoneWithItsAttempts) {
  const JobId id = enqueue(doubling_job());
  settle(failed(claim_one(id)));
  clock().advance(1h);
  const LeasedJob last = claim_one(id);
  settle(completed(last));
  clock().advance(24h);
  prune(1h);

  EXPECT_FALSE(exists(id));
  EXPECT_EQ(refusal_of(completed(last)).code, ErrorCode::not_found);
  EXPECT_EQ(error_of(try_act(JobAction::cancel, id)).code, ErrorCode::not_found);
  NewJob child = job();
  child.depends_on = {id};
  EXPECT_EQ(error_of(try_enqueue(child)).code, ErrorCode::dependency_not_met);
}

TEST_P(StoreContract, EachTenantKeepsForItsOwnTime) {
  NewJob foreign = job();
  foreign.tenant = "acme";
  const JobId ours = done_job(job());
  const JobId theirs = done_job(foreign);
  clock().advance(std::chrono::days(2));
  JobStore::PruneRequest request;
  request.keep = {.otherwise = std::chrono::days(7), .by_tenant = {{"acme", std::chrono::days(1)}}};
  EXPECT_EQ(value_of(jobs().prune(request)).erased, 1U);

  EXPECT_TRUE(exists(ours));
  EXPECT_FALSE(exists(theirs, "acme"));
  EXPECT_THAT(kept_counts("acme"), IsEmpty());
}

TEST_P(StoreContract, PruningLooksAtNoneFromABoundOn) {
  const JobId old_one = done_job(job());
  clock().advance(24h);
  const JobId newer = done_job(job());
  clock().advance(24h);
  JobStore::PruneRequest request;
  request.keep = {.otherwise = 1h, .by_tenant = {{"acme", 30min}}};
  EXPECT_EQ(request.keep.shortest(), 30min);
  request.before = old_one;
  const JobStore::PruneStep none = value_of(jobs().prune(request));
  EXPECT_EQ(none.erased, 0U);
  EXPECT_TRUE(none.end);
  request.before = newer;
  const JobStore::PruneStep one = value_of(jobs().prune(request));
  EXPECT_EQ(one.erased, 1U);
  EXPECT_TRUE(one.end);

  EXPECT_FALSE(exists(old_one));
  EXPECT_TRUE(exists(newer));
}

TEST_P(StoreContract, PruningGoesInBoundedSteps) {
  for (int i = 0; i < 20; ++i) done_job(job());
  clock().advance(24h);
  JobStore::PruneRequest request;
  request.keep.otherwise = 1h;
  request.limit = 6;
  const auto first = value_of(jobs().prune(request));
  EXPECT_EQ(first.erased, 6U);
  EXPECT_FALSE(first.end);
  EXPECT_THAT(all_ids(), SizeIs(14));

  EXPECT_EQ(prune(1h, 6), 14U);
  EXPECT_THAT(all_ids(), IsEmpty());
  EXPECT_THAT(kept_counts(), IsEmpty());
}

TEST_P(StoreContract, PruningStepsOverWhatStays) {
  const JobId kept = done_job(job());
  clock().advance(1s);
  std::vector<JobId> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(enqueue(job()));
  clock().advance(24h);
  for (const JobId id : ids) settle(completed(claim_one(id)));
  clock().advance(30min);

  EXPECT_EQ(prune(1h, 1), 1U);
  EXPECT_FALSE(exists(kept));
  EXPECT_THAT(all_ids(), SizeIs(5));
}

TEST_P(StoreContract, AnErasedJobFreesItsKey) {  // invariant 17
  NewJob keyed = job();
  keyed.options.idempotency_key = "evt-1";
  const JobId first = done_job(keyed);
  clock().advance(24h);
  prune(1h);
  keyed.payload = "2";

  const Enqueued second = enqueued(keyed);
  EXPECT_FALSE(second.deduplicated);
  EXPECT_NE(second.id, first);
}

TEST_P(StoreContract, AKeyHeldForATimeIsHeldForThatTimeWhateverIsPruned) {  // invariant 17
  NewJob keyed = job();
  keyed.options.idempotency_key = "evt-1";
  keyed.options.unique_until = {.until = KeyHold::Until::elapsed, .duration = std::chrono::days(30)};
  const JobId first = done_job(keyed);
  clock().advance(std::chrono::days(8));
  prune(std::chrono::days(7));
  const Enqueued second = enqueued(keyed);
  EXPECT_TRUE(second.deduplicated);
  EXPECT_EQ(second.id, first);
  EXPECT_THAT(live_ids(now()), IsEmpty());
  keyed.payload = "2";
  EXPECT_EQ(error_of(try_enqueue(keyed)).code, ErrorCode::idempotency_conflict);

  clock().advance(std::chrono::days(22));
  prune(std::chrono::days(7));
  EXPECT_FALSE(enqueued(keyed).deduplicated);
}

TEST_P(StoreContract, AnOccurrenceStaysUniqueAfterItsRowIsPruned) {  // invariant 1
  const ScheduleId id = schedule();
  const SubjectRow row = put_subject(id, {.subject = "a"});
  const Instant slot = now();
  Advance step;
  step.schedule = id;
  step.subject = "a";
  step.version = row.version;
  step.position = slot;
  step.jobs = {occurrence_job(slot, "a")};
  settle(completed(claim_one(advance(step).jobs.at(0).id)));
  clock().advance(std::chrono::days(8));
  EXPECT_EQ(prune(std::chrono::days(7)), 1U);
  EXPECT_THAT(outcomes_of(id, "a"), IsEmpty());

  EXPECT_EQ(error_of(try_enqueue(occurrence_job(slot, "a"))).code, ErrorCode::conflict);
  step.version = subject_of(id, "a").version;
  EXPECT_FALSE(try_advance(step));
  EXPECT_THAT(all_ids(), IsEmpty());
}

TEST_P(StoreContract, AnOccurrenceThatWasEnqueuedByItselfStaysUniqueToo) {  // invariant 1
  const ScheduleId id = schedule();
  put_subject(id, {.subject = "a"});
  const Instant slot = now();
  done_job(occurrence_job(slot, "a"));
  clock().advance(std::chrono::days(8));
  prune(std::chrono::days(7));

  const auto again = try_enqueue(occurrence_job(slot, "a"));
  EXPECT_TRUE(!again || again->deduplicated);
  EXPECT_THAT(live_ids(now()), IsEmpty());
}

TEST_P(StoreContract,
       WhatBecameOfADayIsStillCountedAfterPruning) {  // invariant 34; counts are kept longer
  const ScheduleId id = schedule();
  put_subject(id, {.subject = "a"});
  const Instant slot = now();
  done_job(occurrence_job(slot, "a"));
  clock().advance(std::chrono::days(8));
  prune(std::chrono::days(7));
  const std::int64_t day = std::chrono::floor<std::chrono::days>(slot).time_since_epoch().count();

  const auto counts = value_of(reader().outcome_counts(id, day));
  ASSERT_THAT(counts, SizeIs(1));
  EXPECT_EQ(counts[0].count, 1);
}

TEST_P(StoreContract, AJobThatOthersWaitForIsNotPruned) {  // invariant 31
  const JobId parent = parked_job(job());
  NewJob waits = job();
  waits.depends_on = {parent};
  const JobId child = enqueue(waits);
  clock().advance(std::chrono::days(400));
  prune(1s);
  act(JobAction::retry, parent);
  settle(completed(claim_one(parent)));

  EXPECT_EQ(state(child), JobState::queued);
}

TEST_P(StoreContract, AParentThatIsDoneIsNotWaitedForWhenItIsPruned) {  // invariant 31
  const JobId done = enqueue(job());
  const JobId open = enqueue(job());
  NewJob waits = job();
  waits.depends_on = {done, open};
  const JobId child = enqueue(waits);
  settle(completed(claim_one(done)));
  clock().advance(24h);
  prune(1h);
  EXPECT_EQ(state(child), JobState::waiting);

  EXPECT_THAT(ids_of(settle(completed(claim_one(open))).ready), ElementsAre(child));
}

AuditWord trail(std::string action) {
  return {.tenant = std::string(kTenant), .actor = "ada", .action = std::move(action), .target = {}};
}

// However short jobs are kept: the trail is for those who look into what happened last year.
TEST_P(StoreContract, TheTrailIsKeptForFourHundredDaysAndNoLonger) {
  ASSERT_TRUE(admin().append_audit(trail("old"), new_fields(JsonObject().integer("rate", 1))));
  clock().advance(std::chrono::days(200));
  ASSERT_TRUE(admin().append_audit(trail("newer"), new_fields(JsonObject().integer("rate", 1))));
  clock().advance(std::chrono::days(200));
  prune(1s);
  EXPECT_THAT(value_of(reader().audit(kTenant, 0, 10)), SizeIs(2)) << "it is as old as it may be";

  clock().advance(1s);
  prune(1s);
  const auto left = value_of(reader().audit(kTenant, 0, 10));
  ASSERT_THAT(left, SizeIs(1));
  EXPECT_EQ(left[0].action, "newer");
  // What comes next has its own place behind it.
  ASSERT_TRUE(admin().append_audit(trail("newest"), new_fields(JsonObject().integer("rate", 1))));
  EXPECT_EQ(value_of(reader().audit(kTenant, 0, 10))[0].action, "newest");
}

}  // namespace
}  // namespace carillon::test
