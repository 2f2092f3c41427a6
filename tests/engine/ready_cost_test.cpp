// What the ready set costs: steps and bytes are asserted, time is only printed.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "engine/ready/ready_set.h"
#include "engine/ready_times.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::kNow;

constexpr std::int64_t kMany = 1'000'000;

void fill(ReadySet& ready, PlaceId place, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    // A stride that shares no factor with the count: the heap sees no order.
    const std::int64_t shuffled = (i * 7919) % count;
    ready.add(place, {.id = {shuffled + 1},
                      .run_at = kNow - std::chrono::milliseconds(shuffled),
                      .priority = static_cast<std::uint8_t>((shuffled % 5) + 1)});
  }
}

// The steps of 1,000 starts of tenant b, each of which ends at once, after `prepare`.
std::uint64_t steps_of_b(const std::function<void(ReadySet&)>& prepare) {
  ReadySet ready;
  prepare(ready);
  const PlaceId place = ready.place({.tenant = "b", .queue = "q", .type = {1}});
  fill(ready, place, 2000);
  if (const auto first = ready.pick(kNow)) ready.ended(first->place, kNow);  // Whatever is held is now out of the way.
  const std::uint64_t before = ready.steps();
  for (int i = 0; i < 1000; ++i) {
    const auto pick = ready.pick(kNow);
    EXPECT_EQ(pick.value().place, place);
    ready.ended(place, kNow);
  }
  return ready.steps() - before;
}

TEST(ReadyCostTest, WhatIsBlockedAddsNoStepsToThePicksOfOthers) {
  const std::uint64_t alone = steps_of_b([](ReadySet&) {});
  const ReadyPlace blocked{.tenant = "a", .queue = "q", .type = {7}, .limits = {"x"}, .notifies = true};
  const auto with = [&](const std::function<void(ReadySet&)>& rule) {
    return steps_of_b([&](ReadySet& ready) {
      rule(ready);
      fill(ready, ready.place(blocked), kMany / 10);
    });
  };
  EXPECT_EQ(with([](ReadySet& r) { r.set_tenant_closed("a", true); }), alone);
  EXPECT_EQ(with([](ReadySet& r) { r.set_queue_closed("a", "q", true); }), alone);
  EXPECT_EQ(with([](ReadySet& r) { r.set_type_closed({7}, true); }), alone);
  EXPECT_EQ(with([](ReadySet& r) { r.set_quiet("a", true); }), alone);
  EXPECT_EQ(with([](ReadySet& r) { r.set_tenant_cap("a", 0); }), alone);
  EXPECT_EQ(with([](ReadySet& r) { r.set_queue_cap("a", "q", 0); }), alone);
  EXPECT_EQ(with([](ReadySet& r) { r.set_limit("", "x", LimitRule{.concurrency = 0}, kNow); }), alone);
  EXPECT_EQ(with([&](ReadySet& r) {
              r.set_limit("a", "x", LimitRule{.concurrency = 9}, kNow);
              r.rate_limited(r.place(blocked), "x", kNow + 1h, kNow, false);
            }),
            alone);
}

TEST(ReadyCostTest, AMillionBlockedJobsAddNoStepsEither) {
  const std::uint64_t alone = steps_of_b([](ReadySet&) {});
  const std::uint64_t beside = steps_of_b([](ReadySet& ready) {
    ready.set_tenant_cap("a", 0);
    fill(ready, ready.place({.tenant = "a", .queue = "q", .type = {1}}), kMany);
  });
  EXPECT_EQ(beside, alone);
}

TEST(ReadyCostTest, ASlotOfALimitDoesNotWakeTheThousandsWhoWaitForIt) {
  ReadySet ready;
  ready.set_limit("", "x", LimitRule{.concurrency = 1}, kNow);
  for (int i = 0; i < 5000; ++i) {
    const PlaceId place =
        ready.place({.tenant = std::to_string(i % 50), .queue = std::to_string(i % 7), .type = {i}, .limits = {"x"}});
    fill(ready, place, 3);
  }
  auto running = ready.pick(kNow);
  EXPECT_FALSE(ready.pick(kNow));  // From here on all of them wait.
  const std::uint64_t before = ready.steps();
  for (int i = 0; i < 1000; ++i) {
    ready.ended(running.value().place, kNow);
    running = ready.pick(kNow);
    ASSERT_TRUE(running);
    ASSERT_FALSE(ready.pick(kNow));
  }
  EXPECT_LT((ready.steps() - before) / 1000, 200);
}

TEST(ReadyCostTest, AHeldJobTakesAtMostFortyBytes) {
  ReadySet ready;
  const PlaceId place = ready.place({.tenant = "a", .queue = "q", .type = {1}});
  const auto in_use = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  const std::size_t before = in_use();
  if (before == 0) GTEST_SKIP() << "this allocator does not count what is in use";
  // Just above a power of two: the worst that doubling can do.
  constexpr std::int64_t kWorst = (1 << 20) + 1000;
  for (std::int64_t id = 1; id <= kWorst; ++id) ready.add(place, {.id = {id}, .run_at = kNow});
  const auto each = static_cast<double>(in_use() - before) / static_cast<double>(kWorst);
  fmt::print("{:.1f} bytes a job\n", each);
  EXPECT_LE(each, 40);

  while (ready.pick(kNow)) ready.ended(place, kNow);
  EXPECT_LE(in_use() - before, 1U << 20);
}

TEST(ReadyCostTest, AMillionAreAddedAndPicked) {
  using Clock = std::chrono::steady_clock;
  ReadySet ready;
  const PlaceId place = ready.place({.tenant = "a", .queue = "q", .type = {1}});
  const auto begin = Clock::now();
  fill(ready, place, kMany);
  const auto added = Clock::now();
  std::int64_t picked = 0;
  while (ready.pick(kNow)) {
    ready.ended(place, kNow);
    ++picked;
  }
  const auto end = Clock::now();
  EXPECT_EQ(picked, kMany);
  const auto rate = [](Clock::duration time) { return kMany / std::chrono::duration<double>(time).count(); };
  fmt::print("{:.0f} adds and {:.0f} picks a second\n", rate(added - begin), rate(end - added));
}

}  // namespace
}  // namespace carillon
