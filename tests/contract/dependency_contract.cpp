// Jobs that wait for others.
#include <array>

#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

NewJob after(std::vector<JobId> parents) {
  NewJob child = job("child");
  child.depends_on = std::move(parents);
  return child;
}

NewJob anyway_after(std::vector<JobId> parents) {
  NewJob child = after(std::move(parents));
  child.options.run_anyway = true;
  return child;
}

TEST_P(StoreContract, ADependentWaitsUntilAllItsParentsAreDone) {  // invariant 31
  const JobId first = enqueue(job());
  const JobId second = enqueue(job());
  const Enqueued child = enqueued(after({first, second}));
  EXPECT_EQ(child.state, JobState::waiting);
  EXPECT_THAT(view(child.id).waits_for, UnorderedElementsAre(first, second));
  EXPECT_THAT(live_ids(now()), ElementsAre(first, second));
  EXPECT_THAT(settle(completed(claim_one(first))).ready, IsEmpty());
  EXPECT_EQ(state(child.id), JobState::waiting);
  EXPECT_THAT(view(child.id).waits_for, ElementsAre(second));
  clock().advance(5s);
  const Settled last = settle(completed(claim_one(second)));

  EXPECT_THAT(ids_of(last.ready), ElementsAre(child.id));
  EXPECT_EQ(last.ready[0].run_at, now());
  EXPECT_EQ(state(child.id), JobState::queued);
  EXPECT_THAT(view(child.id).waits_for, IsEmpty());
  EXPECT_THAT(value_of(view(child.id).row.detail.read()).depends_on, ElementsAre(first, second));
  settle(completed(claim_one(child.id)));
  EXPECT_THAT(value_of(view(child.id).row.detail.read()).depends_on, ElementsAre(first, second));
  expect_counts_agree();
}

TEST_P(StoreContract, ADependentFiresOncePerSuccessOfItsParent) {  // invariant 31
  const JobId parent = enqueue(job());
  const JobId child = enqueue(after({parent}));
  const Settlement said = completed(claim_one(parent));
  settle(said);
  settle(completed(claim_one(child)));
  settle(said);

  EXPECT_EQ(state(child), JobState::done);
  EXPECT_THAT(all_ids(), SizeIs(2));
}

TEST_P(StoreContract, ADependentSaysThatItsParentsCausedIt) {
  const auto options_of = [&](JobId id) { return value_of(view(id).row.options.read()); };
  const JobId first = enqueue(job());
  const JobId second = enqueue(job());
  const JobOptions child = options_of(enqueue(after({second, first})));
  EXPECT_EQ(child.origin, Origin::dependent);
  EXPECT_EQ(child.parent, second) << "the first that is named";
  NewJob planned = after({first});
  planned.options.origin = Origin::scheduled;

  EXPECT_EQ(options_of(enqueue(planned)).origin, Origin::scheduled) << "what is said otherwise stays";
}

TEST_P(StoreContract, ADependentOfAJobThatHasEndedOtherwiseNamesIt) {
  const JobId parent = enqueue(job());
  act(JobAction::cancel, parent);
  const Enqueued child = enqueued(after({done_job(job()), parent}));

  EXPECT_EQ(child.state, JobState::cancelled);
  EXPECT_EQ(child.reason, "dependency_not_met");
  EXPECT_EQ(child.error, "job " + format_job_id(parent) + ", which it depends on, ended as cancelled");
}

TEST_P(StoreContract, AFailedAttemptOfAParentFiresNothing) {  // invariant 31
  const JobId parent = enqueue(doubling_job());
  const JobId child = enqueue(after({parent}));
  EXPECT_THAT(ids_of(settle(failed(claim_one(parent))).ready), ElementsAre(parent));

  EXPECT_EQ(state(child), JobState::waiting);
}

TEST_P(StoreContract, ADependentKeepsItsOwnTime) {
  const JobId parent = enqueue(job());
  NewJob later = after({parent});
  later.run_at = now() + 1h;
  const JobId child = enqueue(later);
  const Settled answer = settle(completed(claim_one(parent)));

  EXPECT_EQ(answer.ready.at(0).run_at, now() + 1h);
  EXPECT_FALSE(try_claim(child));
  EXPECT_THAT(ids_of(value_of(jobs().load_later(now(), now() + 1h, 10))), ElementsAre(child));
}

TEST_P(StoreContract, AParentInTheDlqKeepsItsDependentsWaiting) {  // invariant 31
  const JobId parent = enqueue(job());
  const JobId child = enqueue(after({parent}));
  settle(failed_for_good(claim_one(parent)));
  EXPECT_EQ(state(child), JobState::waiting);
  act(JobAction::retry, parent);
  settle(completed(claim_one(parent)));

  EXPECT_EQ(state(child), JobState::queued);
}

TEST_P(StoreContract, AParentThatEndsOtherwiseCancelsItsDependents) {  // invariant 31
  const auto waiting_for = [&](JobId parent) { return enqueue(after({parent})); };
  const JobId cancelled = enqueue(job());
  const JobId after_cancelled = waiting_for(cancelled);
  act(JobAction::cancel, cancelled);
  const JobId discarded = parked_job(job());
  const JobId after_discarded = waiting_for(discarded);
  act(JobAction::discard, discarded);
  const JobId nothing_to_do = enqueue(job());
  const JobId after_skipped = waiting_for(nothing_to_do);
  settle(skipped(claim_one(nothing_to_do)));
  NewJob limited = job();
  limited.deadline = now() + 1s;
  const JobId cut_off = enqueue(limited);
  const JobId after_cutoff = waiting_for(cut_off);
  clock().advance(1s);
  finish_overdue();

  const auto expect_named = [&](JobId id, JobId parent, std::string_view end) {
    EXPECT_EQ(state(id), JobState::cancelled);
    EXPECT_EQ(detail(id).reason, "dependency_not_met");
    ASSERT_TRUE(detail(id).last_error);
    EXPECT_EQ(detail(id).last_error->code, "dependency_not_met");
    EXPECT_EQ(detail(id).last_error->message,
              "job " + format_job_id(parent) + ", which it depends on, ended as " + std::string(end));
  };
  expect_named(after_cancelled, cancelled, "cancelled");
  expect_named(after_discarded, discarded, "cancelled");
  expect_named(after_skipped, nothing_to_do, "skipped");
  expect_named(after_cutoff, cut_off, "cutoff_reached");
  expect_counts_agree();
}

TEST_P(StoreContract, OneParentThatEndsOtherwiseIsEnough) {  // invariant 31
  const JobId good = enqueue(job());
  const JobId bad = enqueue(job());
  const JobId child = enqueue(after({good, bad}));
  act(JobAction::cancel, bad);
  EXPECT_EQ(state(child), JobState::cancelled);

  EXPECT_THAT(settle(completed(claim_one(good))).ready, IsEmpty());
  EXPECT_EQ(state(child), JobState::cancelled);
}

TEST_P(StoreContract, ADependentThatRunsAnywayWaitsForTheEndOfAll) {  // invariant 31
  const JobId good = enqueue(job());
  const JobId bad = enqueue(job());
  const JobId child = enqueue(anyway_after({good, bad}));
  EXPECT_THAT(act(JobAction::cancel, bad).ready, IsEmpty());
  EXPECT_EQ(state(child), JobState::waiting);

  EXPECT_THAT(ids_of(settle(completed(claim_one(good))).ready), ElementsAre(child));
  EXPECT_EQ(state(child), JobState::queued);
}

TEST_P(StoreContract, WhatACancellationReleasesIsReady) {  // invariant 31
  const JobId parent = enqueue(job());
  const JobId child = enqueue(anyway_after({parent}));

  EXPECT_THAT(ids_of(act(JobAction::cancel, parent).ready), ElementsAre(child));
}

TEST_P(StoreContract, ACancellationRunsDownTheWholeChain) {  // invariant 31
  std::vector<JobId> chain{enqueue(job())};
  for (int i = 0; i < 300; ++i) chain.push_back(enqueue(after({chain.back()})));
  const JobId survivor = enqueue(anyway_after({chain.back()}));
  const Changed changed = act(JobAction::cancel, chain.front());

  EXPECT_THAT(ids_of(changed.ready), ElementsAre(survivor));
  EXPECT_EQ(count_of(JobState::cancelled), 301);
  EXPECT_EQ(count_of(JobState::waiting), 0);
  expect_counts_agree();
}

TEST_P(StoreContract, ADiamondIsCancelledAndReleasedOnce) {  // invariant 31
  const JobId top = enqueue(job());
  const JobId left = enqueue(after({top}));
  const JobId right = enqueue(after({top}));
  const JobId bottom = enqueue(after({left, right}));
  const JobId anyway = enqueue(anyway_after({left, right, bottom}));
  const Changed changed = act(JobAction::cancel, top);

  EXPECT_THAT(ids_of(changed.ready), ElementsAre(anyway));
  EXPECT_EQ(state(bottom), JobState::cancelled);
  expect_counts_agree();
}

TEST_P(StoreContract, ADependentOfWhatHasEndedIsJudgedAtOnce) {  // invariant 31
  const JobId done = done_job(job());
  const JobId gone = enqueue(job());
  act(JobAction::cancel, gone);
  const JobId open = enqueue(job());

  EXPECT_EQ(enqueued(after({done})).state, JobState::queued);
  EXPECT_EQ(enqueued(after({done, open})).state, JobState::waiting);
  const Enqueued refused = enqueued(after({gone, open}));
  EXPECT_EQ(refused.state, JobState::cancelled);
  EXPECT_EQ(detail(refused.id).reason, "dependency_not_met");
  EXPECT_EQ(enqueued(anyway_after({gone})).state, JobState::queued);
  EXPECT_EQ(enqueued(anyway_after({gone, open})).state, JobState::waiting);
  expect_counts_agree();
}

TEST_P(StoreContract, AParentNamedTwiceIsWaitedForOnce) {
  const JobId parent = enqueue(job());
  const JobId child = enqueue(after({parent, parent}));
  settle(completed(claim_one(parent)));

  EXPECT_EQ(state(child), JobState::queued);
}

TEST_P(StoreContract, AnUnknownParentIsRefused) {  // invariants 28, 31
  NewJob foreign = job();
  foreign.tenant = "acme";
  const JobId foreign_id = enqueue(foreign);
  const Error absent = error_of(try_enqueue(after({jobs().new_job_id()})));
  const Error not_ours = error_of(try_enqueue(after({foreign_id})));

  EXPECT_EQ(absent.code, ErrorCode::dependency_not_met);
  EXPECT_EQ(not_ours.code, ErrorCode::dependency_not_met);
  EXPECT_THAT(all_ids(), IsEmpty());
}

TEST_P(StoreContract, ACycleCannotBeMade) {  // invariant 31
  NewJob own = job();
  own.id = jobs().new_job_id();
  own.depends_on = {own.id};
  EXPECT_EQ(error_of(try_enqueue(own)).code, ErrorCode::dependency_not_met);

  NewJob left = job();
  NewJob right = job();
  left.id = jobs().new_job_id();
  right.id = jobs().new_job_id();
  left.depends_on = {right.id};
  right.depends_on = {left.id};
  EXPECT_EQ(error_of(jobs().enqueue_all(std::array{left, right})).code, ErrorCode::dependency_not_met);
  EXPECT_THAT(all_ids(), IsEmpty());
  EXPECT_THAT(kept_counts(), IsEmpty());
}

TEST_P(StoreContract, AJobMayDependOnOneBeforeItInItsBatch) {  // invariant 31
  NewJob parent = job();
  parent.id = jobs().new_job_id();
  const auto made = value_of(jobs().enqueue_all(std::array{parent, after({parent.id})}));

  EXPECT_EQ(made[0].state, JobState::queued);
  EXPECT_EQ(made[1].state, JobState::waiting);
  EXPECT_THAT(ids_of(settle(completed(claim_one(parent.id))).ready), ElementsAre(made[1].id));
}

TEST_P(StoreContract, ACancelledDependentIsNotBroughtBack) {  // invariants 14, 31
  const JobId parent = enqueue(job());
  const JobId child = enqueue(after({parent}));
  act(JobAction::cancel, child);

  EXPECT_THAT(settle(completed(claim_one(parent))).ready, IsEmpty());
  EXPECT_EQ(state(child), JobState::cancelled);
}

}  // namespace
}  // namespace carillon::test
