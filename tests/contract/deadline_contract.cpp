// Deadlines: nothing starts at or after one, nothing succeeds after one, and everything ends at one.
#include <array>

#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

NewJob due_by(Instant deadline) {
  NewJob asked = doubling_job(std::nullopt);
  asked.deadline = deadline;
  return asked;
}

TEST_P(StoreContract, NoAttemptStartsAtOrAfterTheDeadline) {  // invariant 22
  const JobId in_time = enqueue(due_by(now() + 10s));
  const JobId late = enqueue(due_by(now() + 10s));
  clock().advance(10s - 1us);
  EXPECT_TRUE(try_claim(in_time));
  clock().advance(1us);

  EXPECT_FALSE(try_claim(late));
  EXPECT_EQ(state(late), JobState::cutoff_reached);
  EXPECT_EQ(detail(late).reason, "deadline");
  EXPECT_THAT(view(late).attempts, IsEmpty());
  expect_counts_agree();
}

TEST_P(StoreContract, ASuccessBeforeTheDeadlineCounts) {  // invariant 23
  const LeasedJob leased = claim_one(enqueue(due_by(now() + 10s)));
  clock().advance(10s - 1us);

  EXPECT_EQ(settle(completed(leased)).state, JobState::done);
  clock().advance(1h);
  EXPECT_THAT(finish_overdue(), IsEmpty());
  EXPECT_EQ(state(leased.id), JobState::done);
}

TEST_P(StoreContract, ASuccessAtOrAfterTheDeadlineIsNone) {  // invariant 23
  const LeasedJob leased = claim_one(enqueue(due_by(now() + 10s)));
  clock().advance(10s);
  Settlement said = completed(leased);
  said.then = {job("second")};

  EXPECT_EQ(settle(said).state, JobState::cutoff_reached);
  EXPECT_EQ(state(leased.id), JobState::cutoff_reached);
  EXPECT_THAT(all_ids(), SizeIs(1));
  expect_counts_agree();
}

TEST_P(StoreContract, ASuccessAfterTheEndWasWrittenIsRefused) {  // invariants 3, 23
  const LeasedJob leased = claim_one(enqueue(due_by(now() + 10s)));
  clock().advance(10s);
  ASSERT_THAT(finish_overdue(), SizeIs(1));

  EXPECT_EQ(refusal_of(completed(leased)).code, ErrorCode::stale_token);
  EXPECT_EQ(error_of(try_extend({.job = leased.id, .token = leased.token})).code, ErrorCode::stale_token);
  EXPECT_EQ(state(leased.id), JobState::cutoff_reached);
}

TEST_P(StoreContract, InOneBatchSettlesComeBeforeCutoffs) {  // invariant 23
  const LeasedJob leased = claim_one(enqueue(due_by(now() + 10s)));
  clock().advance(9s);
  ASSERT_TRUE(store().atomically([&] {
    EXPECT_EQ(settle(completed(leased)).state, JobState::done);
    clock().advance(2s);
    EXPECT_THAT(finish_overdue(), IsEmpty());
  }));

  EXPECT_EQ(state(leased.id), JobState::done);
}

TEST_P(StoreContract, EveryOtherWordAtTheDeadlineEndsTheJobToo) {  // invariant 3
  const std::vector<std::function<Settlement(const LeasedJob&)>> words{
      [](const LeasedJob& leased) { return failed(leased); },
      [](const LeasedJob& leased) { return failed_for_good(leased); },
      [](const LeasedJob& leased) { return released(leased); },
      [](const LeasedJob& leased) { return rate_limited(leased); },
      [&](const LeasedJob& leased) { return deferred(leased, now() + 1h); },
  };
  for (const auto& word : words) {
    const LeasedJob leased = claim_one(enqueue(due_by(now() + 10s)));
    clock().advance(10s);
    const Settlement said = word(leased);
    EXPECT_EQ(settle(said).state, JobState::cutoff_reached);
    EXPECT_EQ(state(leased.id), JobState::cutoff_reached);
    EXPECT_EQ(value_of(try_settle(said)).state, JobState::cutoff_reached);  // invariant 10
  }
}

TEST_P(StoreContract, ALeaseLostOverTheDeadlineEndsTheJob) {  // invariants 3, 12
  const JobId id = enqueue(due_by(now() + 10s));
  claim_one(id, {.lease = 60s});
  clock().advance(60s);

  EXPECT_EQ(reap().at(0).state, JobState::cutoff_reached);
}

TEST_P(StoreContract, ADeadlineEndsAJobInWhateverStateItIs) {  // invariant 3
  const Instant deadline = now() + 1h;
  NewJob later = due_by(deadline);
  later.run_at = deadline + 1h;
  const JobId not_due = enqueue(later);
  const JobId queued = enqueue(due_by(deadline));
  const JobId parked = parked_job(due_by(deadline));
  const JobId parent = enqueue(job());
  NewJob child = due_by(deadline);
  child.depends_on = {parent};
  const JobId waiting = enqueue(child);
  const JobId running = enqueue(due_by(deadline));
  claim_one(running, {.worker = "ada", .lease = 24h});
  const JobId done = done_job(due_by(deadline));
  clock().advance(1h - 1us);
  EXPECT_THAT(finish_overdue(), IsEmpty());
  clock().advance(1us);
  const auto ended = finish_overdue();

  EXPECT_THAT(ended, SizeIs(5));
  for (const JobId id : {not_due, queued, parked, waiting, running}) {
    EXPECT_EQ(state(id), JobState::cutoff_reached);
    EXPECT_EQ(detail(id).reason, "deadline");
    EXPECT_EQ(view(id).finished_at, now());
  }
  EXPECT_EQ(state(done), JobState::done);
  EXPECT_THAT(value_of(jobs().leases()), IsEmpty());
  EXPECT_EQ(view(running).attempts.at(0).worker, "ada");
  EXPECT_THAT(finish_overdue(), IsEmpty());
  expect_counts_agree();
  // What it waited for does not bring it back.
  EXPECT_THAT(settle(completed(claim_one(parent))).ready, IsEmpty());
  EXPECT_EQ(state(waiting), JobState::cutoff_reached);
}

TEST_P(StoreContract, DeadlinesAreFinishedInTheirOrderAndInBoundedSteps) {  // invariant 3
  const JobId third = enqueue(due_by(now() + 3min));
  const JobId first = enqueue(due_by(now() + 1min));
  const JobId fourth = enqueue(due_by(now() + 4min));
  const JobId second = enqueue(due_by(now() + 2min));
  enqueue(due_by(now() + 1h));
  clock().advance(4min);
  std::vector<JobId> order;
  for (int i = 0; i < 3; ++i) {
    const auto step = finish_overdue(2);
    EXPECT_LE(step.size(), 2U);
    for (const Changed& changed : step) {
      EXPECT_EQ(changed.state, JobState::cutoff_reached);
      order.push_back(changed.id);
    }
  }

  EXPECT_THAT(order, ElementsAre(first, second, third, fourth));
}

TEST_P(StoreContract, AClaimTellsWhatItEndedAndWhatBecameReadyByIt) {  // invariants 22, 31
  const JobId late = enqueue(due_by(now() + 1h));
  NewJob after = job();
  after.depends_on = {late};
  after.options.run_anyway = true;
  const JobId dependent = enqueue(after);
  clock().advance(1h);
  const Claimed claimed = value_of(jobs().claim({.worker = "ada", .jobs = {&late, 1}}));

  EXPECT_THAT(claimed.jobs, IsEmpty());
  ASSERT_THAT(claimed.overdue, SizeIs(1));
  EXPECT_EQ(claimed.overdue[0].id, late);
  EXPECT_EQ(claimed.overdue[0].state, JobState::cutoff_reached);
  EXPECT_THAT(ids_of(claimed.overdue[0].ready), ElementsAre(dependent));
}

TEST_P(StoreContract, AJobAskedForAfterItsDeadlineEndsAtOnce) {  // invariant 22
  const Enqueued made = enqueued(due_by(now()));

  EXPECT_EQ(made.state, JobState::cutoff_reached);
  EXPECT_EQ(state(made.id), JobState::cutoff_reached);
  EXPECT_FALSE(try_claim(made.id));
  EXPECT_THAT(live_ids(now()), IsEmpty());
  expect_counts_agree();
}

TEST_P(StoreContract, AForwardStepOfTheWallClockReachesDeadlines) {  // invariant 11
  const JobId id = enqueue(due_by(now() + 1h));
  clock().step_wall(2h);
  EXPECT_THAT(finish_overdue(), SizeIs(1));
  clock().step_wall(-2h);

  EXPECT_EQ(state(id), JobState::cutoff_reached);
}

TEST_P(StoreContract, AnOutcomeAtTheCutoffIsWrittenWithTheJob) {  // invariants 2, 3, 23
  const ScheduleId id = schedule();
  const SubjectRow row = put_subject(id, {.subject = "user-17"});
  NewJob delivery = occurrence_job(now(), "user-17");
  delivery.deadline = now() + 1h;
  Advance step;
  step.schedule = id;
  step.subject = "user-17";
  step.version = row.version;
  step.next_at = now() + 24h;
  step.position = now();
  step.jobs = {delivery};
  const JobId made = advance(step).jobs.at(0).id;
  const LeasedJob leased = claim_one(made, {.lease = 3h});
  clock().advance(1h);
  finish_overdue();

  const auto outcomes = outcomes_of(id, "user-17");
  ASSERT_THAT(outcomes, SizeIs(1));
  EXPECT_EQ(outcomes[0].outcome, JobState::cutoff_reached);
  EXPECT_EQ(outcomes[0].at, now());
  EXPECT_EQ(outcomes[0].reason, "deadline");
  EXPECT_EQ(subject_state(id, "user-17").status, JobState::cutoff_reached);
  EXPECT_EQ(refusal_of(completed(leased)).code, ErrorCode::stale_token);
  EXPECT_EQ(outcomes_of(id, "user-17"), outcomes);
}

}  // namespace
}  // namespace carillon::test
