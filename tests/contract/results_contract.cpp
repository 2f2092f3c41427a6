// How the occurrences of a schedule with fan_out went: kept on its row by what ends them.
#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using testing::Eq;

class ResultsContract : public StoreContract {
 protected:
  void SetUp() override {
    StoreContract::SetUp();
    id_ = schedule();
    for (const char* name : {"a", "b", "c"}) put_subject(id_, {.subject = name});
  }

  ScheduleRow row() { return value_of(reader().schedule(kTenant, "standup")); }
  ScheduleResults results() { return row().results; }
  JobId plan(const std::string& subject) {
    Advance step;
    step.schedule = id_;
    step.subject = subject;
    step.version = subject_of(id_, subject).version;
    step.next_at = now() + 24h;
    step.position = now();
    step.jobs = {occurrence_job(now(), subject)};
    return advance(step).jobs.at(0).id;
  }
  void succeed(const std::string& subject) {
    clock().advance(1h);
    settle(completed(claim_one(plan(subject))));
  }
  // It fails, and an operator gives it up.
  void fail(const std::string& subject) {
    clock().advance(1h);
    const JobId made = plan(subject);
    settle(failed_for_good(claim_one(made)));
    act(JobAction::discard, made);
  }

  ScheduleId id_;
};

RUN_OVER_EVERY_STORE(ResultsContract);

constexpr ScheduleResults kNoResults;

ScheduleResults broke(JobState last, std::int64_t errors) {
  return {.last_outcome = last, .error_count = errors, .last_error = "it broke"};
}

TEST_P(ResultsContract, MisfortunesInARowAreCountedOverAllSubjects) {  // invariant 34
  EXPECT_EQ(results(), kNoResults);
  fail("a");
  fail("b");
  EXPECT_EQ(results(), broke(JobState::cancelled, 2));
  succeed("c");
  EXPECT_EQ(results(), ScheduleResults{.last_outcome = JobState::done});
  fail("a");

  EXPECT_EQ(results(), broke(JobState::cancelled, 1));
  EXPECT_EQ(subject_state(id_, "a").error_count, 2U);
}

TEST_P(ResultsContract, WhatIsOpenOrLeftOutIsNoMisfortune) {
  fail("a");
  clock().advance(1h);
  claim_one(plan("b"));
  EXPECT_EQ(results(), broke(JobState::cancelled, 1));
  settle(skipped(claim_one(plan("c"))));

  EXPECT_EQ(results(), broke(JobState::skipped, 1));
}

TEST_P(ResultsContract, WhatIsParkedIsAMisfortuneAtOnce) {
  clock().advance(1h);
  const JobId parked = plan("a");
  settle(failed_for_good(claim_one(parked)));
  EXPECT_EQ(results(), broke(JobState::dlq, 1));
  const SubjectState shown = subject_state(id_, "a");
  EXPECT_EQ(shown.status, JobState::dlq);
  EXPECT_EQ(shown.last_slot, now());
  EXPECT_EQ(shown.error_count, 1U);
  EXPECT_EQ(shown.last_error, "it broke");
  EXPECT_FALSE(shown.last_run_at);
  act(JobAction::discard, parked);

  EXPECT_EQ(results(), broke(JobState::cancelled, 1)) << "it was counted when it was parked";
  EXPECT_EQ(subject_state(id_, "a").status, JobState::cancelled);
  EXPECT_EQ(subject_state(id_, "a").error_count, 1U);
}

TEST_P(ResultsContract, OneThatIsTriedAgainMaySucceedAfterAll) {
  clock().advance(1h);
  const JobId parked = plan("a");
  settle(failed_for_good(claim_one(parked)));
  act(JobAction::retry, parked);
  EXPECT_EQ(results(), broke(JobState::dlq, 1)) << "until there is more to say";
  settle(failed_for_good(claim_one(parked)));
  EXPECT_EQ(results(), broke(JobState::dlq, 2));
  act(JobAction::retry, parked);
  settle(completed(claim_one(parked)));

  EXPECT_EQ(results(), ScheduleResults{.last_outcome = JobState::done});
  EXPECT_EQ(subject_state(id_, "a").last_run_at, now());
}

TEST_P(ResultsContract, AParkedDeliveryIsNotOver) {  // schedules: delivery
  Advance open;
  open.schedule = id_;
  open.subject = "a";
  open.version = subject_of(id_, "a").version;
  open.jobs = {occurrence_job(now(), "a")};
  open.jobs[0].deadline = now() + 1h;
  const Instant day = now();
  const JobId made = advance(open).jobs.at(0).id;
  settle(failed_for_good(claim_one(made)));
  EXPECT_EQ(subject_state(id_, "a").status, JobState::dlq);
  EXPECT_FALSE(subject_state(id_, "a").last_slot);
  clock().advance(1h);
  finish_overdue();

  EXPECT_EQ(results(), broke(JobState::cutoff_reached, 1)) << "one day, one misfortune";
  EXPECT_EQ(subject_state(id_, "a").last_slot, day);
  EXPECT_FALSE(subject_state(id_, "a").last_run_at) << "of a success";
}

TEST_P(ResultsContract, OpenAndParkedDaysAreKeptCounts) {  // invariant 34
  const auto open = [&](std::int64_t first, std::int64_t last) {
    return value_of(plans().open_on_days(id_, {.first = first, .last = last}));
  };
  const std::int64_t today = std::chrono::floor<std::chrono::days>(now()).time_since_epoch().count();
  EXPECT_EQ(open(today, today), 0);
  const LeasedJob a = claim_one(plan("a"));
  const JobId b = plan("b");
  plan("c");
  EXPECT_EQ(open(today, today), 3);
  EXPECT_EQ(open(today + 1, today + 9), 0);
  EXPECT_EQ(open(today - 9, today - 1), 0);
  settle(completed(a));
  settle(failed_for_good(claim_one(b)));
  EXPECT_EQ(open(today - 1, today + 1), 2) << "the one that is parked is among them";
  ASSERT_TRUE(store().atomically([&] {
    act(JobAction::discard, b);
    EXPECT_EQ(open(today, today), 1) << "a transaction reads what it has written";
  }));
  EXPECT_EQ(open(today, today), 1);
}

TEST_P(ResultsContract, ACutoffIsOneWithAJobOrWithout) {  // schedules: delivery
  Advance step;
  step.schedule = id_;
  step.subject = "a";
  step.version = subject_of(id_, "a").version;
  step.closed = {{.first = now() - 48h, .until = now() - 24h, .count = 2, .reason = "misfire"},
                 {.first = now(), .outcome = JobState::cutoff_reached, .reason = "deadline"}};
  step.position = now();
  advance(step);
  EXPECT_EQ(results(), (ScheduleResults{JobState::cutoff_reached, 1, "deadline"}));

  Advance open;
  open.schedule = id_;
  open.subject = "b";
  open.version = subject_of(id_, "b").version;
  open.jobs = {occurrence_job(now(), "b")};
  open.jobs[0].deadline = now() + 1h;
  advance(open);
  clock().advance(1h);
  finish_overdue();

  EXPECT_EQ(results(), (ScheduleResults{JobState::cutoff_reached, 2, "deadline"}));
}

TEST_P(ResultsContract, ThoseOfOneTransactionAddUpInTheirOrder) {
  fail("a");
  clock().advance(1h);
  const LeasedJob a = claim_one(plan("a"));
  const LeasedJob b = claim_one(plan("b"));
  const JobId c = plan("c");
  settle(failed_for_good(claim_one(c)));
  ScheduleResults meanwhile;
  ASSERT_TRUE(store().atomically([&] {
    settle(completed(a));
    act(JobAction::discard, c);
    meanwhile = value_of(plans().schedule(id_)).results;
    settle(skipped(b));
  }));

  EXPECT_EQ(meanwhile, ScheduleResults{.last_outcome = JobState::cancelled}) << "a transaction reads what it wrote";
  EXPECT_EQ(results(), ScheduleResults{.last_outcome = JobState::skipped}) << "c was parked before a succeeded";
}

TEST_P(ResultsContract, WhatIsTakenBackIsNotCounted) {
  fail("a");
  clock().advance(1h);
  const JobId open = plan("a");
  Advance refused;
  refused.schedule = id_;
  refused.subject = "a";
  refused.version = subject_of(id_, "a").version;
  refused.actions = {{.job = open, .what = SubjectAction::What::skip}};
  refused.jobs = {occurrence_job(now() + 1h, "a"), occurrence_job(now() + 2h, "a")};
  refused.jobs[1].priority = 99;
  EXPECT_FALSE(try_advance(refused));

  EXPECT_EQ(state(open), JobState::queued);
  EXPECT_EQ(results(), broke(JobState::cancelled, 1));
}

TEST_P(ResultsContract, AnOutcomeIsNoEditAndAnEditNoOutcome) {
  const ScheduleRow before = row();
  fail("a");
  const ScheduleRow after = row();
  EXPECT_EQ(after.revision, before.revision);
  EXPECT_EQ(after.updated_at, before.updated_at);
  NewSchedule edited{.tenant = std::string(kTenant), .name = "standup", .definition = "{}", .if_revision = {}};
  EXPECT_EQ(value_of(plans().put_schedule(edited)).results, after.results);
  const LeasedJob running = claim_one(plan("b"));
  EXPECT_EQ(value_of(plans().set_paused(kTenant, "standup", now() + 1h)).results, after.results);
  ASSERT_TRUE(store().atomically([&] {
    settle(completed(running));
    EXPECT_TRUE(plans().set_paused(kTenant, "standup", now() + 2h));
  }));

  EXPECT_EQ(results(), ScheduleResults{.last_outcome = JobState::done});
}

TEST_P(ResultsContract, OneThatIsMadeAnewBeginsWithoutThem) {
  clock().advance(1h);
  const LeasedJob running = claim_one(plan("b"));
  fail("a");
  ASSERT_TRUE(plans().delete_schedule(kTenant, "standup"));
  NewSchedule anew{.tenant = std::string(kTenant), .name = "standup", .definition = "{}", .if_revision = {}};
  EXPECT_EQ(value_of(plans().put_schedule(anew)).results, kNoResults);
  // Of the earlier life.
  EXPECT_EQ(settle(completed(running)).state, JobState::done);
  EXPECT_EQ(results(), kNoResults);
  put_subject(id_, {.subject = "c"});
  succeed("c");

  EXPECT_THAT(results().last_outcome, Eq(JobState::done));
}

TEST_P(ResultsContract, WithoutFanOutTheOnlySubjectHasThem) {
  put_subject(id_, {.subject = ""});
  fail("");

  EXPECT_EQ(subject_state(id_).error_count, 1U);
  EXPECT_EQ(results(), kNoResults);
}

TEST_P(ResultsContract, TheyAreKept) {
  if (!GetParam().outlives_close) GTEST_SKIP() << "nothing outlives it";
  fail("a");
  reopen();

  EXPECT_EQ(results(), broke(JobState::cancelled, 1));
}

}  // namespace
}  // namespace carillon::test
