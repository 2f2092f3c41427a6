// Lanes and types have numbers that callers keep: a number never means two names, whatever becomes of the transaction
// that first gave it out.
#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "contract/store_contract.h"
#include "faults/faulty_backend.h"
#include "store/transactional_store.h"

namespace carillon::test {
namespace {

NewJob job_in(std::string queue, std::string type) {
  NewJob made = job(std::move(type));
  made.queue = std::move(queue);
  return made;
}

class NameContract : public testing::TestWithParam<BackendParam> {
 protected:
  void SetUp() override {
    folder_ = make_scratch_folder();
    open();
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  void open() {
    store_.reset();
    auto backend = GetParam().open_backend(clock_, folder_);
    ASSERT_NE(backend, nullptr);
    store_ = make_store(make_faulty(std::move(backend), commits_), clock_);
  }
  JobStore& jobs() { return store_->jobs(); }
  ReadyJob enqueue(const NewJob& job) { return value_of(jobs().enqueue({&job, 1}).front()).ready; }
  void expect_means(const ReadyJob& ready, const std::string& queue, const std::string& type) {
    EXPECT_EQ(jobs().lane(ready.lane).queue, queue);
    EXPECT_EQ(jobs().type_name(ready.type), type);
  }
  // As it is stored, by name.
  void expect_stored(const ReadyJob& ready, const std::string& queue, const std::string& type) {
    const JobView view = value_of(store_->reader().job(kTenant, ready.id));
    EXPECT_EQ(view.lane.queue, queue);
    EXPECT_EQ(view.type, type);
  }

  ManualStoreClock clock_;
  FaultyCommits commits_;
  std::filesystem::path folder_;
  std::unique_ptr<Store> store_;
};

TEST_P(NameContract, ANumberOfAFailedCommitIsNotGivenToAnotherName) {
  enqueue(job_in("first", "a"));
  ReadyJob lost;
  commits_.next(CommitFault::unavailable);
  ASSERT_FALSE(store_->atomically([&] { lost = enqueue(job_in("lost", "b")); }));
  const ReadyJob other = enqueue(job_in("other", "c"));

  EXPECT_NE(other.lane, lost.lane);
  EXPECT_NE(other.type, lost.type);
  expect_means(lost, "lost", "b");
  expect_means(other, "other", "c");
  expect_stored(other, "other", "c");
}

TEST_P(NameContract, ANameOfAFailedCommitKeepsItsNumberAndIsWrittenWhenItIsUsed) {
  ReadyJob lost;
  commits_.next(CommitFault::full);
  ASSERT_FALSE(store_->atomically([&] { lost = enqueue(job_in("lost", "b")); }));
  const ReadyJob again = enqueue(job_in("lost", "b"));

  EXPECT_EQ(again.lane, lost.lane);
  EXPECT_EQ(again.type, lost.type);
  expect_stored(again, "lost", "b");
}

TEST_P(NameContract, ANumberOfABatchThatWasRefusedIsNotGivenToAnotherName) {
  const std::array refused{job_in("lost", "b"), job_in("lost", "")};
  ReadyJob other;
  ReadyJob again;
  ASSERT_TRUE(store_->atomically([&] {
    enqueue(job_in("first", "a"));
    EXPECT_FALSE(jobs().enqueue_all(refused));
    other = enqueue(job_in("other", "c"));
    again = enqueue(refused[0]);
  }));
  EXPECT_FALSE(jobs().enqueue_all(std::array{job_in("alone", "d"), job_in("alone", "")}));
  const ReadyJob last = enqueue(job_in("last", "e"));

  expect_means(other, "other", "c");
  expect_means(again, "lost", "b");
  expect_stored(other, "other", "c");
  expect_stored(again, "lost", "b");
  expect_stored(last, "last", "e");
}

// The lane that was asked for last is at hand without a question: not so after its transaction was undone.
TEST_P(NameContract, ANameUsedRightBeforeAndAfterARefusalIsStored) {
  ASSERT_FALSE(jobs().enqueue_all(std::array{job_in("mail", "b"), job_in("mail", "")}));
  const ReadyJob made = enqueue(job_in("mail", "b"));

  expect_stored(made, "mail", "b");
}

TEST_P(NameContract, WhatWasUndoneLeavesNoGapThatAnOpeningStumblesOver) {
  if (!GetParam().outlives_close) GTEST_SKIP() << "it keeps nothing when it is closed";
  commits_.next(CommitFault::conflict);
  ASSERT_FALSE(store_->atomically([&] { enqueue(job_in("lost", "b")); }));
  const ReadyJob other = enqueue(job_in("other", "c"));
  ASSERT_FALSE(jobs().enqueue_all(std::array{job_in("refused", "d"), job_in("refused", "")}));
  open();
  expect_stored(other, "other", "c");
  const ReadyJob next = enqueue(job_in("next", "e"));

  expect_means(other, "other", "c");
  expect_stored(next, "next", "e");
}

// A live job, an ended one and a held key need their names; of the rest nothing is left once the store is opened anew.
TEST_P(NameContract, NamesThatNothingUsesGoWhenThereAreManyOfThem) {
  if (!GetParam().outlives_close) GTEST_SKIP() << "it keeps nothing when it is closed";
  const ReadyJob first = enqueue(job_in("first", "a"));
  std::vector<NewJob> many;
  for (int i = 0; i < 700; ++i) many.push_back(job_in("q" + std::to_string(i), "t" + std::to_string(i)));
  std::vector<JobId> ids;
  for (const Enqueued& made : value_of(jobs().enqueue_all(many))) ids.push_back(made.id);
  for (const auto& changed : jobs().act(kTenant, JobAction::cancel, ids)) ASSERT_TRUE(changed);
  clock_.advance(std::chrono::hours(24));
  ASSERT_EQ(value_of(jobs().prune({.after = {}, .limit = 1000, .keep = {.otherwise = std::chrono::hours(1)}})).erased,
            700U);
  NewJob keyed = job_in("keyed", "k");
  keyed.options.idempotency_key = "once";
  const ReadyJob held = enqueue(keyed);
  const ReadyJob ended = enqueue(job_in("ended", "e"));
  ASSERT_TRUE(jobs().act(kTenant, JobAction::cancel, std::array{ended.id}).front());
  // Each is asked for, and never used.
  ASSERT_TRUE(store_->atomically([&] {
    for (int i = 0; i < 20'000; ++i) {
      const std::string type = "asked" + std::to_string(i);
      ASSERT_TRUE(jobs().key_holder({.tenant = kTenant, .type = type, .key = "x", .said = ""}));
    }
  }));

  open();
  for (int round = 0; round < 2; ++round) {
    SCOPED_TRACE(round);
    expect_means(first, "first", "a");
    expect_stored(first, "first", "a");
    expect_means(held, "keyed", "k");
    expect_stored(held, "keyed", "k");
    expect_means(ended, "ended", "e");
    expect_stored(ended, "ended", "e");
    EXPECT_EQ(value_of(jobs().enqueue({&keyed, 1}).front()).id, held.id) << "the key is held";
    open();
  }
  // Numbers behind the last one that is used were free again; a gap before it is none's.
  EXPECT_EQ(jobs().type_name(TypeId{100}), "");
  EXPECT_EQ(jobs().lane(LaneId{100}).queue, "");
  const ReadyJob next = enqueue(job_in("q7", "t7"));
  EXPECT_EQ(next.type.value, ended.type.value + 1);
  EXPECT_EQ(next.lane.value, ended.lane.value + 1);
  expect_stored(next, "q7", "t7");
  open();
  expect_means(next, "q7", "t7");
  expect_means(held, "keyed", "k");
}

TEST_P(NameContract, AFewNamesThatNothingUsesStay) {
  if (!GetParam().outlives_close) GTEST_SKIP() << "it keeps nothing when it is closed";
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(jobs().key_holder({.tenant = kTenant, .type = "asked" + std::to_string(i), .key = "x", .said = ""}));
  }
  open();
  EXPECT_EQ(enqueue(job_in("q", "t")).type.value, 6);
}

RUN_OVER_EVERY_STORE(NameContract);

}  // namespace
}  // namespace carillon::test
