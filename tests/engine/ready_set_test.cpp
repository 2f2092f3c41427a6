#include "engine/ready/ready_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/ready_times.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::kNow;
using test::started;
using testing::ElementsAre;

const ReadyPlace kMail{.tenant = "acme", .queue = "mail", .type = {1}};

ReadyPlace of(const std::string& tenant, const std::string& queue = "default") {
  return {.tenant = tenant, .queue = queue, .type = {1}};
}

ReadyEntry entry(std::int64_t id, Duration late = 0s, std::uint8_t priority = kPriorityDefault) {
  return {.id = {id}, .run_at = kNow - late, .priority = priority};
}

TEST(ReadySetTest, AnEmptySetGivesNothing) {
  ReadySet ready;
  EXPECT_FALSE(ready.pick(kNow));
  EXPECT_FALSE(ready.next_opening(kNow));
  EXPECT_EQ(ready.size(), 0);
  EXPECT_EQ(ready.size("acme"), 0);
  EXPECT_EQ(ready.running("acme"), 0);
}

TEST(ReadySetTest, TheSamePlaceHasTheSameId) {
  ReadySet ready;
  const PlaceId mail = ready.place(kMail);
  EXPECT_EQ(ready.place(kMail), mail);
  EXPECT_EQ(ready.place(mail), kMail);
  ReadyPlace other = kMail;
  other.limits = {"smtp"};
  EXPECT_NE(ready.place(other), mail);
  EXPECT_EQ(ready.place(ready.place(other)), other);
}

TEST(ReadySetTest, ALaneGoesByPriorityThenTimeThenId) {
  ReadySet ready;
  const PlaceId mail = ready.place(kMail);
  ready.add(mail, entry(1, 1h, 5));
  ready.add(mail, entry(4, 1s));
  ready.add(mail, entry(3, 1s));
  ready.add(mail, entry(5, 2s));
  ready.add(mail, entry(2, 0s, 1));
  EXPECT_EQ(ready.size("acme"), 5);
  EXPECT_THAT(started(ready, 9), ElementsAre(2, 5, 3, 4, 1));
  EXPECT_EQ(ready.size(), 0);
  EXPECT_EQ(ready.running("acme"), 5);
}

TEST(ReadySetTest, TheOrderHoldsAcrossThePlacesOfALane) {
  ReadySet ready;
  ReadyPlace other = kMail;
  other.type = {2};
  ready.add(ready.place(kMail), entry(1, 3s));
  ready.add(ready.place(other), entry(2, 2s));
  ready.add(ready.place(kMail), entry(3, 1s));
  ready.add(ready.place(other), entry(4, 1s, 2));
  EXPECT_THAT(started(ready, 9), ElementsAre(4, 1, 2, 3));
}

TEST(ReadySetTest, APickKeepsItsPriorityAndPlace) {
  ReadySet ready;
  const PlaceId mail = ready.place(kMail);
  ready.add(mail, entry(7, 3s, 4));
  const auto pick = ready.pick(kNow);
  ASSERT_TRUE(pick);
  EXPECT_EQ(pick->entry, entry(7, 3s, 4));
  EXPECT_EQ(pick->place, mail);
}

TEST(ReadySetTest, EverySixteenthStartIsTheOneThatWaitsLongest) {
  ReadySet ready;
  ReadyPlace bulk = kMail;
  bulk.type = {2};
  for (std::int64_t id = 100; id < 200; ++id) ready.add(ready.place(kMail), entry(id, 1s, 1));
  ready.add(ready.place(bulk), entry(1, 2h, 5));
  ready.add(ready.place(kMail), entry(2, 1h, 4));
  const auto order = started(ready, 48);
  EXPECT_EQ(order[15], 1);
  EXPECT_EQ(order[31], 2);
  EXPECT_EQ(order[47], 145);
}

TEST(ReadySetTest, WhatCameToNothingIsNoneOfTheSixteen) {
  ReadySet ready;
  const PlaceId mail = ready.place(kMail);
  for (std::int64_t id = 100; id < 200; ++id) ready.add(mail, entry(id, 1s, 1));
  ready.add(mail, entry(1, 1h, 5));
  for (int i = 0; i < 5; ++i) ready.drop(*ready.pick(kNow), kNow);
  for (int i = 0; i < 5; ++i) ready.put_back(*ready.pick(kNow), kNow);
  const auto order = started(ready, 16);
  EXPECT_EQ(order[14], 119);
  EXPECT_EQ(order[15], 1);
}

TEST(ReadySetTest, TenantsTakeTurns) {  // invariant 29
  ReadySet ready;
  for (std::int64_t id = 1; id <= 3; ++id) ready.add(ready.place(of("a")), entry(id, 1h, 1));
  for (std::int64_t id = 11; id <= 13; ++id) ready.add(ready.place(of("b")), entry(id, 0s, 5));
  EXPECT_THAT(started(ready, 9), ElementsAre(1, 11, 2, 12, 3, 13));
}

TEST(ReadySetTest, EachTenantGetsItsWeightBeforeAnyGetsASecondRound) {  // invariant 29
  ReadySet ready;
  ready.set_weight("b", 3, kNow);
  for (const char* const tenant : {"a", "b", "c"}) {
    for (std::int64_t i = 0; i < 100; ++i)
      ready.add(ready.place(of(tenant)), entry((tenant[0] * std::int64_t{1000}) + i));
  }
  for (int round = 0; round < 10; ++round) {
    std::map<std::int64_t, int> starts;
    for (const std::int64_t id : started(ready, 5)) ++starts[id / 1000];
    EXPECT_THAT(starts, ElementsAre(testing::Pair('a', 1), testing::Pair('b', 3), testing::Pair('c', 1)));
  }
}

TEST(ReadySetTest, AWeightOfZeroCountsAsOne) {
  ReadySet ready;
  ready.set_weight("a", 0, kNow);
  ready.add(ready.place(of("a")), entry(1));
  ready.add(ready.place(of("a")), entry(2));
  ready.add(ready.place(of("b")), entry(11));
  EXPECT_THAT(started(ready, 9), ElementsAre(1, 11, 2));
}

TEST(ReadySetTest, AFloodDoesNotKeepAnotherTenantWaitingLongerThanARound) {  // invariant 29
  ReadySet ready;
  const PlaceId flood = ready.place(of("a"));
  for (std::int64_t id = 1; id <= 100'000; ++id) ready.add(flood, entry(id, 1h, 1));
  started(ready, 1000);
  ready.add(ready.place(of("b")), entry(1'000'000, 0s, 5));
  EXPECT_THAT(started(ready, 2), testing::Contains(1'000'000));
}

TEST(ReadySetTest, TheLanesOfATenantShareItsTurn) {  // invariant 29
  ReadySet ready;
  for (std::int64_t id = 1; id <= 3; ++id) ready.add(ready.place(of("a", "q")), entry(id, 1h, 1));
  for (std::int64_t id = 11; id <= 12; ++id) ready.add(ready.place(of("a", "r")), entry(id));
  for (std::int64_t id = 21; id <= 25; ++id) ready.add(ready.place(of("b")), entry(id));
  EXPECT_THAT(started(ready, 20), ElementsAre(1, 21, 11, 22, 2, 23, 12, 24, 3, 25));
}

TEST(ReadySetTest, CapsOfTenantAndQueueHold) {  // invariant 6
  ReadySet ready;
  ready.set_tenant_cap("a", 3);
  ready.set_queue_cap("a", "q", 1);
  for (std::int64_t id = 1; id <= 9; ++id) ready.add(ready.place(of("a", "q")), entry(id));
  for (std::int64_t id = 11; id <= 19; ++id) ready.add(ready.place(of("a", "r")), entry(id));
  EXPECT_THAT(started(ready, 9), ElementsAre(1, 11, 12));
  EXPECT_EQ(ready.holds(ready.place(of("a", "r")), kNow), "cap:tenant");
  ready.ended(ready.place(of("a", "r")), kNow);
  EXPECT_EQ(ready.holds(ready.place(of("a", "q")), kNow), "cap:queue");
  EXPECT_THAT(started(ready, 9), ElementsAre(13));
  ready.ended(ready.place(of("a", "q")), kNow);
  EXPECT_EQ(started(ready, 9).size(), 1);
  ready.set_tenant_cap("a", std::nullopt);
  ready.set_queue_cap("a", "q", 2);
  EXPECT_EQ(started(ready, 99).size(), 7);
  EXPECT_EQ(ready.running(), 10);
}

TEST(ReadySetTest, AdoptedAttemptsCountAndMayExceedACap) {  // invariant 6
  ReadySet ready;
  ready.set_tenant_cap("a", 1);
  const PlaceId place = ready.place(of("a"));
  ready.adopt(place, kNow);
  ready.adopt(place, kNow);
  ready.add(place, entry(1));
  EXPECT_THAT(started(ready, 1), ElementsAre());
  ready.ended(place, kNow);
  EXPECT_THAT(started(ready, 1), ElementsAre());
  ready.gave_back(place, kNow);
  EXPECT_THAT(started(ready, 1), ElementsAre(1));
}

TEST(ReadySetTest, WhatIsClosedStartsWhenItOpensAgain) {
  ReadySet ready;
  const PlaceId place = ready.place({.tenant = "a", .queue = "q", .type = {7}, .notifies = true});
  ready.add(place, entry(1));
  const auto holds = [&] { return ready.holds(place, kNow).value_or("nothing"); };
  const auto starts = [&] {
    const auto pick = ready.pick(kNow);
    if (pick) ready.put_back(*pick, kNow);
    return pick.has_value();
  };
  EXPECT_TRUE(starts());
  EXPECT_EQ(holds(), "nothing");

  ready.set_all_closed(true);
  EXPECT_EQ(holds(), "maintenance");
  EXPECT_FALSE(starts());
  ready.set_all_closed(false);
  EXPECT_TRUE(starts());

  ready.set_tenant_closed("a", true);
  EXPECT_EQ(holds(), "paused");
  EXPECT_FALSE(starts());
  ready.set_tenant_closed("a", false);
  EXPECT_TRUE(starts());

  ready.set_queue_closed("a", "q", true);
  EXPECT_EQ(holds(), "paused");
  EXPECT_FALSE(starts());
  ready.set_queue_closed("a", "q", false);
  EXPECT_TRUE(starts());

  ready.set_type_closed({7}, true);
  EXPECT_EQ(holds(), "no_worker");
  EXPECT_FALSE(starts());
  ready.set_type_closed({7}, false);
  EXPECT_TRUE(starts());

  ready.set_quiet("a", true);
  EXPECT_EQ(holds(), "quiet_hours");
  EXPECT_FALSE(starts());
  ready.set_quiet("a", false);
  EXPECT_TRUE(starts());
}

TEST(ReadySetTest, QuietHoursHoldOnlyWhatNotifies) {
  ReadySet ready;
  ready.set_quiet("a", true);
  ready.add(ready.place({.tenant = "a", .queue = "q", .type = {1}, .notifies = true}), entry(1));
  ready.add(ready.place({.tenant = "a", .queue = "q", .type = {1}}), entry(2));
  EXPECT_THAT(started(ready, 9), ElementsAre(2));
}

TEST(ReadySetTest, RulesMayComeBeforeWhatTheyRule) {
  ReadySet ready;
  ready.set_queue_closed("a", "q", true);
  ready.set_type_closed({9}, true);
  ready.set_limit("a", "x", LimitRule{.concurrency = 0}, kNow);
  ready.add(ready.place(of("a", "q")), entry(1));
  ready.add(ready.place({.tenant = "a", .queue = "r", .type = {9}}), entry(2));
  ready.add(ready.place({.tenant = "a", .queue = "r", .type = {1}, .limits = {"x"}}), entry(3));
  ready.add(ready.place({.tenant = "a", .queue = "r", .type = {1}}), entry(4));
  EXPECT_THAT(started(ready, 9), ElementsAre(4));
}

TEST(ReadySetTest, AnEntryWhoseRowIsGoneCostsItsTenantNoTurn) {  // invariant 29
  ReadySet ready;
  for (int i = 0; i < 10; ++i) ready.add(ready.place(of("a", "q")), entry(i + 1));
  for (int i = 0; i < 10; ++i) ready.add(ready.place(of("b", "q")), entry(i + 11));
  int of_b = 0;
  // The first five of a are stale: b does not get ahead by that.
  for (int stale = 0, i = 0; i < 10; ++i) {
    const auto pick = ready.pick(kNow);
    ASSERT_TRUE(pick);
    if (ready.place(pick->place).tenant == "b") {
      ++of_b;
    } else if (stale < 5) {
      ++stale;
      ready.drop(*pick, kNow);
    }
  }
  EXPECT_EQ(of_b, 2);
}

}  // namespace
}  // namespace carillon
