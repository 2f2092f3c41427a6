// How far claims run ahead of handlers: far enough that one commit serves many jobs, however long it takes, and no
// further than handlers are quick. And what is known of those that have not begun.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include <memory>
#include <span>
#include <vector>

#include "engine/calls/node_client.h"
#include "engine/round/node.h"
#include "store/memory/memory_store.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kHandlers = 8;

// Each look at the boot clock takes a while, as a commit on a slow disk does.
class SlowClock final : public StoreClock {
 public:
  Instant exact_wall() const override {
    return Instant(std::chrono::sys_days(std::chrono::year(2026) / 3 / 29)) + passed_;
  }
  BootTime boot() const override {
    passed_ += 10ms;
    return BootTime(5000s) + passed_;
  }
  void advance(Duration by) { passed_ += by; }

 private:
  mutable Duration passed_{};
};

// Holds what was started until the test lets it return.
class HeldRunner final : public Runner {
 public:
  void start(RunPtr run) override { waiting.push_back(std::move(run)); }

  // As many of those that wait as have a slot begin.
  std::vector<RunPtr> begin(std::size_t count, BootTime started, Slots& slots) {
    std::vector<RunPtr> begun;
    while (begun.size() < count && !waiting.empty()) {
      auto slot = slots.take();
      if (!slot) break;
      begun.push_back(waiting.front());
      waiting.erase(waiting.begin());
      EXPECT_TRUE(begun.back()->begin(*std::move(slot)));
      begun.back()->started_boot = started;
    }
    return begun;
  }
  // The first `count` of those that wait begin, run for that long and return.
  void run(std::size_t count, Duration each, SlowClock& clock, Node& node) {
    const BootTime started = clock.boot();
    while (count > 0 && !waiting.empty()) {
      const std::vector<RunPtr> begun = begin(count, started, *node.slots());
      ASSERT_FALSE(begun.empty());
      clock.advance(each);
      for (const RunPtr& run : begun) node.finished()->put({.run = run, .outcome = done()});
      count -= begun.size();
    }
  }

  std::vector<RunPtr> waiting;
};

class ClaimsAhead : public testing::Test {
 protected:
  ClaimsAhead() {
    node_.set_runner(runner_);
    node_.open();
  }
  void enqueue(int count, const JobOptions& options = {}) {
    const std::vector<NewJob> jobs(static_cast<std::size_t>(count), NewJob{.type = "work", .options = options});
    for (const auto& made : store_->jobs().enqueue(jobs)) ASSERT_TRUE(made);
    for (int i = 0; i < 10 && !node_.is_loaded(); ++i) node_.step();
  }

  // Quick handlers, until claims run ahead.
  void run_ahead() {
    for (int i = 0; i < 5; ++i) {
      runner_.run(runner_.waiting.size(), 0ms, clock_, node_);
      node_.step();
    }
    ASSERT_GT(runner_.waiting.size(), kHandlers);
  }
  // Jobs whose lease is marked.
  std::vector<JobId> marked() {
    std::vector<JobId> jobs;
    const auto leases = store_->jobs().leases();  // a temporary would end before the loop
    for (const LeaseRow& lease : leases.value()) {
      if (lease.ahead) jobs.push_back(lease.job);
    }
    return jobs;
  }
  static std::vector<JobId> ids_of(std::span<const RunPtr> runs) {
    std::vector<JobId> jobs;
    for (const RunPtr& run : runs) jobs.push_back(run->job.id);
    return jobs;
  }

  SlowClock clock_;
  std::unique_ptr<Store> store_ = make_memory_store(clock_);
  HeldRunner runner_;
  Node node_{*store_, clock_, {.max_concurrency = kHandlers, .threaded = false}};
};

TEST_F(ClaimsAhead, QuickHandlersGetMoreWithEachRoundOnASlowDiskToo) {
  enqueue(1000);
  std::size_t ran = 0;
  int rounds = 0;
  for (; ran < 1000 && rounds < 100; ++rounds) {
    ran += runner_.waiting.size();
    runner_.run(runner_.waiting.size(), 0ms, clock_, node_);
    node_.step();
  }
  EXPECT_EQ(ran, 1000U);
  EXPECT_LT(rounds, 20);  // at eight a round it would be 125
}

TEST_F(ClaimsAhead, SlowHandlersDoNot) {
  enqueue(1000);
  for (int round = 0; round < 20; ++round) {
    EXPECT_LE(runner_.waiting.size(), 2 * kHandlers);
    runner_.run(kHandlers, 5s, clock_, node_);
    node_.step();
  }
}

// A token is used when a job is claimed: if it then waited for a thread, starts could follow each other sooner than the
// rate allows. (invariant 6)
TEST_F(ClaimsAhead, NothingIsClaimedAheadUnderARate) {
  ASSERT_TRUE(NodeClient(node_).put_limit("default", "api", R"({"rate":1000000})").has_value());
  enqueue(1000, {.limits = {"api"}});
  for (int round = 0; round < 20; ++round) {
    EXPECT_LE(runner_.waiting.size(), kHandlers);
    EXPECT_GT(runner_.waiting.size(), 0U);
    runner_.run(runner_.waiting.size(), 0ms, clock_, node_);
    node_.step();
  }
}

// Workers outside draw on it too: what waits for a slot here must not keep them from it, nor be told as running.
TEST_F(ClaimsAhead, NothingIsClaimedAheadUnderACapForAll) {  // invariants 6, 33
  NodeClient client(node_);
  ASSERT_TRUE(client.put_config(R"({"max_concurrent_jobs":20})").has_value());
  enqueue(1000);
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(runner_.waiting.size(), kHandlers);
    EXPECT_EQ(node_.dispatcher().ready().running(), kHandlers) << "12 are left to workers outside";
    runner_.run(runner_.waiting.size(), 0ms, clock_, node_);
    node_.step();
  }
}

TEST_F(ClaimsAhead, WhatWaitsForASlotIsMarkedAndNothingElse) {  // invariant 12
  enqueue(1000);
  EXPECT_THAT(marked(), testing::IsEmpty()) << "as many as there are slots";
  run_ahead();
  const std::span<const RunPtr> waiting = runner_.waiting;
  EXPECT_EQ(marked(), ids_of(waiting.subspan(kHandlers)));
  EXPECT_TRUE(std::ranges::none_of(waiting.first(kHandlers), [](const RunPtr& run) { return run->job.ahead; }));
}

TEST_F(ClaimsAhead, TheFirstRoundAfterTheStartLiftsTheMark) {  // invariant 12
  enqueue(1000);
  run_ahead();
  runner_.run(kHandlers, 0ms, clock_, node_);
  const std::vector<RunPtr> begun = runner_.begin(kHandlers, clock_.boot(), *node_.slots());
  ASSERT_EQ(begun.size(), kHandlers);
  ASSERT_TRUE(std::ranges::all_of(begun, [](const RunPtr& run) { return run->job.ahead; }));
  node_.step();
  const std::vector<JobId> still = marked();
  for (const RunPtr& run : begun) EXPECT_THAT(still, testing::Not(testing::Contains(run->job.id)));
  EXPECT_THAT(still, testing::SizeIs(runner_.waiting.size()));
}

TEST_F(ClaimsAhead, ALastAttemptIsClaimedForAFreeSlotOnly) {  // invariant 12
  enqueue(1000, {.max_attempts = 1});
  std::size_t ran = 0;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(runner_.waiting.size(), kHandlers);
    EXPECT_THAT(marked(), testing::IsEmpty());
    ran += runner_.waiting.size();
    runner_.run(runner_.waiting.size(), 0ms, clock_, node_);
    node_.step();
  }
  EXPECT_EQ(ran, 20 * kHandlers);
}

TEST_F(ClaimsAhead, NoMoreBeginThanThereAreSlotsHoweverManyAreClaimed) {  // invariant 6
  enqueue(1000);
  run_ahead();
  EXPECT_EQ(runner_.begin(1000, clock_.boot(), *node_.slots()).size(), kHandlers);
  EXPECT_EQ(node_.runs().running(), kHandlers);
  EXPECT_GT(node_.runs().size(), kHandlers);
}

TEST_F(ClaimsAhead, WhoWaitsOutsideRunsAheadByWhatItHasFinishedItself) {  // invariant 6
  node_.share_slots([](std::string_view, std::string_view type) { return type == "hook"; });
  enqueue(1000);
  run_ahead();
  NodeClient client(node_);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(client.enqueue({.type = "hook", .priority = 1}).has_value());
  std::vector<RunPtr> hooks;  // they do not come back
  for (int i = 0; i < 20; ++i) {
    std::ranges::copy_if(runner_.waiting, std::back_inserter(hooks),
                         [](const RunPtr& run) { return run->job.type == "hook"; });
    std::erase_if(runner_.waiting, [](const RunPtr& run) { return run->job.type == "hook"; });
    runner_.run(runner_.waiting.size(), 0ms, clock_, node_);
    node_.step();
  }
  EXPECT_THAT(hooks, testing::Not(testing::IsEmpty()));
  EXPECT_TRUE(std::ranges::none_of(hooks, [](const RunPtr& run) { return run->job.ahead; }))
      << "however quick the threads are, no call is claimed that would wait for a slot";
}

}  // namespace
}  // namespace carillon
