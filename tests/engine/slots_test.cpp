// The slots of a node, which several runners share.
#include "engine/attempts/slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace carillon {
namespace {

// Starts what waits whenever it can, as runners do.
struct Waiter {
  explicit Waiter(Slots& of) : slots(of) {
    number = slots.join([this](Slots::Slot slot) {
      ++offers;
      if (waiting == 0) return false;
      --waiting;
      held.push_back(std::move(slot));
      return waiting > 0;
    });
  }
  void start(int count) {
    waiting += count;
    while (waiting > 0) {
      auto slot = slots.take(number);
      if (!slot) return;
      --waiting;
      held.push_back(*std::move(slot));
    }
  }
  void end() { held.pop_front(); }

  Slots& slots;
  std::size_t number = 0;
  int waiting = 0;
  int offers = 0;
  std::deque<Slots::Slot> held;
};

TEST(Slots, ThereAreSoManyAndNoMore) {
  Slots slots(2);
  auto first = slots.take();
  auto second = slots.take();
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(slots.take());
  first.reset();
  EXPECT_TRUE(slots.take());
}

TEST(Slots, WhoFoundNoneIsOfferedTheNext) {
  Slots slots(1);
  Waiter one(slots);
  Waiter other(slots);
  one.start(1);
  other.start(2);
  EXPECT_EQ(other.held.size(), 0U);
  one.end();
  EXPECT_EQ(other.held.size(), 1U);
  other.end();
  EXPECT_EQ(other.held.size(), 1U) << "it would take another";
  EXPECT_EQ(other.waiting, 0);
}

TEST(Slots, RunnersThatWaitTakeTurns) {  // however quick one of them is
  Slots slots(1);
  Waiter quick(slots);
  Waiter slow(slots);
  quick.start(100);
  slow.start(3);
  for (int i = 0; i < 6; ++i) {
    Waiter& who = quick.held.empty() ? slow : quick;
    who.end();
  }
  EXPECT_EQ(slow.waiting, 0);
  EXPECT_EQ(quick.waiting, 96);
}

TEST(Slots, AnOfferThatNobodyWantsGoesToTheNext) {
  Slots slots(1);
  Waiter one(slots);
  Waiter gave_up(slots);
  Waiter third(slots);
  one.start(1);
  gave_up.start(1);
  third.start(1);
  gave_up.waiting = 0;
  one.end();
  EXPECT_EQ(gave_up.offers, 1);
  EXPECT_EQ(third.held.size(), 1U);
}

TEST(Slots, MoreOfThemAreOfferedAtOnceAndFewerTakeNoneAway) {
  Slots slots(1);
  Waiter one(slots);
  Waiter other(slots);
  one.start(3);
  other.start(3);
  slots.set_most(3);
  EXPECT_EQ(one.held.size() + other.held.size(), 3U);
  slots.set_most(1);
  EXPECT_EQ(one.held.size() + other.held.size(), 3U);
  EXPECT_FALSE(slots.take());
  one.waiting = other.waiting = 0;
  while (one.held.size() + other.held.size() > 1) (one.held.empty() ? other : one).end();
  EXPECT_FALSE(slots.take());
  (one.held.empty() ? other : one).end();
  EXPECT_TRUE(slots.take());
}

TEST(Slots, AllThatWaitBeginWhenThereAreMoreAtOnce) {  // also of one runner that was offered one before
  Slots slots(1);
  Waiter one(slots);
  one.start(6);
  one.end();
  slots.set_most(4);
  EXPECT_EQ(one.held.size(), 4U);
  EXPECT_EQ(one.waiting, 1);
}

TEST(Slots, WhoHasLeftIsOfferedNone) {
  Slots slots(1);
  Waiter one(slots);
  Waiter gone(slots);
  one.start(1);
  gone.start(1);
  slots.leave(gone.number);
  one.end();
  EXPECT_EQ(gone.offers, 0);
  EXPECT_TRUE(slots.take());
}

// Two pools of threads on three slots: never more than three at once, and none is forgotten.
TEST(Slots, HoldUnderManyThreads) {
  constexpr int kMost = 3;
  constexpr int kEach = 20'000;
  Slots slots(kMost);
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  struct Pool {
    std::mutex mutex;
    int waiting = kEach;
    std::deque<Slots::Slot> offered;
    std::size_t number = 0;
    std::atomic<int> done = 0;
  };
  std::vector<std::unique_ptr<Pool>> pools;
  for (int i = 0; i < 2; ++i) {
    auto pool = std::make_unique<Pool>();
    pool->number = slots.join([&at = *pool](Slots::Slot slot) {
      const std::scoped_lock lock(at.mutex);
      if (at.waiting <= static_cast<int>(at.offered.size())) return false;
      at.offered.push_back(std::move(slot));
      return at.waiting > static_cast<int>(at.offered.size());
    });
    pools.push_back(std::move(pool));
  }
  const auto work = [&](Pool& pool) {
    while (pool.done < kEach) {
      std::unique_lock lock(pool.mutex);
      std::optional<Slots::Slot> slot;
      if (!pool.offered.empty()) {
        slot.emplace(std::move(pool.offered.front()));
        pool.offered.pop_front();
      } else if (pool.waiting > 0) {
        if (auto taken = slots.take(pool.number)) slot.emplace(*std::move(taken));
      }
      const bool has_work = slot && pool.waiting > 0;
      if (has_work) --pool.waiting;
      lock.unlock();
      if (!has_work) {
        slot.reset();
        std::this_thread::yield();
        continue;
      }
      const int now = ++running;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      --running;
      ++pool.done;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&, i] { work(*pools[static_cast<std::size_t>(i % 2)]); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, kMost);
  EXPECT_EQ(pools[0]->done + pools[1]->done, 2 * kEach);
  for (const auto& pool : pools) pool->offered.clear();
  std::vector<Slots::Slot> all;
  while (auto slot = slots.take()) all.push_back(*std::move(slot));
  EXPECT_EQ(all.size(), static_cast<std::size_t>(kMost)) << "none was lost";
}

}  // namespace
}  // namespace carillon
