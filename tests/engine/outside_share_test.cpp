// Jobs that hold a slot while they wait for somebody outside: one tenant's must not take them all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/support/hand_node.h"

namespace carillon {
namespace {

using namespace carillon::test;

class OutsideShare : public ::testing::Test {
 protected:
  OutsideShare() {
    node.node().share_slots([](std::string_view, std::string_view type) { return type == "hook"; });
  }

  void enqueue(const std::string& tenant, const std::string& type, int count) {
    for (int i = 0; i < count; ++i) node.enqueue({.type = type, .tenant = tenant});
    node.settle_down();
  }
  void run_one() {
    const RunPtr run = node.take();
    ASSERT_TRUE(node.begin(run));
    node.finish(run, done());
    node.settle_down();
  }
  std::size_t started(const std::string& tenant) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(node.runner.waiting, [&](const RunPtr& run) { return run->job.tenant == tenant; }));
  }

  HandNode node{{.max_concurrency = 4}};
};

TEST_F(OutsideShare, AnotherTenantsJobStartsAtOnceThoughAllOfOneTenantsHang) {
  enqueue("other", "hook", 1);
  run_one();
  enqueue("acme", "hook", 20);
  EXPECT_EQ(started("acme"), 3U);
  enqueue("other", "hook", 2);
  EXPECT_EQ(started("other"), 1U);
  EXPECT_EQ(node.runner.waiting.size(), 4U) << "never more than the node may have (invariant 6)";
}

TEST_F(OutsideShare, WhoHasAHandlerIsExpectedThoughItHasHadNoJob) {
  node.node().serving_changed("other");
  enqueue("acme", "hook", 20);
  EXPECT_EQ(started("acme"), 3U);
  enqueue("other", "hook", 1);
  EXPECT_EQ(started("other"), 1U);
}

TEST_F(OutsideShare, ATenantThatIsTheOnlyOneHasThemAll) {
  enqueue("acme", "hook", 20);
  EXPECT_EQ(started("acme"), 4U);
}

TEST_F(OutsideShare, WhatKeepsAThreadBusyMayTakeThemAll) {
  enqueue("acme", "work", 20);
  EXPECT_EQ(started("acme"), 4U);
}

TEST_F(OutsideShare, AFreeSlotGoesToTheNext) {
  enqueue("acme", "hook", 20);
  run_one();
  EXPECT_EQ(started("acme"), 4U);
}

TEST_F(OutsideShare, TheReasonIsTold) {  // invariant 33
  const auto why = [&](const std::string& tenant) {
    const JobId held = node.enqueue({.type = "hook", .tenant = tenant});
    node.settle_down();
    return value_of(node.client().explain(tenant, held)).steps.back().why;
  };
  node.node().serving_changed("other");
  enqueue("acme", "hook", 3);
  EXPECT_EQ(why("acme"), "cap:webhooks") << "a slot is free, and kept for the other";
  enqueue("other", "hook", 1);
  EXPECT_EQ(why("acme"), "cap:node") << "none is free";
  EXPECT_EQ(why("other"), "cap:node");
}

}  // namespace
}  // namespace carillon
