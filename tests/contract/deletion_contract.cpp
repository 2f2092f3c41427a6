// What becomes of the jobs of a schedule that is deleted: unstarted ones are cancelled, running ones finish.
#include <array>

#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

std::vector<JobId> ids_of(const std::vector<Changed>& changes) {
  std::vector<JobId> ids;
  for (const Changed& changed : changes) ids.push_back(changed.id);
  return ids;
}

TEST_P(StoreContract, DeletingAScheduleCancelsWhatIsNotStarted) {  // invariant 3
  const ScheduleId id = schedule();
  const JobId due = enqueue(occurrence_job(now(), "a"));
  NewJob later = occurrence_job(now() + 24h, "a");
  later.run_at = now() + 24h;
  const JobId far_off = enqueue(later);
  const JobId failed_once = enqueue(occurrence_job(now(), "b"));
  settle(failed(claim_one(failed_once)));
  const JobId other = enqueue(job());
  const auto deleted = value_of(plans().delete_schedule(kTenant, "standup"));

  EXPECT_THAT(ids_of(deleted.cancelled), UnorderedElementsAre(due, far_off, failed_once));
  for (const Changed& changed : deleted.cancelled) {
    EXPECT_EQ(changed.state, JobState::cancelled);
    EXPECT_EQ(changed.tenant, kTenant);
    EXPECT_EQ(changed.type, "mail.send");
    EXPECT_EQ(state(changed.id), JobState::cancelled);
    EXPECT_EQ(detail(changed.id).reason, "schedule_deleted");
  }
  for (const OutcomeRow& outcome : outcomes_of(id, "a")) {
    EXPECT_EQ(outcome.outcome, JobState::cancelled);
    EXPECT_EQ(outcome.reason, "schedule_deleted");
  }
  EXPECT_EQ(state(other), JobState::queued);
  expect_counts_agree();
}

TEST_P(StoreContract, DeletingAScheduleLeavesRunningParkedAndFinishedJobs) {
  const ScheduleId id = schedule();
  const LeasedJob running = claim_one(enqueue(occurrence_job(now(), "a")));
  const JobId parked = parked_job(occurrence_job(now(), "b"));
  const JobId done = done_job(occurrence_job(now(), "c"));
  EXPECT_THAT(value_of(plans().delete_schedule(kTenant, "standup")).cancelled, IsEmpty());

  EXPECT_FALSE(extend({.job = running.id, .token = running.token}).cancel_requested);
  EXPECT_EQ(settle(completed(running)).state, JobState::done);
  EXPECT_EQ(state(parked), JobState::dlq);
  EXPECT_EQ(state(done), JobState::done);
  EXPECT_EQ(outcomes_of(id, "a").at(0).outcome, JobState::done);
}

TEST_P(StoreContract, AnOccurrenceThatWaitsIsCancelledAsUnstarted) {
  schedule();
  const JobId running = claim_one(enqueue(occurrence_job(now(), "a"))).id;
  NewJob next = occurrence_job(now() + 1h, "a");
  next.depends_on = {running};
  next.options.run_anyway = true;
  const JobId waiting = enqueue(next);

  EXPECT_THAT(ids_of(value_of(plans().delete_schedule(kTenant, "standup")).cancelled), ElementsAre(waiting));
  EXPECT_EQ(state(running), JobState::processing);
}

// Both are unstarted: the second is not released by the end of the first, nor cancelled for want of it.
TEST_P(StoreContract, OneUnstartedJobThatWaitsForAnotherIsCancelledInItsOwnRight) {
  schedule();
  for (const bool anyway : {false, true}) {
    const Instant slot = now() + (anyway ? 2h : 4h);
    const JobId first = enqueue(occurrence_job(slot, "a"));
    NewJob next = occurrence_job(slot + 1h, "a");
    next.depends_on = {first};
    next.options.run_anyway = anyway;
    const JobId second = enqueue(next);
    NewJob outside = job("report.make");
    outside.depends_on = {second};
    outside.options.run_anyway = true;
    const JobId released = enqueue(outside);
    const auto cancelled = value_of(plans().delete_schedule(kTenant, "standup")).cancelled;
    schedule();

    ASSERT_THAT(ids_of(cancelled), ElementsAre(second, first));
    EXPECT_EQ(detail(second).reason, "schedule_deleted");
    EXPECT_THAT(test::ids_of(cancelled[0].ready), ElementsAre(released));
    EXPECT_THAT(cancelled[1].ready, IsEmpty());
  }
  expect_counts_agree();
}

TEST_P(StoreContract, ADeletionThatIsRefusedCancelsNothing) {
  schedule();
  const JobId open = enqueue(occurrence_job(now(), "a"));
  EXPECT_EQ(error_of(plans().delete_schedule("acme", "standup")).code, ErrorCode::not_found);

  EXPECT_EQ(state(open), JobState::queued);
}

TEST_P(StoreContract, WhatIsDeletedInAGroupIsCancelledInIt) {
  schedule();
  JobId open;
  ASSERT_TRUE(store().atomically([&] {
    open = enqueue(occurrence_job(now(), "a"));
    EXPECT_THAT(value_of(plans().delete_schedule(kTenant, "standup")).cancelled, SizeIs(1));
  }));

  EXPECT_EQ(state(open), JobState::cancelled);
  expect_counts_agree();
}

TEST_P(StoreContract, TheJobsOfAnEarlierLifeAreNeverStarted) {
  const ScheduleId id = schedule();
  const LeasedJob running = claim_one(enqueue(occurrence_job(now(), "a")));
  ASSERT_TRUE(plans().delete_schedule(kTenant, "standup"));
  ASSERT_EQ(schedule(), id);
  const JobId fresh = enqueue(occurrence_job(now() + 1h, "a"));
  settle(released(running));  // it comes back into another life of its schedule
  const std::array asked{running.id, fresh};
  const Claimed claimed = value_of(jobs().claim({.worker = "ada", .jobs = asked}));

  EXPECT_THAT(ids_of(claimed.overdue), ElementsAre(running.id));
  EXPECT_EQ(detail(running.id).reason, "schedule_deleted");
  ASSERT_THAT(claimed.jobs, SizeIs(1));
  EXPECT_EQ(claimed.jobs[0].id, fresh);
}

TEST_P(StoreContract, WhatIsKeptOfADeletedScheduleCanBeRead) {  // outcomes stay
  const ScheduleId id = schedule();
  put_subject(id, {.subject = "a"});
  done_job(occurrence_job(now(), "a"));
  EXPECT_EQ(value_of(reader().kept_schedule(kTenant, "standup")), value_of(reader().schedule(kTenant, "standup")));
  ASSERT_TRUE(plans().delete_schedule(kTenant, "standup"));

  EXPECT_EQ(error_of(reader().schedule(kTenant, "standup")).code, ErrorCode::not_found);
  const ScheduleRow kept = value_of(reader().kept_schedule(kTenant, "standup"));
  EXPECT_EQ(kept.id, id);
  EXPECT_EQ(kept.deleted_at, now());
  EXPECT_THAT(value_of(reader().outcome_page({.schedule = kept.id}, {})).outcomes, SizeIs(1));
  EXPECT_EQ(error_of(reader().kept_schedule("other", "standup")).code, ErrorCode::not_found);
}

TEST_P(StoreContract, WhatADeletionLeavesOverIsCancelledInSteps) {
  const ScheduleId id = schedule();
  constexpr int kJobs = 10'050;  // more than the call itself looks at
  std::vector<NewJob> many;
  for (int i = 0; i < kJobs; ++i) many.push_back(occurrence_job(now(), std::to_string(i)));
  value_of(jobs().enqueue_all(many));
  const DeletedSchedule deleted = value_of(plans().delete_schedule(kTenant, "standup"));
  ASSERT_FALSE(deleted.end);
  std::size_t cancelled = deleted.cancelled.size();
  EXPECT_EQ(count_of(JobState::queued), kJobs - static_cast<std::int64_t>(cancelled));
  OutcomeKey after = deleted.next_after;
  for (int i = 0; i < 10; ++i) {
    const CancelStep step = value_of(plans().cancel_unstarted(after, 20));
    cancelled += step.cancelled.size();
    after = step.next_after;
    if (step.end) break;
  }

  EXPECT_EQ(cancelled, static_cast<std::size_t>(kJobs));
  EXPECT_EQ(count_of(JobState::queued), 0);
  EXPECT_EQ(deleted.id, id);
}

}  // namespace
}  // namespace carillon::test
