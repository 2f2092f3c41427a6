// What workers outside say, whose jobs they may speak of, and how they keep them.
#include "engine/support/pull_test.h"

namespace carillon::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PullWords : public Pulls {};
OVER_EVERY_STORE(PullWords);

// ---- Leasing and settling ----

TEST_P(PullWords, AWorkerLeasesAJobAndCompletesIt) {
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

TEST_P(PullWords, ALeaseLastsAsTheWorkerAsksElseAsTheJobSays) {
  enqueue(2, {.type = "mail", .lease = 45s});
  EXPECT_EQ(node.lease_one().lease_until, node->clock.now() + 45s);
  EXPECT_EQ(node.lease_one({.lease = 20s}).lease_until, node->clock.now() + 20s);
}

TEST_P(PullWords, AServedTypeIsPulledOnlyWhenItIsNamed) {
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

TEST_P(PullWords, FiltersNameTenantsQueuesAndTypes) {
  const JobId a = enqueue({.type = "mail", .tenant = "a"});
  const JobId b = enqueue({.type = "mail", .tenant = "b", .queue = "slow"});
  const JobId c = enqueue({.type = "post", .tenant = "a"});
  EXPECT_THAT(node.lease({.filter = {.queues = {"none"}}, .limit = 9}), IsEmpty());
  EXPECT_THAT(ids_of(node.lease({.filter = {.types = {"post"}}, .limit = 9})), ElementsAre(c));
  EXPECT_THAT(ids_of(node.lease({.filter = {.queues = {"slow"}}, .limit = 9})), ElementsAre(b));
  EXPECT_THAT(ids_of(node.lease({.filter = {.tenants = {"a"}}, .limit = 9})), ElementsAre(a));
}

TEST_P(PullWords, PriorityThenTimeDecidesInALane) {
  const JobId later = enqueue({.type = "mail", .priority = 3});
  const JobId low = enqueue({.type = "other", .priority = 5});
  const JobId high = enqueue({.type = "other", .priority = 1});
  EXPECT_THAT(ids_of(node.lease({.limit = 3})), ElementsAre(high, later, low));
}

TEST_P(PullWords, AChangedPriorityCountsOnce) {
  const JobId first = enqueue({.type = "mail"});
  const JobId second = enqueue({.type = "mail"});
  value_of(node->client().change("default", second, {.priority = 1}));
  EXPECT_THAT(ids_of(node.lease({.limit = 9})), ElementsAre(second, first));
}

TEST_P(PullWords, WordsOfEveryKindDoWhatTheyDoForHandlers) {
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

TEST_P(PullWords, FollowUpsAreMadeWithTheWordAndABadOneIsRefused) {
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

TEST_P(PullWords, AScheduleThatRunsAfterAnotherIsPlannedByAWorkersWord) {
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

TEST_P(PullWords, AForeignJobAnswersLikeAnAbsentOne) {  // invariant 28
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

TEST_P(PullWords, AStaleTokenIsRefusedAndTold) {  // invariant 10
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

TEST_P(PullWords, TheSameWordTwiceIsAnsweredAlikeAndCountsOnce) {  // invariant 10
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

TEST_P(PullWords, WhatAHandlerHereRunsIsNobodyElsesToSettle) {
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

TEST_P(PullWords, AHeartbeatRenewsTheLeaseAndTellsWhatIsAsked) {
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

TEST_P(PullWords, ALostLeaseIsFoundAndItsJobGoesToAnother) {  // invariants 6, 12
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

TEST_P(PullWords, ATimeoutAndADeadlineEndALeaseAndFreeItsCap) {  // invariants 6, 13, 23
  ASSERT_TRUE(node->client().put_settings("default", R"({"max_concurrency":1})").has_value());
  const JobId slow = enqueue({.type = "mail", .max_attempts = 1, .timeout = 20s});
  const PulledJob timed_out = node.lease_one({.lease = 60s});
  node->pass(15s);
  EXPECT_EQ(value_of(node.beat(timed_out)).lease_until, node->clock.now() + 5s);
  node->pass(7s);
  EXPECT_EQ(job(slow).state, JobState::dlq);
  const auto stopped = node->heard.of<JobStopped>();
  ASSERT_THAT(stopped, SizeIs(1));
  EXPECT_EQ(stopped.front().result, AttemptResult::timeout);
  EXPECT_GE(stopped.front().duration, Duration(20s)) << "the watcher of objectives counts it";
  const JobId late = enqueue({.type = "mail", .deadline = node->clock.now() + 10s});
  const PulledJob cut_off = node.lease_one();
  node->pass(12s);
  EXPECT_EQ(job(late).state, JobState::cutoff_reached);
  EXPECT_EQ(error_of(node.settle(cut_off, done())).code, ErrorCode::stale_token);
  enqueue({.type = "mail"});
  EXPECT_THAT(node.lease(), SizeIs(1));
}

// ---- What else workers ask ----

TEST_P(PullWords, WorkersAreListedWithTheirLeases) {
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

TEST_P(PullWords, EffectsAreGuardedForWorkersToo) {  // invariant 18
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

}  // namespace
}  // namespace carillon::test
