// Of plans, what is old goes, and what still guards something stays.
#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using std::chrono::days;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// One round over all plans, in steps of `limit`. Answers how many rows were erased.
std::uint64_t prune_plans(Store& store, const RetentionRule& keep, std::size_t limit = 1000) {
  std::uint64_t erased = 0;
  PlanPruneRequest request{.position = {}, .limit = limit, .keep = keep};
  for (int i = 0; i < 10'000; ++i) {
    const PlanPruneStep step = value_of(store.plans().prune(request));
    erased += step.erased;
    if (step.end) return erased;
    request.position = step.position;
  }
  ADD_FAILURE() << "the round does not end";
  return erased;
}

Advance missed(const SubjectRow& row, Instant slot) {
  Advance step;
  step.schedule = row.schedule;
  step.subject = row.subject;
  step.version = row.version;
  step.position = slot;
  step.closed = {{.first = slot, .outcome = JobState::missed, .reason = "misfire"}};
  return step;
}

TEST_P(StoreContract, AnOutcomeWithoutAJobIsErasedAfterItsTime) {
  const ScheduleId id = schedule();
  advance(missed(put_subject(id, {.subject = "a"}), now()));
  const Instant old_slot = now();
  clock().advance(days(4));
  advance(missed(subject_of(id, "a"), now()));
  const Instant newer = now();
  clock().advance(days(4));
  EXPECT_EQ(prune_plans(store(), {.otherwise = days(7)}), 1U);

  const auto left = outcomes_of(id, "a");
  ASSERT_THAT(left, SizeIs(1));
  EXPECT_EQ(left[0].slot, newer);
  EXPECT_EQ(error_of(try_enqueue(occurrence_job(old_slot, "a"))).code, ErrorCode::conflict);  // invariant 1
  EXPECT_EQ(prune_plans(store(), {.otherwise = days(7)}), 0U);
}

TEST_P(StoreContract, AnOutcomeWithAJobGoesWithItsJobAndNotBefore) {  // invariant 1
  const ScheduleId id = schedule();
  put_subject(id, {.subject = "a"});
  done_job(occurrence_job(now(), "a"));
  clock().advance(days(8));

  EXPECT_EQ(prune_plans(store(), {.otherwise = days(7)}), 0U);
  EXPECT_THAT(outcomes_of(id, "a"), SizeIs(1));
}

TEST_P(StoreContract, AMissedWindowStaysUntilTheCursorHasPassedIt) {  // invariant 20
  const ScheduleId id = schedule();
  const Instant first = now();
  SubjectRow row = put_subject(id, {.subject = "a", .cursor = first});
  Advance step = missed(row, first + 1h);
  step.closed.front().until = first + 2h;
  advance(step);
  clock().advance(days(8));
  EXPECT_EQ(prune_plans(store(), {.otherwise = days(7)}), 0U);
  EXPECT_EQ(subject_of(id, "a").cursor, first);

  row = subject_of(id, "a");
  Advance before = missed(row, first);
  before.closed.front().until = first + 1h;
  advance(before);
  EXPECT_EQ(subject_of(id, "a").cursor, first + 2h);
  EXPECT_EQ(prune_plans(store(), {.otherwise = days(7)}), 1U);  // the younger one is kept
  EXPECT_THAT(outcomes_of(id, "a"), SizeIs(1));
}

TEST_P(StoreContract, WhatADeletedSubjectLeftBehindGoesAfterItsTime) {  // invariant 1
  const ScheduleId id = schedule();
  advance(missed(put_subject(id, {.subject = "a"}), now()));
  put_subject(id, {.subject = "b"});
  const Instant slot = now();
  ASSERT_TRUE(plans().delete_subject(id, "a"));
  clock().advance(days(6));
  EXPECT_EQ(prune_plans(store(), {.otherwise = days(7)}), 0U);
  EXPECT_EQ(put_subject(id, {.subject = "a"}).position, slot);
  ASSERT_TRUE(plans().delete_subject(id, "a"));
  clock().advance(days(7));

  EXPECT_EQ(prune_plans(store(), {.otherwise = days(7)}), 2U);  // the outcome and the subject
  EXPECT_FALSE(put_subject(id, {.subject = "a"}).position);
  EXPECT_TRUE(reader().subject(id, "b"));
}

TEST_P(StoreContract, ADeletedScheduleGoesWithAllThatItLeftBehind) {
  const ScheduleId id = schedule();
  for (const char* name : {"a", "b", "c"}) advance(missed(put_subject(id, {.subject = name}), now()));
  ASSERT_TRUE(plans().delete_schedule(kTenant, "standup"));
  clock().advance(days(8));
  prune_plans(store(), {.otherwise = days(7)}, 2);
  const ScheduleId next = schedule();

  EXPECT_NE(next, id);
  EXPECT_FALSE(put_subject(next, {.subject = "a"}).position);
  EXPECT_THAT(outcomes_of(id, "a"), IsEmpty());
  const std::int64_t day = std::chrono::floor<days>(now() - days(8)).time_since_epoch().count();
  EXPECT_THAT(value_of(reader().outcome_counts(id, day)), IsEmpty());
}

TEST_P(StoreContract, ADeletedScheduleStaysAsLongAsAJobNamesIt) {
  schedule();
  const LeasedJob open = claim_one(enqueue(occurrence_job(now(), "a")));
  ASSERT_TRUE(plans().delete_schedule(kTenant, "standup"));
  clock().advance(days(80));
  EXPECT_EQ(prune_plans(store(), {.otherwise = days(7)}), 0U);

  EXPECT_EQ(view(open.id).schedule, "standup");
  settle(completed(open));
  clock().advance(days(8));
  prune(days(7));
  EXPECT_EQ(prune_plans(store(), {.otherwise = days(7)}), 1U);
}

TEST_P(StoreContract, SubjectsOfAnEarlierLifeOfTheirScheduleGoToo) {
  ScheduleId id = schedule();
  advance(missed(put_subject(id, {.subject = "a"}), now()));
  ASSERT_TRUE(plans().delete_schedule(kTenant, "standup"));
  ASSERT_EQ(schedule(), id);
  EXPECT_EQ(prune_plans(store(), {.otherwise = days(7)}), 0U);
  clock().advance(days(8));
  EXPECT_EQ(prune_plans(store(), {.otherwise = days(7)}), 2U);

  EXPECT_FALSE(put_subject(id, {.subject = "a"}).position);
  EXPECT_EQ(schedule(), id);
}

TEST_P(StoreContract, EachTenantKeepsItsPlansForItsOwnTime) {
  const ScheduleId ours = schedule();
  const ScheduleId theirs = schedule("standup", "acme");
  advance(missed(put_subject(ours, {.subject = "a"}), now()));
  advance(missed(put_subject(theirs, {.subject = "a"}), now()));
  clock().advance(days(2));
  EXPECT_EQ(prune_plans(store(), {.otherwise = days(7), .by_tenant = {{"acme", days(1)}}}), 1U);

  EXPECT_THAT(outcomes_of(ours, "a"), SizeIs(1));
  EXPECT_THAT(outcomes_of(theirs, "a"), IsEmpty());
}

TEST_P(StoreContract, CountsOfOutcomesAreKeptFor400Days) {
  const ScheduleId id = schedule();
  advance(missed(put_subject(id, {.subject = "a"}), now()));
  const std::int64_t day = std::chrono::floor<days>(now()).time_since_epoch().count();
  clock().advance(days(400));
  prune_plans(store(), {.otherwise = days(7)});
  EXPECT_THAT(value_of(reader().outcome_counts(id, day)), SizeIs(1));
  clock().advance(days(1));
  prune_plans(store(), {.otherwise = days(7)});

  EXPECT_THAT(value_of(reader().outcome_counts(id, day)), IsEmpty());
}

TEST_P(StoreContract, ARoundOverPlansLooksAtNoMoreThanItsLimitAtATime) {
  const ScheduleId id = schedule();
  for (int i = 0; i < 10; ++i) advance(missed(put_subject(id, {.subject = std::to_string(i)}), now()));
  clock().advance(days(8));
  const PlanPruneStep first = value_of(plans().prune({.position = {}, .limit = 3, .keep = {.otherwise = days(7)}}));

  EXPECT_EQ(first.erased, 3U);
  EXPECT_FALSE(first.end);
  EXPECT_EQ(prune_plans(store(), {.otherwise = days(7)}, 3), 7U);
  EXPECT_THAT(value_of(reader().subjects({.schedule = id}, {}, 100)).subjects, SizeIs(10));
}

}  // namespace
}  // namespace carillon::test
