// Workers outside of the process: what they may lease, in which order, and how they wait for it.
#include "engine/support/pull_test.h"

namespace carillon::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

OVER_EVERY_STORE(Pulls);

// ---- Caps, limits, gates ----

TEST_P(Pulls, CapsHoldAndAreFreedByAWord) {  // invariant 6
  ASSERT_TRUE(node->client().put_settings("a", R"({"max_concurrency":2})").has_value());
  ASSERT_TRUE(node->client().put_queue("b", "slow", R"({"max_concurrency":1})").has_value());
  const auto ids = enqueue(5, {.type = "mail", .tenant = "a"});
  enqueue(5, {.type = "mail", .tenant = "b", .queue = "slow"});
  const auto leased = node.lease({.limit = 20});
  ASSERT_THAT(leased, SizeIs(3));
  EXPECT_THAT(node.lease({.limit = 20}), IsEmpty());
  const PullAnswer waits = node.ask({.filter = {.tenants = {"a"}}, .limit = 5, .wait = 30s});
  EXPECT_FALSE(waits.is_there());
  for (const PulledJob& one : leased) {
    if (one.job.tenant == "a") {
      value_of(node.settle(one, done()));
      break;
    }
  }
  ASSERT_TRUE(waits.is_there());
  EXPECT_THAT(waits.jobs(), SizeIs(1));
  EXPECT_EQ(node->node().dispatcher().ready().running("a"), 2U);
}

TEST_P(Pulls, HandlersAndWorkersShareTheirCaps) {  // invariant 6
  ASSERT_TRUE(node->client().put_config(R"({"max_concurrent_jobs":3})").has_value());
  enqueue(2, {.type = "own"});
  const RunPtr run = node->take();
  ASSERT_TRUE(node->take());
  enqueue(5, {.type = "mail"});
  const auto leased = node.lease({.limit = 5});
  ASSERT_THAT(leased, SizeIs(1));
  enqueue({.type = "own"});
  EXPECT_FALSE(node->take());
  const PullAnswer waits = node.ask({.wait = 30s});
  EXPECT_FALSE(waits.is_there());
  value_of(node.settle(leased[0], done()));
  EXPECT_TRUE(waits.is_there() || node->take());
  EXPECT_EQ(node->node().dispatcher().ready().running(), 3U);
}

TEST_P(Pulls, LeasesOutsideLeaveHandlersFewerSlots) {  // S0's E3
  ASSERT_TRUE(node->client().put_config(R"({"max_concurrent_jobs":3})").has_value());
  enqueue(2, {.type = "mail"});
  EXPECT_THAT(node.lease({.limit = 2}), SizeIs(2));
  node->pass(2s);
  EXPECT_EQ(node->heard.of<InFlight>().back().in_flight, 0U);
  EXPECT_EQ(node->heard.of<InFlight>().back().max_concurrency, 1U);
  enqueue(2, {.type = "own"});
  ASSERT_TRUE(node->begin(node->take()));
  EXPECT_FALSE(node->take());
  node->pass(2s);
  EXPECT_EQ(node->heard.of<InFlight>().back().in_flight, 1U);
  EXPECT_EQ(node->heard.of<InFlight>().back().max_concurrency, 1U);
}

TEST_P(Pulls, LimitsHoldByNumberAndByRate) {  // invariant 6
  ASSERT_TRUE(node->client().put_limit("default", "few", R"({"concurrency":2})").has_value());
  ASSERT_TRUE(node->client().put_limit("", "slow", R"({"rate":1,"per":"10s","burst":1})").has_value());
  enqueue(5, {.type = "mail", .limits = {"few"}});
  const auto few = node.lease({.limit = 9});
  EXPECT_THAT(few, SizeIs(2));
  EXPECT_THAT(node.lease(), IsEmpty());
  value_of(node.settle(few[0], done()));
  EXPECT_THAT(node.lease({.limit = 9}), SizeIs(1));

  enqueue(3, {.type = "post", .tenant = "b", .limits = {"slow"}});
  const PullFilter filter{.tenants = {"b"}};
  EXPECT_THAT(node.lease({.filter = filter, .limit = 9}), SizeIs(1));
  const PullAnswer waits = node.ask({.filter = filter, .limit = 9, .wait = 1min});
  node->pass(9s);
  EXPECT_FALSE(waits.is_there());
  node->pass(2s);
  ASSERT_TRUE(waits.is_there());
  EXPECT_THAT(waits.jobs(), SizeIs(1));
  // A token is used by the claim: a released job does not bring it back.
  const PulledJob job = waits.jobs()[0];
  value_of(node.settle({.job = job.job.id, .token = job.job.token, .release = true}));
  EXPECT_THAT(node.lease({.filter = filter}), IsEmpty());
}

TEST_P(Pulls, ARateLimitedWordHoldsTheLimit) {
  ASSERT_TRUE(node->client().put_limit("default", "api", R"({"concurrency":9})").has_value());
  enqueue(3, {.type = "mail", .limits = {"api"}});
  const PulledJob leased = node.lease_one();
  EXPECT_EQ(value_of(node.settle(leased, rate_limited("api", in(30s)))).state, JobState::queued);
  EXPECT_THAT(node.lease({.limit = 9}), IsEmpty());
  ASSERT_THAT(node->heard.of<RateLimited>(), SizeIs(1));
  node->pass(31s);
  EXPECT_THAT(node.lease({.limit = 9}), SizeIs(3));
}

TEST_P(Pulls, WhatIsClosedIsNotLeased) {
  const JobId id = enqueue({.type = "mail", .notifies = true});
  const auto expect_held = [&](const char* by) { EXPECT_THAT(node.lease(), IsEmpty()) << by; };
  ASSERT_TRUE(node->client().put_settings("default", R"({"paused":true})").has_value());
  expect_held("a pause");
  ASSERT_TRUE(node->client().put_settings("default", R"({"paused":false})").has_value());
  ASSERT_TRUE(node->client().put_queue("default", "default", R"({"paused":true})").has_value());
  node->pass(5s);
  expect_held("a queue's pause");
  ASSERT_TRUE(node->client().put_queue("default", "default", R"({"paused":false})").has_value());
  ASSERT_TRUE(node->client().put_maintenance("", R"({})").has_value());
  expect_held("maintenance");
  ASSERT_TRUE(node->client().put_maintenance("", std::nullopt).has_value());
  ASSERT_TRUE(node->client().put_settings("default", R"({"quiet_hours":{"start":"11:00","end":"15:00"}})").has_value());
  node->pass(5s);
  expect_held("quiet hours");
  const PullAnswer waits = node.ask({.wait = 1min});
  ASSERT_TRUE(node->client().put_settings("default", R"({"quiet_hours":null})").has_value());
  node->pass(5s);
  ASSERT_TRUE(waits.is_there());
  EXPECT_THAT(ids_of(waits.jobs()), ElementsAre(id));
}

TEST_P(Pulls, ADisabledSchedulerLeasesNothing) {
  enqueue({.type = "mail"});
  const PullAnswer waits = node.ask({.filter = {.types = {"none"}}, .wait = 1min});
  ASSERT_TRUE(node->client().put_config(R"({"enabled":false})").has_value());
  node->settle_down();
  EXPECT_GT(node->node().step(), Duration::zero()) << "nobody waits, and yet it looks again at once";
  ASSERT_TRUE(waits.is_there());
  for (const PullAnswer& answer : {waits, node.ask({}), node.ask({.wait = 30s})}) {
    ASSERT_TRUE(answer.is_there());
    EXPECT_EQ(answer.error().code, ErrorCode::scheduler_disabled);
    EXPECT_EQ(answer.error().message, "the scheduler is disabled: nothing is started");
  }
  EXPECT_GT(node->node().step(), Duration::zero());
  ASSERT_TRUE(node->client().put_config(R"({"enabled":true})").has_value());
  node->pass(5s);
  EXPECT_THAT(node.lease(), SizeIs(1));
}

// ---- Fairness ----

TEST_P(Pulls, AFloodOfOneTenantDoesNotStarveAnother) {  // invariant 29
  enqueue(60, {.type = "mail", .tenant = "flood"});
  enqueue(3, {.type = "mail", .tenant = "quiet"});
  std::vector<std::string> turns;
  for (int i = 0; i < 6; ++i) turns.push_back(node.lease_one().job.tenant);
  EXPECT_EQ(std::ranges::count(turns, "quiet"), 3);
  // Who was away has not saved up turns.
  for (int i = 0; i < 10; ++i) node.lease_one();
  enqueue(10, {.type = "mail", .tenant = "quiet"});
  const auto both = tenants_of(node.lease({.limit = 10}));
  EXPECT_EQ(std::ranges::count(both, "quiet"), 5);
}

TEST_P(Pulls, TenantsGetTheirWeightOfTurns) {  // invariant 29
  ASSERT_TRUE(node->client().put_settings("a", R"({"weight":3})").has_value());
  enqueue(40, {.type = "mail", .tenant = "a"});
  enqueue(40, {.type = "mail", .tenant = "b"});
  std::vector<std::string> turns;
  for (int i = 0; i < 5; ++i) {
    for (const std::string& tenant : tenants_of(node.lease({.limit = 4}))) turns.push_back(tenant);
  }
  EXPECT_EQ(std::ranges::count(turns, "a"), 15);
  EXPECT_EQ(std::ranges::count(turns, "b"), 5);
}

TEST_P(Pulls, TheQueuesOfATenantShareItsTurns) {  // invariant 29
  enqueue(20, {.type = "mail", .queue = "big", .priority = 1});
  enqueue(20, {.type = "mail", .queue = "small", .priority = 5});
  std::size_t small = 0;
  for (const PulledJob& one : node.lease({.limit = 10})) small += one.job.queue == "small" ? 1U : 0U;
  EXPECT_EQ(small, 5U);
}

TEST_P(Pulls, TheOldestOfALaneIsNotStarved) {
  const JobId old = enqueue({.type = "mail", .priority = 5});
  enqueue(40, {.type = "mail", .priority = 1});
  const auto ids = ids_of(node.lease({.limit = 16}));
  EXPECT_NE(std::ranges::find(ids, old), ids.end());
}

// ---- Waiting ----

TEST_P(Pulls, OneNewJobWakesOneWaitingCall) {
  const PullAnswer first = node.ask({.wait = 30s});
  const PullAnswer second = node.ask({.wait = 30s});
  const PullAnswer elsewhere = node.ask({.filter = {.queues = {"other"}}, .wait = 30s});
  node->pass(5s);
  const JobId id = enqueue({.type = "mail"});
  node->settle_down();
  ASSERT_TRUE(first.is_there());
  EXPECT_THAT(ids_of(first.jobs()), ElementsAre(id));
  EXPECT_FALSE(second.is_there());
  EXPECT_FALSE(elsewhere.is_there());
  enqueue({.type = "mail", .run_at = in(10s)});
  node->pass(9s);
  EXPECT_FALSE(second.is_there());
  node->pass(2s);
  EXPECT_TRUE(second.is_there());
  node->pass(13s);
  EXPECT_FALSE(elsewhere.is_there());
  node->pass(2s);
  ASSERT_TRUE(elsewhere.is_there());
  EXPECT_THAT(elsewhere.jobs(), IsEmpty());
  EXPECT_FALSE(node->node().desk().has_waiting());
}

TEST_P(Pulls, WhoWaitsLongestIsServedFirstWhateverItsFilter) {
  const PullAnswer named = node.ask({.filter = {.types = {"mail"}}, .wait = 30s});
  const PullAnswer any = node.ask({.wait = 30s});
  enqueue({.type = "mail"});
  node->settle_down();
  EXPECT_TRUE(named.is_there());
  EXPECT_FALSE(any.is_there());
}

TEST_P(Pulls, CallsThatWaitAreNotLookedAtForWhatIsNotTheirs) {
  std::vector<PullAnswer> waiting;
  for (int i = 0; i < 500; ++i) {
    waiting.push_back(node.ask({.filter = {.queues = {"q" + std::to_string(i % 5)}}, .wait = 10min}));
  }
  enqueue(10, {.type = "own"});
  enqueue(10, {.type = "mail"});
  EXPECT_FALSE(node->node().desk().has_to_look());
  EXPECT_GT(node->node().step(), Duration::zero());
  EXPECT_FALSE(node->node().desk().has_to_look());
  enqueue(7, {.type = "mail", .queue = "q2"});
  node->settle_down();
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    EXPECT_EQ(waiting[i].is_there(), i % 5 == 2 && i < 35) << i;
  }
  node->pass(601s);
  for (const PullAnswer& one : waiting) EXPECT_TRUE(one.is_there());
}

TEST_P(Pulls, AForgottenCallGetsNothing) {
  const PullAnswer gone = node.ask({.wait = 30s});
  const PullAnswer next = node.ask({.wait = 30s});
  EXPECT_TRUE(node.pulls().forget(gone.id));
  EXPECT_FALSE(node.pulls().forget(gone.id));
  enqueue({.type = "mail"});
  node->settle_down();
  EXPECT_TRUE(next.is_there());
  node->pass(31s);
  EXPECT_FALSE(gone.is_there());
  EXPECT_FALSE(node.pulls().forget(next.id));
}

TEST_P(Pulls, CallsWhoseCallersLeaveAreForgotten) {
  const PullAnswer stays = node.ask({.wait = 30s});
  for (int i = 0; i < 1000; ++i) {
    // In a group with the one that stays, and in one of its own.
    const PullAnswer gone = node.ask({.wait = 30s});
    const PullAnswer alone = node.ask({.filter = {.tenants = {std::to_string(i)}}, .wait = 30s});
    EXPECT_TRUE(node.pulls().forget(gone.id));
    EXPECT_TRUE(node.pulls().forget(alone.id));
    ASSERT_LE(node->node().desk().in_line(), 3U) << i;
  }
  enqueue({.type = "mail"});
  node->settle_down();
  ASSERT_TRUE(stays.is_there());
  EXPECT_THAT(stays.jobs(), SizeIs(1));
  EXPECT_EQ(node->node().desk().in_line(), 0U);
}

// Between the look whether it still waits and its place in the line: who forgets it finds it nowhere yet.
TEST_P(Pulls, ACallWhoseCallerLeavesWhileItTakesItsPlaceIsForgotten) {
  auto call = std::make_shared<PullCall>();
  call->request = {.worker = "ada", .wait = 30s};
  node->node().post<void>(
      [&](Round& round) -> Result<void> {
        EXPECT_TRUE(call->forget());
        node->node().forget_pull(call);
        return node->node().add_pull(round, call);
      },
      [](const Result<void>&) {});
  node->settle_down();
  EXPECT_EQ(node->node().desk().in_line(), 0U);
}

TEST_P(Pulls, ACallWhoseRoundFailedWaitsNoMore) {
  node->commits().next(CommitFault::unavailable);
  const PullAnswer refused = node.ask({.wait = 1min});
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_EQ(node->node().desk().in_line(), 0U);
  enqueue({.type = "work"});
  EXPECT_THAT(node.lease(), SizeIs(1));
}

TEST_P(Pulls, AJobLeasedToACallThatGoesThatMomentIsHandedBack) {
  ASSERT_TRUE(node->client().put_limit("", "slow", R"({"rate":1,"per":"1h","burst":1})").has_value());
  const PullAnswer gone = node.ask({.wait = 30s});
  const JobId id = enqueue({.type = "mail", .limits = {"slow"}});
  node->commits().decide_by([&] {
    node.pulls().forget(gone.id);
    return CommitFault::none;
  });
  node->settle_down();
  node->commits().decide_by([] { return CommitFault::none; });
  EXPECT_FALSE(gone.is_there());
  EXPECT_EQ(job(id).state, JobState::queued);
  const PulledJob again = node.lease_one();  // its token came back
  EXPECT_EQ(again.job.id, id);
  EXPECT_EQ(again.job.attempt, 1U);
  EXPECT_EQ(again.job.token, 2);
}

TEST_P(Pulls, ANodeThatDrainsTellsThoseWhoWait) {
  const PullAnswer waits = node.ask({.wait = 30s});
  node->node().begin_drain();
  node->settle_down();
  ASSERT_TRUE(waits.is_there());
  EXPECT_EQ(waits.error().code, ErrorCode::unavailable);
}

TEST_P(Pulls, AWorkerWithoutANameIsRefused) {
  std::optional<Error> error;
  node.pulls().lease({}, [&](Result<std::vector<PulledJob>> jobs) { error = jobs.error(); });
  node->settle_down();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::invalid_request);
  expect_one_line(*error);
}

// ---- Who serves ----

TEST_P(Pulls, WhoServesATypeIsDecidedByTenant) {  // invariant 33
  node.served = {{"a", "hook"}};
  const JobId in_a = enqueue({.type = "hook", .tenant = "a"});
  const JobId in_b = enqueue({.type = "hook", .tenant = "b"});
  const RunPtr run = node->take();
  ASSERT_TRUE(run);
  EXPECT_EQ(run->job.id, in_a);
  EXPECT_FALSE(node->take());
  EXPECT_EQ(why(in_b, "b"), "no_worker");
  EXPECT_THAT(ids_of(node.lease({.limit = 9})), ElementsAre(in_b));

  // A handler that comes takes what waits.
  const JobId waits = enqueue({.type = "hook", .tenant = "b"});
  EXPECT_FALSE(node->take());
  node.served = {{"b", "hook"}};
  value_of(node->node().call<int>([&](Round& round) -> Result<int> {
    round.on_commit.emplace_back([&] { node->node().serving_changed("b"); });
    return 0;
  }));
  const RunPtr taken = node->take();
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->job.id, waits);
  // One that goes leaves the rest to workers outside, also to those who wait; also what had no thread yet.
  const PullAnswer outside = node.ask({.filter = {.tenants = {"b"}}, .wait = 30s});
  EXPECT_FALSE(outside.is_there());
  node.served.clear();
  node->node().serving_changed("");
  node->settle_down();
  ASSERT_TRUE(outside.is_there());
  EXPECT_THAT(ids_of(outside.jobs()), ElementsAre(waits));
}

}  // namespace
}  // namespace carillon::test
