// Whether the server can do its work: with a store that refuses writes, and a planner that stands.
#include "server/api/readiness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "engine/host/engine_host.h"
#include "faults/faulty_backend.h"
#include "store/memory/memory_store.h"
#include "store/transactional_store.h"
#include "support/results.h"

namespace carillon::server {
namespace {

using namespace std::chrono_literals;
using test::value_of;
using ::testing::HasSubstr;

class ReadinessTest : public ::testing::Test {
 protected:
  ReadinessTest()
      : store_(make_store(make_faulty(make_memory_backend(system_store_clock()), commits), system_store_clock())),
        host(*store_, {.engine = {.max_concurrency = 1, .leave_unhandled = true}}) {}

  Readiness look(ReadinessCheck::Options options = {.patience = 5s, .fresh = 0ms}) {
    return ReadinessCheck(host, options).look();
  }

 public:
  FaultyCommits commits;

 private:
  std::unique_ptr<Store> store_;

 public:
  EngineHost host;
};

TEST_F(ReadinessTest, AllIsWell) {
  host.start();
  value_of(host.client().enqueue({.type = "waits"}));
  const Readiness readiness = look();
  EXPECT_TRUE(readiness.is_ready());
  EXPECT_TRUE(readiness.last_commit);
  EXPECT_EQ(readiness.planner_lag, Duration::zero());
  EXPECT_TRUE(readiness.oldest_due);
  EXPECT_THAT(checks_json(readiness), HasSubstr(R"("store":{"ok":true,"message":null})"));
}

TEST_F(ReadinessTest, AStoreThatRefusesWritesIsNamed) {
  host.start();
  ASSERT_TRUE(look().is_ready());
  commits.decide_by([] { return CommitFault::full; });
  const Readiness readiness = look();
  EXPECT_FALSE(readiness.is_ready());
  ASSERT_TRUE(readiness.store);
  EXPECT_THAT(*readiness.store, HasSubstr("does not take writes"));
  EXPECT_FALSE(readiness.planner);
  EXPECT_THAT(checks_json(readiness), HasSubstr(R"("store":{"ok":false,)"));
  EXPECT_THAT(checks_json(readiness), HasSubstr(R"("planner":{"ok":true,)"));
  commits.decide_by([] { return CommitFault::none; });
  EXPECT_TRUE(look().is_ready());
}

TEST_F(ReadinessTest, APlannerThatStandsIsNamed) {
  std::promise<void> stands;
  std::promise<void> goes_on;
  bool first = true;
  host.on_event([&](const Event& event) {
    if (!std::holds_alternative<JobChanged>(event.body) || !std::exchange(first, false)) return;
    stands.set_value();
    goes_on.get_future().wait();
  });
  host.start();
  ASSERT_TRUE(look().is_ready());
  value_of(host.client().enqueue({.type = "waits"}));
  stands.get_future().wait();

  const Readiness readiness = look({.patience = 200ms, .fresh = 0ms});
  EXPECT_FALSE(readiness.is_ready());
  ASSERT_TRUE(readiness.planner);
  EXPECT_THAT(*readiness.planner, HasSubstr("has not answered for 200ms"));
  EXPECT_EQ(readiness.message(), *readiness.planner);

  goes_on.set_value();
  EXPECT_TRUE(look().is_ready());
}

TEST_F(ReadinessTest, OneAnswerServesManyForAWhile) {
  host.start();
  ReadinessCheck check(host, {.patience = 5s, .fresh = 1h});
  ASSERT_TRUE(check.look().is_ready());
  commits.decide_by([] { return CommitFault::unavailable; });
  EXPECT_TRUE(check.look().is_ready());
}

TEST_F(ReadinessTest, APlannerThatIsBehindIsNamed) {
  Readiness readiness{.lag = "the planner is 2m behind"};
  EXPECT_FALSE(readiness.is_ready());
  EXPECT_EQ(readiness.message(), "the planner is 2m behind");
  EXPECT_THAT(checks_json(readiness), HasSubstr(R"("lag":{"ok":false,"message":"the planner is 2m behind")"));
}

}  // namespace
}  // namespace carillon::server
