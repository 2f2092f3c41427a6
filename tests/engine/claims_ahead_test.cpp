// How far claims run ahead of handlers: far enough that one commit serves many jobs, however long it takes, and no
// further than handlers are quick.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "engine/node.h"
#include "engine/node_client.h"
#include "store/memory/memory_store.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kHandlers = 8;

// Each look at the boot clock takes a while, as a commit on a slow disk does.
class SlowClock final : public StoreClock {
 public:
  Instant wall() const override { return Instant(std::chrono::sys_days(std::chrono::year(2026) / 3 / 29)) + passed_; }
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

  // The first `count` of those that wait begin, run for that long and return.
  void run(std::size_t count, Duration each, SlowClock& clock, FinishedQueue& finished) {
    const BootTime started = clock.boot();
    std::vector<RunPtr> begun;
    for (std::size_t i = 0; i < count && !waiting.empty(); ++i) {
      begun.push_back(waiting.front());
      waiting.erase(waiting.begin());
      ASSERT_TRUE(begun.back()->begin());
      begun.back()->started_boot = started;
    }
    clock.advance(each);
    for (const RunPtr& run : begun) finished.put({.run = run, .outcome = done()});
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
    runner_.run(runner_.waiting.size(), 0ms, clock_, *node_.finished());
    node_.step();
  }
  EXPECT_EQ(ran, 1000U);
  EXPECT_LT(rounds, 20);  // at eight a round it would be 125
}

TEST_F(ClaimsAhead, SlowHandlersDoNot) {
  enqueue(1000);
  for (int round = 0; round < 20; ++round) {
    EXPECT_LE(runner_.waiting.size(), 2 * kHandlers);
    runner_.run(kHandlers, 5s, clock_, *node_.finished());
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
    runner_.run(runner_.waiting.size(), 0ms, clock_, *node_.finished());
    node_.step();
  }
}

}  // namespace
}  // namespace carillon
