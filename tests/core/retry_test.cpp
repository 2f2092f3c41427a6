#include "core/policies/retry.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include "core/random_triggers.h"
#include "core/times.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::draw;
using test::utc;

constexpr std::uint32_t kFailuresMost = std::numeric_limits<std::uint32_t>::max();

const Instant kNow = utc("2026-03-29T07:00:00Z");

Duration delay_after(const RetryPolicy& policy, std::uint32_t failures, std::string_view job = "job-1") {
  return *next_attempt_at(policy, {.job = job, .failures = failures, .planned_at = kNow, .now = kNow}) - kNow;
}

TEST(RetryTable, IsOneFiveFifteenSixtyMinutesAndTheLastRepeats) {  // S4
  const RetryPolicy policy = RetryTable{.jitter = 0};
  EXPECT_EQ(delay_after(policy, 1), 1min);
  EXPECT_EQ(delay_after(policy, 2), 5min);
  EXPECT_EQ(delay_after(policy, 3), 15min);
  EXPECT_EQ(delay_after(policy, 4), 60min);
  EXPECT_EQ(delay_after(policy, 5), 60min);
  EXPECT_EQ(delay_after(policy, 2'147'483'648U), 60min);
  EXPECT_EQ(delay_after(policy, kFailuresMost), 60min);
}

TEST(RetryTable, IsTheDefaultWithTenPercentJitterAndFiveAttempts) {
  const RetryPolicy policy;
  ASSERT_TRUE(std::holds_alternative<RetryTable>(policy));
  EXPECT_EQ(delay_bounds(policy, 1)->min, 54s);
  EXPECT_EQ(delay_bounds(policy, 1)->max, 66s);
  EXPECT_EQ(delay_bounds(policy, 4)->min, 54min);
  EXPECT_EQ(delay_bounds(policy, 4)->max, 66min);
  EXPECT_EQ(kMaxAttemptsDefault, 5U);
}

// Worked out by hand from XXH64, rounded up. A job that waits for its retry over a restart keeps its time.
// (invariant 15)
TEST(RetryTable, JitterIsTheSameForEver) {
  const RetryPolicy policy = RetryTable{};
  EXPECT_EQ(delay_after(policy, 1), 55'176ms);
  EXPECT_EQ(delay_after(policy, 2), 302'189ms);
  EXPECT_EQ(delay_after(policy, 3), 968'529ms);
  EXPECT_EQ(delay_after(policy, 4), 3'423'316ms);
  EXPECT_EQ(delay_after(policy, 5), 3'937'870ms);
  EXPECT_EQ(delay_after(policy, 100), 3'761'953ms);
  EXPECT_EQ(delay_after(policy, 2'147'483'648U), 3'404'348ms);
  EXPECT_EQ(delay_after(policy, kFailuresMost), 3'729'632ms);
  const std::string_view uuid = "01890a5d-ac96-774b-bcce-b302099a8057";
  EXPECT_EQ(delay_after(policy, 1, uuid), 59'422ms);
  EXPECT_EQ(delay_after(policy, 2, uuid), 297'715ms);
}

TEST(RetryExponential, DoublesFromItsBaseUpToThirtyTwoTimes) {  // S1
  const RetryPolicy policy = RetryExponential{.base = 60s};
  const std::vector<std::chrono::seconds> expected{60s, 120s, 240s, 480s, 960s, 1920s, 1920s, 1920s};
  for (std::uint32_t n = 1; n <= expected.size(); ++n) EXPECT_EQ(delay_after(policy, n), expected[n - 1]) << n;
  for (const std::uint32_t n : {31U, 32U, 33U, 63U, 64U, 65U, 2'147'483'647U, 2'147'483'648U, kFailuresMost}) {
    EXPECT_EQ(delay_after(policy, n), 1920s) << n;
  }
}

TEST(RetryExponential, TakesTheBasesOfS1) {
  EXPECT_EQ(delay_after(RetryExponential{.base = 120s}, 3), 480s);
  EXPECT_EQ(delay_after(RetryExponential{.base = 300s}, 6), 9600s);
}

TEST(RetryExponential, HasJitterOnlyIfAsked) {
  EXPECT_EQ(delay_bounds(RetryExponential{}, 3)->min, delay_bounds(RetryExponential{}, 3)->max);
  const RetryPolicy policy = RetryExponential{.base = 60s, .jitter = 0.25};
  EXPECT_EQ(delay_after(policy, 1), 47'938ms);
  EXPECT_EQ(delay_after(policy, 2), 122'189ms);
  EXPECT_EQ(delay_after(policy, 6), 1'620'963ms);
}

TEST(RetryExponential, TheLongestBaseDoesNotOverflow) {
  const RetryPolicy policy = RetryExponential{.base = kDurationMax, .jitter = 1};
  EXPECT_GE(delay_bounds(policy, kFailuresMost)->min, 0s);
  EXPECT_LE(delay_bounds(policy, kFailuresMost)->max, 2 * kDurationMax);
  EXPECT_GE(
      *next_attempt_at(policy, {.job = "j", .failures = kFailuresMost, .planned_at = kInstantMax, .now = kInstantMax}),
      kInstantMax);
}

// S0: planned 07:00, hangs and fails at 07:25; then each attempt fails at once.
TEST(RetryFixed, AHangingAttemptIsFollowedAtOnceAndThenInItsBeat) {
  const RetryPolicy policy = RetryFixed{.delay = 10min};
  std::vector<std::string> attempts;
  Instant planned = utc("2026-03-29T07:00:00Z");
  Instant now = utc("2026-03-29T07:25:00Z");
  for (std::uint32_t failures = 1; failures <= 4; ++failures) {
    planned = *next_attempt_at(policy, {.job = "j", .failures = failures, .planned_at = planned, .now = now});
    now = planned;
    attempts.push_back(test::text_of(planned).substr(11, 5));
  }
  EXPECT_THAT(attempts, testing::ElementsAre("07:25", "07:35", "07:45", "07:55"));
}

TEST(RetryFixed, FailingAtOnceKeepsTheBeatOfThePlan) {  // S0: 07:00, 07:10, … 07:50
  const RetryPolicy policy = RetryFixed{.delay = 10min};
  Instant planned = utc("2026-03-29T07:00:00Z");
  for (std::uint32_t failures = 1; failures <= 5; ++failures) {
    // Each attempt takes some seconds; that does not move the next one.
    planned = *next_attempt_at(policy, {.job = "j", .failures = failures, .planned_at = planned, .now = planned + 7s});
    EXPECT_EQ(planned, utc("2026-03-29T07:00:00Z") + failures * 10min);
  }
}

TEST(RetryNone, NeverRetries) {
  EXPECT_FALSE(next_attempt_at(RetryNone{}, {.job = "j", .failures = 1, .planned_at = kNow, .now = kNow}).has_value());
  EXPECT_FALSE(delay_bounds(RetryNone{}, 1).has_value());
}

TEST(Retry, ZeroFailuresCountAsOne) {
  EXPECT_EQ(delay_after(RetryTable{.jitter = 0}, 0), 1min);
  EXPECT_EQ(delay_after(RetryExponential{}, 0), 60s);
}

TEST(Retry, WhatNoPolicyShouldSayIsHeldInBounds) {
  const Duration longest = Duration::max();
  for (const RetryPolicy& policy :
       {RetryPolicy(RetryTable{.delays = {longest}, .jitter = 1}),
        RetryPolicy(RetryTable{.delays = {-longest}, .jitter = 1}),
        RetryPolicy(RetryTable{.delays = {1min}, .jitter = 1e300}),
        RetryPolicy(RetryTable{.delays = {1min}, .jitter = -5}),
        RetryPolicy(RetryTable{.delays = {1min}, .jitter = std::numeric_limits<double>::quiet_NaN()}),
        RetryPolicy(RetryTable{.delays = {}}), RetryPolicy(RetryExponential{.base = longest, .jitter = 1}),
        RetryPolicy(RetryExponential{.base = -1s}), RetryPolicy(RetryFixed{.delay = longest}),
        RetryPolicy(RetryFixed{.delay = -1h})}) {
    for (const std::uint32_t failures : {0U, 1U, 7U, kFailuresMost}) {
      const auto bounds = delay_bounds(policy, failures);
      EXPECT_GE(bounds->min, 0s);
      EXPECT_LE(bounds->max, 2 * kDurationMax);
      const Instant next =
          *next_attempt_at(policy, {.job = "j", .failures = failures, .planned_at = kNow - 1h, .now = kNow});
      EXPECT_GE(next, kNow);
      EXPECT_LE(next, kInstantMax);
    }
  }
}

Duration any_delay() { return Duration(draw<std::int64_t>(0, draw(0, 1) == 0 ? 7'200'000'000 : kDurationMax.count())); }

double any_jitter() { return static_cast<double>(draw(0, 100)) / 100; }

RetryPolicy any_policy() {
  switch (draw(0, 3)) {
    case 0: {
      RetryTable table{.delays = {}, .jitter = any_jitter()};
      for (int i = draw(1, 6); i > 0; --i) table.delays.push_back(any_delay());
      return table;
    }
    case 1: return RetryExponential{.base = any_delay(), .jitter = any_jitter()};
    case 2: return RetryFixed{.delay = any_delay()};
    default: return RetryNone{};
  }
}

// Small ones, powers of two and their neighbours, up to 2^32 - 1.
std::uint32_t any_failures() {
  if (draw(0, 1) == 0) return draw<std::uint32_t>(1, 10);
  const std::uint64_t power = std::uint64_t{1} << draw(1, 31);
  return static_cast<std::uint32_t>(power + draw<std::uint64_t>(0, 2) - 1);
}

// What the policy says of a delay, with nothing of the code under test.
struct Bounds {
  long double low;
  long double high;
};
Bounds bounds_by_definition(const RetryPolicy& policy, std::uint32_t failures) {
  if (const auto* table = std::get_if<RetryTable>(&policy)) {
    const std::size_t index = std::min<std::size_t>(failures, table->delays.size()) - 1;
    const auto delay = static_cast<long double>(table->delays[index].count());
    return {delay * (1 - table->jitter), delay * (1 + table->jitter)};
  }
  const auto& exponential = std::get<RetryExponential>(policy);
  long double delay = std::min<long double>(exponential.base.count(), kDurationMax.count() / 32.0L);
  for (std::uint32_t i = 1; i < failures && i < 6; ++i) delay *= 2;
  return {delay * (1 - exponential.jitter), delay * (1 + exponential.jitter)};
}

RC_GTEST_PROP(Retry, TheDelayStaysInItsBoundsForAnyNumberOfFailures, ()) {  // invariant 15
  const RetryPolicy policy = any_policy();
  const std::uint32_t failures = any_failures();
  const std::string job = *rc::gen::arbitrary<std::string>();
  const Instant now = Instant(
      Duration(draw<std::int64_t>(kInstantMin.time_since_epoch().count(), kInstantMax.time_since_epoch().count())));
  const Instant planned_at = add_clamped(now, -any_delay());
  const RetryQuestion question{.job = job, .failures = failures, .planned_at = planned_at, .now = now};

  const auto next = next_attempt_at(policy, question);
  RC_ASSERT(next == next_attempt_at(policy, question));
  RC_ASSERT(next.has_value() == !std::holds_alternative<RetryNone>(policy));
  if (!next) return;
  RC_ASSERT(*next >= now);
  RC_ASSERT(*next <= kInstantMax);

  const auto bounds = delay_bounds(policy, failures);
  RC_ASSERT(bounds->min >= Duration(0));
  RC_ASSERT(bounds->min <= bounds->max);
  if (const auto* fixed = std::get_if<RetryFixed>(&policy)) {
    RC_ASSERT(*next == up_to_millisecond(std::max(now, add_clamped(planned_at, fixed->delay))));
    return;
  }
  if (*next < kInstantMax) {
    RC_ASSERT(*next - now >= bounds->min);
    // In whole milliseconds, and beyond the bounds only if none lies within them.
    const Instant first_whole = up_to_millisecond(now + bounds->min);
    RC_ASSERT(*next <= std::max(now + bounds->max, first_whole));
    RC_ASSERT(*next == up_to_millisecond(*next));
  } else {
    RC_ASSERT(add_clamped(now, bounds->max) == kInstantMax);
  }
  const Bounds expected = bounds_by_definition(policy, failures);
  const long double rounding = 100;  // µs, of doubles that hold up to 400 years
  RC_ASSERT(static_cast<long double>(bounds->min.count()) >= expected.low - rounding);
  RC_ASSERT(static_cast<long double>(bounds->max.count()) <= expected.high + rounding);
  RC_ASSERT(static_cast<long double>(bounds->min.count()) <= expected.low + rounding);
  RC_ASSERT(static_cast<long double>(bounds->max.count()) >= expected.high - rounding);
}

TEST(Retry, JitterSpreadsJobsOverTheWholeWidth) {
  const RetryPolicy policy = RetryTable{};
  std::vector<int> tenths(10);
  for (int i = 0; i < 2000; ++i) {
    const std::string job = "job-" + std::to_string(i);
    const Duration into = delay_after(policy, 1, job) - 54s;
    ++tenths[static_cast<std::size_t>(std::min<std::int64_t>(9, into / 1200ms))];
  }
  for (const int count : tenths) {
    EXPECT_GT(count, 140);
    EXPECT_LT(count, 260);
  }
}

}  // namespace
}  // namespace carillon
