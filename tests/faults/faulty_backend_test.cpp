#include "faults/faulty_backend.h"

#include <gtest/gtest.h>

#include "store/memory/memory_store.h"
#include "store/transactional_store.h"

namespace carillon {
namespace {

class FaultyStore : public testing::Test {
 protected:
  Result<Enqueued> enqueue(const NewJob& job) { return std::move(store_->jobs().enqueue({&job, 1}).front()); }
  std::size_t stored() { return store_->reader().jobs({}, {}, 10)->jobs.size(); }

  FaultyCommits commits_;
  std::unique_ptr<Store> store_ =
      make_store(make_faulty(make_memory_backend(system_store_clock()), commits_), system_store_clock());
};

TEST_F(FaultyStore, WhatIsRefusedIsNotStored) {
  for (const auto& [fault, code] :
       {std::pair(CommitFault::unavailable, ErrorCode::unavailable),
        std::pair(CommitFault::conflict, ErrorCode::conflict), std::pair(CommitFault::full, ErrorCode::store_full)}) {
    commits_.next(fault);
    const auto refused = enqueue({.type = "a"});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, code);
  }
  EXPECT_EQ(stored(), 0U);
  EXPECT_TRUE(enqueue({.type = "a"}).has_value());
  EXPECT_EQ(commits_.injected(), 3U);
}

// After a lost answer the caller asks again with its own id, and gets the same job. (invariant 17)
TEST_F(FaultyStore, ALostAnswerIsStoredAndAskingAgainFindsIt) {
  NewJob job{.id = store_->jobs().new_job_id(), .type = "a"};
  commits_.next(CommitFault::answer_lost);
  EXPECT_EQ(enqueue(job).error().code, ErrorCode::unavailable);
  EXPECT_EQ(stored(), 1U);

  const auto again = enqueue(job);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->id, job.id);
  EXPECT_FALSE(again->deduplicated);
  EXPECT_EQ(stored(), 1U);
}

// The settle whose answer was lost is repeated with the same token. (invariant 10)
TEST_F(FaultyStore, ASettleWhoseAnswerWasLostIsAnsweredWhenItIsRepeated) {
  const JobId id = enqueue({.type = "a"})->id;
  const auto leased = store_->jobs().claim({.worker = "ada", .jobs = {&id, 1}});
  const Settlement done{.job = id, .token = leased->jobs.front().token};
  commits_.next(CommitFault::answer_lost);
  EXPECT_EQ(store_->jobs().settle({&done, 1}).front().error().code, ErrorCode::unavailable);

  const auto again = std::move(store_->jobs().settle({&done, 1}).front());
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->state, JobState::done);
}

TEST_F(FaultyStore, WhatIsDecidedAtEachCommitComesAfterWhatWasSaid) {
  int asked = 0;
  commits_.decide_by([&] { return ++asked % 2 == 0 ? CommitFault::unavailable : CommitFault::none; });
  commits_.next(CommitFault::conflict);
  EXPECT_EQ(enqueue({.type = "a"}).error().code, ErrorCode::conflict);
  EXPECT_TRUE(enqueue({.type = "a"}).has_value());
  EXPECT_EQ(enqueue({.type = "a"}).error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace carillon
