// Caps, limits and turns: what may start, and that nobody is starved.
#include "engine/support/engine_test.h"
#include "engine/support/hand_node.h"

namespace carillon::test {
namespace {

// All that may start at once, under way and not ended.
class EngineCaps : public ::testing::Test {
 protected:
  std::size_t taken() {
    std::size_t count = 0;
    while (const RunPtr run = node.take()) {
      node.begin(run);
      running.push_back(run);
      ++count;
    }
    return count;
  }
  void finish_one() {
    node.finish(running.front(), done());
    running.erase(running.begin());
  }
  void enqueue(int count, const JobRequest& request) {
    for (int i = 0; i < count; ++i) ids.push_back(node.enqueue(request));
  }
  std::string why(JobId id, std::string_view tenant = "default") {
    return value_of(node.client().explain(tenant, id)).steps.back().why;
  }

 public:
  HandNode node{{.max_concurrency = 20}};
  std::vector<RunPtr> running;
  std::vector<JobId> ids;
};

TEST_F(EngineCaps, TheNodeRunsNoMoreThanItMay) {  // invariant 6
  enqueue(50, {.type = "work"});
  EXPECT_EQ(taken(), 20U);
  node.pass(1s);  // so that nothing is claimed ahead
  finish_one();
  EXPECT_LE(node.node().runs().size(), 21U);
}

TEST_F(EngineCaps, AllNodesTogetherRunNoMoreThanTheConfigSays) {  // invariant 6
  ASSERT_TRUE(node.client().put_config(R"({"max_concurrent_jobs":3})").has_value());
  enqueue(10, {.type = "work"});
  EXPECT_EQ(taken(), 3U);
  finish_one();
  EXPECT_EQ(taken(), 1U);
  ASSERT_TRUE(node.client().put_config(R"({"max_concurrent_jobs":null})").has_value());
  EXPECT_EQ(taken(), 6U);
}

TEST_F(EngineCaps, ATenantsCapHoldsItAndNobodyElse) {  // invariants 6, 33
  ASSERT_TRUE(node.client().put_settings("a", R"({"max_concurrency":2})").has_value());
  enqueue(10, {.type = "work", .tenant = "a"});
  enqueue(5, {.type = "work", .tenant = "b"});
  EXPECT_EQ(taken(), 7U);
  EXPECT_EQ(why(ids[9], "a"), "cap:tenant");
}

TEST_F(EngineCaps, AQueuesCapHoldsItAndNobodyElse) {  // invariants 6, 33
  ASSERT_TRUE(node.client().put_queue("default", "slow", R"({"max_concurrency":2})").has_value());
  enqueue(10, {.type = "work", .queue = "slow"});
  enqueue(5, {.type = "work"});
  EXPECT_EQ(taken(), 7U);
  EXPECT_EQ(why(ids[9]), "cap:queue");
  while (!running.empty()) finish_one();
  EXPECT_EQ(taken(), 2U);
}

TEST_F(EngineCaps, ALimitsConcurrencyHoldsOnlyThoseUnderIt) {  // invariants 6, 33
  ASSERT_TRUE(node.client().put_limit("default", "api", R"({"concurrency":3})").has_value());
  enqueue(10, {.type = "work", .limits = {"api"}});
  enqueue(5, {.type = "work"});
  EXPECT_EQ(taken(), 8U);
  EXPECT_EQ(why(ids[9]), "limit:api");
  node.pass(1min);
  EXPECT_EQ(taken(), 0U);
}

TEST_F(EngineCaps, ARateIsKeptAndItsBurstComesFirst) {  // invariant 6
  ASSERT_TRUE(node.client().put_limit("default", "api", R"({"rate":2,"per":"1s","burst":4})").has_value());
  enqueue(15, {.type = "work", .limits = {"api"}});
  EXPECT_EQ(taken(), 4U);
  std::size_t total = 4;
  for (int second = 1; second <= 5; ++second) {
    node.pass(1s);
    total += taken();
    EXPECT_EQ(total, static_cast<std::size_t>(4 + 2 * second));
  }
}

TEST_F(EngineCaps, TwoLimitsAreTakenTogetherOrNotAtAll) {  // invariant 6
  ASSERT_TRUE(node.client().put_limit("default", "one", R"({"concurrency":1})").has_value());
  ASSERT_TRUE(node.client().put_limit("default", "five", R"({"concurrency":5})").has_value());
  enqueue(5, {.type = "work", .limits = {"five", "one"}});
  enqueue(10, {.type = "work", .limits = {"five"}});
  EXPECT_EQ(taken(), 5U);  // one of the first, four of the second
  int both = 0;
  for (const RunPtr& run : running) both += std::ranges::find(ids, run->job.id) - ids.begin() < 5 ? 1 : 0;
  EXPECT_EQ(both, 1);
}

TEST_F(EngineCaps, AGlobalLimitIsSharedByAllTenants) {  // invariant 6
  ASSERT_TRUE(node.client().put_limit("", "api", R"({"concurrency":3})").has_value());
  enqueue(5, {.type = "work", .tenant = "a", .limits = {"api"}});
  enqueue(5, {.type = "work", .tenant = "b", .limits = {"api"}});
  EXPECT_EQ(taken(), 3U);
}

TEST_F(EngineCaps, RateLimitedStopsTheLimitUntilThenAndHalvesItsRate) {
  ASSERT_TRUE(node.client().put_limit("default", "api", R"({"rate":10,"per":"1s","burst":1})").has_value());
  enqueue(400, {.type = "work", .limits = {"api"}});
  EXPECT_EQ(taken(), 1U);
  node.finish(running.front(), rate_limited("api", in(30s)));
  running.clear();
  node.pass(29s);
  EXPECT_EQ(taken(), 0U);
  node.pass(1s);
  std::size_t starts = taken();
  EXPECT_LE(starts, 1U);
  for (int i = 0; i < 10; ++i) {
    node.pass(100ms);
    starts += taken();
    while (!running.empty()) finish_one();
  }
  EXPECT_LE(starts, 8U);
  EXPECT_GE(starts, 4U);
  EXPECT_EQ(node.heard.of<RateLimited>().size(), 1U);
  EXPECT_EQ(node.heard.of<RateLimited>().front().limit, "api");
}

TEST_F(EngineCaps, ALimitThatIsTakenAwayHoldsNobody) {
  ASSERT_TRUE(node.client().put_limit("default", "api", R"({"concurrency":1})").has_value());
  enqueue(5, {.type = "work", .limits = {"api"}});
  EXPECT_EQ(taken(), 1U);
  ASSERT_TRUE(node.client().put_limit("default", "api", std::nullopt).has_value());
  EXPECT_EQ(taken(), 4U);
}

TEST_F(EngineCaps, AFailureGivesItsSlotsBack) {  // invariant 6
  ASSERT_TRUE(node.client().put_limit("default", "api", R"({"concurrency":1})").has_value());
  enqueue(3, {.type = "work", .limits = {"api"}});
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(taken(), 1U) << i;
    node.finish(running.front(), permanent("no"));
    running.clear();
  }
}

TEST_F(EngineCaps, ALostLeaseGivesItsSlotsBack) {  // invariants 6, 12
  ASSERT_TRUE(node.client().put_limit("default", "api", R"({"concurrency":1})").has_value());
  enqueue(1, {.type = "work", .lease = 30s, .limits = {"api"}});
  EXPECT_EQ(taken(), 1U);
  node.clock.advance(31s);
  ASSERT_EQ(value_of(node.store().jobs().reap(10)).size(), 1U);
  node.settle_down();
  enqueue(1, {.type = "work", .limits = {"api"}});
  EXPECT_EQ(taken(), 1U);
  EXPECT_EQ(running[1]->job.id, ids[1]);
}

// ---- Turns --------------------------------------------------------------------------------------------------------

class EngineTurns : public EngineTest {};

TEST_P(EngineTurns, WeightsShareTheStarts) {  // invariant 29
  max_concurrency = 1;
  std::string order;
  handle("work", [&](JobContext& context) {
    order += context.job().tenant;
    return done();
  });
  ASSERT_TRUE(client().put_settings("a", R"({"weight":3})").has_value());
  for (int i = 0; i < 12; ++i) {
    enqueue({.type = "work", .tenant = "a"});
    enqueue({.type = "work", .tenant = "b"});
  }
  run_due();
  ASSERT_EQ(order.size(), 24U);
  const std::string first = order.substr(0, 16);
  EXPECT_EQ(std::ranges::count(first, 'a'), 12) << order;
}

TEST_P(EngineTurns, AFloodOfOneTenantDoesNotHoldAnother) {  // invariant 29
  if (survives_restart()) GTEST_SKIP() << "the turns are in memory: one store will do for 100,000 jobs";
  max_concurrency = 4;
  std::size_t starts = 0;
  std::size_t when_b = 0;
  handle("work", [&](JobContext& context) {
    ++starts;
    if (context.job().tenant == "b") when_b = starts;
    return done();
  });
  const std::vector<JobRequest> flood(1000, JobRequest{.type = "work", .tenant = "a"});
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(client().enqueue_all(flood).has_value());
  enqueue({.type = "work", .tenant = "b"});
  run_due();
  EXPECT_EQ(starts, 100'001U);
  EXPECT_GT(when_b, 0U);
  EXPECT_LE(when_b, 2U);
}

TEST_P(EngineTurns, JobsHeldByALimitDoNotHoldOthersOfTheirQueue) {
  max_concurrency = 1;
  handle_counted("work");
  handle_counted("free");
  ASSERT_TRUE(client().put_limit(kTenant, "api", R"({"rate":1,"per":"1h"})").has_value());
  for (int i = 0; i < 100; ++i) enqueue({.type = "work", .priority = 1, .limits = {"api"}});
  enqueue({.type = "free", .priority = 5});
  run_due();
  EXPECT_EQ(calls("work"), 1);
  EXPECT_EQ(calls("free"), 1);
  advance(3h + 1s);
  EXPECT_EQ(calls("work"), 4);
}

OVER_EVERY_STORE(EngineTurns);

}  // namespace
}  // namespace carillon::test
