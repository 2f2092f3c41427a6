// What a subject remembers, and what stays of those that are deleted.
#include <array>

#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Advance step_of(const SubjectRow& row, Instant slot) {
  Advance step;
  step.schedule = row.schedule;
  step.subject = row.subject;
  step.version = row.version;
  step.next_at = slot + 24h;
  step.position = slot;
  step.jobs = {occurrence_job(slot, row.subject)};
  return step;
}

TEST_P(StoreContract, AnEndIsToldToItsOccurrenceAndSubjectAtOnce) {  // invariants 2, 14
  const ScheduleId id = schedule();
  const SubjectRow row = put_subject(id, {.subject = "a"});
  const JobId made = advance(step_of(row, now())).jobs.at(0).id;
  const Instant slot = now();
  clock().advance(5s);
  settle(completed(claim_one(made)));

  const auto outcomes = outcomes_of(id, "a");
  ASSERT_THAT(outcomes, SizeIs(1));
  EXPECT_EQ(outcomes[0].outcome, JobState::done);
  EXPECT_EQ(outcomes[0].at, now());
  EXPECT_EQ(outcomes[0].job, made);
  const SubjectState state = subject_state(id, "a");
  EXPECT_EQ(state.status, JobState::done);
  EXPECT_EQ(state.last_slot, slot);
  EXPECT_EQ(state.last_run_at, now());
  EXPECT_EQ(state.error_count, 0U);
  EXPECT_FALSE(subject_of(id, "a").open_job);
}

TEST_P(StoreContract, AnAttemptIsNoOutcome) {  // invariant 8
  const ScheduleId id = schedule();
  const SubjectRow row = put_subject(id, {.subject = "a"});
  Advance step = step_of(row, now());
  step.jobs[0].options.retry = RetryFixed{.delay = 10min};
  const JobId made = advance(step).jobs.at(0).id;
  const LeasedJob leased = claim_one(made);
  EXPECT_FALSE(outcomes_of(id, "a").at(0).outcome);
  settle(failed(leased));

  EXPECT_FALSE(outcomes_of(id, "a").at(0).outcome);
  EXPECT_FALSE(subject_state(id, "a").status);
  EXPECT_EQ(subject_of(id, "a").open_job, made);
}

TEST_P(StoreContract, ASubjectCountsItsMisfortunesInARow) {
  const ScheduleId id = schedule();
  put_subject(id, {.subject = "a"});
  for (int i = 1; i <= 3; ++i) {
    clock().advance(1h);
    const JobId made = advance(step_of(subject_of(id, "a"), now())).jobs.at(0).id;
    settle(failed_for_good(claim_one(made)));
    act(JobAction::discard, made);
    EXPECT_EQ(subject_state(id, "a").error_count, static_cast<std::uint32_t>(i));
  }
  EXPECT_EQ(subject_state(id, "a").status, JobState::cancelled);
  EXPECT_EQ(subject_state(id, "a").last_error, "it broke");
  clock().advance(1h);
  settle(completed(claim_one(advance(step_of(subject_of(id, "a"), now())).jobs.at(0).id)));

  EXPECT_EQ(subject_state(id, "a").error_count, 0U);
  EXPECT_EQ(subject_state(id, "a").last_error, "");
}

TEST_P(StoreContract, AHandlerMayTellWhatItLearntOfItsSubject) {
  const ScheduleId id = schedule();
  const SubjectRow row = put_subject(id, {.subject = "a"});
  Settlement said = completed(claim_one(advance(step_of(row, now())).jobs.at(0).id));
  said.subject = Settlement::SubjectChange{.expected_at = now() + 3h, .status = "available"};
  const std::int64_t before = subject_of(id, "a").version;
  settle(said);

  const SubjectState state = subject_state(id, "a");
  EXPECT_EQ(state.expected_at, now() + 3h);
  EXPECT_EQ(state.last_status, "available");
  EXPECT_EQ(state.last_checked_at, now());
  EXPECT_EQ(state.last_available_at, now());
  EXPECT_GT(subject_of(id, "a").version, before);
}

TEST_P(StoreContract, AManualRunTouchesNoOccurrenceAndNoSubject) {  // invariant 20
  const ScheduleId id = schedule();
  const SubjectRow row = put_subject(id, {.subject = "a", .cursor = now()});
  NewJob manual = job();
  manual.options.origin = Origin::manual;
  manual.subject = "a";
  done_job(manual);

  EXPECT_EQ(subject_of(id, "a"), row);
  EXPECT_THAT(outcomes_of(id, "a"), IsEmpty());
}

TEST_P(StoreContract, OutcomesAreCountedByTheDayAndMinuteOfTheirSlot) {  // invariant 34
  const ScheduleId id = schedule();
  put_subject(id, {.subject = "a"});
  put_subject(id, {.subject = "b"});
  const Instant slot = now();  // 07:00
  for (const char* subject : {"a", "b"}) {
    settle(completed(claim_one(advance(step_of(subject_of(id, subject), slot)).jobs.at(0).id)));
  }
  clock().advance(2min);
  Advance missed = step_of(subject_of(id, "a"), now());
  missed.jobs.clear();
  missed.closed = {{.first = now(), .outcome = JobState::missed}};
  advance(missed);
  const std::int64_t day = std::chrono::floor<std::chrono::days>(slot).time_since_epoch().count();
  const auto counts = value_of(reader().outcome_counts(id, day));

  std::map<std::pair<int, JobState>, std::int64_t> by_minute;
  for (const OutcomeCount& count : counts) {
    EXPECT_EQ(count.day, day);
    by_minute[{count.minute, count.outcome}] += count.count;
  }
  EXPECT_THAT(by_minute, ElementsAre(std::pair(std::pair(7 * 60, JobState::done), 2),
                                     std::pair(std::pair(7 * 60 + 2, JobState::missed), 1)));
  EXPECT_THAT(value_of(reader().outcome_counts(id, day + 1)), IsEmpty());
}

TEST_P(StoreContract, OutcomesAreReadBySubjectAndTime) {
  const ScheduleId id = schedule();
  for (const char* subject : {"a", "b"}) {
    put_subject(id, {.subject = subject});
    for (int hour = 0; hour < 3; ++hour) advance(step_of(subject_of(id, subject), now() + hour * 1h));
  }
  StoreReader::OutcomeQuery query;
  query.schedule = id;
  EXPECT_THAT(value_of(reader().outcomes(query)), SizeIs(6));
  query.from = now() + 1h;
  query.to = now() + 2h;
  EXPECT_THAT(value_of(reader().outcomes(query)), SizeIs(2));
  query.subject = "b";

  const auto found = value_of(reader().outcomes(query));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].subject, "b");
  EXPECT_EQ(found[0].slot, now() + 1h);
  query.to = kInstantMax;
  query.limit = 1;
  EXPECT_THAT(value_of(reader().outcomes(query)), SizeIs(1));
}

TEST_P(StoreContract, OutcomesAreListedPageByPage) {
  const ScheduleId id = schedule();
  for (const char* subject : {"a", "b", "c"}) {
    put_subject(id, {.subject = subject});
    for (int hour = 0; hour < 3; ++hour) advance(step_of(subject_of(id, subject), now() + hour * 1h));
  }
  const auto listed = [&](StoreReader::OutcomeQuery query) {
    query.schedule = id;
    query.limit = 2;
    std::vector<std::pair<std::string, Duration>> found;
    std::optional<OutcomeMark> after;
    for (int page_number = 0; page_number < 10; ++page_number) {
      const OutcomePage page = value_of(reader().outcome_page(query, after));
      for (const OutcomeRow& row : page.outcomes) found.emplace_back(row.subject, row.slot - now());
      after = page.next;
      if (!after) return found;
    }
    ADD_FAILURE() << "the pages do not end";
    return found;
  };
  EXPECT_THAT(listed({}), ElementsAre(std::pair("a", 0h), std::pair("a", 1h), std::pair("a", 2h), std::pair("b", 0h),
                                      std::pair("b", 1h), std::pair("b", 2h), std::pair("c", 0h), std::pair("c", 1h),
                                      std::pair("c", 2h)));
  StoreReader::OutcomeQuery query;
  query.from = now() + 1h;
  query.to = now() + 2h;
  EXPECT_THAT(listed(query), ElementsAre(std::pair("a", 1h), std::pair("b", 1h), std::pair("c", 1h)));
  query.to = kInstantMax;
  query.subject = "b";
  EXPECT_THAT(listed(query), ElementsAre(std::pair("b", 1h), std::pair("b", 2h)));
  query.subject = "none";
  EXPECT_THAT(listed(query), IsEmpty());
}

TEST_P(StoreContract, TheLastOutcomesOfASubjectAreItsNewest) {
  const ScheduleId id = schedule();
  put_subject(id, {.subject = "a"});
  for (int hour = 0; hour < 4; ++hour) advance(step_of(subject_of(id, "a"), now() + hour * 1h));

  const auto found = value_of(reader().last_outcomes(id, "a", 2));
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].slot, now() + 2h);
  EXPECT_EQ(found[1].slot, now() + 3h);
  EXPECT_THAT(value_of(reader().last_outcomes(id, "b", 2)), IsEmpty());
}

TEST_P(StoreContract, ADeletedSubjectIsGoneAndLeavesItsPosition) {  // invariant 1
  const ScheduleId id = schedule();
  const SubjectRow row = put_subject(id, {.subject = "a", .overrides = "{}", .next_at = std::optional(now())});
  const Instant slot = now();
  settle(completed(claim_one(advance(step_of(row, slot)).jobs.at(0).id)));
  ASSERT_TRUE(plans().delete_subject(id, "a"));
  EXPECT_EQ(error_of(reader().subject(id, "a")).code, ErrorCode::not_found);
  EXPECT_THAT(value_of(reader().subjects({.schedule = id}, {}, 10)).subjects, IsEmpty());
  EXPECT_THAT(value_of(plans().subjects_due(id, kInstantMax, 10)), IsEmpty());
  EXPECT_EQ(error_of(plans().delete_subject(id, "a")).code, ErrorCode::not_found);
  clock().advance(std::chrono::days(2));
  prune(24h);

  const SubjectRow again = put_subject(id, {.subject = "a"});
  EXPECT_EQ(again.position, slot);
  EXPECT_EQ(again.overrides, "");
  EXPECT_EQ(error_of(try_enqueue(occurrence_job(slot, "a"))).code, ErrorCode::conflict);
}

TEST_P(StoreContract, AnAdvanceFromBeforeADeletionDoesNotApply) {  // invariants 1, 19
  const ScheduleId id = schedule();
  const SubjectRow row = put_subject(id, {.subject = "a"});
  ASSERT_TRUE(plans().delete_subject(id, "a"));
  EXPECT_EQ(error_of(try_advance(step_of(row, now()))).code, ErrorCode::conflict);
  put_subject(id, {.subject = "a"});

  EXPECT_EQ(error_of(try_advance(step_of(row, now()))).code, ErrorCode::conflict);
  EXPECT_THAT(all_ids(), IsEmpty());
}

TEST_P(StoreContract, ADeletedScheduleIsNotThereAnyMore) {
  const ScheduleId id = schedule();
  put_subject(id, {.subject = "a", .next_at = std::optional(now())});
  ASSERT_TRUE(plans().delete_schedule(kTenant, "standup"));

  EXPECT_EQ(error_of(reader().schedule(kTenant, "standup")).code, ErrorCode::not_found);
  EXPECT_THAT(value_of(reader().schedules(kTenant, "", 10)), IsEmpty());
  EXPECT_THAT(value_of(plans().schedule_heads({}, 10)), IsEmpty());
  EXPECT_THAT(value_of(plans().subjects_due(id, kInstantMax, 10)), IsEmpty());
  EXPECT_THAT(value_of(reader().subjects({.schedule = id}, {}, 10)).subjects, IsEmpty());
  EXPECT_EQ(error_of(reader().subject(id, "a")).code, ErrorCode::not_found);
  EXPECT_EQ(error_of(plans().delete_subject(id, "a")).code, ErrorCode::not_found);
  EXPECT_EQ(error_of(plans().delete_schedule(kTenant, "standup")).code, ErrorCode::not_found);
  EXPECT_EQ(error_of(plans().set_paused(kTenant, "standup", now())).code, ErrorCode::not_found);
  const SubjectEdit edit{.subject = "b"};
  EXPECT_EQ(error_of(plans().put_subjects(id, {&edit, 1})).code, ErrorCode::not_found);
}

TEST_P(StoreContract, ADeletedScheduleMakesNoMoreJobs) {  // only running ones finish
  const ScheduleId id = schedule();
  const SubjectRow row = put_subject(id, {.subject = "a", .next_at = std::optional(now())});
  ASSERT_TRUE(plans().delete_schedule(kTenant, "standup"));

  EXPECT_FALSE(try_advance(step_of(row, now())));
  EXPECT_FALSE(try_enqueue(occurrence_job(now(), "a")));
  EXPECT_THAT(all_ids(), IsEmpty());
}

TEST_P(StoreContract, TheJobsOfADeletedScheduleEndAndKeepTheirOutcomes) {  // invariant 3
  const ScheduleId id = schedule();
  const SubjectRow row = put_subject(id, {.subject = "a"});
  const LeasedJob leased = claim_one(advance(step_of(row, now())).jobs.at(0).id);
  ASSERT_TRUE(plans().delete_schedule(kTenant, "standup"));

  EXPECT_EQ(settle(completed(leased)).state, JobState::done);
  EXPECT_EQ(view(leased.id).schedule, "standup");
  EXPECT_EQ(outcomes_of(id, "a").at(0).outcome, JobState::done);
}

TEST_P(StoreContract, AScheduleMadeAnewGoesOnAfterTheOldPositions) {  // invariant 1
  const ScheduleId old_id = schedule();
  const SubjectRow row = put_subject(old_id, {.subject = "a"});
  const Instant slot = now();
  settle(completed(claim_one(advance(step_of(row, slot)).jobs.at(0).id)));
  ASSERT_TRUE(plans().delete_schedule(kTenant, "standup"));
  clock().advance(1h);
  const ScheduleId id = schedule();
  EXPECT_EQ(value_of(reader().schedule(kTenant, "standup")).created_at, now());
  put_subject(id, {.subject = "a"});

  const auto again = try_enqueue(occurrence_job(slot, "a"));
  EXPECT_TRUE(!again || again->deduplicated);
  EXPECT_THAT(all_ids(), SizeIs(1));
}

TEST_P(StoreContract, AScheduleMadeAnewHasNoneOfTheOldSubjects) {  // only their positions stay behind
  const ScheduleId old_id = schedule();
  put_subject(old_id, {.subject = "a", .overrides = R"({"due":"08:00"})", .next_at = std::optional(now())});
  ASSERT_TRUE(plans().delete_schedule(kTenant, "standup"));
  const ScheduleId id = schedule();

  EXPECT_THAT(value_of(reader().subjects({.schedule = id}, {}, 10)).subjects, IsEmpty());
  EXPECT_EQ(error_of(reader().subject(id, "a")).code, ErrorCode::not_found);
  EXPECT_THAT(value_of(plans().subjects_due(id, kInstantMax, 10)), IsEmpty());
  // Before that a head may have told a time of theirs: too early is harmless, too late is not.
  EXPECT_EQ(value_of(plans().schedule_heads({}, 10)).at(0).next_at, std::nullopt);
  EXPECT_EQ(put_subject(id, {.subject = "a"}).overrides, "");
}

}  // namespace
}  // namespace carillon::test
