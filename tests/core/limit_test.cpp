#include "core/policies/limit.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "core/times.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::utc;

const Instant kNow = utc("2026-03-29T01:00:00Z");
const Opening kOpen{.kind = Opening::Kind::now};
const Opening kFull{.kind = Opening::Kind::when_one_ends};

Opening open_at(Instant at) { return {.kind = Opening::Kind::at, .at = at}; }

// Takes as many as it gets.
int take_all(LimitState& limit, Instant now) {
  int taken = 0;
  while (limit.opening(now) == kOpen && taken < 1000) {
    limit.take(now);
    ++taken;
  }
  return taken;
}

TEST(LimitTest, WithoutRateAndConcurrencyNothingIsHeld) {
  LimitState limit({}, kNow);
  EXPECT_EQ(take_all(limit, kNow), 1000);
  EXPECT_EQ(limit.running(), 1000);
  EXPECT_EQ(limit.effective_rate(kNow), 0);
}

TEST(LimitTest, ABucketIsFullAtFirstAndFillsAtItsRate) {
  LimitState limit({.rate = 10}, kNow);
  EXPECT_EQ(take_all(limit, kNow), 10);
  EXPECT_EQ(limit.opening(kNow), open_at(kNow + 100ms));
  EXPECT_EQ(limit.opening(kNow + 99ms), open_at(kNow + 100ms));
  EXPECT_EQ(limit.opening(kNow + 100ms), kOpen);
  EXPECT_EQ(take_all(limit, kNow + 500ms), 5);
}

TEST(LimitTest, ABucketNeverHoldsMoreThanItsBurst) {
  LimitState limit({.rate = 10, .burst = 3}, kNow);
  EXPECT_EQ(take_all(limit, kNow), 3);
  EXPECT_EQ(take_all(limit, kNow + 24h), 3);
}

TEST(LimitTest, TheBurstIsTheRateButAtLeastOne) {
  LimitState slow({.rate = 1, .per = 1h}, kNow);
  EXPECT_EQ(take_all(slow, kNow), 1);
  EXPECT_EQ(slow.opening(kNow), open_at(kNow + 1h));
  LimitState slower({.rate = 0.5, .per = 1h}, kNow);
  EXPECT_EQ(take_all(slower, kNow), 1);
  EXPECT_EQ(slower.opening(kNow), open_at(kNow + 2h));
}

TEST(LimitTest, ARateOfZeroLetsNothingMoreStart) {
  LimitState limit({.rate = 0}, kNow);
  EXPECT_EQ(take_all(limit, kNow), 1);
  EXPECT_EQ(limit.opening(kNow), open_at(kInstantMax));
}

TEST(LimitTest, WhatTimeHoldsIsKnownThoughAllSlotsAreInUse) {
  LimitState limit({.rate = 2, .burst = 1, .concurrency = 1}, kNow);
  EXPECT_LT(limit.closed_until(kNow), kNow);
  limit.take(kNow);
  EXPECT_EQ(limit.opening(kNow), kFull);
  EXPECT_EQ(limit.closed_until(kNow), kNow + 500ms);
  EXPECT_LT(limit.closed_until(kNow + 500ms), kNow);
  limit.rate_limited(kNow + 10min, kNow + 500ms);
  EXPECT_EQ(limit.closed_until(kNow + 1s), kNow + 10min);
}

TEST(LimitTest, AnEndFreesASlotAndNoToken) {
  LimitState limit({.rate = 2, .concurrency = 1}, kNow);
  EXPECT_EQ(take_all(limit, kNow), 1);
  EXPECT_EQ(limit.opening(kNow), kFull);
  limit.end();
  EXPECT_EQ(take_all(limit, kNow), 1);
  limit.end();
  EXPECT_EQ(limit.opening(kNow), open_at(kNow + 500ms));
}

TEST(LimitTest, WhatWasNotStartedGivesItsTokenBack) {
  LimitState limit({.rate = 1, .concurrency = 1}, kNow);
  limit.take(kNow);
  limit.give_back(kNow);
  EXPECT_EQ(limit.running(), 0);
  EXPECT_EQ(limit.opening(kNow), kOpen);
  limit.take(kNow);
  limit.give_back(kNow + 1h);
  EXPECT_EQ(take_all(limit, kNow + 1h), 1);
}

TEST(LimitTest, AdoptedAttemptsMayExceedTheLimitAndUseNoTokens) {
  LimitState limit({.rate = 1, .concurrency = 2}, kNow);
  limit.adopt(3);
  EXPECT_EQ(limit.opening(kNow), kFull);
  limit.end();
  EXPECT_EQ(limit.opening(kNow), kFull);
  limit.disown(1);
  EXPECT_EQ(limit.opening(kNow), kOpen);
}

TEST(LimitTest, AChangedRuleKeepsWhatRunsAndWhatIsLeft) {
  LimitState limit({.rate = 10, .concurrency = 5}, kNow);
  EXPECT_EQ(take_all(limit, kNow), 5);
  limit.change({.rate = 3, .concurrency = 6}, kNow);
  EXPECT_EQ(take_all(limit, kNow), 1);
  limit.change({.rate = 3}, kNow);
  EXPECT_EQ(take_all(limit, kNow), 2);
  limit.change({.concurrency = 2}, kNow);
  EXPECT_EQ(limit.running(), 8);
  EXPECT_EQ(limit.opening(kNow), kFull);
  limit.change({.rate = 4}, kNow);
  EXPECT_EQ(take_all(limit, kNow), 4);
}

TEST(LimitTest, RateLimitedHoldsAndHalvesTheRate) {
  LimitState limit({.rate = 10, .burst = 1}, kNow);
  limit.rate_limited(kNow + 30s, kNow);
  EXPECT_EQ(limit.opening(kNow), open_at(kNow + 30s));
  EXPECT_EQ(limit.opening(kNow + 30s - 1us), open_at(kNow + 30s));
  EXPECT_EQ(limit.opening(kNow + 30s), kOpen);
  EXPECT_DOUBLE_EQ(limit.effective_rate(kNow + 30s), 5);
  limit.take(kNow + 30s);
  EXPECT_EQ(limit.opening(kNow + 30s), open_at(kNow + 30s + 200ms));
}

TEST(LimitTest, TheRateComesBackATenthAtATimeAfterTheHold) {
  LimitState limit({.rate = 10}, kNow);
  limit.rate_limited(kNow + 30s, kNow);
  EXPECT_DOUBLE_EQ(limit.effective_rate(kNow + 30s + 999ms), 5);
  EXPECT_DOUBLE_EQ(limit.effective_rate(kNow + 31s), 6);
  EXPECT_DOUBLE_EQ(limit.effective_rate(kNow + 34s), 9);
  EXPECT_DOUBLE_EQ(limit.effective_rate(kNow + 1h), 10);
}

TEST(LimitTest, TheRateNeverFallsBelowAHundredth) {
  LimitState limit({.rate = 100}, kNow);
  for (int i = 0; i < 20; ++i) limit.rate_limited(kNow, kNow);
  EXPECT_DOUBLE_EQ(limit.effective_rate(kNow), 1);
  EXPECT_DOUBLE_EQ(limit.effective_rate(kNow + 1s), 11);
}

TEST(LimitTest, AHoldIsAtMostAnHour) {
  LimitState limit({.concurrency = 1}, kNow);
  limit.rate_limited(kNow + 24h, kNow);
  EXPECT_EQ(limit.opening(kNow), open_at(kNow + 1h));
  limit.rate_limited(kNow + 1min, kNow + 1s);  // A shorter word does not cut a longer one.
  EXPECT_EQ(limit.opening(kNow + 1s), open_at(kNow + 1h));
  EXPECT_EQ(limit.opening(kNow + 1h), kOpen);
}

TEST(LimitTest, TheOpeningForeseesTheWayBack) {
  LimitState limit({.rate = 1, .per = 10s}, kNow);
  limit.take(kNow);
  for (int i = 0; i < 10; ++i) limit.rate_limited(kNow, kNow);
  const Opening opening = limit.opening(kNow);
  ASSERT_EQ(opening.kind, Opening::Kind::at);
  // 10 s at a hundredth, at 11, 21, 31 hundredths: .01 + .11 + .21 + .31 = .64; the rest at 41 hundredths.
  EXPECT_NEAR(std::chrono::duration<double>(opening.at - kNow).count(), 40 + (10 * 0.36 / 0.41), 1e-5);
  EXPECT_EQ(limit.opening(opening.at - 10us).kind, Opening::Kind::at);
  EXPECT_EQ(limit.opening(opening.at), kOpen);
}

TEST(LimitTest, AClockThatStepsBackLosesNothingAndGivesNothing) {
  LimitState limit({.rate = 1, .burst = 2}, kNow);
  limit.take(kNow);
  EXPECT_EQ(take_all(limit, kNow - 30s), 1);
  EXPECT_EQ(limit.opening(kNow - 30s), open_at(kNow + 1s));
  EXPECT_EQ(limit.opening(kNow), open_at(kNow + 1s));
  EXPECT_EQ(take_all(limit, kNow + 1s), 1);
}

TEST(LimitTest, AClockThatWasCorrectedByHoursDoesNotHoldALimitForHours) {
  LimitState limit({.rate = 1, .burst = 2}, kNow);
  EXPECT_EQ(take_all(limit, kNow), 2);
  limit.rate_limited(kNow + 10s, kNow);
  const Instant corrected = kNow - 5h;
  EXPECT_EQ(limit.opening(corrected), open_at(corrected + 10s));
  EXPECT_EQ(take_all(limit, corrected + 10s), 2);
  EXPECT_EQ(limit.opening(corrected + 10s).kind, Opening::Kind::at);
}

template <typename T>
T draw(T low, T high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(low, high + 1));
}

// invariant 6
RC_GTEST_PROP(LimitProperty, NoSpanSeesMoreStartsThanBurstAndRateAllow, ()) {
  const LimitRule rule{.rate = draw(1, 50) / 4.0,
                       .per = std::chrono::milliseconds(draw(100, 3000)),
                       .burst = draw(1, 8),
                       .concurrency = static_cast<std::uint32_t>(draw(1, 6))};
  LimitState limit(rule, kNow);
  Instant now = kNow;
  std::vector<Instant> starts;
  std::vector<Instant> running;
  const int steps = draw(50, 200);
  for (int i = 0; i < steps; ++i) {
    const int what = draw(0, 9);
    const Opening opening = limit.opening(now);
    if (what <= 4 && opening.kind == Opening::Kind::now) {
      limit.take(now);
      starts.push_back(now);
      running.push_back(now);
    } else if (what == 5 && opening.kind == Opening::Kind::at) {
      RC_ASSERT(opening.at > now);
      now = opening.at;
      RC_ASSERT(limit.opening(now).kind == Opening::Kind::now);
    } else if (what == 6 && !running.empty() && running.back() == now) {
      limit.give_back(now);
      starts.erase(std::ranges::find(starts, running.back()));
      running.pop_back();
    } else if (what == 7 && draw(0, 9) == 0) {
      limit.rate_limited(now + std::chrono::milliseconds(draw(0, 500)), now);
    } else if (what >= 8 && !running.empty()) {
      limit.end();
      running.pop_back();
    } else {
      now += std::chrono::microseconds(draw(0, 400'000));
    }
    RC_ASSERT(limit.running() == running.size());
    RC_ASSERT(limit.running() <= rule.concurrency.value());
  }
  for (std::size_t from = 0; from < starts.size(); ++from) {
    for (std::size_t to = from; to < starts.size(); ++to) {
      const double span = std::chrono::duration<double>(starts[to] - starts[from]) / rule.per;
      RC_ASSERT(static_cast<double>(to - from + 1) <= *rule.burst + (*rule.rate * span) + 1e-6);
    }
  }
}

}  // namespace
}  // namespace carillon
