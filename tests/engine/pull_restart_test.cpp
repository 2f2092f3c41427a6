// Workers outside when the store fails, under the next node, and beside an engine with its own threads.
#include <future>

#include "engine/commands/jobs.h"
#include "engine/commands/tenants.h"
#include "engine/host/engine_host.h"
#include "engine/support/pull_test.h"
#include "support/signal.h"

namespace carillon::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PullFailures : public Pulls {};
OVER_EVERY_STORE(PullFailures);

// ---- A store that fails, and the next node ----

TEST_P(PullFailures, ALeaseThatWasNotCommittedIsToldAndItsJobStands) {  // invariants 5, 8
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

TEST_P(PullFailures, ALeaseWhoseAnswerWasLostIsHandedOutAnew) {  // invariant 8
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

TEST(PullRestart, ACapThatComesLaterCountsLeasesOfAnEarlierNode) {  // invariants 6, 31
  const TestFolder folder;
  Instant now = at("2026-03-02T12:00:00Z");
  const auto options = [&] { return HandNode::Options{.sqlite = folder.path() / "jobs.db", .start = now}; };
  std::optional<PulledJob> held;
  {
    PullNode node(options());
    value_of(node->client().schedule_recurring({.name = "first", .type = "mail", .every = 1h}));
    value_of(node->client().schedule_recurring({.name = "second", .type = "report", .after = "first"}));
    node->pass(61min);
    held = node.lease_one();
    now = node->clock.now();
  }
  PullNode node(options());
  node->enqueue({.type = "mail"});
  ASSERT_TRUE(node->client().put_settings("default", R"({"max_concurrency":1})").has_value());
  EXPECT_EQ(node->node().dispatcher().ready().running("default"), 1U);
  EXPECT_THAT(node.lease({.limit = 9}), IsEmpty());
  value_of(node.settle(*held, done()));
  EXPECT_EQ(node.lease_one().job.schedule, "");
  EXPECT_EQ(value_of(node->client().jobs({.schedule = "second"}, {}, 9)).jobs.size(), 1U);
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

// ---- On threads ----

TEST(PullHost, AWorkerOnAnotherThreadWaitsAndIsServed) {
  auto store = value_of(open_store("memory:"));
  EngineHost host(*store, {.engine = {.max_concurrency = 2, .leave_unhandled = true}});
  Signal ran;
  host.handle("own", [&](JobContext&) {
    ran.raise();
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
  EXPECT_TRUE(ran.wait());
  std::promise<ErrorCode> refused;
  host.pulls().lease({.worker = "ada", .wait = 30s},
                     [&](const Result<std::vector<PulledJob>>& jobs) { refused.set_value(jobs.error().code); });
  host.stop();
  EXPECT_EQ(refused.get_future().get(), ErrorCode::unavailable);
  EXPECT_EQ(ran.count(), 1);
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

TEST(Commands, AreAnsweredOnceAndGivenBack) {
  auto store = value_of(open_store("memory:"));
  EngineHost host(*store, {});
  std::promise<std::pair<JobId, std::string>> made;
  host.commands().submit(command::EnqueueJob{.job = {.type = "mail", .payload = R"({"a":1})"}},
                         [&](Result<command::EnqueueJob::Answer> answer, command::EnqueueJob sent) {
                           made.set_value({value_of(answer).made.id, std::move(sent.job.payload)});
                         });
  const auto [id, payload] = made.get_future().get();
  EXPECT_EQ(payload, R"({"a":1})");
  EXPECT_EQ(value_of(host.client().job("default", id)).state, JobState::queued);
  const command::ActOnJob cancel{.tenant = "default", .id = id, .action = JobAction::cancel, .by = {"ada"}};
  EXPECT_EQ(value_of(host.commands().ask(cancel)), JobState::cancelled);
  command::ActOnJob retry = cancel;
  retry.action = JobAction::retry;
  EXPECT_EQ(host.commands().ask(retry).error().code, ErrorCode::conflict);
  const auto trail = value_of(host.queries().audit("default", INT64_MAX, 10));
  ASSERT_THAT(trail, SizeIs(1));
  EXPECT_EQ(trail.front().actor, "ada");
  EXPECT_EQ(trail.front().action, "job.cancel");
}

TEST(Commands, WhoAsksGoesOnAfterWhoFollowsTheCommit) {
  auto store = value_of(open_store("memory:"));
  EngineHost host(*store, {});
  bool followed = false;
  ASSERT_TRUE(host.commands().ask(command::ServingChanged{.tenant = "acme"},
                                  [&](const Result<void>& done) { followed = done.has_value(); }));
  EXPECT_TRUE(followed);
}

TEST(Commands, OfABatchOnlySoManyMayBeNew) {
  auto store = value_of(open_store("memory:"));
  EngineHost host(*store, {});
  const auto batch = [](std::size_t new_max) {
    command::EnqueueBatch many{.tenant = "default", .jobs = {}, .delays = {}, .new_max = new_max, .by_hand = {}};
    for (const std::string key : {"a", "b"}) {
      many.jobs.push_back({.type = "mail", .options = {.idempotency_key = key}});
    }
    return many;
  };
  EXPECT_TRUE(value_of(host.commands().ask(batch(1))).over_quota);
  EXPECT_THAT(value_of(host.commands().ask(batch(2))).made, SizeIs(2));
  EXPECT_FALSE(value_of(host.commands().ask(batch(0))).over_quota) << "they are there already";
}

TEST(Commands, AnErrorOfABatchNamesItsJob) {
  auto store = value_of(open_store("memory:"));
  EngineHost host(*store, {});
  command::EnqueueBatch many{.tenant = "default", .jobs = {}, .delays = {}, .new_max = {}, .by_hand = {}};
  many.jobs.push_back({.type = "mail"});
  many.jobs.push_back({.type = "mail", .deadline = Instant{}});
  EXPECT_EQ(host.commands().ask(many).error().field, "jobs[1].deadline");
}

}  // namespace
}  // namespace carillon::test
