// Limits as the ready set keeps to them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/ready/ready_set.h"
#include "engine/ready_times.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::kNow;
using test::started;
using testing::ElementsAre;

struct Where {
  std::string tenant = "a";
  std::string queue = "q";
  std::int64_t type = 1;
  std::vector<std::string> limits{"x"};
};

class ReadyLimitsTest : public testing::Test {
 protected:
  PlaceId at(const Where& where) {
    return ready_.place({.tenant = where.tenant, .queue = where.queue, .type = {where.type}, .limits = where.limits});
  }
  PlaceId fill(const Where& where, std::int64_t first, std::int64_t count, std::uint8_t priority = kPriorityDefault) {
    const PlaceId place = at(where);
    for (std::int64_t id = first; id < first + count; ++id) {
      ready_.add(place, {.id = {id}, .run_at = kNow, .priority = priority});
    }
    return place;
  }

  ReadySet ready_;
};

TEST_F(ReadyLimitsTest, ARateHoldsUntilItsTime) {
  ready_.set_limit("a", "x", LimitRule{.rate = 2}, kNow);
  const PlaceId place = fill({}, 1, 9);
  EXPECT_THAT(started(ready_, 9), ElementsAre(1, 2));
  EXPECT_EQ(ready_.holds(place, kNow), "limit:x");
  EXPECT_EQ(ready_.next_opening(kNow), kNow + 500ms);
  EXPECT_THAT(started(ready_, 9, kNow + 499ms), ElementsAre());
  EXPECT_THAT(started(ready_, 9, kNow + 500ms), ElementsAre(3));
  EXPECT_EQ(ready_.next_opening(kNow + 500ms), kNow + 1s);
  EXPECT_THAT(started(ready_, 9, kNow + 1h), ElementsAre(4, 5));
}

TEST_F(ReadyLimitsTest, AnEndOpensAConcurrencyLimitButNotARate) {
  ready_.set_limit("a", "x", LimitRule{.rate = 1, .burst = 2, .concurrency = 1}, kNow);
  const PlaceId place = fill({}, 1, 9);
  EXPECT_THAT(started(ready_, 9), ElementsAre(1));
  EXPECT_FALSE(ready_.next_opening(kNow));
  ready_.ended(place, kNow);
  EXPECT_THAT(started(ready_, 9), ElementsAre(2));
  ready_.ended(place, kNow);
  EXPECT_THAT(started(ready_, 9), ElementsAre());
  EXPECT_EQ(ready_.next_opening(kNow), kNow + 1s);
}

TEST_F(ReadyLimitsTest, WhatIsToWaitForAThreadIsNotTakenUnderARate) {
  ready_.set_limit("a", "x", LimitRule{.rate = 100, .concurrency = 1}, kNow);
  const PlaceId place = fill({}, 1, 2);
  EXPECT_FALSE(ready_.pick(kNow, ReadySet::For::later));
  EXPECT_EQ(ready_.size(), 2);
  EXPECT_THAT(started(ready_, 9), ElementsAre(1));
  ready_.ended(place, kNow);
  ready_.set_limit("a", "x", LimitRule{.concurrency = 1}, kNow);
  EXPECT_TRUE(ready_.pick(kNow, ReadySet::For::later));
}

TEST_F(ReadyLimitsTest, WhoseNextAttemptIsTheLastIsNotTakenToWait) {
  const PlaceId last = ready_.place({.tenant = "a", .queue = "q", .limits = {}, .last_attempt = true});
  ready_.add(last, {.id = {1}, .run_at = kNow});
  EXPECT_FALSE(ready_.pick(kNow, ReadySet::For::later));
  EXPECT_TRUE(ready_.pick(kNow, ReadySet::For::a_free_slot));
}

TEST_F(ReadyLimitsTest, WhatRunsElsewhereIsNotTakenToWait) {
  const TypeId hook{7};
  ready_.set_type_limits("a", hook, {std::string(kOutsideShare)}, kNow);
  const PlaceId outside = ready_.place({.tenant = "a", .queue = "q", .type = hook});
  const PlaceId here = ready_.place({.tenant = "a", .queue = "q", .type = TypeId{8}});
  EXPECT_TRUE(ready_.waits_outside(outside));
  EXPECT_FALSE(ready_.waits_outside(here));
  ready_.add(outside, {.id = {1}, .run_at = kNow});
  EXPECT_FALSE(ready_.pick(kNow, ReadySet::For::later_here));
  EXPECT_TRUE(ready_.pick(kNow, ReadySet::For::later_outside));
  ready_.add(here, {.id = {2}, .run_at = kNow});
  EXPECT_FALSE(ready_.pick(kNow, ReadySet::For::later_outside));
  EXPECT_TRUE(ready_.pick(kNow, ReadySet::For::later_here));
}

TEST_F(ReadyLimitsTest, WhatWasPutBackHasUsedNothing) {
  ready_.set_limit("a", "x", LimitRule{.rate = 1, .concurrency = 1}, kNow);
  const PlaceId place = fill({}, 1, 2);
  ready_.put_back(*ready_.pick(kNow), kNow);
  EXPECT_EQ(ready_.size(), 2);
  ready_.drop(*ready_.pick(kNow), kNow);
  EXPECT_EQ(ready_.size(), 1);
  EXPECT_THAT(started(ready_, 9), ElementsAre(2));
  ready_.gave_back(place, kNow);
  fill({}, 3, 1);
  EXPECT_THAT(started(ready_, 9), ElementsAre(3));
  EXPECT_EQ(ready_.running(), 1);
}

TEST_F(ReadyLimitsTest, AllLimitsOfAPlaceAreTakenOrNone) {
  ready_.set_limit("a", "x", LimitRule{.rate = 2}, kNow);
  ready_.set_limit("", "y", LimitRule{.concurrency = 1}, kNow);
  fill({.limits = {"x", "y"}}, 1, 5);
  EXPECT_THAT(started(ready_, 9), ElementsAre(1));
  // The second one found y in use and has left its token of x.
  fill({.limits = {"x"}}, 11, 5);
  EXPECT_THAT(started(ready_, 9), ElementsAre(11));
}

TEST_F(ReadyLimitsTest, JobsTakeTheLimitsOfTheirTypeBesidesTheirOwn) {  // invariant 6
  ready_.set_limit("a", "x", LimitRule{.concurrency = 3}, kNow);
  ready_.set_limit("a", "t", LimitRule{.concurrency = 2}, kNow);
  ready_.set_type_limits("a", {1}, {"t"}, kNow);
  const PlaceId plain = fill({.limits = {}}, 1, 5);
  const PlaceId named = fill({.limits = {"x"}}, 11, 5);
  fill({.type = 2, .limits = {}}, 21, 1);
  fill({.tenant = "b", .limits = {}}, 31, 1);
  EXPECT_EQ(started(ready_, 99).size(), 4);  // two of the type, and who is not meant
  EXPECT_EQ(ready_.holds(plain, kNow), "limit:t");
  EXPECT_EQ(ready_.holds(named, kNow), "limit:t");
}

TEST_F(ReadyLimitsTest, ATypesLimitThatComesCountsWhatRuns) {  // invariant 6
  ready_.set_limit("a", "t", LimitRule{.concurrency = 2}, kNow);
  const PlaceId place = fill({.limits = {}}, 1, 9);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(ready_.pick(kNow));
  ready_.set_type_limits("a", {1}, {"t"}, kNow);
  EXPECT_THAT(started(ready_, 9), ElementsAre());
  ready_.ended(place, kNow);
  EXPECT_THAT(started(ready_, 9), ElementsAre());
  ready_.ended(place, kNow);
  EXPECT_THAT(started(ready_, 9), ElementsAre(4));
}

TEST_F(ReadyLimitsTest, ATypesLimitThatGoesLetsWhatWaitsGo) {  // invariant 6
  ready_.set_limit("a", "t", LimitRule{.concurrency = 1}, kNow);
  ready_.set_type_limits("a", {1}, {"t"}, kNow);
  const PlaceId other = at({.type = 2, .limits = {"t"}});
  fill({.limits = {}}, 1, 3);
  EXPECT_THAT(started(ready_, 9), ElementsAre(1));
  ready_.add(other, {.id = {21}, .run_at = kNow});
  ready_.set_type_limits("a", {1}, {}, kNow);
  // The slot that its attempt held is free for others, and its end does not free it twice.
  EXPECT_THAT(started(ready_, 9), testing::UnorderedElementsAre(2, 3, 21));
  ready_.ended(at({.limits = {}}), kNow);
  ready_.add(other, {.id = {22}, .run_at = kNow});
  EXPECT_THAT(started(ready_, 9), ElementsAre());
  ready_.ended(other, kNow);
  EXPECT_THAT(started(ready_, 9), ElementsAre(22));
}

TEST_F(ReadyLimitsTest, ATypesLimitThatAJobNamesTooIsTakenOnce) {
  ready_.set_limit("a", "t", LimitRule{.concurrency = 1}, kNow);
  ready_.set_type_limits("a", {1}, {"t"}, kNow);
  const PlaceId place = fill({.limits = {"t"}}, 1, 2);
  EXPECT_THAT(started(ready_, 9), ElementsAre(1));
  ready_.ended(place, kNow);
  EXPECT_THAT(started(ready_, 9), ElementsAre(2));
}

TEST_F(ReadyLimitsTest, RateLimitedWithoutANameTeachesTheTypesLimit) {
  ready_.set_limit("a", "t", LimitRule{.concurrency = 9}, kNow);
  ready_.set_type_limits("a", {1}, {"t"}, kNow);
  const PlaceId place = fill({.limits = {}}, 1, 2);
  ASSERT_TRUE(ready_.pick(kNow));
  ready_.ended(place, kNow);
  ready_.rate_limited(place, "", kNow + 10s, kNow, true);
  EXPECT_THAT(started(ready_, 9), ElementsAre());
  EXPECT_EQ(ready_.next_opening(kNow), kNow + 10s);
  EXPECT_THAT(started(ready_, 9, kNow + 10s), ElementsAre(2));
}

TEST_F(ReadyLimitsTest, ANameTwiceIsOneLimit) {
  ready_.set_limit("a", "x", LimitRule{.concurrency = 1}, kNow);
  fill({.limits = {"x", "x"}}, 1, 5);
  EXPECT_THAT(started(ready_, 9), ElementsAre(1));
}

TEST_F(ReadyLimitsTest, ATenantsOwnLimitTakesThePlaceOfTheGlobalOne) {
  ready_.set_limit("", "x", LimitRule{.concurrency = 1}, kNow);
  fill({.tenant = "a"}, 1, 9);
  fill({.tenant = "b"}, 11, 9);
  EXPECT_THAT(started(ready_, 9), ElementsAre(1));
  // What runs of tenant a leaves the global limit with it.
  ready_.set_limit("a", "x", LimitRule{.concurrency = 3}, kNow);
  EXPECT_THAT(started(ready_, 9), testing::UnorderedElementsAre(2, 3, 11));
  ready_.set_limit("a", "x", std::nullopt, kNow);
  EXPECT_THAT(started(ready_, 9), ElementsAre());
  for (int i = 0; i < 3; ++i) ready_.ended(at({.tenant = "a"}), kNow);
  EXPECT_THAT(started(ready_, 9), ElementsAre());
  ready_.ended(at({.tenant = "b"}), kNow);
  EXPECT_EQ(started(ready_, 9).size(), 1);
  ready_.set_limit("", "x", std::nullopt, kNow);
  EXPECT_EQ(started(ready_, 99).size(), 13);
}

TEST_F(ReadyLimitsTest, AdoptedAttemptsUseSlots) {  // invariant 6
  ready_.set_limit("", "x", LimitRule{.rate = 1, .concurrency = 1}, kNow);
  const PlaceId place = fill({}, 1, 1);
  ready_.adopt(place, kNow);
  EXPECT_THAT(started(ready_, 9), ElementsAre());
  ready_.ended(place, kNow);
  EXPECT_THAT(started(ready_, 9), ElementsAre(1));
}

TEST_F(ReadyLimitsTest, RateLimitedHoldsTheLimitThatItNames) {
  ready_.set_limit("a", "x", LimitRule{.concurrency = 9}, kNow);
  ready_.set_limit("a", "y", LimitRule{.concurrency = 9}, kNow);
  const PlaceId both = at({.limits = {"x", "y"}});
  fill({.limits = {"x"}}, 1, 1);
  fill({.limits = {"y"}}, 11, 1);
  ready_.rate_limited(both, "z", kNow + 1min, kNow, true);
  EXPECT_FALSE(ready_.holds(both, kNow));
  ready_.rate_limited(both, "y", kNow + 1min, kNow, false);
  EXPECT_THAT(started(ready_, 9), ElementsAre(1));
  EXPECT_EQ(ready_.holds(both, kNow), "limit:y");
  ready_.rate_limited(both, "", kNow + 2min, kNow, false);
  EXPECT_EQ(ready_.holds(both, kNow), "limit:x");
  EXPECT_EQ(ready_.next_opening(kNow), kNow + 1min);
  EXPECT_THAT(started(ready_, 9, kNow + 1min), ElementsAre(11));
}

TEST_F(ReadyLimitsTest, ATenantsWordClosesAGlobalLimitForThatTenantAlone) {
  ready_.set_limit("", "x", LimitRule{.rate = 8, .concurrency = 9}, kNow);
  const PlaceId of_a = at({.tenant = "a"});
  const PlaceId of_b = at({.tenant = "b"});
  fill({.tenant = "a"}, 1, 1);
  fill({.tenant = "b"}, 11, 1);
  ready_.rate_limited(of_a, "x", kNow + 1min, kNow, false);
  EXPECT_EQ(ready_.holds(of_a, kNow), "limit:x");
  EXPECT_FALSE(ready_.holds(of_b, kNow));
  EXPECT_THAT(started(ready_, 9), ElementsAre(11));
  EXPECT_EQ(ready_.next_opening(kNow), kNow + 1min);
  EXPECT_THAT(started(ready_, 9, kNow + 1min), ElementsAre(1));
}

TEST_F(ReadyLimitsTest, AWordForAllClosesAGlobalLimitForAll) {
  ready_.set_limit("", "x", LimitRule{.concurrency = 9}, kNow);
  ready_.rate_limited(at({.tenant = "a"}), "x", kNow + 1min, kNow, true);
  EXPECT_EQ(ready_.holds(at({.tenant = "a"}), kNow), "limit:x");
  EXPECT_EQ(ready_.holds(at({.tenant = "b"}), kNow), "limit:x");
}

TEST_F(ReadyLimitsTest, ATenantsClosingOfAGlobalLimitLastsAnHourAtMost) {
  ready_.set_limit("", "x", LimitRule{.concurrency = 9}, kNow);
  ready_.rate_limited(at({}), "x", kNow + 24h, kNow, false);
  EXPECT_EQ(ready_.holds(at({}), kNow + 59min), "limit:x");
  EXPECT_FALSE(ready_.holds(at({}), kNow + 1h));
}

TEST_F(ReadyLimitsTest, WhoeverSetsOrDeletesALimitOpensIt) {
  const LimitRule rule{.rate = 8, .concurrency = 9};
  for (const std::optional<LimitRule>& set : {std::optional(rule), std::optional<LimitRule>()}) {
    for (const bool for_all : {false, true}) {
      ready_.set_limit("", "x", rule, kNow);
      ready_.rate_limited(at({}), "x", kNow + 1min, kNow, for_all);
      ASSERT_EQ(ready_.holds(at({}), kNow), "limit:x");
      ready_.set_limit("", "x", set, kNow);
      EXPECT_FALSE(ready_.holds(at({}), kNow));
    }
  }
}

TEST_F(ReadyLimitsTest, WhatWaitedForAClosingStartsWhenTheLimitIsSet) {
  ready_.set_limit("", "x", LimitRule{.concurrency = 9}, kNow);
  ready_.rate_limited(fill({}, 1, 2), "x", kNow + 1min, kNow, false);
  ASSERT_THAT(started(ready_, 9), ElementsAre());
  ready_.set_limit("", "x", LimitRule{.concurrency = 9}, kNow);
  EXPECT_EQ(started(ready_, 9).size(), 2);
}

TEST_F(ReadyLimitsTest, ATenantsOwnLimitAndTheGlobalOneOfThatNameAreTwo) {
  ready_.set_limit("", "x", LimitRule{.concurrency = 9}, kNow);
  ready_.set_limit("a", "x", LimitRule{.concurrency = 9}, kNow);
  const auto closed = ready_.rate_limited(at({.tenant = "a"}), "x", kNow + 1min, kNow, true);
  ASSERT_TRUE(closed);
  EXPECT_TRUE(ready_.draws_on(at({.tenant = "a"}), *closed));
  EXPECT_FALSE(ready_.draws_on(at({.tenant = "b"}), *closed));
  EXPECT_FALSE(ready_.holds(at({.tenant = "b"}), kNow));
}

TEST_F(ReadyLimitsTest, ATenantThatIsForgottenLeavesNoClosing) {
  ready_.set_limit("", "x", LimitRule{.concurrency = 9}, kNow);
  ready_.rate_limited(fill({}, 1, 1), "x", kNow + 1min, kNow, false);
  ASSERT_THAT(started(ready_, 9), ElementsAre());
  ready_.forget_tenant("a", kNow);
  EXPECT_THAT(started(ready_, 9), ElementsAre(1));
}

// ---- Shares --------------------------------------------------------------------------------------------------------

TEST_F(ReadyLimitsTest, TheOnlyTenantHasTheWholeOfAGlobalLimit) {
  ready_.set_limit("", "x", LimitRule{.concurrency = 8}, kNow);
  fill({.tenant = "a"}, 1, 20);
  EXPECT_EQ(started(ready_, 99).size(), 8);
}

TEST_F(ReadyLimitsTest, ATenantLeavesSomeOfAGlobalLimitForOthers) {
  ready_.set_limit("", "x", LimitRule{.concurrency = 8}, kNow);
  ready_.know_tenant("b");
  fill({.tenant = "a"}, 1, 20);
  EXPECT_EQ(started(ready_, 99).size(), 6);
  EXPECT_EQ(ready_.holds(at({.tenant = "a"}), kNow), "limit:x");
  fill({.tenant = "b"}, 101, 20);
  EXPECT_EQ(started(ready_, 99).size(), 2);
  // What ends of the one goes to the other, until both have their share.
  for (int i = 0; i < 2; ++i) {
    ready_.ended(at({.tenant = "a"}), kNow);
    EXPECT_THAT(started(ready_, 99), ElementsAre(testing::Gt(100)));
  }
  EXPECT_EQ(ready_.running("a"), 4);
  EXPECT_EQ(ready_.running("b"), 4);
  // From then on each has its own back.
  ready_.ended(at({.tenant = "a"}), kNow);
  EXPECT_THAT(started(ready_, 99), ElementsAre(testing::Lt(100)));
}

TEST_F(ReadyLimitsTest, WhoIsShortOfItsShareStartsWhenTheOthersAreGone) {
  ready_.set_limit("", "x", LimitRule{.concurrency = 8}, kNow);
  ready_.know_tenant("b");
  fill({.tenant = "a"}, 1, 20);
  ASSERT_EQ(started(ready_, 99).size(), 6);
  ready_.forget_tenant("b", kNow);
  EXPECT_EQ(started(ready_, 99).size(), 2);
}

TEST_F(ReadyLimitsTest, ATenantsOwnConcurrencyIsAllItsOwn) {
  ready_.set_limit("a", "x", LimitRule{.concurrency = 8}, kNow);
  ready_.know_tenant("b");
  fill({.tenant = "a"}, 1, 20);
  EXPECT_EQ(started(ready_, 99).size(), 8);
}

TEST_F(ReadyLimitsTest, AHoldGoesWithItsRule) {
  ready_.set_limit("", "x", LimitRule{.concurrency = 9}, kNow);
  const PlaceId place = fill({}, 1, 1);
  ready_.rate_limited(place, "x", kNow + 1min, kNow, true);
  EXPECT_THAT(started(ready_, 9), ElementsAre());
  ready_.set_limit("", "x", std::nullopt, kNow);
  EXPECT_THAT(started(ready_, 9), ElementsAre(1));
}

TEST_F(ReadyLimitsTest, ThePriorityOfALaneHoldsAmongThoseWhoWait) {
  ready_.set_limit("a", "x", LimitRule{.concurrency = 1}, kNow);
  const PlaceId low = fill({.type = 1}, 1, 20, 5);
  const PlaceId high = fill({.type = 2}, 101, 20, 1);
  std::vector<std::int64_t> order;
  for (int i = 0; i < 20; ++i) {
    const auto ids = started(ready_, 9);
    ASSERT_EQ(ids.size(), 1);
    order.push_back(ids.front());
    ready_.ended(ids.front() > 100 ? high : low, kNow);
  }
  // Of two that are due since the same instant, the lower id has waited longest.
  EXPECT_GE(std::ranges::count_if(order, [](std::int64_t id) { return id > 100; }), 18);
  EXPECT_LT(std::ranges::count_if(order, [](std::int64_t id) { return id > 100; }), 20);
}

TEST_F(ReadyLimitsTest, TenantsTakeTurnsAtALimitHoweverManyLanesTheyHave) {  // invariant 29
  ready_.set_limit("", "x", LimitRule{.concurrency = 1}, kNow);
  for (int i = 0; i < 100; ++i) fill({.tenant = "a", .queue = std::to_string(i)}, 1000 + i, 5);
  const PlaceId single = fill({.tenant = "b"}, 1, 30);
  int of_b = 0;
  for (int i = 0; i < 40; ++i) {
    const auto pick = ready_.pick(kNow);
    ASSERT_TRUE(pick);
    ASSERT_FALSE(ready_.pick(kNow));
    if (pick->place == single) ++of_b;
    ready_.ended(pick->place, kNow);
  }
  EXPECT_GE(of_b, 19);
}

TEST_F(ReadyLimitsTest, APausedTenantDoesNotKeepTheSlotThatItsLineWasWokenFor) {
  ready_.set_limit("", "x", LimitRule{.concurrency = 1}, kNow);
  const PlaceId first = fill({.tenant = "a"}, 1, 5);
  fill({.tenant = "b"}, 11, 5);
  fill({.tenant = "c", .limits = {}}, 21, 50);
  EXPECT_EQ(started(ready_, 3).size(), 3);
  ready_.set_tenant_closed("b", true);
  ready_.ended(first, kNow);
  EXPECT_THAT(started(ready_, 10), testing::Contains(testing::Lt(10)));
}

TEST_F(ReadyLimitsTest, AClockThatWasCorrectedDoesNotHoldALimitForTheStep) {
  ready_.set_limit("a", "x", LimitRule{.rate = 1}, kNow);
  fill({}, 1, 5);
  EXPECT_THAT(started(ready_, 9), ElementsAre(1));
  const Instant corrected = kNow - 5h;
  EXPECT_THAT(started(ready_, 9, corrected), ElementsAre());
  EXPECT_EQ(ready_.next_opening(corrected), corrected + 1s);
  EXPECT_THAT(started(ready_, 9, corrected + 1s), ElementsAre(2));
}

}  // namespace
}  // namespace carillon
