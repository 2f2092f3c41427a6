// Jobs that tell of an occurrence without being it: runs by hand, backfilled windows, what follows a missed cutoff. All
// of it is for reading (invariant 1).
#include <array>

#include "contract/store_contract.h"
#include "store/local_minute.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class BesideContract : public StoreContract {
 protected:
  void SetUp() override {
    StoreContract::SetUp();
    id_ = schedule();
    put_subject(id_, {.subject = "a", .cursor = hour()});
  }

  Instant hour() { return std::chrono::floor<std::chrono::hours>(now()); }
  // A window of subject a, as the planner makes it.
  JobId window() {
    Advance step;
    step.schedule = id_;
    step.subject = "a";
    step.version = subject_of(id_, "a").version;
    step.jobs = {occurrence_job(hour(), "a", hour() + 1h)};
    step.position = hour();
    return advance(step).jobs.at(0).id;
  }
  // The same window by hand.
  NewJob by_hand() {
    NewJob made = job();
    made.subject = "a";
    made.options.origin = Origin::manual;
    made.options.beside = BesideOccurrence{.schedule = "standup", .slot = hour()};
    return made;
  }

  ScheduleId id_;
};

RUN_OVER_EVERY_STORE(BesideContract);

TEST_P(BesideContract, ItTellsOfItsScheduleSubjectAndSlot) {
  const JobId planned = window();
  const JobId manual = enqueue(by_hand());
  enqueue(job());

  EXPECT_THAT(all_ids({.schedule = "standup"}), ElementsAre(manual, planned));
  EXPECT_THAT(all_ids({.schedule = "standup", .subject = "a"}), ElementsAre(manual, planned));
  EXPECT_THAT(all_ids({.schedule = "standup", .subject = "b"}), IsEmpty());
  EXPECT_THAT(all_ids({.schedule = "another"}), IsEmpty());
  const LeasedJob leased = claim_one(manual);
  EXPECT_EQ(leased.schedule, "standup");
  EXPECT_EQ(leased.subject, "a");
  EXPECT_EQ(leased.slot, hour());
  EXPECT_FALSE(leased.occurrence_of);
  const LeasedJob own = claim_one(planned);
  EXPECT_EQ(own.schedule, "standup");
  EXPECT_EQ(own.occurrence_of, (SubjectKey{id_, "a"}));
  settle(completed(leased));
  EXPECT_THAT(all_ids({.states = {JobState::done}, .schedule = "standup"}), ElementsAre(manual))
      << "in the archive too";
}

TEST_P(BesideContract, ItCountsForNoOccurrenceOpenJobOrCursor) {  // invariants 1, 20, 34
  const JobId planned = window();
  const SubjectRow before = subject_of(id_, "a");
  settle(completed(claim_one(enqueue(by_hand()))));
  const JobId parked = parked_job(by_hand());
  act(JobAction::retry, parked);
  act(JobAction::cancel, parked);

  EXPECT_EQ(subject_of(id_, "a"), before);
  EXPECT_EQ(before.open_job, planned);
  ASSERT_THAT(outcomes_of(id_, "a"), SizeIs(1));
  EXPECT_EQ(outcomes_of(id_, "a").at(0).job, planned);
  EXPECT_FALSE(outcomes_of(id_, "a").at(0).outcome);
  EXPECT_EQ(value_of(plans().open_windows(id_, "a", 10)), 1U);
  EXPECT_THAT(gaps_of(id_, "a"), IsEmpty());
}

TEST_P(BesideContract, ItMayBeMadeBeforeBesideAndAfterTheOccurrence) {  // invariant 1
  const JobId early = enqueue(by_hand());
  const JobId planned = window();
  settle(completed(claim_one(planned)));
  const JobId late = enqueue(by_hand());

  EXPECT_THAT(all_ids({.schedule = "standup"}), UnorderedElementsAre(early, planned, late));
  EXPECT_EQ(subject_of(id_, "a").cursor, hour() + 1h);
  EXPECT_EQ(outcomes_of(id_, "a").at(0).outcome, JobState::done);
}

TEST_P(BesideContract, PruningItLeavesTheOccurrence) {  // invariant 1
  const JobId planned = window();
  const JobId manual = done_job(by_hand());
  clock().advance(48h);
  EXPECT_EQ(prune(24h), 1U);

  EXPECT_FALSE(exists(manual));
  EXPECT_EQ(outcomes_of(id_, "a").at(0).job, planned);
}

TEST_P(BesideContract, NeitherAPauseNorADeletionHoldsIt) {  // invariant 32: these are about occurrences
  value_of(plans().set_paused(kTenant, "standup", kInstantMax));
  const JobId during_pause = enqueue(by_hand());
  EXPECT_TRUE(try_claim(during_pause));
  const JobId left = enqueue(by_hand());
  value_of(plans().delete_schedule(kTenant, "standup"));
  EXPECT_TRUE(try_claim(left));
}

TEST_P(BesideContract, ASlotMayBeADayOrNone) {
  NewJob missed = by_hand();
  missed.options.beside->slot_kind = SlotKind::day;
  NewJob none = by_hand();
  none.options.beside->slot.reset();

  EXPECT_EQ(claim_one(enqueue(missed)).slot_kind, SlotKind::day);
  EXPECT_EQ(claim_one(enqueue(none)).slot, std::nullopt);
}

TEST_P(BesideContract, BulkWorkMeetsWhatAListShows) {
  const JobId planned = window();
  const JobId manual = enqueue(by_hand());
  const JobId other = enqueue(job());
  const BulkStep step =
      value_of(jobs().act_on({.schedule = "standup", .subject = "a"}, JobAction::cancel, JobId{}, {100}));

  EXPECT_EQ(step.changed, 2U);
  EXPECT_EQ(state(planned), JobState::cancelled);
  EXPECT_EQ(state(manual), JobState::cancelled);
  EXPECT_EQ(state(other), JobState::queued);
}

TEST_P(BesideContract, ALabelIsTheSubjectThatIsShown) {
  put_subject(id_, {.subject = ""});
  Advance step;
  step.schedule = id_;
  step.version = subject_of(id_).version;
  step.jobs = {occurrence_job(hour())};
  step.jobs[0].options.label = "team-7";
  const JobId planned = advance(step).jobs.at(0).id;

  EXPECT_THAT(all_ids({.subject = "team-7"}), ElementsAre(planned));
  EXPECT_THAT(all_ids({.subject = ""}), IsEmpty());
  const LeasedJob leased = claim_one(planned);
  EXPECT_EQ(leased.subject, "team-7");
  EXPECT_EQ(leased.occurrence_of, (SubjectKey{id_, ""}));
  settle(completed(leased));
  EXPECT_EQ(outcomes_of(id_).at(0).outcome, JobState::done);
}

TEST_P(BesideContract, ItOutlivesARestart) {
  if (!GetParam().outlives_close) GTEST_SKIP() << "it keeps nothing";
  const JobId manual = enqueue(by_hand());
  reopen();

  EXPECT_THAT(all_ids({.schedule = "standup"}), ElementsAre(manual));
  EXPECT_EQ(claim_one(manual).slot, hour());
}

}  // namespace
}  // namespace carillon::test
