// What an occurrence does to an earlier one of its subject that has not ended.
#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr SubjectAction::What kCancel = SubjectAction::What::cancel;
constexpr SubjectAction::What kSkip = SubjectAction::What::skip;

class OverlapContract : public StoreContract {
 protected:
  void SetUp() override {
    StoreContract::SetUp();
    id_ = schedule();
    put_subject(id_, {.subject = "a"});
  }

  // The next occurrence of "a", an hour after the one before, that waits for `previous` to end somehow.
  NewJob next_job(std::vector<JobId> previous = {}) {
    slot_ += 1h;
    NewJob next = occurrence_job(slot_, "a");
    next.depends_on = std::move(previous);
    next.options.run_anyway = true;
    return next;
  }
  Advance step(std::vector<SubjectAction> actions, std::vector<NewJob> made) {
    Advance step;
    step.schedule = id_;
    step.subject = "a";
    step.version = subject_of(id_, "a").version;
    step.actions = std::move(actions);
    step.jobs = std::move(made);
    step.position = slot_;
    return step;
  }
  JobId plan(std::vector<JobId> previous = {}) {
    return advance(step({}, {next_job(std::move(previous))})).jobs.at(0).id;
  }
  std::vector<OpenJobRow> open() { return value_of(plans().open_jobs(id_, "a")); }
  std::optional<OutcomeRow> outcome_of(JobId job) {
    for (const OutcomeRow& row : outcomes_of(id_, "a")) {
      if (row.job == job) return row;
    }
    return std::nullopt;
  }

  ScheduleId id_;
  Instant slot_ = now();
};

// ---- Which are open ----

TEST_P(OverlapContract, TheLastJobOfASubjectIsOpenUntilItEnds) {
  EXPECT_THAT(open(), IsEmpty());
  EXPECT_THAT(value_of(plans().open_jobs(id_, "absent")), IsEmpty());
  const JobId only = plan();
  EXPECT_THAT(open(), ElementsAre(OpenJobRow{only, JobState::queued}));
  const LeasedJob leased = claim_one(only);
  EXPECT_THAT(open(), ElementsAre(OpenJobRow{only, JobState::processing}));
  settle(completed(leased));

  EXPECT_THAT(open(), IsEmpty());
}

TEST_P(OverlapContract, AParkedJobIsToldAsParked) {
  const JobId parked = plan();
  settle(failed_for_good(claim_one(parked)));

  EXPECT_THAT(open(), ElementsAre(OpenJobRow{parked, JobState::dlq}));
}

TEST_P(OverlapContract, OneThatWaitsStandsAfterThoseThatItWaitsFor) {
  const JobId first = plan();
  const JobId second = plan();
  const JobId foreign = enqueue(job());
  claim_one(second);
  const JobId last = plan({second, foreign, first});

  EXPECT_THAT(open(), ElementsAre(OpenJobRow{first, JobState::queued}, OpenJobRow{second, JobState::processing},
                                  OpenJobRow{last, JobState::waiting}));
}

TEST_P(OverlapContract, TheOneBeforeIsTheLastAgainWhenTheOneThatWaitedForItIsGone) {
  const JobId running = claim_one(plan()).id;
  const JobId waiting = plan({running});
  act(JobAction::cancel, waiting);

  EXPECT_THAT(open(), ElementsAre(OpenJobRow{running, JobState::processing}));
}

// ---- Replace ----

TEST_P(OverlapContract, AReplacedJobThatRunsIsAskedToStopAndTheNewOneWaitsForIt) {
  const LeasedJob running = claim_one(plan());
  const Advanced advanced = advance(step({{running.id, kCancel}}, {next_job({running.id})}));
  const JobId next = advanced.jobs.at(0).id;
  EXPECT_THAT(advanced.asked_to_stop, ElementsAre(running.id));
  EXPECT_THAT(advanced.ready, IsEmpty());
  EXPECT_EQ(advanced.jobs[0].state, JobState::waiting);
  EXPECT_TRUE(extend({.job = running.id, .token = running.token}).cancel_requested);
  EXPECT_EQ(subject_of(id_, "a").open_job, next);

  EXPECT_THAT(ids_of(settle(failed(running)).ready), ElementsAre(next));
  EXPECT_EQ(state(running.id), JobState::cancelled);
  expect_counts_agree();
}

TEST_P(OverlapContract, AReplacedJobThatHasNotStartedEndsAndTheNewOneIsReady) {  // invariant 3
  const JobId old = plan();
  const Advanced advanced = advance(step({{old, kCancel}}, {next_job({old})}));

  EXPECT_EQ(state(old), JobState::cancelled);
  EXPECT_EQ(detail(old).reason, "replaced");
  EXPECT_EQ(outcome_of(old)->outcome, JobState::cancelled);
  EXPECT_EQ(outcome_of(old)->reason, "replaced");
  EXPECT_THAT(advanced.asked_to_stop, IsEmpty());
  EXPECT_EQ(advanced.jobs.at(0).state, JobState::queued);
  EXPECT_THAT(open(), ElementsAre(OpenJobRow{advanced.jobs[0].id, JobState::queued}));
  EXPECT_EQ(subject_of(id_, "a").version, advanced.version);
  expect_counts_agree();
}

TEST_P(OverlapContract, WhatAnActionReleasesIsReadyUnlessALaterOneEndsIt) {  // invariant 31
  const JobId old = plan();
  const JobId waiting = plan({old});
  NewJob outside = job("report.make");
  outside.depends_on = {old};
  outside.options.run_anyway = true;
  const JobId released = enqueue(outside);
  const Advanced advanced = advance(step({{old, kCancel}, {waiting, kSkip}}, {next_job({old})}));

  EXPECT_THAT(ids_of(advanced.ready), ElementsAre(released));
  EXPECT_EQ(state(waiting), JobState::skipped);
  expect_counts_agree();
}

// ---- Queue one ----

TEST_P(OverlapContract, ADisplacedJobIsSkippedWithItsReason) {  // invariants 3, 14, 33
  const LeasedJob running = claim_one(plan());
  const JobId waiting = plan({running.id});
  const Advanced advanced = advance(step({{waiting, kSkip}}, {next_job({running.id})}));
  const JobId newest = advanced.jobs.at(0).id;

  EXPECT_EQ(state(waiting), JobState::skipped);
  EXPECT_EQ(detail(waiting).reason, "overlap");
  EXPECT_EQ(outcome_of(waiting)->outcome, JobState::skipped);
  EXPECT_EQ(outcome_of(waiting)->reason, "overlap");
  EXPECT_THAT(open(), ElementsAre(OpenJobRow{running.id, JobState::processing}, OpenJobRow{newest, JobState::waiting}));
  EXPECT_THAT(ids_of(settle(completed(running)).ready), ElementsAre(newest));
  expect_counts_agree();
}

TEST_P(OverlapContract, AQueuedJobCanBeSkipped) {  // invariant 14
  const JobId queued = plan();
  advance(step({{queued, kSkip}}, {}));

  EXPECT_EQ(state(queued), JobState::skipped);
  EXPECT_THAT(open(), IsEmpty());
  expect_counts_agree();
}

TEST_P(OverlapContract, WhatRunsOrIsParkedIsNotSkipped) {  // invariant 14
  const JobId parked = plan();
  settle(failed_for_good(claim_one(parked)));
  const JobId running = claim_one(plan()).id;
  const Advanced advanced = advance(step({{running, kSkip}, {parked, kSkip}}, {}));

  EXPECT_EQ(state(running), JobState::processing);
  EXPECT_EQ(state(parked), JobState::dlq);
  EXPECT_THAT(advanced.asked_to_stop, IsEmpty());
}

// ---- What does not apply ----

TEST_P(OverlapContract, AnActionOnAJobThatIsNotThereIsIgnored) {
  const JobId done = plan();
  settle(completed(claim_one(done)));
  const JobId foreign = enqueue(occurrence_job(now(), "b"));
  const JobId absent = jobs().new_job_id();
  const Advanced advanced = advance(
      step({{done, kCancel}, {done, kSkip}, {foreign, kCancel}, {foreign, kSkip}, {absent, kCancel}, {absent, kSkip}},
           {next_job()}));

  EXPECT_EQ(state(done), JobState::done);
  EXPECT_EQ(state(foreign), JobState::queued);
  EXPECT_EQ(advanced.jobs.at(0).state, JobState::queued);
}

TEST_P(OverlapContract, ARefusedAdvanceTakesItsActionsBack) {  // invariant 19
  const JobId waiting = plan();
  NewJob bad = next_job();
  bad.type = "";
  EXPECT_FALSE(try_advance(step({{waiting, kSkip}}, {bad})));
  Advance stale = step({{waiting, kCancel}}, {});
  --stale.version;
  EXPECT_EQ(error_of(try_advance(stale)).code, ErrorCode::conflict);

  EXPECT_EQ(state(waiting), JobState::queued);
  EXPECT_FALSE(outcome_of(waiting)->outcome);
  expect_counts_agree();
}

// ---- Parked is not open ----

TEST_P(OverlapContract, AParkedJobReleasesTheNextOccurrenceOfItsSubject) {
  const LeasedJob running = claim_one(plan());
  const JobId next = plan({running.id});
  NewJob needs_success = job("report.make");
  needs_success.depends_on = {running.id};
  const JobId dependent = enqueue(needs_success);
  NewJob of_other = occurrence_job(now(), "b");
  of_other.depends_on = {running.id};
  const JobId other_subject = enqueue(of_other);
  const Settled parked = settle(failed_for_good(running));

  EXPECT_EQ(parked.state, JobState::dlq);
  EXPECT_THAT(ids_of(parked.ready), ElementsAre(next));
  EXPECT_EQ(state(next), JobState::queued);
  EXPECT_EQ(state(dependent), JobState::waiting);
  EXPECT_EQ(state(other_subject), JobState::waiting);
  EXPECT_THAT(view(next).waits_for, IsEmpty());
  expect_counts_agree();
  act(JobAction::retry, running.id);
  EXPECT_THAT(ids_of(settle(completed(claim_one(running.id))).ready), ElementsAre(dependent, other_subject));
}

TEST_P(OverlapContract, AnOccurrenceThatWaitsForTwoIsReleasedByTheSecond) {
  const LeasedJob first = claim_one(plan());
  const LeasedJob second = claim_one(plan());
  const JobId next = plan({first.id, second.id});
  EXPECT_THAT(settle(failed_for_good(first)).ready, IsEmpty());
  EXPECT_EQ(state(next), JobState::waiting);

  EXPECT_THAT(ids_of(settle(failed_for_good(second)).ready), ElementsAre(next));
}

TEST_P(OverlapContract, AJobParkedByTheStoreReleasesTheNextOccurrenceToo) {  // invariant 12
  NewJob fragile = next_job();
  fragile.options.max_attempts = 1;
  const JobId lost = advance(step({}, {fragile})).jobs.at(0).id;
  const JobId next = plan({lost});
  claim_one(lost, {.lease = 10s});
  clock().advance(10s);

  EXPECT_THAT(ids_of(reap().at(0).ready), ElementsAre(next));
  EXPECT_EQ(state(lost), JobState::dlq);
  EXPECT_EQ(state(next), JobState::queued);
}

RUN_OVER_EVERY_STORE(OverlapContract);

}  // namespace
}  // namespace carillon::test
