// What SIGTERM makes of a program that runs jobs. (semantics: Shutdown)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>

#include "durability/campaign.h"
#include "engine_process/judge.h"
#include "engine_process/worker_process.h"

namespace carillon::test {
namespace {

using std::chrono::steady_clock;

class EngineSignal : public testing::Test {
 protected:
  void enqueue(int count) const {
    WorkerProcess worker({"enqueue", store_, ledger_, std::to_string(count)});
    ASSERT_EQ(worker.wait_for_end(kPatience), 0);
  }
  std::vector<std::string> wait_mode(std::chrono::milliseconds drain) const {
    return {"wait", store_, ledger_, std::to_string(drain.count())};
  }
  std::ptrdiff_t count(const std::string& what) const {
    return std::ranges::count(lines_of(ledger_), what, &Line::what);
  }
  bool wait_for(const std::string& what, std::ptrdiff_t times) const {
    return wait_until([&] { return std::filesystem::exists(ledger_) && count(what) >= times; });
  }
  ListedJobs listed() const { return read_listed(WorkerProcess({"list", store_, ledger_}).read_all()); }

  const ScratchFolder folder_;
  const std::string store_ = folder_.file("jobs.db");
  const std::string ledger_ = folder_.file("ledger");
};

// Long enough for a signal to arrive and be acted on, on a machine that is busy.
constexpr auto kSignalArrives = 1s;

TEST_F(EngineSignal, AHandlerThatEndsWhileItDrainsIsDoneAndNoOtherJobStarts) {
  enqueue(2);
  WorkerProcess worker(wait_mode(60s));
  ASSERT_TRUE(wait_for("start", 1));
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait_for_end(kSignalArrives), std::nullopt);
  worker.send_byte();
  EXPECT_EQ(worker.wait_for_end(kPatience), 0);

  EXPECT_EQ(count("start"), 1);
  EXPECT_EQ(count("end"), 1);
  EXPECT_EQ(count("down"), 1);  // run() has returned
  const ListedJobs jobs = listed();
  EXPECT_EQ(jobs.at(1).state, "done");
  EXPECT_EQ(jobs.at(2).state, "queued");
  EXPECT_EQ(jobs.at(2).attempts, 0);
}

TEST_F(EngineSignal, AHandlerThatDoesNotEndInTimeIsReleasedAndTheNextStartTakesItUp) {
  enqueue(1);
  {
    WorkerProcess worker(wait_mode(200ms));
    ASSERT_TRUE(wait_for("start", 1));
    worker.signal(SIGTERM);
    EXPECT_EQ(worker.wait_for_end(kPatience), 0);
  }
  EXPECT_EQ(count("end"), 0);
  ListedJobs jobs = listed();
  EXPECT_EQ(jobs.at(1).state, "queued");
  EXPECT_EQ(jobs.at(1).attempts, 0);  // no attempt used

  WorkerProcess next(wait_mode(60s));
  ASSERT_TRUE(wait_for("start", 2));
  next.send_byte();
  ASSERT_TRUE(wait_for("end", 1));
  next.signal(SIGTERM);
  EXPECT_EQ(next.wait_for_end(kPatience), 0);
  jobs = listed();
  EXPECT_EQ(jobs.at(1).state, "done");
  EXPECT_EQ(jobs.at(1).attempts, 1);
}

TEST_F(EngineSignal, ASecondSignalEndsItAtOnceAndTheJobIsNotLost) {
  enqueue(1);
  const auto drain = 10min;
  {
    WorkerProcess worker(wait_mode(drain));
    ASSERT_TRUE(wait_for("start", 1));
    worker.signal(SIGTERM);
    EXPECT_EQ(worker.wait_for_end(kSignalArrives), std::nullopt);
    const auto begin = steady_clock::now();
    worker.signal(SIGTERM);
    EXPECT_EQ(worker.wait_for_end(kPatience), 1);
    std::printf(
        "REPORT second SIGTERM: ended after %lld ms\n",
        static_cast<long long>(std::chrono::ceil<std::chrono::milliseconds>(steady_clock::now() - begin).count()));
  }
  WorkerProcess next(wait_mode(60s));
  ASSERT_TRUE(wait_for("start", 2));  // invariant 5
  next.send_byte();
  ASSERT_TRUE(wait_for("end", 1));
  next.signal(SIGTERM);
  EXPECT_EQ(next.wait_for_end(kPatience), 0);
  EXPECT_EQ(listed().at(1).state, "done");
}

}  // namespace
}  // namespace carillon::test
