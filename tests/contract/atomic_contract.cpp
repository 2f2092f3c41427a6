// What happens together, and what is refused alone.
#include <array>
#include <thread>

#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAreArray;

TEST_P(StoreContract, SeveralCallsBecomeOneTransaction) {  // invariant 30
  JobId id;
  JobId follow_up;
  ASSERT_TRUE(store().atomically([&] {
    id = enqueue(job());
    const LeasedJob leased = claim_one(id);
    Settlement said = completed(leased);
    said.then = {job("second")};
    follow_up = settle(said).ready.at(0).id;
    EXPECT_TRUE(plans().put_schedule([] {
      NewSchedule put;
      put.name = "standup";
      put.definition = "{}";
      return put;
    }()));
  }));

  EXPECT_EQ(state(id), JobState::done);
  EXPECT_EQ(state(follow_up), JobState::queued);
  EXPECT_TRUE(reader().schedule(kTenant, "standup"));
  expect_counts_agree();
}

TEST_P(StoreContract, InATransactionARefusedItemDoesNotUndoTheOthers) {
  const LeasedJob leased = claim_one(enqueue(job()));
  const ScheduleId id = schedule();
  put_subject(id, {.subject = "a", .cursor = now()});
  // Each refusal stands between two that are accepted.
  std::vector<JobId> made;
  const auto make_one = [&] { made.push_back(enqueue(job())); };
  ASSERT_TRUE(store().atomically([&] {
    make_one();
    EXPECT_FALSE(try_enqueue(job("")));
    make_one();
    EXPECT_FALSE(jobs().enqueue_all(std::array{job("good"), job("")}));
    make_one();
    Settlement bad = completed(leased);
    bad.then = {job("good"), job("")};
    EXPECT_FALSE(try_settle(bad));
    make_one();
    const std::array<SubjectEdit, 2> edits{{{.subject = "new"}, {.subject = "a", .cursor = now() - 1h}}};
    EXPECT_FALSE(plans().put_subjects(id, edits));
    make_one();
    Advance stale;
    stale.schedule = id;
    stale.subject = "a";
    stale.jobs = {occurrence_job(now(), "a")};
    EXPECT_FALSE(try_advance(stale));
    make_one();
    Advance bad_job = stale;
    bad_job.version = 1;
    bad_job.jobs.push_back(job(""));
    EXPECT_FALSE(try_advance(bad_job));
    make_one();
    EXPECT_FALSE(jobs().patch(kTenant, made.front(), {.priority = 9}));
    make_one();
  }));

  made.push_back(leased.id);
  EXPECT_THAT(all_ids(), UnorderedElementsAreArray(made));
  EXPECT_EQ(state(leased.id), JobState::processing);
  EXPECT_THAT(value_of(reader().subjects({.schedule = id}, {}, 10)).subjects, SizeIs(1));
  expect_counts_agree();
}

TEST_P(StoreContract, ATransactionSeesItsOwnWrites) {
  NewJob keyed = job();
  keyed.options.idempotency_key = "evt-1";
  ASSERT_TRUE(store().atomically([&] {
    const JobId id = enqueue(keyed);
    EXPECT_EQ(enqueue(keyed), id);
    const LeasedJob leased = claim_one(id);
    EXPECT_FALSE(try_claim(id));
    EXPECT_EQ(settle(failed_for_good(leased)).state, JobState::dlq);
    EXPECT_EQ(act(JobAction::retry, id).state, JobState::queued);
    EXPECT_THAT(live_ids(now()), ElementsAre(id));
  }));

  EXPECT_THAT(all_ids(), SizeIs(1));
}

TEST_P(StoreContract, TransactionsFollowEachOther) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(store().atomically([&] { enqueue(job()); }));
    enqueue(job());
  }
  ASSERT_TRUE(store().atomically([] {}));

  EXPECT_THAT(all_ids(), SizeIs(6));
}

TEST_P(StoreContract, ABatchIsEnqueuedAllOrNothing) {
  NewJob keyed = job();
  keyed.options.idempotency_key = "evt-1";
  const Error error = error_of(jobs().enqueue_all(std::array{keyed, job("b"), job("")}));
  EXPECT_EQ(error.code, ErrorCode::invalid_request);
  EXPECT_THAT(error.message, HasSubstr("2"));
  EXPECT_THAT(all_ids(), IsEmpty());
  EXPECT_THAT(kept_counts(), IsEmpty());
  keyed.payload = "2";
  EXPECT_FALSE(enqueued(keyed).deduplicated);

  EXPECT_THAT(value_of(jobs().enqueue_all(std::array{job("a"), job("b")})), SizeIs(2));
  EXPECT_THAT(all_ids(), SizeIs(3));
}

TEST_P(StoreContract, ABatchRefusedByAKeyLeavesNothing) {  // invariant 17
  NewJob keyed = job();
  keyed.options.idempotency_key = "evt-1";
  enqueue(keyed);
  keyed.payload = "2";

  EXPECT_EQ(error_of(jobs().enqueue_all(std::array{job("a"), keyed})).code, ErrorCode::idempotency_conflict);
  EXPECT_THAT(all_ids(), SizeIs(1));
}

TEST_P(StoreContract, ACompletionWithABadFollowUpChangesNothing) {  // invariants 14, 30
  const ScheduleId id = schedule();
  put_subject(id, {.subject = "a"});
  const JobId parent = enqueue(occurrence_job(now(), "a"));
  NewJob waits = job();
  waits.depends_on = {parent};
  const JobId child = enqueue(waits);
  const LeasedJob leased = claim_one(parent);
  const JobView before = view(parent);
  const Counts counts = kept_counts();
  const SubjectRow subject = subject_of(id, "a");
  Settlement said = completed(leased);
  said.then = {job("good"), job("")};
  said.output = "1";
  const Error error = refusal_of(said);
  EXPECT_EQ(error.code, ErrorCode::invalid_request);
  EXPECT_THAT(error.message, HasSubstr("then"));

  const JobView after = view(parent);
  EXPECT_EQ(after.row, before.row);
  EXPECT_EQ(after.lease, before.lease);
  EXPECT_EQ(after.state, JobState::processing);
  EXPECT_EQ(state(child), JobState::waiting);
  EXPECT_EQ(kept_counts(), counts);
  EXPECT_EQ(subject_of(id, "a"), subject);
  EXPECT_FALSE(outcomes_of(id, "a").at(0).outcome);
  said.then.pop_back();
  EXPECT_EQ(settle(said).state, JobState::done);
}

TEST_P(StoreContract, EachSettlementOfABatchIsJudgedAlone) {
  const LeasedJob first = claim_one(enqueue(job()));
  const LeasedJob second = claim_one(enqueue(job()));
  LeasedJob forged = claim_one(enqueue(job()));
  forged.token += 5;
  Settlement bad = completed(second);
  bad.then = {job("")};
  const auto answers = jobs().settle(std::array{completed(first), bad, completed(forged), failed_for_good(second)});

  EXPECT_EQ(value_of(answers[0]).state, JobState::done);
  EXPECT_EQ(error_of(answers[1]).code, ErrorCode::invalid_request);
  EXPECT_EQ(error_of(answers[2]).code, ErrorCode::stale_token);
  EXPECT_EQ(value_of(answers[3]).state, JobState::dlq);
  expect_counts_agree();
}

TEST_P(StoreContract, ManyThreadsMayCallAtOnce) {  // invariants 9, 34
  constexpr int kThreads = 4;
  constexpr int kEach = 25;
  std::vector<JobId> shared;
  for (int i = 0; i < kEach; ++i) shared.push_back(enqueue(job("shared")));
  std::atomic<int> claimed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const bool grouped = i % 5 == 0;
        const auto work = [&] {
          if (try_enqueue(job("t" + std::to_string(t)))) {
            if (const auto leased = try_claim(shared[static_cast<std::size_t>(i)])) {
              ++claimed;
              EXPECT_TRUE(try_settle(completed(*leased)));
            }
          }
        };
        if (grouped) {
          EXPECT_TRUE(store().atomically(work));
        } else {
          work();
        }
        EXPECT_TRUE(reader().counts(kTenant));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(claimed, kEach);
  EXPECT_EQ(count_of(JobState::done), kEach);
  EXPECT_EQ(count_of(JobState::queued), kThreads * kEach);
  expect_counts_agree();
}

}  // namespace
}  // namespace carillon::test
