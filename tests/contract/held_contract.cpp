// Jobs that are due and yet not started, because their schedule does not let them.
#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Claimed claim(JobStore& jobs, std::vector<JobId> ids) { return value_of(jobs.claim({.worker = "ada", .jobs = ids})); }

NewSchedule standup(bool enabled) {
  NewSchedule put;
  put.name = "standup";
  put.definition = "{}";
  put.enabled = enabled;
  return put;
}

TEST_P(StoreContract, AJobOfAPausedScheduleIsHeldAndNothingIsWritten) {  // invariant 32
  const ScheduleId id = schedule();
  const Enqueued made = enqueued(occurrence_job(now(), "a"));
  const JobId free = enqueue(job());
  value_of(plans().set_paused(kTenant, "standup", now() + 1h));
  const JobView before = view(made.id);
  const Claimed claimed = claim(jobs(), {made.id, free});

  ASSERT_THAT(claimed.jobs, SizeIs(1));
  EXPECT_EQ(claimed.jobs[0].id, free);
  ASSERT_THAT(claimed.held, SizeIs(1));
  EXPECT_EQ(claimed.held[0].job.id, made.id);
  EXPECT_EQ(claimed.held[0].job.run_at, made.ready.run_at);
  EXPECT_EQ(claimed.held[0].schedule, id);
  EXPECT_EQ(view(made.id).row, before.row);
  EXPECT_EQ(state(made.id), JobState::queued);
  expect_counts_agree();
}

TEST_P(StoreContract, APauseEndsAtItsVeryInstant) {  // invariant 32
  schedule();
  const JobId id = enqueue(occurrence_job(now(), "a"));
  value_of(plans().set_paused(kTenant, "standup", now() + 1h));
  clock().advance(1h - 1us);
  EXPECT_FALSE(try_claim(id));
  clock().advance(1us);

  EXPECT_TRUE(try_claim(id));
}

TEST_P(StoreContract, AJobOfADisabledScheduleIsHeldUntilItIsEnabled) {  // invariant 32
  schedule();
  const JobId id = enqueue(occurrence_job(now(), "a"));
  value_of(plans().put_schedule(standup(false)));
  EXPECT_THAT(claim(jobs(), {id}).held, SizeIs(1));
  value_of(plans().put_schedule(standup(true)));

  EXPECT_TRUE(try_claim(id));
}

TEST_P(StoreContract, AJobThatComesBackAfterItsScheduleWasDeletedIsCancelled) {  // invariants 3, 5
  schedule();
  const LeasedJob leased = claim_one(enqueue(occurrence_job(now(), "a")));
  value_of(plans().delete_schedule(kTenant, "standup"));
  settle(released(leased));
  const Claimed claimed = claim(jobs(), {leased.id});

  EXPECT_THAT(claimed.jobs, IsEmpty());
  EXPECT_THAT(claimed.held, IsEmpty());
  ASSERT_THAT(claimed.overdue, SizeIs(1));
  EXPECT_EQ(claimed.overdue[0].state, JobState::cancelled);
  EXPECT_EQ(state(leased.id), JobState::cancelled);
  expect_counts_agree();
}

TEST_P(StoreContract, AJobThatIsNotDueSaysSo) {
  NewJob later = job();
  later.run_at = now() + 1s;
  const Enqueued made = enqueued(later);
  const Claimed claimed = claim(jobs(), {made.id});

  EXPECT_THAT(claimed.jobs, IsEmpty());
  ASSERT_THAT(claimed.early, SizeIs(1));
  EXPECT_EQ(claimed.early[0], made.ready);
}

TEST_P(StoreContract, OnlyWhatCouldBeStartedIsHeld) {  // invariant 32
  schedule();
  const JobId running = claim_one(enqueue(occurrence_job(now(), "a"))).id;
  const JobId parked = parked_job(occurrence_job(now(), "b"));
  NewJob later = occurrence_job(now(), "c");
  later.run_at = now() + 1s;
  const JobId not_due = enqueue(later);
  value_of(plans().set_paused(kTenant, "standup", kInstantMax));

  EXPECT_THAT(claim(jobs(), {running, parked, not_due, jobs().new_job_id()}).held, IsEmpty());
}

TEST_P(StoreContract, APauseDoesNotKeepAJobPastItsDeadline) {  // invariants 22, 32
  schedule();
  NewJob delivery = occurrence_job(now(), "a");
  delivery.deadline = now() + 1h;
  const JobId id = enqueue(delivery);
  value_of(plans().set_paused(kTenant, "standup", kInstantMax));
  clock().advance(1h);
  const Claimed claimed = claim(jobs(), {id});

  EXPECT_THAT(claimed.held, IsEmpty());
  EXPECT_THAT(claimed.overdue, SizeIs(1));
  EXPECT_EQ(state(id), JobState::cutoff_reached);
}

// ---- What is asked before a claim ----

TEST_P(StoreContract, TraitsTellLimitsAndGatesOfLiveJobs) {
  NewJob limited = job();
  limited.options.limits = {"openai", "mail"};
  NewJob loud = job();
  loud.options.notifies = true;
  const JobId with_limits = enqueue(limited);
  const JobId notifies = enqueue(loud);
  const JobId plain = enqueue(job());
  const JobId running = claim_one(enqueue(limited)).id;
  const std::vector<JobId> asked{notifies, done_job(limited), plain, jobs().new_job_id(), with_limits, running};

  EXPECT_THAT(value_of(jobs().traits(asked)),
              ElementsAre(JobTraits{.id = notifies, .notifies = true}, JobTraits{.id = plain},
                          JobTraits{.id = with_limits, .limits = {"openai", "mail"}},
                          JobTraits{.id = running, .limits = {"openai", "mail"}}));
  EXPECT_THAT(value_of(jobs().traits({})), IsEmpty());
}

TEST_P(StoreContract, TheNextDeadlineIsTheEarliestOfALiveJob) {  // invariant 3
  EXPECT_EQ(value_of(jobs().next_deadline()), std::nullopt);
  const auto due_by = [&](Duration in) {
    NewJob limited = job();
    limited.deadline = now() + in;
    return enqueue(limited);
  };
  due_by(2h);
  const JobId first = due_by(1h);
  enqueue(job());
  EXPECT_EQ(value_of(jobs().next_deadline()), now() + 1h);
  settle(completed(claim_one(first)));
  EXPECT_EQ(value_of(jobs().next_deadline()), now() + 2h);
  clock().advance(3h);
  EXPECT_EQ(value_of(jobs().next_deadline()), now() - 1h);
  finish_overdue();

  EXPECT_EQ(value_of(jobs().next_deadline()), std::nullopt);
}

TEST_P(StoreContract, TheNextFarOffJobIsFoundByItsTime) {
  const auto due_in = [&](Duration in) {
    NewJob later = job();
    later.run_at = now() + in;
    return enqueue(later);
  };
  due_in(1min);  // not far off
  due_in(3h);
  const JobId first = due_in(2h);
  EXPECT_EQ(value_of(jobs().next_later(now())), now() + 2h);
  EXPECT_EQ(value_of(jobs().next_later(now() + 2h - 1us)), now() + 2h);
  EXPECT_EQ(value_of(jobs().next_later(now() + 2h)), now() + 3h);
  EXPECT_EQ(value_of(jobs().next_later(now() + 3h)), std::nullopt);
  act(JobAction::cancel, first);

  EXPECT_EQ(value_of(jobs().next_later(now())), now() + 3h);
}

}  // namespace
}  // namespace carillon::test
