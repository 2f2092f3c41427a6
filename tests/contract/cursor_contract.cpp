// Cursors of windows: over the contiguous run of what is closed, never back, with a row for every gap.
#include <array>

#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// A topic whose windows are an hour long, the first from `begin`.
class CursorContract : public StoreContract {
 protected:
  void SetUp() override {
    StoreContract::SetUp();
    begin_ = now() - 10h;
    id_ = schedule();
    put_subject(id_, {.subject = kTopic, .cursor = begin_});
  }

  Instant at(int hour) const { return begin_ + hour * 1h; }
  // Plans the windows [from, to) and answers their jobs.
  std::vector<JobId> plan(int from, int to) {
    Advance step = next_step();
    for (int hour = from; hour < to; ++hour) {
      step.jobs.push_back(occurrence_job(at(hour), kTopic, at(hour + 1)));
    }
    step.position = at(to - 1);
    std::vector<JobId> ids;
    for (const Enqueued& made : advance(step).jobs) ids.push_back(made.id);
    return ids;
  }
  Advance next_step() {
    Advance step;
    step.schedule = id_;
    step.subject = kTopic;
    step.version = subject_of(id_, kTopic).version;
    return step;
  }
  void finish(JobId id) { settle(completed(claim_one(id))); }
  Instant cursor() { return *subject_of(id_, kTopic).cursor; }
  std::vector<OutcomeRow> gaps() { return gaps_of(id_, kTopic); }

  inline static const std::string kTopic = "topic";
  ScheduleId id_;
  Instant begin_;
};

RUN_OVER_EVERY_STORE(CursorContract);

TEST_P(CursorContract, TheCursorFollowsTheWindowsThatAreDone) {  // invariant 20
  const auto windows = plan(0, 3);
  EXPECT_EQ(cursor(), at(0));
  finish(windows[0]);
  EXPECT_EQ(cursor(), at(1));
  finish(windows[1]);
  finish(windows[2]);

  EXPECT_EQ(cursor(), at(3));
  EXPECT_THAT(gaps(), IsEmpty());
}

TEST_P(CursorContract, TheCursorWaitsForTheFirstOpenWindow) {  // invariant 20
  const auto windows = plan(0, 6);
  for (std::size_t i = 1; i < 6; ++i) finish(windows[i]);
  EXPECT_EQ(cursor(), at(0));
  finish(windows[0]);

  EXPECT_EQ(cursor(), at(6));
}

TEST_P(CursorContract, AWindowWithNothingToDoClosesWithoutAGap) {  // invariant 20
  const auto windows = plan(0, 2);
  settle(skipped(claim_one(windows[0]), "no_credits"));

  EXPECT_EQ(cursor(), at(1));
  EXPECT_THAT(gaps(), IsEmpty());
}

TEST_P(CursorContract, AParkedWindowIsClosedAndLeavesAGap) {  // invariants 3, 20
  const auto windows = plan(0, 6);
  for (std::size_t i = 1; i < 6; ++i) finish(windows[i]);
  settle(failed_for_good(claim_one(windows[0])));

  EXPECT_EQ(cursor(), at(6));
  const auto left = gaps();
  ASSERT_THAT(left, SizeIs(1));
  EXPECT_EQ(left[0].slot, at(0));
  EXPECT_EQ(left[0].until, at(1));
  EXPECT_EQ(left[0].job, windows[0]);
  EXPECT_TRUE(left[0].parked);
  EXPECT_FALSE(left[0].outcome);
}

TEST_P(CursorContract, ALaterSuccessClosesTheGapAndTheCursorStays) {  // invariant 20
  const auto windows = plan(0, 2);
  settle(failed_for_good(claim_one(windows[0])));
  finish(windows[1]);
  ASSERT_EQ(cursor(), at(2));
  act(JobAction::retry, windows[0]);
  EXPECT_EQ(cursor(), at(2));
  ASSERT_THAT(gaps(), SizeIs(1));
  EXPECT_FALSE(gaps()[0].parked);
  const LeasedJob leased = claim_one(windows[0]);
  EXPECT_THAT(gaps(), SizeIs(1));
  settle(completed(leased));

  EXPECT_THAT(gaps(), IsEmpty());
  EXPECT_EQ(cursor(), at(2));
  EXPECT_EQ(outcomes_of(id_, kTopic).at(0).outcome, JobState::done);
  EXPECT_FALSE(outcomes_of(id_, kTopic).at(0).parked);
}

TEST_P(CursorContract, ARetriedWindowThatIsParkedAgainIsStillOneGap) {  // invariant 20
  const auto windows = plan(0, 2);
  settle(failed_for_good(claim_one(windows[0])));
  act(JobAction::retry, windows[0]);
  settle(failed_for_good(claim_one(windows[0])));

  EXPECT_THAT(gaps(), SizeIs(1));
  EXPECT_EQ(cursor(), at(1));
}

TEST_P(CursorContract, AWindowThatEndedOtherwiseClosesWithAGapForGood) {  // invariants 3, 20
  const auto windows = plan(0, 4);
  act(JobAction::cancel, windows[0]);
  EXPECT_EQ(cursor(), at(1));
  settle(failed_for_good(claim_one(windows[1])));
  act(JobAction::discard, windows[1]);
  EXPECT_EQ(cursor(), at(2));
  finish(windows[2]);

  const auto left = gaps();
  ASSERT_THAT(left, SizeIs(2));
  EXPECT_EQ(left[0].outcome, JobState::cancelled);
  EXPECT_EQ(left[1].outcome, JobState::cancelled);
  EXPECT_FALSE(left[1].parked);
  EXPECT_EQ(cursor(), at(3));
}

TEST_P(CursorContract, AWindowCutOffByItsDeadlineClosesWithAGap) {  // invariants 3, 20
  Advance step = next_step();
  NewJob window = occurrence_job(at(0), kTopic, at(1));
  window.deadline = now() + 1h;
  step.jobs = {window};
  advance(step);
  clock().advance(1h);
  finish_overdue();

  EXPECT_EQ(cursor(), at(1));
  EXPECT_EQ(gaps().at(0).outcome, JobState::cutoff_reached);
}

TEST_P(CursorContract, AWindowLostByItsWorkersClosesLikeAnyOther) {  // invariants 12, 20
  Advance step = next_step();
  NewJob window = occurrence_job(at(0), kTopic, at(1));
  window.options.max_attempts = 1;
  step.jobs = {window};
  claim_one(advance(step).jobs.at(0).id, {.lease = 10s});
  clock().advance(10s);
  ASSERT_EQ(reap().at(0).state, JobState::dlq);

  EXPECT_EQ(cursor(), at(1));
  EXPECT_THAT(gaps(), SizeIs(1));
}

TEST_P(CursorContract, WindowsThatNeverRanAreClosedByTheAdvance) {  // invariant 20: closed is any final state
  Advance step = next_step();
  step.closed = {{.first = at(0), .until = at(4), .count = 2, .outcome = JobState::missed, .reason = "max_age"}};
  step.jobs = {occurrence_job(at(4), kTopic, at(5))};
  step.position = at(4);
  const JobId open = advance(step).jobs.at(0).id;
  EXPECT_EQ(cursor(), at(4));
  const auto left = gaps();
  ASSERT_THAT(left, SizeIs(1));
  EXPECT_EQ(left[0].slot, at(0));
  EXPECT_EQ(left[0].until, at(4));
  EXPECT_EQ(left[0].outcome, JobState::missed);
  finish(open);

  EXPECT_EQ(cursor(), at(5));
}

TEST_P(CursorContract, AnOpenWindowHoldsTheCursorBeforeAClosedRange) {  // invariant 20
  const auto windows = plan(0, 1);
  Advance step = next_step();
  step.closed = {{.first = at(1), .until = at(3), .count = 2, .outcome = JobState::skipped, .reason = "no_credits"}};
  step.position = at(2);
  advance(step);
  EXPECT_EQ(cursor(), at(0));
  finish(windows[0]);

  EXPECT_EQ(cursor(), at(3));
  EXPECT_THAT(gaps(), IsEmpty());
}

TEST_P(CursorContract, ACursorMayBeRaisedAndNeverLowered) {  // invariant 20
  put_subject(id_, {.subject = kTopic, .cursor = at(2)});
  EXPECT_EQ(cursor(), at(2));
  const SubjectEdit back{.subject = kTopic, .cursor = at(1)};
  EXPECT_EQ(error_of(plans().put_subjects(id_, {&back, 1})).code, ErrorCode::conflict);

  EXPECT_EQ(cursor(), at(2));
  put_subject(id_, {.subject = kTopic, .cursor = at(2)});
  EXPECT_EQ(cursor(), at(2));
}

TEST_P(CursorContract, ARaisedCursorGoesOnOverWhatIsClosedBehindIt) {  // invariant 20
  const auto windows = plan(0, 3);
  finish(windows[1]);
  finish(windows[2]);
  ASSERT_EQ(cursor(), at(0));
  put_subject(id_, {.subject = kTopic, .cursor = at(1)});

  EXPECT_EQ(cursor(), at(3));
  finish(windows[0]);
  EXPECT_EQ(cursor(), at(3));
}

TEST_P(CursorContract, ACursorSurvivesTheDeletionOfItsSubject) {  // invariant 20
  const auto windows = plan(0, 1);
  finish(windows[0]);
  ASSERT_TRUE(plans().delete_subject(id_, kTopic));
  const SubjectEdit back{.subject = kTopic, .cursor = at(0)};

  EXPECT_EQ(error_of(plans().put_subjects(id_, {&back, 1})).code, ErrorCode::conflict);
}

TEST_P(CursorContract, WindowsOfOneSubjectDoNotMoveAnother) {  // invariant 20
  put_subject(id_, {.subject = "other", .cursor = at(0)});
  finish(plan(0, 1)[0]);

  EXPECT_EQ(subject_of(id_, "other").cursor, at(0));
}

TEST_P(CursorContract, AWindowThatWaitsForLongIsNotOvertakenByPruning) {  // invariant 20
  const auto windows = plan(0, 3);
  finish(windows[1]);
  finish(windows[2]);
  clock().advance(std::chrono::days(8));
  prune(std::chrono::days(7));
  finish(windows[0]);

  EXPECT_EQ(cursor(), at(3));
}

TEST_P(CursorContract, OpenWindowsAreCountedFromTheCursorOn) {  // invariant 21
  const auto windows = plan(0, 5);
  const auto open = [&](std::size_t most = 100) { return value_of(plans().open_windows(id_, kTopic, most)); };
  EXPECT_EQ(open(), 5U);
  EXPECT_EQ(open(3), 3U);
  finish(windows[2]);
  EXPECT_EQ(open(), 4U);
  settle(failed_for_good(claim_one(windows[0])));  // parked is closed
  EXPECT_EQ(open(), 3U);
  EXPECT_EQ(cursor(), at(1));
  act(JobAction::retry, windows[0]);  // behind the cursor
  EXPECT_EQ(open(), 3U);
  act(JobAction::cancel, windows[1]);
  EXPECT_EQ(open(), 2U);
  EXPECT_EQ(cursor(), at(3));
}

TEST_P(CursorContract, ACursorRaisedIntoAWindowGoesOnWithItsEnd) {  // invariant 20
  const auto windows = plan(0, 3);
  put_subject(id_, {.subject = kTopic, .cursor = at(1) + 30min});
  EXPECT_EQ(cursor(), at(1) + 30min);
  finish(windows[2]);
  EXPECT_EQ(cursor(), at(1) + 30min);
  finish(windows[1]);

  EXPECT_EQ(cursor(), at(3));
}

TEST_P(CursorContract, ARaisedCursorAndTheRangeThatItJumpsOverAreOneStep) {  // schedules: cursor_set
  plan(0, 1);
  Advance raised = next_step();
  raised.cursor = at(4);
  raised.position = at(4) - Duration(1);
  raised.closed = {{.first = at(1), .until = at(4), .count = 3, .reason = "cursor_set"}};
  advance(raised);

  EXPECT_EQ(cursor(), at(4));
  const auto gaps_now = gaps();
  ASSERT_THAT(gaps_now, SizeIs(2));  // the window that is open behind it, and the range
  EXPECT_EQ(gaps_now[1].reason, "cursor_set");
  EXPECT_EQ(gaps_now[1].count, 3);
  EXPECT_EQ(value_of(plans().open_windows(id_, kTopic, 10)), 0U);
}

TEST_P(CursorContract, ASweepMovesACursorThatWasLeftBehind) {  // invariant 20
  // More closed windows than one step moves over: the first was open for a week.
  constexpr int kWindows = 10'100;
  const JobId first = plan(0, 1).front();
  Advance many = next_step();
  for (int i = 1; i < kWindows; ++i) {
    many.closed.push_back({.first = at(1) + i * 1min - 1min, .until = at(1) + i * 1min, .outcome = JobState::skipped});
  }
  advance(many);
  EXPECT_EQ(cursor(), at(0));
  finish(first);
  const Instant left_over = cursor();
  EXPECT_LT(left_over, at(1) + (kWindows - 1) * 1min);
  const SweepStep step = value_of(plans().sweep({.schedule = id_}));

  ASSERT_THAT(step.found, SizeIs(1));
  EXPECT_TRUE(step.found[0].moved_cursor);
  EXPECT_EQ(cursor(), at(1) + (kWindows - 1) * 1min);
  EXPECT_FALSE(value_of(plans().sweep({.schedule = id_})).found.at(0).moved_cursor);
}

}  // namespace
}  // namespace carillon::test
