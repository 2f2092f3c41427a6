// Tenants that are deleted, and what one tenant's word does to a limit that all share.
#include "engine/upkeep/tenant_erasure.h"
#include "engine/support/engine_test.h"
#include "engine/support/pull_test.h"

namespace carillon::test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class TenantErasures : public Pulls {
 protected:
  TenantErasures() {
    node->node().on_tenant_erased([this](const std::string& tenant) { erased.push_back(tenant); });
  }
  void erase(const std::string& tenant) {
    ASSERT_TRUE(node->node().call<void>([&](Round& round) { return node->node().erasure().begin(round, tenant); }));
  }
  bool is_left(const std::string& tenant) {
    return node->store()
        .reader()
        .document({.tenant = {}, .kind = std::string(kErasureKind), .name = tenant})
        .has_value();
  }
  std::vector<std::string> erased;
};
OVER_EVERY_STORE(TenantErasures);

TEST_P(TenantErasures, ItsRulesGoWithATenant) {
  ASSERT_TRUE(node->client().put_settings("a", R"({"max_concurrency":1})"));
  ASSERT_TRUE(node->client().put_queue("a", "default", R"({"max_concurrency":1})"));
  ASSERT_TRUE(node->client().put_maintenance("a", "{}"));
  erase("a");
  node->pass(2s);
  EXPECT_THAT(erased, ::testing::ElementsAre("a"));
  EXPECT_FALSE(is_left("a"));
  enqueue(3, {.type = "mail", .tenant = "a"});
  EXPECT_THAT(node.lease({.filter = {.tenants = {"a"}}, .limit = 9}), SizeIs(3));
}

TEST_P(TenantErasures, WhatComesInTheLastMomentIsCancelledAndGoes) {
  const JobId queued = enqueue({.type = "mail", .tenant = "a"});
  const JobId held = enqueue({.type = "call", .tenant = "a"});
  const PulledJob leased = node.lease_one({.filter = {.tenants = {"a"}, .types = {"call"}}});
  ASSERT_TRUE(node->client().put_schedule(
      "a", R"({"name":"late","trigger":{"kind":"every","every":"1h"},"job":{"type":"t"}})", std::nullopt));
  erase("a");
  node->pass(5s);
  EXPECT_FALSE(node->client().job("a", queued));
  EXPECT_FALSE(node->client().schedule("a", "late"));
  EXPECT_TRUE(is_left("a"));  // its holder has the last word
  EXPECT_TRUE(value_of(node.beat(leased)).cancel_requested);
  value_of(node.settle(leased, done()));
  node->pass(5s);
  EXPECT_FALSE(node->client().job("a", held));
  EXPECT_FALSE(is_left("a"));
}

TEST_P(TenantErasures, AStoreThatFailsDelaysIt) {
  ASSERT_TRUE(node->client().put_settings("a", R"({"max_concurrency":1})"));
  erase("a");
  node->commits().next(CommitFault::unavailable);
  node->pass(5s);
  EXPECT_FALSE(is_left("a"));
  EXPECT_THAT(erased, ::testing::ElementsAre("a"));
}

TEST_P(TenantErasures, BulkWorkOfATenantEndsWithIt) {
  enqueue(3, {.type = "mail", .tenant = "a"});
  BulkRequest request;
  request.action = BulkAction::cancel;
  request.query.tenant = "a";
  request.rate = 0.01;
  request.all = true;
  ASSERT_TRUE(node->client().bulk(request));
  erase("a");
  node->pass(1min);
  EXPECT_FALSE(is_left("a"));
  const JobId other = enqueue({.type = "mail", .tenant = "b"});
  EXPECT_EQ(node.lease_one().job.id, other);  // rounds go on
}

// ---- Words about global limits ----

class GlobalLimits : public Pulls {
 protected:
  std::size_t leased_of(const std::string& tenant) {
    return node.lease({.filter = {.tenants = {tenant}}, .limit = 9}).size();
  }
  // A worker says that it was too much, as `word` speaks.
  void close_by(const std::string& tenant, bool speaks_for_all) {
    const PulledJob job = node.lease_one({.filter = {.tenants = {tenant}}});
    value_of(node.settle({.tenants = {tenant},
                          .job = job.job.id,
                          .token = job.job.token,
                          .outcome = rate_limited("api", in(30s)),
                          .speaks_for_all = speaks_for_all}));
  }
};
OVER_EVERY_STORE(GlobalLimits);

TEST_P(GlobalLimits, AWorkersWordClosesOneForItsTenantAlone) {
  ASSERT_TRUE(node->client().put_limit("", "api", R"({"concurrency":9})"));
  enqueue(2, {.type = "mail", .tenant = "a", .limits = {"api"}});
  enqueue(2, {.type = "mail", .tenant = "b", .limits = {"api"}});
  close_by("a", false);
  EXPECT_EQ(leased_of("a"), 0U);
  EXPECT_EQ(leased_of("b"), 2U);
  node->pass(31s);
  EXPECT_EQ(leased_of("a"), 2U);
}

TEST_P(GlobalLimits, AWorkerOfAllTenantsClosesItForAll) {
  ASSERT_TRUE(node->client().put_limit("", "api", R"({"concurrency":9})"));
  enqueue(2, {.type = "mail", .tenant = "a", .limits = {"api"}});
  enqueue(2, {.type = "mail", .tenant = "b", .limits = {"api"}});
  close_by("a", true);
  EXPECT_EQ(leased_of("b"), 0U);
  ASSERT_TRUE(node->client().put_limit("", "api", R"({"concurrency":9})"));
  EXPECT_EQ(leased_of("b"), 2U);
}

TEST_P(GlobalLimits, WhatWasLearntOutlivesAStoreThatFails) {
  ASSERT_TRUE(node->client().put_limit("", "api", R"({"concurrency":9})"));
  enqueue(2, {.type = "mail", .tenant = "a", .limits = {"api"}});
  close_by("a", true);
  node->commits().next(CommitFault::answer_lost);
  EXPECT_FALSE(node->client().enqueue({.type = "mail", .tenant = "a", .limits = {"api"}}));
  node->pass(5s);  // the rules are read again
  EXPECT_EQ(leased_of("a"), 0U);
}

}  // namespace
}  // namespace carillon::test
