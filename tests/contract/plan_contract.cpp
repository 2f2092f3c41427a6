// Schedules and subjects, and the occurrences that become jobs or outcomes exactly once.
#include <algorithm>
#include <array>

#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

NewSchedule definition(std::string name, std::string text = R"({"at": "09:00"})") {
  NewSchedule put;
  put.name = std::move(name);
  put.definition = std::move(text);
  return put;
}

// The next step of a subject: one job for `slot`, the next time a day later.
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

TEST_P(StoreContract, AScheduleIsKeptAsItWasPut) {
  const ScheduleRow put = value_of(plans().put_schedule(definition("standup", R"({"x":  1.50})")));
  EXPECT_TRUE(put.id);
  EXPECT_EQ(put.revision, 1);
  EXPECT_EQ(put.created_at, now());

  const ScheduleRow read = value_of(reader().schedule(kTenant, "standup"));
  EXPECT_EQ(read, put);
  EXPECT_EQ(read.definition, R"({"x":  1.50})");
  EXPECT_TRUE(read.enabled);
}

TEST_P(StoreContract, ARevisionMovesOnlyIfSomethingChanged) {
  const ScheduleRow first = value_of(plans().put_schedule(definition("standup")));
  clock().advance(1h);
  EXPECT_EQ(value_of(plans().put_schedule(definition("standup"))), first);
  const ScheduleRow changed = value_of(plans().put_schedule(definition("standup", R"({"at": "10:00"})")));
  EXPECT_EQ(changed.id, first.id);
  EXPECT_EQ(changed.revision, first.revision + 1);
  EXPECT_EQ(changed.created_at, first.created_at);
  EXPECT_EQ(changed.updated_at, now());
  NewSchedule off = definition("standup", R"({"at": "10:00"})");
  off.enabled = false;

  EXPECT_EQ(value_of(plans().put_schedule(off)).revision, first.revision + 2);
}

TEST_P(StoreContract, AScheduleIsGuardedByItsRevision) {
  NewSchedule put = definition("standup");
  put.if_revision = 1;
  EXPECT_EQ(error_of(plans().put_schedule(put)).code, ErrorCode::conflict);
  put.if_revision = 0;
  const ScheduleRow first = value_of(plans().put_schedule(put));
  EXPECT_EQ(error_of(plans().put_schedule(put)).code, ErrorCode::conflict);
  put.definition = "{}";
  put.if_revision = first.revision;
  EXPECT_EQ(value_of(plans().put_schedule(put)).revision, 2);
  put.definition = R"({"a":1})";

  EXPECT_EQ(error_of(plans().put_schedule(put)).code, ErrorCode::conflict);
  EXPECT_EQ(value_of(reader().schedule(kTenant, "standup")).definition, "{}");
}

TEST_P(StoreContract, AScheduleThatCannotBeReadIsRefused) {
  EXPECT_EQ(error_of(plans().put_schedule(definition(""))).code, ErrorCode::invalid_request);
  EXPECT_EQ(error_of(plans().put_schedule(definition("a b"))).code, ErrorCode::invalid_request);
  EXPECT_EQ(error_of(plans().put_schedule(definition("a", "{"))).code, ErrorCode::invalid_request);
  EXPECT_THAT(value_of(reader().schedules(kTenant, "", 10)), IsEmpty());
}

TEST_P(StoreContract, AScheduleCanBePausedAndResumed) {
  schedule();
  const ScheduleRow paused = value_of(plans().set_paused(kTenant, "standup", now() + 1h));
  EXPECT_EQ(paused.paused_until, now() + 1h);
  EXPECT_EQ(value_of(plans().schedule_heads({}, 10)).at(0).paused_until, now() + 1h);

  EXPECT_EQ(value_of(plans().set_paused(kTenant, "standup", std::nullopt)).paused_until, std::nullopt);
  EXPECT_EQ(error_of(plans().set_paused(kTenant, "absent", std::nullopt)).code, ErrorCode::not_found);
}

TEST_P(StoreContract, SubjectsAreFoundWhenTheyAreDueEarliestFirst) {
  const ScheduleId id = schedule();
  put_subject(id, {.subject = "b", .next_at = std::optional(now() + 2h)});
  put_subject(id, {.subject = "a", .next_at = std::optional(now() + 3h)});
  put_subject(id, {.subject = "c", .next_at = std::optional(now() + 1h)});
  put_subject(id, {.subject = "never"});
  const auto due = [&](Duration in, std::size_t limit) {
    std::vector<std::string> names;
    for (const SubjectRow& row : value_of(plans().subjects_due(id, now() + in, limit))) names.push_back(row.subject);
    return names;
  };

  EXPECT_THAT(due(59min, 10), IsEmpty());
  EXPECT_THAT(due(2h, 10), ElementsAre("c", "b"));
  EXPECT_THAT(due(24h, 10), ElementsAre("c", "b", "a"));
  EXPECT_THAT(due(24h, 1), ElementsAre("c"));
  EXPECT_EQ(value_of(plans().schedule_heads({}, 10)).at(0).next_at, now() + 1h);
}

TEST_P(StoreContract, HeadsAreReadInPagesWithoutDeletedSchedules) {
  std::vector<ScheduleId> ids;
  for (const char* name : {"a", "b", "c", "d"}) ids.push_back(schedule(name));
  value_of(plans().put_schedule([] {
    NewSchedule off = definition("c");
    off.enabled = false;
    return off;
  }()));
  ASSERT_TRUE(plans().delete_schedule(kTenant, "b"));
  std::vector<ScheduleHead> heads;
  ScheduleId after;
  for (int i = 0; i < 10; ++i) {
    const auto page = value_of(plans().schedule_heads(after, 2));
    if (page.empty()) break;
    heads.insert(heads.end(), page.begin(), page.end());
    after = page.back().schedule;
  }

  ASSERT_THAT(heads, SizeIs(3));
  EXPECT_EQ(heads[0].schedule, ids[0]);
  EXPECT_EQ(heads[1].schedule, ids[2]);
  EXPECT_FALSE(heads[1].enabled);
  EXPECT_EQ(heads[2].schedule, ids[3]);
}

TEST_P(StoreContract, SubjectsAreChangedAllOrNone) {
  const ScheduleId id = schedule();
  put_subject(id, {.subject = "a", .cursor = now()});
  const std::array<SubjectEdit, 3> edits{{{.subject = "new"},
                                          {.subject = "a", .cursor = now() - 1h},  // never falls
                                          {.subject = "newer"}}};
  EXPECT_EQ(error_of(plans().put_subjects(id, edits)).code, ErrorCode::conflict);

  EXPECT_THAT(value_of(reader().subjects({.schedule = id}, {}, 10)).subjects, SizeIs(1));
  EXPECT_EQ(error_of(plans().put_subjects({999}, edits)).code, ErrorCode::not_found);
}

TEST_P(StoreContract, ASubjectIsGuardedByItsVersion) {
  const ScheduleId id = schedule();
  const SubjectRow first = put_subject(id, {.subject = "a", .overrides = R"({"due":"08:00"})"});
  const SubjectRow second = put_subject(id, {.subject = "a", .if_version = first.version, .overrides = "{}"});
  EXPECT_GT(second.version, first.version);
  const SubjectEdit late{.subject = "a", .if_version = first.version, .overrides = "late"};
  EXPECT_EQ(error_of(plans().put_subjects(id, {&late, 1})).code, ErrorCode::conflict);

  EXPECT_EQ(subject_of(id, "a").overrides, "{}");
}

TEST_P(StoreContract, AnAdvanceMakesTheJobAndMovesTheSubjectAtOnce) {  // invariant 19
  const ScheduleId id = schedule();
  const SubjectRow row = put_subject(id, {.subject = "a", .next_at = std::optional(now())});
  const Advanced advanced = advance(step_of(row, now()));

  ASSERT_THAT(advanced.jobs, SizeIs(1));
  EXPECT_FALSE(advanced.jobs[0].deduplicated);
  const SubjectRow moved = subject_of(id, "a");
  EXPECT_EQ(moved.next_at, now() + 24h);
  EXPECT_EQ(moved.position, now());
  EXPECT_EQ(moved.open_job, advanced.jobs[0].id);
  EXPECT_EQ(moved.version, advanced.version);
  EXPECT_GT(moved.version, row.version);
  const JobView made = view(advanced.jobs[0].id);
  EXPECT_EQ(made.schedule, "standup");
  EXPECT_EQ(made.row.subject, "a");
  EXPECT_EQ(made.row.slot, now());
  const auto outcomes = outcomes_of(id, "a");
  ASSERT_THAT(outcomes, SizeIs(1));
  EXPECT_EQ(outcomes[0].job, made.row.id);
  EXPECT_FALSE(outcomes[0].outcome);
}

TEST_P(StoreContract, TheNextOccurrenceDoesNotWaitForTheOneBefore) {  // invariant 19
  const ScheduleId id = schedule();
  const SubjectRow row = put_subject(id, {.subject = "a", .next_at = std::optional(now())});
  const JobId stuck = advance(step_of(row, now())).jobs.at(0).id;
  settle(failed_for_good(claim_one(stuck)));
  clock().advance(24h);
  ASSERT_THAT(value_of(plans().subjects_due(id, now(), 10)), SizeIs(1));

  EXPECT_TRUE(try_advance(step_of(subject_of(id, "a"), now())));
}

TEST_P(StoreContract, AnAdvanceComputedFromAnOldRowDoesNothing) {  // invariants 1, 19
  const ScheduleId id = schedule();
  const SubjectRow row = put_subject(id, {.subject = "a", .next_at = std::optional(now())});
  Advance first = step_of(row, now());
  Advance second = step_of(row, now() + 1h);
  second.closed = {{.first = now() - 1h}};
  const auto answers = plans().advance(std::array{first, second});
  EXPECT_TRUE(answers[0]);
  EXPECT_EQ(error_of(answers[1]).code, ErrorCode::conflict);
  const SubjectRow before = subject_of(id, "a");
  EXPECT_EQ(error_of(try_advance(second)).code, ErrorCode::conflict);

  EXPECT_EQ(subject_of(id, "a"), before);
  EXPECT_THAT(outcomes_of(id, "a"), SizeIs(1));
  EXPECT_THAT(all_ids(), SizeIs(1));
}

TEST_P(StoreContract, ARefusedAdvanceLeavesNothingBehind) {  // invariant 19
  const ScheduleId id = schedule();
  const SubjectRow row = put_subject(id, {.subject = "a"});
  Advance step = step_of(row, now());
  NewJob bad = occurrence_job(now() + 1h, "a");
  bad.type = "";
  step.jobs.push_back(bad);
  EXPECT_FALSE(try_advance(step));

  EXPECT_EQ(subject_of(id, "a"), row);
  EXPECT_THAT(all_ids(), IsEmpty());
  EXPECT_THAT(outcomes_of(id, "a"), IsEmpty());
  EXPECT_THAT(kept_counts(), IsEmpty());
}

TEST_P(StoreContract, AnOccurrenceBecomesOneJobHoweverOftenItIsAskedFor) {  // invariant 1
  const ScheduleId id = schedule();
  put_subject(id, {.subject = "a"});
  const Enqueued first = enqueued(occurrence_job(now(), "a"));
  const Enqueued second = enqueued(occurrence_job(now(), "a"));

  EXPECT_EQ(second.id, first.id);
  EXPECT_TRUE(second.deduplicated);
  settle(completed(claim_one(first.id)));
  EXPECT_EQ(enqueue(occurrence_job(now(), "a")), first.id);
  EXPECT_THAT(all_ids(), SizeIs(1));
  EXPECT_EQ(value_of(reader().outcomes({.schedule = id})).at(0).outcome, JobState::done);
}

TEST_P(StoreContract, AnOccurrenceIsOneOfItsScheduleSubjectAndSlot) {  // invariant 1
  const ScheduleId id = schedule();
  schedule("other");
  put_subject(id, {.subject = "a"});
  put_subject(id, {.subject = "b"});
  NewJob of_other = occurrence_job(now(), "a");
  of_other.occurrence->schedule = "other";
  const std::array same_time{occurrence_job(now(), "a"), occurrence_job(now(), "b"), occurrence_job(now() + 1us, "a"),
                             of_other};
  for (const auto& answer : jobs().enqueue(same_time)) EXPECT_FALSE(value_of(answer).deduplicated);
}

TEST_P(StoreContract, APositionNeverFallsAndNothingBeforeItIsPlannedAgain) {  // invariant 1
  const ScheduleId id = schedule();
  const SubjectRow row = put_subject(id, {.subject = "a"});
  Advance far = step_of(row, now() + 10h);
  far.jobs.clear();
  advance(far);
  Advance back = step_of(subject_of(id, "a"), now() + 5h);
  back.jobs.clear();
  advance(back);
  EXPECT_EQ(subject_of(id, "a").position, now() + 10h);

  EXPECT_EQ(error_of(try_enqueue(occurrence_job(now() + 10h, "a"))).code, ErrorCode::conflict);
  EXPECT_TRUE(try_enqueue(occurrence_job(now() + 11h, "a")));
}

TEST_P(StoreContract, WhatNeverRanHasItsOutcomeWithItsReason) {  // invariants 3, 33
  const ScheduleId id = schedule();
  const SubjectRow row = put_subject(id, {.subject = "a"});
  Advance step = step_of(row, now());
  step.closed = {
      {.first = now() - 3h, .until = now() - 1h, .count = 2, .outcome = JobState::missed, .reason = "misfire"}};
  advance(step);
  const auto outcomes = outcomes_of(id, "a");

  ASSERT_THAT(outcomes, SizeIs(2));
  EXPECT_EQ(outcomes[0].slot, now() - 3h);
  EXPECT_EQ(outcomes[0].until, now() - 1h);
  EXPECT_EQ(outcomes[0].count, 2);
  EXPECT_FALSE(outcomes[0].job);
  EXPECT_EQ(outcomes[0].outcome, JobState::missed);
  EXPECT_EQ(outcomes[0].reason, "misfire");
  EXPECT_EQ(outcomes[0].at, now());
}

TEST_P(StoreContract, ARangeCountsForAsManyAsItStandsFor) {  // invariant 34
  const ScheduleId id = schedule();
  const SubjectRow row = put_subject(id, {.subject = "a"});
  Advance step = step_of(row, now());
  step.closed = {{.first = now() - 3h, .until = now() - 1h, .count = 121, .outcome = JobState::missed}};
  advance(step);
  const std::int64_t day = std::chrono::floor<std::chrono::days>(now() - 3h).time_since_epoch().count();

  std::int64_t missed = 0;
  for (const OutcomeCount& count : value_of(reader().outcome_counts(id, day))) {
    if (count.outcome == JobState::missed) missed += count.count;
  }
  EXPECT_EQ(missed, 121);
}

TEST_P(StoreContract, ARangeOfDaysIsCountedDayByDay) {  // invariant 34; date and minute are the slot's own
  const ScheduleId id = schedule();
  const SubjectRow row = put_subject(id, {.subject = "a"});
  const auto first = std::chrono::floor<std::chrono::days>(now()) - std::chrono::days(5);
  const std::int64_t day = first.time_since_epoch().count();
  Advance step = step_of(row, now());
  step.closed = {{.first = first,
                  .until = first + std::chrono::days(2),
                  .count = 3,
                  .outcome = JobState::missed,
                  .local_minute = day * 1440 + 480,
                  .minutes = {{.local_minute = day * 1440 + 480},
                              {.local_minute = (day + 1) * 1440 + 480},
                              {.local_minute = (day + 2) * 1440 + 480}}}};
  advance(step);

  for (int i = 0; i < 3; ++i) {
    std::int64_t missed = 0;
    for (const OutcomeCount& count : value_of(reader().outcome_counts(id, day + i))) {
      if (count.outcome == JobState::missed && count.minute == 480) missed += count.count;
    }
    EXPECT_EQ(missed, 1) << "day " << i;
  }
}

TEST_P(StoreContract, AnOutcomeNeverChanges) {  // invariants 2, 3
  const ScheduleId id = schedule();
  const SubjectRow row = put_subject(id, {.subject = "a"});
  const Instant slot = now();
  settle(completed(claim_one(advance(step_of(row, slot)).jobs.at(0).id)));
  const auto before = outcomes_of(id, "a");
  ASSERT_EQ(before.at(0).outcome, JobState::done);
  Advance again = step_of(subject_of(id, "a"), now() + 24h);
  again.jobs.clear();
  again.closed = {{.first = slot, .outcome = JobState::missed}};
  advance(again);

  EXPECT_EQ(outcomes_of(id, "a"), before);
}

}  // namespace
}  // namespace carillon::test
