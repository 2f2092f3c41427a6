// A tenant's share of a limit: whoever comes gets in, and those who stay come to have their share.
#include "core/policies/limit_share.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace carillon {
namespace {

// Tenants that are known, what they hold, and the one rule by which they start.
class Tenants {
 public:
  Tenants(std::uint32_t concurrency, std::vector<std::uint32_t> weights)
      : concurrency_(concurrency), weights_(std::move(weights)), held_(weights_.size()) {}

  std::uint32_t running() const { return std::accumulate(held_.begin(), held_.end(), 0U); }
  std::uint32_t held(std::size_t tenant) const { return held_[tenant]; }

  bool may_start(std::size_t tenant) const {
    SharedLimit limit{.concurrency = concurrency_,
                      .running = running(),
                      .held = held_[tenant],
                      .weight = weights_[tenant],
                      .weights = 0};
    for (std::size_t i = 0; i < held_.size(); ++i) {
      if (held_[i] > 0) limit.weights += weights_[i];
      if (held_[i] == 0 && i != tenant) limit.has_newcomers = true;
    }
    return may_take_one(limit);
  }
  bool start(std::size_t tenant) {
    if (!may_start(tenant)) return false;
    ++held_[tenant];
    return true;
  }
  void start_all(std::size_t tenant) {
    while (start(tenant)) {
    }
  }
  void end(std::size_t tenant) { --held_[tenant]; }

 private:
  std::uint32_t concurrency_;
  std::vector<std::uint32_t> weights_;
  std::vector<std::uint32_t> held_;
};

Tenants equal(std::uint32_t concurrency, std::size_t tenants) {
  return {concurrency, std::vector<std::uint32_t>(tenants, 1)};
}

TEST(LimitShareTest, WhatOneTenantMayHoldWhileOthersAreKnown) {
  struct Case {
    std::uint32_t concurrency;
    std::uint32_t held;
  };
  for (const Case& one : {Case{1, 1}, Case{2, 1}, Case{3, 2}, Case{4, 3}, Case{5, 3}, Case{8, 6}, Case{10, 7},
                          Case{16, 12}, Case{100, 75}}) {
    Tenants tenants = equal(one.concurrency, 2);
    tenants.start_all(0);
    EXPECT_EQ(tenants.held(0), one.held) << one.concurrency;
  }
}

TEST(LimitShareTest, ManyWhoComeOneAfterTheOtherAllGetIn) {
  Tenants tenants = equal(100, 1000);
  tenants.start_all(0);
  EXPECT_EQ(tenants.held(0), 75);
  tenants.start_all(1);
  EXPECT_EQ(tenants.held(1), 18);
  for (std::size_t i = 2; i < 9; ++i) {
    tenants.start_all(i);
    EXPECT_GE(tenants.held(i), 1) << i;
  }
}

TEST(LimitShareTest, OneThatNobodyCanShareGoesToWhoComesFirst) {
  Tenants tenants = equal(1, 2);
  EXPECT_TRUE(tenants.start(0));
  EXPECT_FALSE(tenants.may_start(1));
}

TEST(LimitShareTest, ALimitOfZeroLetsNothingStart) { EXPECT_FALSE(equal(0, 2).may_start(0)); }

std::uint32_t any_concurrency() { return *rc::gen::inRange<std::uint32_t>(1, 200); }

RC_GTEST_PROP(LimitShareProperty, TheOnlyTenantHasAll, ()) {
  const std::uint32_t concurrency = any_concurrency();
  Tenants tenants = equal(concurrency, 1);
  tenants.start_all(0);
  RC_ASSERT(tenants.held(0) == concurrency);
}

RC_GTEST_PROP(LimitShareProperty, NobodyHoldsItAllWhileOthersAreKnown, ()) {
  const std::uint32_t concurrency = 1 + any_concurrency();
  Tenants tenants(concurrency, {*rc::gen::inRange<std::uint32_t>(0, 1001), 1});
  tenants.start_all(0);
  RC_ASSERT(tenants.held(0) >= (concurrency / 2));
  RC_ASSERT(tenants.held(0) < concurrency);
  RC_ASSERT(tenants.may_start(1));
}

RC_GTEST_PROP(LimitShareProperty, WhateverHappensTheLimitHoldsAndWhoHoldsNothingGetsAFreeSlot, ()) {
  const std::uint32_t concurrency = any_concurrency();
  const auto weights = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange(0U, 9U)));
  Tenants tenants(concurrency, weights);
  for (int i = 0; i < 300; ++i) {
    const auto one = *rc::gen::inRange<std::size_t>(0, weights.size());
    if (tenants.held(one) > 0 && *rc::gen::inRange(0, 3) == 0) {
      tenants.end(one);
    } else {
      tenants.start(one);
    }
    RC_ASSERT(tenants.running() <= concurrency);
    for (std::size_t t = 0; t < weights.size(); ++t) {
      RC_ASSERT(tenants.held(t) > 0 || tenants.running() == concurrency || tenants.may_start(t));
    }
  }
}

// Whoever held it first: once each of his attempts has ended, all have what their weight gives them, but for rounding.
RC_GTEST_PROP(LimitShareProperty, ThoseWhoStayComeToHaveTheirShare, ()) {
  const std::size_t count = *rc::gen::inRange<std::size_t>(2, 6);
  const std::uint32_t concurrency = static_cast<std::uint32_t>(count) * *rc::gen::inRange(2U, 30U);
  Tenants tenants = equal(concurrency, count);
  tenants.start_all(0);
  for (std::uint32_t round = 0; round < 2 * concurrency; ++round) {
    // The one with most ends one; all want more, and the first is the greediest.
    std::size_t most = 0;
    for (std::size_t t = 1; t < count; ++t) {
      if (tenants.held(t) > tenants.held(most)) most = t;
    }
    tenants.end(most);
    for (std::size_t t = 0; t < count; ++t) tenants.start_all(t);
  }
  for (std::size_t t = 0; t < count; ++t) RC_ASSERT(tenants.held(t) + 1 >= concurrency / count);
  RC_ASSERT(tenants.running() == concurrency);
}

}  // namespace
}  // namespace carillon
