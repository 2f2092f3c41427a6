// Workers outside of the process: what they may lease, how they keep it, and what their words do.
#include <future>

#include "engine/engine_host.h"
#include "engine/support/pull_node.h"

namespace carillon::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Pulls : public ::testing::TestWithParam<std::string> {
 protected:
  HandNode::Options options(Instant start = at("2026-03-02T12:00:00Z")) const {
    HandNode::Options options{.start = start};
    if (GetParam() == "sqlite") options.sqlite = folder_.path() / "jobs.db";
    return options;
  }
  JobId enqueue(const JobRequest& request) { return node->enqueue(request); }
  std::vector<JobId> enqueue(int count, const JobRequest& request) {
    std::vector<JobId> ids;
    for (int i = 0; i < count; ++i) ids.push_back(enqueue(request));
    return ids;
  }
  JobInfo job(JobId id, std::string_view tenant = "default") { return value_of(node->client().job(tenant, id)); }
  std::string why(JobId id, std::string_view tenant = "default") {
    return value_of(node->client().explain(tenant, id)).steps.back().why;
  }
  static std::vector<std::string> tenants_of(const std::vector<PulledJob>& jobs) {
    std::vector<std::string> tenants;
    for (const PulledJob& one : jobs) tenants.push_back(one.job.tenant);
    return tenants;
  }
  static std::vector<JobId> ids_of(const std::vector<PulledJob>& jobs) {
    std::vector<JobId> ids;
    for (const PulledJob& one : jobs) ids.push_back(one.job.id);
    return ids;
  }

 private:
  TestFolder folder_;

 public:
  PullNode node{options()};
};

OVER_EVERY_STORE(Pulls);

// ---- Leasing and settling ----

TEST_P(Pulls, AWorkerLeasesAJobAndCompletesIt) {
  const JobId id = enqueue({.type = "mail", .payload = R"({"to":"x"})"});
  const PulledJob leased = node.lease_one({.worker = "ada", .lease = 90s});

  EXPECT_EQ(leased.job.id, id);
  EXPECT_EQ(leased.job.payload, R"({"to":"x"})");
  EXPECT_EQ(leased.lease_until, node->clock.now() + 90s);
  EXPECT_EQ(job(id).state, JobState::processing);
  EXPECT_EQ(job(id).worker, "ada");
  node->pass(3s);
  const WordAnswer answer = value_of(node.settle(leased, done(R"({"sent":1})")));
  EXPECT_EQ(answer.id, id);
  EXPECT_EQ(answer.state, JobState::done);
  EXPECT_EQ(answer.run_at, std::nullopt);
  EXPECT_EQ(job(id).output, R"({"sent":1})");
  EXPECT_THAT(node->heard.of<JobPicked>(), SizeIs(1));
  const auto stopped = node->heard.of<JobStopped>();
  ASSERT_THAT(stopped, SizeIs(1));
  EXPECT_EQ(stopped[0].duration, 3s);
  EXPECT_EQ(stopped[0].type, "mail");
  EXPECT_EQ(node->node().counters().succeeded, 1U);
  EXPECT_EQ(node->node().dispatcher().ready().running(), 0U);
  EXPECT_TRUE(node->runner.waiting.empty());
}

TEST_P(Pulls, ALeaseLastsAsTheWorkerAsksElseAsTheJobSays) {
  enqueue(2, {.type = "mail", .lease = 45s});
  EXPECT_EQ(node.lease_one().lease_until, node->clock.now() + 45s);
  EXPECT_EQ(node.lease_one({.lease = 20s}).lease_until, node->clock.now() + 20s);
}

TEST_P(Pulls, AServedTypeIsPulledOnlyWhenItIsNamed) {
  enqueue(8, {.type = "own"});
  while (const RunPtr run = node->take()) node->begin(run);
  ASSERT_EQ(node->node().runs().size(), 8U);  // no thread is free
  const auto ids = enqueue(3, {.type = "own"});

  EXPECT_THAT(node.lease(), IsEmpty());
  EXPECT_THAT(node.lease({.filter = {.tenants = {"default"}, .queues = {"default"}}}), IsEmpty());
  EXPECT_THAT(node.lease({.filter = {.types = {"mail"}}}), IsEmpty());
  EXPECT_THAT(ids_of(node.lease({.filter = {.types = {"mail", "own"}}, .limit = 2})), ElementsAre(ids[0], ids[1]));
  EXPECT_EQ(node->node().dispatcher().ready().size(), 1U);
}

TEST_P(Pulls, FiltersNameTenantsQueuesAndTypes) {
  const JobId a = enqueue({.type = "mail", .tenant = "a"});
  const JobId b = enqueue({.type = "mail", .tenant = "b", .queue = "slow"});
  const JobId c = enqueue({.type = "post", .tenant = "a"});
  EXPECT_THAT(node.lease({.filter = {.queues = {"none"}}, .limit = 9}), IsEmpty());
  EXPECT_THAT(ids_of(node.lease({.filter = {.types = {"post"}}, .limit = 9})), ElementsAre(c));
  EXPECT_THAT(ids_of(node.lease({.filter = {.queues = {"slow"}}, .limit = 9})), ElementsAre(b));
  EXPECT_THAT(ids_of(node.lease({.filter = {.tenants = {"a"}}, .limit = 9})), ElementsAre(a));
}

TEST_P(Pulls, PriorityThenTimeDecidesInALane) {
  const JobId later = enqueue({.type = "mail", .priority = 3});
  const JobId low = enqueue({.type = "other", .priority = 5});
  const JobId high = enqueue({.type = "other", .priority = 1});
  EXPECT_THAT(ids_of(node.lease({.limit = 3})), ElementsAre(high, later, low));
}

TEST_P(Pulls, AChangedPriorityCountsOnce) {
  const JobId first = enqueue({.type = "mail"});
  const JobId second = enqueue({.type = "mail"});
  value_of(node->client().change("default", second, 1, std::nullopt));
  EXPECT_THAT(ids_of(node.lease({.limit = 9})), ElementsAre(second, first));
}

TEST_P(Pulls, WordsOfEveryKindDoWhatTheyDoForHandlers) {
  const auto next = [&](const JobRequest& request) {
    enqueue(request);
    return node.lease_one();
  };
  const PulledJob failed_job = next({.type = "mail"});
  EXPECT_EQ(value_of(node.settle(failed_job, fail("no", "req"))).state, JobState::queued);
  EXPECT_GT(job(failed_job.job.id).run_at, node->clock.now());
  const PulledJob parked = next({.type = "mail"});
  EXPECT_EQ(value_of(node.settle(parked, permanent("never"))).state, JobState::dlq);
  const PulledJob idle = next({.type = "mail"});
  EXPECT_EQ(value_of(node.settle(idle, skipped("nothing to do"))).state, JobState::skipped);
  const PulledJob put_off = next({.type = "mail"});
  const WordAnswer deferred = value_of(node.settle(put_off, defer(in(1h), "later")));
  EXPECT_EQ(deferred.state, JobState::queued);
  EXPECT_EQ(deferred.run_at, node->clock.now() + 1h);
  const PulledJob given_back = next({.type = "mail"});
  const PullWord release{.job = given_back.job.id, .token = given_back.job.token, .release = true};
  EXPECT_EQ(value_of(node.settle(release)).state, JobState::queued);
  const PulledJob again = node.lease_one();
  EXPECT_EQ(again.job.id, given_back.job.id);
  EXPECT_EQ(again.job.attempt, 1U);
  EXPECT_GT(again.job.token, given_back.job.token);
  EXPECT_THAT(node->heard.of<Deferred>(), SizeIs(1));
  EXPECT_EQ(node->node().dispatcher().ready().running(), 1U);
}

TEST_P(Pulls, FollowUpsAreMadeWithTheWordAndABadOneIsRefused) {
  enqueue({.type = "mail"});
  const PulledJob leased = node.lease_one();
  const JobId nobody = node->store().jobs().new_job_id();
  const auto refused = node.settle(leased, done().then({.type = "next", .depends_on = {nobody}}));
  EXPECT_EQ(error_of(refused).code, ErrorCode::dependency_not_met);
  EXPECT_EQ(job(leased.job.id).state, JobState::processing);

  EXPECT_EQ(value_of(node.settle(leased, done().then({.type = "next"}))).state, JobState::done);
  const PulledJob next = node.lease_one();
  EXPECT_EQ(next.job.type, "next");
  EXPECT_EQ(job(next.job.id).parent, leased.job.id);
}

TEST_P(Pulls, AScheduleThatRunsAfterAnotherIsPlannedByAWorkersWord) {
  value_of(node->client().schedule_recurring({.name = "first", .type = "mail", .every = 1h}));
  value_of(node->client().schedule_recurring({.name = "second", .type = "report", .after = "first"}));
  node->pass(61min);
  const PulledJob first = node.lease_one();
  ASSERT_EQ(first.job.schedule, "first");
  EXPECT_THAT(node.lease(), IsEmpty());
  value_of(node.settle(first, done()));
  EXPECT_EQ(node.lease_one().job.schedule, "second");
}

// ---- Whose it is ----

TEST_P(Pulls, AForeignJobAnswersLikeAnAbsentOne) {  // invariant 28
  const JobId id = enqueue({.type = "mail", .tenant = "a"});
  const PulledJob leased = node.lease_one();
  const JobId nobody = node->store().jobs().new_job_id();
  const auto message = [](Error error, JobId named) {
    const std::string text = format_job_id(named);
    const auto found = error.message.find(text);
    if (found != std::string::npos) error.message.replace(found, text.size(), "ID");
    EXPECT_EQ(error.code, ErrorCode::not_found);
    return error.message;
  };
  const auto word = [&](JobId named) {
    return message(error_of(node.settle({.tenants = {"b"}, .job = named, .token = 1, .outcome = done()})), named);
  };
  const auto beat = [&](JobId named) {
    return message(error_of(node.beat({.tenants = {"b"}, .job = named, .token = 1})), named);
  };
  EXPECT_EQ(word(id), word(nobody));
  EXPECT_EQ(beat(id), beat(nobody));
  EXPECT_EQ(job(id, "a").state, JobState::processing);
  EXPECT_EQ(value_of(node.settle({.tenants = {"b", "a"}, .job = id, .token = leased.job.token})).state, JobState::done);
  // Ended and queued ones too.
  EXPECT_EQ(word(id), word(nobody));
  const JobId queued = enqueue({.type = "mail", .tenant = "a"});
  EXPECT_EQ(word(queued), word(nobody));
  EXPECT_EQ(beat(queued), beat(nobody));
}

TEST_P(Pulls, AStaleTokenIsRefusedAndTold) {  // invariant 10
  const JobId id = enqueue({.type = "mail"});
  const PulledJob leased = node.lease_one();
  const std::int64_t wrong = leased.job.token + 1;
  EXPECT_EQ(error_of(node.settle({.job = id, .token = wrong, .outcome = done()})).code, ErrorCode::stale_token);
  EXPECT_EQ(error_of(node.beat({.tenants = {"default"}, .job = id, .token = wrong})).code, ErrorCode::stale_token);
  EXPECT_EQ(job(id).state, JobState::processing);
  const auto stale = node->heard.of<StaleWord>();
  ASSERT_THAT(stale, SizeIs(2));
  EXPECT_TRUE(stale[0].success);
  EXPECT_FALSE(stale[1].success);
  EXPECT_EQ(stale[1].tenant, "default");
}

TEST_P(Pulls, TheSameWordTwiceIsAnsweredAlikeAndCountsOnce) {  // invariant 10
  enqueue(2, {.type = "mail"});
  const PulledJob leased = node.lease_one();
  EXPECT_EQ(value_of(node.settle(leased, done())).state, JobState::done);
  EXPECT_EQ(value_of(node.settle(leased, done())).state, JobState::done);
  EXPECT_EQ(error_of(node.settle(leased, fail("no"))).code, ErrorCode::stale_token);
  // Twice in one breath.
  const PulledJob other = node.lease_one();
  const PullWord word{.tenants = {"default"}, .job = other.job.id, .token = other.job.token, .outcome = done()};
  std::vector<Result<WordAnswer>> got;
  node.pulls().settle({word, word}, [&](std::vector<Result<WordAnswer>> answers) { got = std::move(answers); });
  node->settle_down();
  ASSERT_THAT(got, SizeIs(2));
  EXPECT_EQ(value_of(got[0]).state, JobState::done);
  EXPECT_EQ(value_of(got[1]).state, JobState::done);
  EXPECT_EQ(node->node().counters().succeeded, 2U);
  EXPECT_EQ(node->node().dispatcher().ready().running(), 0U);
}

TEST_P(Pulls, WhatAHandlerHereRunsIsNobodyElsesToSettle) {
  const JobId id = enqueue({.type = "own"});
  const RunPtr run = node->take();
  node->begin(run);
  EXPECT_EQ(error_of(node.settle({.job = id, .token = run->job.token, .outcome = done()})).code,
            ErrorCode::stale_token);
  EXPECT_EQ(error_of(node.beat({.job = id, .token = run->job.token})).code, ErrorCode::stale_token);
  node->finish(run, done());
  EXPECT_EQ(job(id).state, JobState::done);
}

// ---- Keeping a lease ----

TEST_P(Pulls, AHeartbeatRenewsTheLeaseAndTellsWhatIsAsked) {
  const JobId id = enqueue({.type = "mail", .timeout = 10min, .notifies = true});
  const PulledJob leased = node.lease_one({.lease = 30s});
  for (int i = 0; i < 4; ++i) {
    node->pass(20s);
    const BeatAnswer answer = value_of(node.beat(leased));
    EXPECT_EQ(answer.lease_until, node->clock.now() + 30s);
    EXPECT_FALSE(answer.cancel_requested);
    EXPECT_EQ(answer.gate, std::nullopt);
  }
  ASSERT_TRUE(node->client().put_maintenance("default", R"({"reason":"move"})").has_value());
  EXPECT_EQ(value_of(node.beat(leased)).gate.value().reason, "maintenance");
  ASSERT_TRUE(node->client().put_maintenance("default", std::nullopt).has_value());
  ASSERT_TRUE(node->client().put_settings("default", R"({"quiet_hours":{"start":"11:00","end":"15:00"}})").has_value());
  EXPECT_EQ(value_of(node.beat(leased)).gate.value().reason, "quiet_hours");
  ASSERT_TRUE(node->client().cancel("default", id).has_value());
  const PullBeat last{.job = id, .token = leased.job.token, .progress = "half way"};
  EXPECT_TRUE(value_of(node.beat(last)).cancel_requested);
  EXPECT_EQ(job(id).progress, "\"half way\"");
  EXPECT_EQ(value_of(node.settle(leased, fail("stopped"))).state, JobState::cancelled);
}

TEST_P(Pulls, ALostLeaseIsFoundAndItsJobGoesToAnother) {  // invariants 6, 12
  ASSERT_TRUE(node->client().put_settings("default", R"({"max_concurrency":1})").has_value());
  const JobId id = enqueue({.type = "mail"});
  const PulledJob lost = node.lease_one({.worker = "ada", .lease = 30s});
  const PullAnswer bob = node.ask({.worker = "bob", .wait = 1min});
  node->pass(29s);
  EXPECT_FALSE(bob.is_there());
  node->pass(3s);
  ASSERT_TRUE(bob.is_there());
  const PulledJob again = bob.jobs().at(0);
  EXPECT_EQ(again.job.id, id);
  EXPECT_EQ(again.job.attempt, 2U);
  ASSERT_THAT(node->heard.of<LeaseLost>(), SizeIs(1));
  EXPECT_EQ(node->heard.of<LeaseLost>()[0].worker, "ada");
  EXPECT_EQ(error_of(node.settle(lost, done())).code, ErrorCode::stale_token);
  EXPECT_EQ(error_of(node.beat(lost)).code, ErrorCode::stale_token);
  EXPECT_EQ(value_of(node.settle(again, done())).state, JobState::done);
  EXPECT_EQ(node->node().dispatcher().ready().running(), 0U);
}

TEST_P(Pulls, ATimeoutAndADeadlineEndALeaseAndFreeItsCap) {  // invariants 6, 13, 23
  ASSERT_TRUE(node->client().put_settings("default", R"({"max_concurrency":1})").has_value());
  const JobId slow = enqueue({.type = "mail", .max_attempts = 1, .timeout = 20s});
  const PulledJob timed_out = node.lease_one({.lease = 60s});
  node->pass(15s);
  EXPECT_EQ(value_of(node.beat(timed_out)).lease_until, node->clock.now() + 5s);
  node->pass(7s);
  EXPECT_EQ(job(slow).state, JobState::dlq);
  const JobId late = enqueue({.type = "mail", .deadline = node->clock.now() + 10s});
  const PulledJob cut_off = node.lease_one();
  node->pass(12s);
  EXPECT_EQ(job(late).state, JobState::cutoff_reached);
  EXPECT_EQ(error_of(node.settle(cut_off, done())).code, ErrorCode::stale_token);
  enqueue({.type = "mail"});
  EXPECT_THAT(node.lease(), SizeIs(1));
}

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
  ASSERT_TRUE(waits.is_there());
  for (const PullAnswer& answer : {waits, node.ask({}), node.ask({.wait = 30s})}) {
    ASSERT_TRUE(answer.is_there());
    EXPECT_EQ(answer.error().code, ErrorCode::unavailable);
    EXPECT_EQ(answer.error().message, "the scheduler is disabled");
  }
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

// ---- A store that fails, and the next node ----

TEST_P(Pulls, ALeaseThatWasNotCommittedIsToldAndItsJobStands) {  // invariants 5, 8
  const JobId id = enqueue({.type = "mail"});
  const PullAnswer waits = node.ask({.filter = {.queues = {"side"}}, .wait = 1min});
  node->commits().next(CommitFault::unavailable);
  const PullAnswer refused = node.ask({});
  ASSERT_TRUE(refused.is_there());
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  node->pass(2s);
  EXPECT_EQ(node.lease_one().job.id, id);
  const JobId side = enqueue({.type = "mail", .queue = "side"});
  node->commits().next(CommitFault::unavailable);
  node->pass(2s);
  ASSERT_TRUE(waits.is_there());
  EXPECT_THAT(ids_of(waits.jobs()), ElementsAre(side));
  EXPECT_EQ(waits.jobs()[0].job.attempt, 1U);
}

TEST_P(Pulls, ALeaseWhoseAnswerWasLostIsHandedOutAnew) {  // invariant 8
  const JobId id = enqueue({.type = "mail", .limits = {"one"}});
  ASSERT_TRUE(node->client().put_limit("", "one", R"({"concurrency":1})").has_value());
  const PullAnswer waits = node.ask({.filter = {.queues = {"none"}}, .wait = 1min});
  PullAnswer answer;
  answer.id = node.pulls().lease({.worker = "ada", .wait = 30s}, [got = answer.got](auto jobs) { *got = jobs; });
  node->commits().next(CommitFault::answer_lost);
  node->node().step();
  EXPECT_FALSE(answer.is_there());
  node->pass(3s);
  ASSERT_TRUE(answer.is_there());
  const PulledJob job = answer.jobs().at(0);
  EXPECT_EQ(job.job.id, id);
  EXPECT_EQ(job.job.attempt, 1U);
  // So is a word whose answer was lost: its cap is free though nobody repeats it.
  std::optional<Result<WordAnswer>> said;
  node->commits().next(CommitFault::answer_lost);
  node.pulls().settle({{.job = id, .token = job.job.token, .outcome = done()}},
                      [&](std::vector<Result<WordAnswer>> answers) { said = answers[0]; });
  node->pass(3s);
  ASSERT_TRUE(said);
  EXPECT_FALSE(said->has_value());
  EXPECT_EQ(node->node().dispatcher().ready().running(), 0U);
  EXPECT_EQ(value_of(node.settle(job, done())).state, JobState::done);
  EXPECT_FALSE(waits.is_there());
}

TEST(PullRestart, LeasesOutliveTheNodeAndCountUnderItsCaps) {  // invariant 6
  const TestFolder folder;
  Instant now = at("2026-03-02T12:00:00Z");
  const auto options = [&] { return HandNode::Options{.sqlite = folder.path() / "jobs.db", .start = now}; };
  std::vector<PulledJob> held;
  {
    PullNode node(options());
    ASSERT_TRUE(node->client().put_settings("a", R"({"max_concurrency":2})").has_value());
    ASSERT_TRUE(node->client().put_queue("b", "slow", R"({"max_concurrency":1})").has_value());
    ASSERT_TRUE(node->client().put_limit("c", "own", R"({"concurrency":1})").has_value());
    for (int i = 0; i < 4; ++i) {
      node->enqueue({.type = "mail", .tenant = "a"});
      node->enqueue({.type = "mail", .tenant = "b", .queue = "slow"});
      node->enqueue({.type = "mail", .tenant = "c", .limits = {"own"}});
    }
    held = node.lease({.limit = 20});
    ASSERT_THAT(held, SizeIs(4));
    now = node->clock.now();
  }
  PullNode node(options());
  EXPECT_THAT(node.lease({.limit = 20}), IsEmpty());
  EXPECT_EQ(node->node().dispatcher().ready().running("a"), 2U);
  for (const PulledJob& one : held) {
    EXPECT_EQ(error_of(node.settle({.tenants = {"x"}, .job = one.job.id, .token = one.job.token})).code,
              ErrorCode::not_found);
    EXPECT_EQ(value_of(node.settle(one, done())).state, JobState::done);
    const auto next = node.lease({.filter = {.types = {"mail"}}, .limit = 20});
    ASSERT_THAT(next, SizeIs(1));
    EXPECT_EQ(next[0].job.tenant, one.job.tenant);
  }
  const auto stopped = node->heard.of<JobStopped>();
  ASSERT_THAT(stopped, SizeIs(4));
  EXPECT_EQ(stopped[0].tenant, held[0].job.tenant);
  EXPECT_EQ(stopped[0].type, "mail");
}

TEST(PullRestart, LeasesOfTenantsWithoutRulesCountAmongAll) {  // invariants 6, 12
  const TestFolder folder;
  Instant now = at("2026-03-02T12:00:00Z");
  const auto options = [&] { return HandNode::Options{.sqlite = folder.path() / "jobs.db", .start = now}; };
  std::optional<PulledJob> held;
  std::optional<PulledJob> lost;
  {
    PullNode node(options());
    ASSERT_TRUE(node->client().put_limit("", "two", R"({"concurrency":2})").has_value());
    for (int i = 0; i < 5; ++i) node->enqueue({.type = "mail", .limits = {"two"}});
    held = node.lease_one({.worker = "ada"});
    lost = node.lease_one({.worker = "bob", .lease = 30s});
    now = node->clock.now();
  }
  PullNode node(options());
  EXPECT_THAT(node.lease({.limit = 9}), IsEmpty());
  EXPECT_EQ(node->node().desk().lease_count(), 2U);
  EXPECT_EQ(value_of(node.beat(*held)).cancel_requested, false);
  EXPECT_EQ(value_of(node.settle({.tenants = {"default"}, .job = held->job.id, .token = held->job.token})).state,
            JobState::done);
  EXPECT_THAT(node.lease({.limit = 9}), SizeIs(1));
  node->pass(33s);
  EXPECT_EQ(node->heard.of<LeaseLost>().size(), 1U);
  EXPECT_THAT(node.lease({.limit = 9}), SizeIs(1));
}

// ---- What else workers ask ----

TEST_P(Pulls, WorkersAreListedWithTheirLeases) {
  enqueue(3, {.type = "mail", .tenant = "a"});
  const auto leased = node.lease({.worker = "ada", .limit = 2});
  node->pass(5s);
  node.lease({.worker = "bob", .filter = {.tenants = {"b"}}});
  const auto all = node.pulls().workers();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].name, "ada");
  EXPECT_EQ(all[0].leases, 2U);
  EXPECT_EQ(all[0].last_seen, node->clock.now() - 5s);
  EXPECT_EQ(all[1].name, "bob");
  EXPECT_EQ(all[1].leases, 0U);
  const auto of_a = node.pulls().workers({"a"});
  ASSERT_THAT(of_a, SizeIs(1));
  EXPECT_EQ(of_a[0].name, "ada");
  value_of(node.settle(leased[0], done()));
  EXPECT_EQ(node.pulls().workers()[0].leases, 1U);
  EXPECT_EQ(node.pulls().workers()[0].last_seen, node->clock.now());
  EXPECT_EQ(node.pulls().workers({"b"})[0].leases, 0U);
}

TEST_P(Pulls, EffectsAreGuardedForWorkersToo) {  // invariant 18
  enqueue({.type = "mail"});
  const PulledJob leased = node.lease_one();
  const JobId id = leased.job.id;
  const std::int64_t token = leased.job.token;
  EXPECT_EQ(value_of(node.pulls().claim_effect("default", "send", id, token)).kind, EffectClaim::Kind::first);
  ASSERT_TRUE(node.pulls().effect_done("default", "send", id, token, R"({"ok":1})").has_value());
  const EffectClaim again = value_of(node.pulls().claim_effect("default", "send", id, token));
  EXPECT_EQ(again.kind, EffectClaim::Kind::done);
  EXPECT_EQ(again.result, R"({"ok":1})");
  EXPECT_EQ(value_of(node.pulls().claim_effect("default", "more", id, token)).kind, EffectClaim::Kind::first);
  ASSERT_TRUE(node.pulls().effect_undone("default", "more", id, token).has_value());
  EXPECT_EQ(error_of(node.pulls().claim_effect("other", "send", id, token)).code, ErrorCode::stale_token);
}

// ---- On threads ----

TEST(PullHost, AWorkerOnAnotherThreadWaitsAndIsServed) {
  auto store = value_of(open_store("memory:"));
  EngineHost host(*store, {.engine = {.max_concurrency = 2, .leave_unhandled = true}});
  std::atomic<int> ran = 0;
  host.handle("own", [&](JobContext&) {
    ++ran;
    return done();
  });
  host.start();
  std::promise<PulledJob> leased;
  host.pulls().lease({.worker = "ada", .wait = 30s},
                     [&](Result<std::vector<PulledJob>> jobs) { leased.set_value(value_of(jobs).at(0)); });
  const JobId id = value_of(host.client().enqueue({.type = "mail"})).id;
  value_of(host.client().enqueue({.type = "own"}));
  const PulledJob job = leased.get_future().get();
  EXPECT_EQ(job.job.id, id);
  // From `done` it goes on without waiting: the next call is for the next round.
  std::promise<JobState> state;
  host.pulls().extend({{.job = id, .token = job.job.token}}, [&](const std::vector<Result<BeatAnswer>>& beats) {
    EXPECT_TRUE(beats[0].has_value());
    host.pulls().settle({{.job = id, .token = job.job.token, .outcome = done()}},
                        [&](std::vector<Result<WordAnswer>> answers) { state.set_value(value_of(answers[0]).state); });
  });
  EXPECT_EQ(state.get_future().get(), JobState::done);
  std::promise<ErrorCode> refused;
  host.pulls().lease({.worker = "ada", .wait = 30s},
                     [&](const Result<std::vector<PulledJob>>& jobs) { refused.set_value(jobs.error().code); });
  host.stop();
  EXPECT_EQ(refused.get_future().get(), ErrorCode::unavailable);
  EXPECT_EQ(ran, 1);
}

TEST(PullHost, APostIsAnsweredOnceWithItsValueOrItsError) {
  auto store = value_of(open_store("memory:"));
  std::promise<int> value;
  std::promise<ErrorCode> error;
  EngineHost host(*store, {});
  host.node().post<int>([](Round&) -> Result<int> { return 7; },
                        [&](Result<int> answer) { value.set_value(value_of(answer)); });
  host.node().post<int>([](Round&) -> Result<int> { return failed(ErrorCode::conflict, "no"); },
                        [&](const Result<int>& answer) { error.set_value(answer.error().code); });
  EXPECT_EQ(value.get_future().get(), 7);
  EXPECT_EQ(error.get_future().get(), ErrorCode::conflict);
}

}  // namespace
}  // namespace carillon::test
