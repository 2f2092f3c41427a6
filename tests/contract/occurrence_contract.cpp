// What is kept of occurrences besides their outcome: their local minute, what is open, ranges that grow.
#include <array>

#include "contract/store_contract.h"
#include "store/local_minute.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class OccurrenceContract : public StoreContract {
 protected:
  void SetUp() override {
    StoreContract::SetUp();
    id_ = schedule();
    put_subject(id_, {.subject = "a"});
    put_subject(id_, {.subject = "b"});
  }

  Advance step(std::string subject = "a") {
    Advance step;
    step.schedule = id_;
    step.version = subject_of(id_, subject).version;
    step.subject = std::move(subject);
    step.next_at = now() + 24h;
    return step;
  }
  // A job for the day of `now`, due at 08:30 in a zone that is a day ahead of its slot.
  Advance delivery(const std::string& subject) {
    Advance one = step(subject);
    NewJob made = occurrence_job(midnight(), subject);
    made.occurrence->local_minute = (day() + 1) * kMinutesOfDay + 510;
    made.deadline = now() + 1h;
    one.jobs = {made};
    one.position = midnight();
    return one;
  }
  Instant midnight() { return std::chrono::floor<std::chrono::days>(now()); }
  std::int64_t day() { return std::chrono::floor<std::chrono::days>(now()).time_since_epoch().count(); }
  // Of a day, whatever the minute.
  std::map<JobState, std::int64_t> counts(std::int64_t of) {
    std::map<JobState, std::int64_t> sums;
    for (const OutcomeCount& count : value_of(reader().outcome_counts(id_, of))) sums[count.outcome] += count.count;
    return sums;
  }
  std::map<JobState, std::int64_t> counts() { return counts(day() + 1); }

  ScheduleId id_;
};

RUN_OVER_EVERY_STORE(OccurrenceContract);

TEST_P(OccurrenceContract, AnOccurrenceIsCountedByItsLocalDayAndMinute) {  // invariant 34
  settle(completed(claim_one(advance(delivery("a")).jobs.at(0).id)));

  const auto counted = value_of(reader().outcome_counts(id_, day() + 1));
  ASSERT_THAT(counted, SizeIs(1));
  EXPECT_EQ(counted[0].minute, 510);
  EXPECT_EQ(counted[0].outcome, JobState::done);
  EXPECT_EQ(counted[0].count, 1);
  EXPECT_THAT(counts(day()), IsEmpty());
  EXPECT_EQ(outcomes_of(id_, "a").at(0).local_minute, (day() + 1) * kMinutesOfDay + 510);
}

TEST_P(OccurrenceContract, WithoutALocalMinuteTheSlotsOwnInUtcStands) {
  Advance one = step();
  one.jobs = {occurrence_job(now())};
  one.jobs[0].occurrence->subject = "a";
  advance(one);

  EXPECT_EQ(outcomes_of(id_, "a").at(0).local_minute, day() * kMinutesOfDay + 420);
}

TEST_P(OccurrenceContract, WhatIsOpenOrParkedIsCountedToo) {  // invariant 34
  const JobId first = advance(delivery("a")).jobs.at(0).id;
  const JobId second = advance(delivery("b")).jobs.at(0).id;
  EXPECT_THAT(counts(), ElementsAre(Pair(kOpenOutcome, 2)));
  const LeasedJob running = claim_one(first);
  EXPECT_THAT(counts(), ElementsAre(Pair(kOpenOutcome, 2)));
  settle(failed_for_good(claim_one(second)));
  EXPECT_THAT(counts(), UnorderedElementsAre(Pair(kOpenOutcome, 1), Pair(JobState::dlq, 1)));
  act(JobAction::retry, second);
  EXPECT_THAT(counts(), ElementsAre(Pair(kOpenOutcome, 2)));
  settle(failed_for_good(claim_one(second)));
  act(JobAction::discard, second);
  settle(completed(running));

  EXPECT_THAT(counts(), UnorderedElementsAre(Pair(JobState::done, 1), Pair(JobState::cancelled, 1)));
}

TEST_P(OccurrenceContract, ADeadlineEndsAParkedOccurrenceToo) {  // invariant 3: until the cutoff
  const JobId parked = advance(delivery("a")).jobs.at(0).id;
  settle(failed_for_good(claim_one(parked)));
  clock().advance(1h);
  finish_overdue();

  EXPECT_EQ(state(parked), JobState::cutoff_reached);
  EXPECT_THAT(counts(), ElementsAre(Pair(JobState::cutoff_reached, 1)));
}

TEST_P(OccurrenceContract, WhatIsFinalizedTellsItsScheduleReasonAndLocalMinute) {
  advance(delivery("a"));
  clock().advance(1h);
  std::vector<FinalizedSlot> told;
  std::vector<FinalizedSlot> later;
  ASSERT_TRUE(store().atomically([&] {
    finish_overdue();
    told = plans().finalized();
    Advance more;
    more.schedule = id_;
    more.subject = "b";
    more.version = value_of(plans().subject(id_, "b")).version;
    more.closed = {{.first = midnight(), .outcome = JobState::skipped, .reason = "rescheduled", .local_minute = 77}};
    EXPECT_TRUE(plans().advance({&more, 1}).front());
    later = plans().finalized_after(told.size());
  }));

  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].id, id_);
  EXPECT_EQ(told[0].outcome, JobState::cutoff_reached);
  EXPECT_EQ(told[0].reason, "deadline");
  EXPECT_EQ(told[0].local_minute, (day() + 1) * kMinutesOfDay + 510);
  EXPECT_FALSE(told[0].deleted);
  ASSERT_THAT(later, SizeIs(1));
  EXPECT_EQ(later[0].subject, "b");
  EXPECT_EQ(later[0].local_minute, 77);
}

TEST_P(OccurrenceContract, WhatIsFinalizedTellsThatItsScheduleWasDeleted) {
  advance(delivery("a"));
  std::vector<FinalizedSlot> told;
  ASSERT_TRUE(store().atomically([&] {
    const std::string name = value_of(plans().schedule(id_)).name;
    value_of(plans().delete_schedule(kTenant, name));
    told = plans().finalized();
  }));

  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].outcome, JobState::cancelled);
  EXPECT_EQ(told[0].local_minute, (day() + 1) * kMinutesOfDay + 510);
  EXPECT_TRUE(told[0].deleted);
}

TEST_P(OccurrenceContract, ACutoffThatNoJobCameToIsTheSubjectsStatus) {  // schedules: delivery
  Advance one = step();
  one.closed = {{.first = midnight() - 48h, .until = midnight() - 24h, .count = 2, .reason = "misfire"},
                {.first = midnight(), .outcome = JobState::cutoff_reached, .reason = "deadline"}};
  one.position = midnight();
  advance(one);

  const SubjectState state = subject_state(id_, "a");
  EXPECT_EQ(state.status, JobState::cutoff_reached);
  EXPECT_EQ(state.last_slot, midnight());
  EXPECT_EQ(state.error_count, 1U);
  EXPECT_FALSE(state.last_run_at);
}

TEST_P(OccurrenceContract, ACutoffWithoutAnAttemptIsNoRun) {
  advance(delivery("a"));
  clock().advance(1h);
  finish_overdue();

  EXPECT_EQ(subject_state(id_, "a").status, JobState::cutoff_reached);
  EXPECT_EQ(subject_state(id_, "a").last_slot, midnight());
  EXPECT_FALSE(subject_state(id_, "a").last_run_at);
}

TEST_P(OccurrenceContract, ACutoffAfterAnAttemptIsNoRunEither) {  // S0: written on success alone
  const JobId made = advance(delivery("a")).jobs.at(0).id;
  settle(failed(claim_one(made)));
  clock().advance(1h);
  finish_overdue();

  EXPECT_EQ(subject_state(id_, "a").status, JobState::cutoff_reached);
  EXPECT_FALSE(subject_state(id_, "a").last_run_at);
}

TEST_P(OccurrenceContract, ARangeGrowsInItsRow) {  // schedules: adaptive, one row for a range
  const Instant first = now();
  Advance one = step();
  one.closed = {{.first = first, .outcome = JobState::skipped, .reason = "check_open"}};
  advance(one);
  for (int i = 1; i <= 2; ++i) {
    Advance more = step();
    more.closed = {
        {.first = first + i * 10min, .outcome = JobState::skipped, .reason = "check_open", .extends = first}};
    advance(more);
  }

  const auto rows = outcomes_of(id_, "a");
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].slot, first);
  EXPECT_EQ(rows[0].until, first + 20min);
  EXPECT_EQ(rows[0].count, 3);
  EXPECT_THAT(counts(day()), ElementsAre(Pair(JobState::skipped, 3)));
}

// Found by the simulation: its row stood in one minute, and what it grew by in another.
TEST_P(OccurrenceContract, WhatARangeGrowsByIsCountedWhereItBegan) {  // invariant 34
  const Instant first = now();
  Advance one = step();
  one.closed = {{.first = first, .outcome = JobState::skipped, .reason = "check_open", .local_minute = 1440}};
  advance(one);
  Advance more = step();
  // The zone has changed meanwhile.
  more.closed = {{.first = first + 10min,
                  .outcome = JobState::skipped,
                  .reason = "check_open",
                  .local_minute = 1440 + 60,
                  .extends = first}};
  advance(more);

  EXPECT_EQ(outcomes_of(id_, "a").at(0).local_minute, 1440);
  const auto counted = value_of(reader().outcome_counts(id_, 1));
  ASSERT_THAT(counted, SizeIs(2));
  EXPECT_EQ(counted[0].minute, 0);
  EXPECT_EQ(counted[0].count, 1);
  EXPECT_EQ(counted[1].minute, 60) << "what was added counts where it is";
  EXPECT_EQ(counted[1].count, 1);
}

TEST_P(OccurrenceContract, ARangeIsCountedOnTheDaysAndMinutesOfItsOccurrences) {  // invariant 34
  Advance one = step();
  one.closed = {{.first = now() - 3h,
                 .until = now(),
                 .count = 6,
                 .outcome = JobState::missed,
                 .reason = "misfire",
                 .local_minute = 1439,
                 .minutes = {{.local_minute = 1439, .count = 3},
                             {.local_minute = 1440, .count = 2},
                             {.local_minute = 1500, .count = 1}}}};
  advance(one);

  EXPECT_THAT(counts(0), ElementsAre(Pair(JobState::missed, 3)));
  EXPECT_THAT(counts(1), ElementsAre(Pair(JobState::missed, 3)));
  const auto counted = value_of(reader().outcome_counts(id_, 1));
  ASSERT_THAT(counted, SizeIs(2));
  EXPECT_EQ(counted[1].minute, 60);
}

TEST_P(OccurrenceContract, OfARangeWhoseFirstOneHasItsOutcomeTheRestIsCounted) {  // invariants 3, 34
  const Instant first = now();
  Advance earlier = step();
  earlier.closed = {{.first = first, .outcome = JobState::skipped, .reason = "overlap", .local_minute = 1440}};
  advance(earlier);
  Advance range = step();
  range.closed = {{.first = first,
                   .until = first + 2h,
                   .count = 3,
                   .outcome = JobState::missed,
                   .reason = "misfire",
                   .local_minute = 1440,
                   .minutes = {{.local_minute = 1440}, {.local_minute = 1500}, {.local_minute = 1560}}}};
  advance(range);

  EXPECT_THAT(counts(1), UnorderedElementsAre(Pair(JobState::skipped, 1), Pair(JobState::missed, 2)));
}

TEST_P(OccurrenceContract, ARangeDoesNotGrowTwiceByTheSame) {  // invariant 1
  const Instant first = now();
  for (int i = 0; i < 2; ++i) {
    Advance one = step();
    one.closed = {{.first = first, .outcome = JobState::skipped, .reason = "check_open"},
                  {.first = first,
                   .until = first + 10min,
                   .outcome = JobState::skipped,
                   .reason = "check_open",
                   .extends = first}};
    advance(one);
  }

  const auto rows = outcomes_of(id_, "a");
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].count, 2);
  EXPECT_THAT(counts(day()), ElementsAre(Pair(JobState::skipped, 2)));
}

TEST_P(OccurrenceContract, ARangeOfAnotherReasonOrOneThatIsGoneIsNotTouched) {
  const Instant first = now();
  Advance one = step();
  one.closed = {{.first = first, .outcome = JobState::skipped, .reason = "rescheduled"},
                {.first = first + 1h, .outcome = JobState::skipped, .reason = "check_open", .extends = first},
                {.first = first + 2h, .outcome = JobState::skipped, .reason = "check_open", .extends = first - 1h}};
  advance(one);

  EXPECT_THAT(outcomes_of(id_, "a"), SizeIs(3));
  EXPECT_EQ(outcomes_of(id_, "a").at(0).count, 1);
}

TEST_P(OccurrenceContract, AJobOfNoOccurrenceIsNotTheOpenOne) {  // schedules: on_cutoff
  const JobId open = advance(delivery("a")).jobs.at(0).id;
  NewJob reset = job("chat.reset");
  reset.subject = "a";
  reset.options.origin = Origin::dependent;
  reset.options.parent = open;
  Advance one = step();
  one.jobs = {reset};
  const JobId made = advance(one).jobs.at(0).id;

  EXPECT_EQ(subject_of(id_, "a").open_job, open);
  EXPECT_EQ(view(made).row.subject, "a");
  EXPECT_EQ(view(made).schedule, "");
  EXPECT_THAT(outcomes_of(id_, "a"), SizeIs(1));
  settle(completed(claim_one(made)));
  EXPECT_FALSE(subject_state(id_, "a").status);
}

TEST_P(OccurrenceContract, AManualCheckIsAnOccurrenceOfItsOwn) {  // schedules: adaptive, trigger
  Advance one = step();
  NewJob check = occurrence_job(now(), "a");
  check.options.origin = Origin::manual;
  one.jobs = {check};
  const JobId made = advance(one).jobs.at(0).id;
  EXPECT_EQ(subject_of(id_, "a").open_job, made);
  settle(completed(claim_one(made)));

  EXPECT_EQ(outcomes_of(id_, "a").at(0).outcome, JobState::done);
  EXPECT_EQ(subject_state(id_, "a").status, JobState::done);
}

TEST_P(OccurrenceContract, TheLastOccurrenceOfASubjectIsFoundAtOnce) {
  EXPECT_FALSE(value_of(plans().last_outcome(id_, "a")));
  Advance one = step();
  one.closed = {{.first = now()}, {.first = now() + 1h}, {.first = now() - 1h}};
  advance(one);
  Advance other = step("b");
  other.closed = {{.first = now() + 5h}};
  advance(other);

  EXPECT_EQ(value_of(plans().last_outcome(id_, "a"))->slot, now() + 1h);
}

}  // namespace
}  // namespace carillon::test
