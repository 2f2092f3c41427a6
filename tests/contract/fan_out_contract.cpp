// Subjects by the million: put in batches, listed by what is asked for, counted without counting, disabled, swept.
#include <fmt/format.h>

#include <array>

#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class FanOutContract : public StoreContract {
 protected:
  void SetUp() override {
    StoreContract::SetUp();
    id_ = schedule();
  }

  std::vector<SubjectFate> put(const std::vector<SubjectEdit>& edits) {
    std::vector<SubjectFate> fates;
    for (const PutSubject& one : value_of(plans().put_subjects(id_, edits))) fates.push_back(one.fate);
    return fates;
  }
  // Page by page.
  std::vector<std::string> listed(SubjectFilter filter, std::size_t page_size = 2) {
    filter.schedule = id_;
    std::vector<std::string> names;
    std::optional<SubjectMark> after;
    for (int i = 0; i < 100; ++i) {
      const SubjectPage page = value_of(reader().subjects(filter, after, page_size));
      for (const SubjectRow& row : page.subjects) names.push_back(row.subject);
      after = page.next;
      if (!after) return names;
    }
    ADD_FAILURE() << "the pages do not end";
    return names;
  }
  std::int64_t kept_count() { return value_of(reader().schedule(kTenant, "standup")).subjects; }
  JobId plan(const std::string& subject, std::optional<Instant> deadline = {}) {
    Advance step;
    step.schedule = id_;
    step.subject = subject;
    step.version = subject_of(id_, subject).version;
    step.next_at = now() + 24h;
    step.jobs = {occurrence_job(now(), subject)};
    step.jobs[0].deadline = deadline;
    return advance(step).jobs.at(0).id;
  }
  ScheduleId put_schedule(const std::string& name, const std::string& definition) {
    return value_of(plans().put_schedule({.tenant = std::string(kTenant), .name = name, .definition = definition})).id;
  }
  SweepStep sweep(std::optional<std::string> after = {}, std::size_t limit = 100) {
    return value_of(
        plans().sweep({.schedule = id_, .after = std::move(after), .limit = limit, .late_before = now() - 5min}));
  }

  ScheduleId id_;
};

RUN_OVER_EVERY_STORE(FanOutContract);

TEST_P(FanOutContract, APutSaysWhatBecameOfEach) {
  EXPECT_THAT(put({{.subject = "a", .overrides = "{}"}, {.subject = "b"}}),
              ElementsAre(SubjectFate::created, SubjectFate::created));
  const std::int64_t version = subject_of(id_, "a").version;
  EXPECT_THAT(put({{.subject = "a", .overrides = "{}"}, {.subject = "b", .enabled = false}, {.subject = "c"}}),
              ElementsAre(SubjectFate::unchanged, SubjectFate::updated, SubjectFate::created));

  EXPECT_EQ(subject_of(id_, "a").version, version);
  EXPECT_FALSE(subject_of(id_, "b").enabled);
}

TEST_P(FanOutContract, ManyAreFoundByNameEachInItsPlace) {
  put({{.subject = "a"}, {.subject = "b", .overrides = "{}"}, {.subject = "c"}});
  ASSERT_TRUE(plans().delete_subject(id_, "c"));
  const std::array<std::string_view, 5> names{"b", "c", "none", "a", "b"};
  const auto found = value_of(plans().subjects(id_, names));

  ASSERT_THAT(found, SizeIs(5));
  EXPECT_EQ(found[0], subject_of(id_, "b"));
  EXPECT_FALSE(found[1]);
  EXPECT_FALSE(found[2]);
  EXPECT_EQ(found[3], subject_of(id_, "a"));
  EXPECT_EQ(found[4], found[0]);
  EXPECT_EQ(error_of(plans().subjects({999}, names)).code, ErrorCode::not_found);
}

TEST_P(FanOutContract, OneTransactionSeesEachSubjectAsItNowIs) {
  put({{.subject = "a", .overrides = "{}", .next_at = now()}, {.subject = "b", .next_at = now()}});
  const auto seen = [&](const char* subject) { return value_of(plans().subject(id_, subject)); };
  ASSERT_TRUE(store().atomically([&] {
    const SubjectRow a = seen("a");
    EXPECT_THAT(value_of(plans().subjects_due(id_, now(), 10)), ElementsAre(a, seen("b")));
    // All or none: what was written of the first is taken back.
    const std::array<SubjectEdit, 2> refused{
        {{.subject = "a", .overrides = R"({"due":"09:00"})"}, {.subject = "b", .if_version = 999}}};
    EXPECT_EQ(error_of(plans().put_subjects(id_, refused)).code, ErrorCode::conflict);
    EXPECT_EQ(seen("a"), a);

    Advance step{.schedule = id_, .subject = "a", .version = a.version, .next_at = now() + 24h};
    step.jobs = {occurrence_job(now(), "a")};
    ASSERT_TRUE(plans().advance(std::array{step}).front());
    EXPECT_EQ(seen("a").next_at, now() + 24h);
    EXPECT_EQ(seen("a").overrides, "{}");
    EXPECT_THAT(value_of(plans().subjects_due(id_, now(), 10)), ElementsAre(seen("b")));
    EXPECT_THAT(put({{.subject = "a", .overrides = R"({"due":"10:00"})"}}), ElementsAre(SubjectFate::updated));
    EXPECT_EQ(seen("a").overrides, R"({"due":"10:00"})");
    ASSERT_TRUE(plans().delete_subject(id_, "b"));
    EXPECT_EQ(error_of(plans().subject(id_, "b")).code, ErrorCode::not_found);
  }));

  EXPECT_EQ(seen("a").overrides, R"({"due":"10:00"})");
  EXPECT_EQ(seen("a").next_at, now() + 24h);
  EXPECT_EQ(error_of(plans().subject(id_, "b")).code, ErrorCode::not_found);
}

TEST_P(FanOutContract, WhoeverTakesASubjectForNewMayBeWrong) {
  EXPECT_THAT(put({{.subject = "a", .position = now(), .is_new = true}}), ElementsAre(SubjectFate::created));
  const std::int64_t version = subject_of(id_, "a").version;
  EXPECT_THAT(put({{.subject = "a", .overrides = "{}", .is_new = true}, {.subject = "a", .is_new = true}}),
              ElementsAre(SubjectFate::updated, SubjectFate::unchanged));
  EXPECT_EQ(subject_of(id_, "a").version, version + 1);
  const std::array<SubjectEdit, 1> stale{{{.subject = "a", .if_version = version, .is_new = true}}};
  EXPECT_EQ(error_of(plans().put_subjects(id_, stale)).code, ErrorCode::conflict);
  EXPECT_EQ(kept_count(), 1);

  // Of one that is gone the position stays.
  ASSERT_TRUE(plans().delete_subject(id_, "a"));
  EXPECT_THAT(put({{.subject = "a", .position = now() - 1h, .is_new = true}}), ElementsAre(SubjectFate::created));
  EXPECT_EQ(subject_of(id_, "a").position, now());
  EXPECT_EQ(kept_count(), 1);
}

TEST_P(FanOutContract, SubjectsAreCountedAsTheyComeAndGo) {  // invariant 34
  put({{.subject = "a"}, {.subject = "b"}, {.subject = "c"}});
  put({{.subject = "a", .overrides = "{}"}});
  EXPECT_EQ(kept_count(), 3);
  ASSERT_TRUE(plans().delete_subject(id_, "b"));
  EXPECT_EQ(kept_count(), 2);
  put({{.subject = "b"}});
  EXPECT_EQ(kept_count(), 3);
  const std::array<SubjectEdit, 2> refused{{{.subject = "d"}, {.subject = std::string(600, 'x')}}};
  EXPECT_FALSE(plans().put_subjects(id_, refused));
  EXPECT_EQ(kept_count(), 3);
  ASSERT_TRUE(plans().delete_schedule(kTenant, "standup"));
  schedule();
  EXPECT_EQ(kept_count(), 0);
  put({{.subject = "a"}});

  EXPECT_EQ(kept_count(), 1);
}

TEST_P(FanOutContract, ARefusedImportNamesItsSubject) {
  put({{.subject = "a", .cursor = now()}});
  const std::array<SubjectEdit, 2> edits{{{.subject = "b"}, {.subject = "a", .cursor = now() - 1h}}};
  EXPECT_THAT(error_of(plans().put_subjects(id_, edits)).message, HasSubstr("\"a\""));
  EXPECT_THAT(listed({}), ElementsAre("a"));
}

TEST_P(FanOutContract, AnEditMayRaiseThePositionAndChangeTheState) {
  put({{.subject = "a", .position = now(), .state = StateChange{.expected_at = now() + 1h, .cadence = "24h"}}});
  put({{.subject = "a", .position = now() - 1h, .state = StateChange{.last_status = "available"}}});

  EXPECT_EQ(subject_of(id_, "a").position, now());
  EXPECT_EQ(subject_state(id_, "a").expected_at, now() + 1h);
  EXPECT_EQ(subject_state(id_, "a").cadence, "24h");
  EXPECT_EQ(subject_state(id_, "a").last_status, "available");
  put({{.subject = "a", .state = StateChange{.expected_at = std::optional<Instant>()}}});
  EXPECT_FALSE(subject_state(id_, "a").expected_at);
}

TEST_P(FanOutContract, AListGoesByNameAndPrefix) {
  put({{.subject = "user-2"}, {.subject = "user-1"}, {.subject = "users"}, {.subject = "team-1"}, {.subject = "user"}});

  EXPECT_THAT(listed({}), ElementsAre("team-1", "user", "user-1", "user-2", "users"));
  EXPECT_THAT(listed({.prefix = "user-"}), ElementsAre("user-1", "user-2"));
  EXPECT_THAT(listed({.prefix = "user"}, 3), ElementsAre("user", "user-1", "user-2", "users"));
  EXPECT_THAT(listed({.prefix = "x"}), IsEmpty());
}

TEST_P(FanOutContract, AListIsFilteredByWhatASubjectIs) {
  for (const char* name : {"a", "b", "c", "d"}) put({{.subject = name, .enabled = *name != 'b'}});
  settle(completed(claim_one(plan("a"))));
  settle(completed(claim_one(plan("d"))));
  settle(skipped(claim_one(plan("c")), "success"));  // only the status counts

  EXPECT_THAT(listed({.enabled = true}), ElementsAre("a", "c", "d"));
  EXPECT_THAT(listed({.enabled = false}), ElementsAre("b"));
  EXPECT_THAT(listed({.status = "success"}, 1), ElementsAre("a", "d"));
  EXPECT_THAT(listed({.status = "skipped"}), ElementsAre("c"));
  EXPECT_THAT(listed({.status = ""}), ElementsAre("b"));
  EXPECT_THAT(listed({.prefix = "d", .enabled = true, .status = "success"}), ElementsAre("d"));
}

TEST_P(FanOutContract, WhatIsDueSoonIsListedByItsTime) {
  put({{.subject = "late", .next_at = std::optional(now() + 3h)},
       {.subject = "b", .next_at = std::optional(now() + 1h)},
       {.subject = "a", .next_at = std::optional(now() + 1h)},
       {.subject = "z", .next_at = std::optional(now())},
       {.subject = "never"}});

  EXPECT_THAT(listed({.due_until = now() + 1h}, 1), ElementsAre("z", "a", "b"));
  EXPECT_THAT(listed({.prefix = "b", .due_until = now() + 1h}), ElementsAre("b"));
  EXPECT_THAT(listed({.due_until = now() + 9h}), ElementsAre("z", "a", "b", "late"));
}

TEST_P(FanOutContract, TheEarliestTimeOfAScheduleIsKnown) {
  EXPECT_FALSE(value_of(plans().next_subject_at(id_)));
  put({{.subject = "a", .next_at = std::optional(now() + 2h)}, {.subject = "b", .next_at = std::optional(now() + 1h)}});
  EXPECT_EQ(value_of(plans().next_subject_at(id_)), now() + 1h);
  put({{.subject = "b", .next_at = std::optional<Instant>()}});
  EXPECT_EQ(value_of(plans().next_subject_at(id_)), now() + 2h);
  ASSERT_TRUE(plans().delete_subject(id_, "a"));

  EXPECT_FALSE(value_of(plans().next_subject_at(id_)));
}

TEST_P(FanOutContract, AllSubjectsAreReadInSlices) {
  for (const char* name : {"", "c", "a", "b"}) put({{.subject = name}});
  ASSERT_TRUE(plans().delete_subject(id_, "b"));
  const ScheduleId other = schedule("other");
  put_subject(other, {.subject = "d"});
  std::vector<std::string> names;
  std::optional<std::string> after;
  for (int i = 0; i < 10; ++i) {
    const SubjectSlice slice = value_of(plans().subjects_after(id_, after, 1));
    for (const SubjectRow& row : slice.rows) names.push_back(row.subject);
    if (slice.end) break;
    after = slice.next_after;
  }

  EXPECT_THAT(names, ElementsAre("", "a", "c"));
}

TEST_P(FanOutContract, ASliceOfDeletedOnesIsNotTheEnd) {
  for (int i = 0; i < 40; ++i) put({{.subject = fmt::format("a{:02}", i)}});
  put({{.subject = "b"}});
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(plans().delete_subject(id_, fmt::format("a{:02}", i)));
  std::vector<std::string> names;
  std::optional<std::string> after;
  int slices = 0;
  for (bool end = false; !end && slices < 100; ++slices) {
    const SubjectSlice slice = value_of(plans().subjects_after(id_, after, 2));
    for (const SubjectRow& row : slice.rows) names.push_back(row.subject);
    end = slice.end;
    after = slice.next_after;
  }
  EXPECT_THAT(names, ElementsAre("b"));

  SweepStep swept;
  std::uint64_t looked_at = 0;
  for (int i = 0; i < 100 && !swept.end; ++i) {
    swept = sweep(swept.next_after, 2);
    looked_at += swept.looked_at;
  }
  EXPECT_EQ(looked_at, 1U);
}

TEST_P(FanOutContract, WhoCannotBePlannedSaysWhyAndCountsItOnce) {  // invariant 33
  for (int i = 0; i < 2; ++i) put({{.subject = "a", .state = StateChange{.error = "the zone is gone"}}});
  EXPECT_EQ(subject_state(id_, "a").last_error, "the zone is gone");
  EXPECT_EQ(subject_state(id_, "a").error_count, 1U);
}

TEST_P(FanOutContract, FollowersAreFoundAmongAll) {  // invariant 31
  put_schedule("next", R"({"trigger":{"kind":"after","schedule":"standup"}})");
  put_schedule("other", R"({"trigger":{"kind":"daily","at":"08:00"}})");
  const ScheduleId last = put_schedule("last", R"({"trigger":{"kind":"after","schedule":"next"}})");
  put_schedule("gone", R"({"trigger":{"kind":"after","schedule":"next"}})");
  ASSERT_TRUE(plans().delete_schedule(kTenant, "gone"));

  const auto first = value_of(plans().followers({}, 1));
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0].name, "next");
  const auto rest = value_of(plans().followers(first[0].id, 10));
  ASSERT_THAT(rest, SizeIs(1));
  EXPECT_EQ(rest[0].id, last);
}

TEST_P(FanOutContract, TheJobOfADisabledSubjectIsHeld) {  // invariant 32
  put({{.subject = "a"}, {.subject = "b"}});
  const JobId held = plan("a");
  const JobId other = plan("b");
  put({{.subject = "a", .enabled = false}});
  const std::array jobs_asked{held, other};
  const Claimed claimed = value_of(jobs().claim({.worker = "ada", .jobs = jobs_asked}));

  ASSERT_THAT(claimed.jobs, SizeIs(1));
  EXPECT_EQ(claimed.jobs[0].id, other);
  ASSERT_THAT(claimed.held, SizeIs(1));
  EXPECT_EQ(claimed.held[0].job.id, held);
  EXPECT_EQ(claimed.held[0].schedule, id_);
  EXPECT_EQ(claimed.held[0].subject, "a");
  EXPECT_FALSE(claimed.held[0].until);
  EXPECT_EQ(state(held), JobState::queued);
  put({{.subject = "a", .enabled = true}});
  EXPECT_TRUE(try_claim(held));
}

TEST_P(FanOutContract, ADisabledSubjectsJobEndsAtItsDeadlineAsPaused) {  // invariant 32
  put({{.subject = "a"}});
  const JobId held = plan("a", now() + 1h);
  put({{.subject = "a", .enabled = false}});
  clock().advance(1h);
  finish_overdue();

  EXPECT_EQ(state(held), JobState::cutoff_reached);
  EXPECT_EQ(detail(held).reason, "paused");
}

TEST_P(FanOutContract, AnAdvanceSetsCursorAndCadence) {
  put({{.subject = "a"}});
  Advance step;
  step.schedule = id_;
  step.subject = "a";
  step.version = subject_of(id_, "a").version;
  step.cursor = now();
  step.state = StateChange{.cadence = "7d"};
  step.version = advance(step).version;
  step.cursor = now() - 1h;  // never falls
  advance(step);

  EXPECT_EQ(subject_of(id_, "a").cursor, now());
  EXPECT_EQ(subject_state(id_, "a").cadence, "7d");
}

TEST_P(FanOutContract, ASweepOverHealthySubjectsFindsNone) {
  put({{.subject = "a", .next_at = std::optional(now())}, {.subject = "b", .next_at = std::optional(now() + 1h)}});
  plan("b");
  const SweepStep step = sweep();

  EXPECT_EQ(step.looked_at, 2U);
  EXPECT_TRUE(step.end);
  EXPECT_THAT(step.found, IsEmpty());
}

TEST_P(FanOutContract, ASweepLooksAtEachOnceHoweverLongItsSlices) {
  std::vector<SubjectEdit> edits;
  for (int i = 10; i < 60; ++i) {
    edits.push_back({.subject = "s" + std::to_string(i), .next_at = std::optional(now() - 6min)});
  }
  put(edits);
  const ScheduleId next = put_schedule("next", "{}");
  value_of(plans().put_subjects(next, std::vector<SubjectEdit>{{.subject = "another"}}));

  for (const std::size_t limit : {1U, 8U, 9U, 40U, 49U, 50U, 51U, 500U}) {
    std::vector<std::string> found;
    SweepStep step;
    for (int i = 0; i < 100 && (i == 0 || !step.end); ++i) {
      step = sweep(i == 0 ? std::nullopt : std::optional(step.next_after), limit);
      EXPECT_LE(step.looked_at, limit);
      for (const SweptSubject& swept : step.found) found.push_back(swept.row.subject);
    }
    EXPECT_TRUE(step.end);
    ASSERT_THAT(found, SizeIs(50)) << limit;
    EXPECT_EQ(found.front(), "s10");
    EXPECT_EQ(found.back(), "s59");
  }
}

TEST_P(FanOutContract, ASweepFindsWhatIsLateOrHasNoTime) {
  put({{.subject = "a", .next_at = std::optional(now() - 6min)},
       {.subject = "b"},
       {.subject = "c", .enabled = false},
       {.subject = "d", .next_at = std::optional(now() - 4min)}});
  SweepStep step = sweep({}, 1);
  ASSERT_THAT(step.found, SizeIs(1));
  EXPECT_EQ(step.found[0].row.subject, "a");
  EXPECT_TRUE(step.found[0].is_late);
  EXPECT_FALSE(step.end);
  step = sweep(step.next_after);

  ASSERT_THAT(step.found, SizeIs(1));
  EXPECT_EQ(step.found[0].row.subject, "b");
  EXPECT_TRUE(step.found[0].has_no_time);
  EXPECT_TRUE(step.end);
}

}  // namespace
}  // namespace carillon::test
