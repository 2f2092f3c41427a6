#include "server/handlers/webhook_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace carillon::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Turns = WebhookTurns<int>;

std::vector<int> all_of(Turns& turns) {
  std::vector<int> items;
  while (const auto turn = turns.next()) items.push_back(turn->item);
  return items;
}

TEST(WebhookTurns, TenantsTakeTurnsAndSoDoTheHostsOfATenant) {
  Turns turns({.at_once = 100, .of_one_tenant = 100, .of_one_host = 100});
  for (int i = 0; i < 3; ++i) turns.add("a", "one", 10 + i);
  for (int i = 0; i < 2; ++i) turns.add("a", "two", 20 + i);
  turns.add("b", "one", 30);
  EXPECT_THAT(all_of(turns), ElementsAre(10, 30, 20, 11, 21, 12));
}

TEST(WebhookTurns, ATenantLeavesPlacesToOthers) {
  Turns turns({.at_once = 4, .of_one_tenant = 3, .of_one_host = 4});
  for (int i = 0; i < 10; ++i) turns.add("a", "host " + std::to_string(i), i);
  EXPECT_THAT(all_of(turns), ElementsAre(0, 1, 2));
  turns.add("b", "host 0", 100);
  EXPECT_THAT(all_of(turns), ElementsAre(100)) << "a place at once, though another tenant's calls hang";
  turns.add("b", "host 0", 101);
  EXPECT_THAT(all_of(turns), IsEmpty()) << "all places are taken";
  turns.ended("a", "host 1");
  EXPECT_THAT(all_of(turns), ElementsAre(101)) << "who has fewer waits for the next place";
}

TEST(WebhookTurns, AHostHasItsPlacesForEachTenant) {
  Turns turns({.at_once = 10, .of_one_tenant = 8, .of_one_host = 2});
  for (int i = 0; i < 5; ++i) turns.add("a", "shared", i);
  for (int i = 0; i < 5; ++i) turns.add("b", "shared", 10 + i);
  EXPECT_THAT(all_of(turns), ElementsAre(0, 10, 1, 11));
  turns.ended("b", "shared");
  EXPECT_THAT(all_of(turns), ElementsAre(12));
}

TEST(WebhookTurns, WhoHasNothingIsForgotten) {
  Turns turns({.at_once = 10, .of_one_tenant = 8, .of_one_host = 2});
  turns.add("a", "one", 1);
  turns.add("a", "two", 2);
  EXPECT_THAT(all_of(turns), ElementsAre(1, 2));
  EXPECT_EQ(turns.tenants(), 1U);
  turns.ended("a", "one");
  turns.ended("a", "two");
  EXPECT_EQ(turns.tenants(), 0U);
}

TEST(WebhookTurns, ChoosingDoesNotStepOverWhatMayNotBeCalled) {
  constexpr int kMany = 200'000;
  Turns turns({.at_once = 1'000, .of_one_tenant = 500, .of_one_host = 1});
  for (int i = 0; i < kMany; ++i) turns.add("a", "hangs", i);
  EXPECT_THAT(all_of(turns), ElementsAre(0));
  // Each of these would step over all that wait for the host: so many steps that nobody would see the end.
  for (int i = 0; i < kMany; ++i) {
    turns.add("b", "answers", i);
    const auto turn = turns.next();
    ASSERT_TRUE(turn);
    ASSERT_EQ(turn->item, i);
    turns.ended("b", "answers");
  }
}

}  // namespace
}  // namespace carillon::server
