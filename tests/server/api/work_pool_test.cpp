#include "server/api/work_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/signal.h"

namespace carillon::server {
namespace {

using carillon::test::Signal;
using ::testing::ElementsAre;

// Work that waits until it is let go, and tells when it has begun.
struct Gate {
  Signal begun;
  Signal open;
  std::function<void()> work() {
    return [this] {
      begun.raise();
      open.wait();
    };
  }
};

TEST(WorkPool, LinesTakeTurns) {
  Gate gate;
  std::mutex mutex;
  std::vector<std::string> order;
  {
    WorkPool pool({.threads = 1, .running_each = 1, .waiting_max = 100, .waiting_each = 100});
    ASSERT_TRUE(pool.run("gate", gate.work()));
    gate.begun.wait();
    Signal done;
    const auto add = [&](const char* whose, const char* what) {
      ASSERT_TRUE(pool.run(whose, [&, what] {
        const std::scoped_lock lock(mutex);
        order.emplace_back(what);
        if (order.size() == 6) done.raise();
      }));
    };
    for (const char* what : {"a1", "a2", "a3", "a4"}) add("a", what);
    add("b", "b1");
    add("c", "c1");
    gate.open.raise();
    done.wait();
  }
  EXPECT_THAT(order, ElementsAre("a1", "b1", "c1", "a2", "a3", "a4"));
}

TEST(WorkPool, OneLineLeavesThreadsToTheOthers) {
  Gate first;
  Gate second;
  Signal other;
  WorkPool pool({.threads = 2, .running_each = 1, .waiting_max = 100, .waiting_each = 100});
  ASSERT_TRUE(pool.run("a", first.work()));
  ASSERT_TRUE(pool.run("a", second.work()));
  first.begun.wait();
  ASSERT_TRUE(pool.run("b", [&] { other.raise(); }));
  other.wait();
  first.open.raise();
  second.begun.wait();
  second.open.raise();
}

TEST(WorkPool, ALineThatIsFullLeavesRoomInTheOthers) {
  Gate gate;
  std::atomic<int> ran = 0;
  {
    WorkPool pool({.threads = 1, .running_each = 1, .waiting_max = 3, .waiting_each = 2});
    ASSERT_TRUE(pool.run("gate", gate.work()));
    gate.begun.wait();
    EXPECT_TRUE(pool.run("a", [&] { ++ran; }));
    EXPECT_TRUE(pool.run("a", [&] { ++ran; }));
    EXPECT_FALSE(pool.run("a", [&] { ++ran; }));
    EXPECT_TRUE(pool.run("b", [&] { ++ran; }));
    EXPECT_FALSE(pool.run("c", [&] { ++ran; }));
    Signal all;
    gate.open.raise();
    while (ran < 3) std::this_thread::yield();
    EXPECT_TRUE(pool.run("a", [&] { all.raise(); }));
    all.wait();
  }
  EXPECT_EQ(ran, 3);
}

TEST(WorkPool, WhatWaitsAtItsEndIsDroppedAndNothingMoreIsTaken) {
  Gate gate;
  std::atomic<bool> ran = false;
  WorkPool pool({.threads = 1, .running_each = 1, .waiting_max = 1'000'000'000, .waiting_each = 1'000'000'000});
  ASSERT_TRUE(pool.run("a", gate.work()));
  gate.begun.wait();
  ASSERT_TRUE(pool.run("a", [&] { ran = true; }));
  ASSERT_TRUE(pool.run("b", [&] { ran = true; }));
  std::thread stopping([&] { pool.stop(); });
  while (pool.run("a", [&] { ran = true; })) std::this_thread::yield();
  gate.open.raise();
  stopping.join();
  EXPECT_FALSE(ran);
  EXPECT_FALSE(pool.run([&] { ran = true; }));
}

}  // namespace
}  // namespace carillon::server
