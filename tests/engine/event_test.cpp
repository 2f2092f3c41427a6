// What is told and counted, against what happened.
#include "engine/support/engine_test.h"
#include "engine/support/hand_node.h"

namespace carillon::test {
namespace {

// ---- Names and lines ------------------------------------------------------------------------------------------------

struct Golden {
  EventBody body;
  std::string_view line;
};

const JobId kJob{.value = 1'632'087'572'480'000};

std::string line_with_job(std::string_view line) {
  std::string text(line);
  const std::size_t at = text.find("$JOB");
  if (at != std::string::npos) text.replace(at, 4, format_job_id(kJob));
  return text;
}

TEST(EventText, EveryEventHasItsNameAndItsLine) {
  const Instant slot = at("2026-03-02T08:30:00Z");
  const std::vector<Golden> goldens{
      {SloBreached{.slo = "job_latency",
                   .value = 1200.5,
                   .threshold = 1000,
                   .unit = "ms",
                   .window = 15min,
                   .breaches_in_a_row = 3},
       R"({"event":"slo.breach","at":"2026-03-02T12:00:00.000Z","measurements":{"value":1200.5,"threshold":1000},)"
       R"("metadata":{"slo":"job_latency","unit":"ms","window":"15m","breaches_in_a_row":3,"reason":null,)"
       R"("due_bucket":null}})"},
      {TickStopped{
           .duration = 12ms + 345us, .users_scanned = 3, .eligible_in_window = 3, .enqueued = 2, .cutoff_finalized = 1},
       R"({"event":"sched.tick.stop","at":"2026-03-02T12:00:00.000Z","measurements":{"duration_ms":12.345},)"
       R"("metadata":{"users_scanned":3,"eligible_in_window":3,"enqueued":2,"cutoff_finalized":1}})"},
      {QueueDepth{.depth = 7},
       R"({"event":"sched.queue.depth","at":"2026-03-02T12:00:00.000Z","measurements":{"depth":7},)"
       R"("metadata":{"today":"2026-03-02"}})"},
      {InFlight{.in_flight = 2, .max_concurrency = 8},
       R"({"event":"sched.executor.in_flight","at":"2026-03-02T12:00:00.000Z","measurements":{"in_flight":2},)"
       R"("metadata":{"max_concurrency":8}})"},
      {JobStopped{.job = kJob,
                  .tenant = "a",
                  .type = "mail",
                  .attempt = 2,
                  .duration = 1500ms,
                  .result = AttemptResult::error,
                  .error_class = "req",
                  .error = "of no concern here"},
       R"({"event":"sched.job.stop","at":"2026-03-02T12:00:00.000Z","measurements":{"duration_ms":1500},)"
       R"("metadata":{"job_id":"$JOB","tenant":"a","type":"mail","attempt":2,"result":"error","error_class":"req"}})"},
      {Finalized{.job = kJob, .tenant = "a", .schedule = "s", .subject = "u", .slot = slot, .status = JobState::done},
       R"({"event":"sched.outcome","at":"2026-03-02T12:00:00.000Z","measurements":{},)"
       R"("metadata":{"job_id":"$JOB","tenant":"a","schedule":"s","subject":"u","slot":"2026-03-02T08:30:00.000Z",)"
       R"("outcome":"success","count":1}})"},
      {Finalized{.tenant = "a",
                 .schedule = "s",
                 .subject = "u",
                 .slot = slot,
                 .status = JobState::cutoff_reached,
                 .due_bucket = 480,
                 .today = "2026-03-01"},
       R"({"event":"sched.finalize","at":"2026-03-02T12:00:00.000Z","measurements":{},)"
       R"("metadata":{"tenant":"a","schedule":"s","subject":"u","status":"cutoff_reached","count":1,)"
       R"("due_bucket":480,"today":"2026-03-01"}})"},
      {JobChanged{.job = kJob, .tenant = "a", .state = JobState::dlq},
       R"({"event":"job.changed","at":"2026-03-02T12:00:00.000Z","measurements":{},)"
       R"("metadata":{"id":"$JOB","tenant":"a","state":"dlq"}})"},
      {JobPicked{.job = kJob, .tenant = "a", .type = "mail", .lateness = 20ms},
       R"({"event":"job.picked","at":"2026-03-02T12:00:00.000Z","measurements":{"lateness_ms":20},)"
       R"("metadata":{"job_id":"$JOB","tenant":"a","type":"mail"}})"},
      {StaleWord{.job = kJob, .tenant = "a", .success = true},
       R"({"event":"late_success","at":"2026-03-02T12:00:00.000Z","measurements":{},)"
       R"("metadata":{"job_id":"$JOB","tenant":"a"}})"},
      {StaleWord{.job = kJob, .tenant = "a", .success = false},
       R"({"event":"stale_ack","at":"2026-03-02T12:00:00.000Z","measurements":{},)"
       R"("metadata":{"job_id":"$JOB","tenant":"a"}})"},
      {Deferred{.job = kJob, .tenant = "a", .reason = "maintenance", .until = slot},
       R"({"event":"deferred","at":"2026-03-02T12:00:00.000Z","measurements":{},)"
       R"("metadata":{"job_id":"$JOB","tenant":"a","reason":"maintenance","until":"2026-03-02T08:30:00.000Z"}})"},
      {Deferred{.job = {}, .tenant = "a", .reason = "quiet_hours", .until = slot, .queue = "mail", .count = 12},
       R"({"event":"deferred","at":"2026-03-02T12:00:00.000Z","measurements":{},)"
       R"("metadata":{"tenant":"a","queue":"mail","reason":"quiet_hours","until":"2026-03-02T08:30:00.000Z","count":12}})"},
      {RateLimited{.job = kJob, .tenant = "a", .limit = "api", .until = slot},
       R"({"event":"rate_limited","at":"2026-03-02T12:00:00.000Z","measurements":{},)"
       R"("metadata":{"job_id":"$JOB","tenant":"a","limit":"api","until":"2026-03-02T08:30:00.000Z"}})"},
      {Missed{.tenant = "a", .schedule = "s", .subject = "", .first = slot, .last = std::nullopt, .count = 1},
       R"({"event":"missed","at":"2026-03-02T12:00:00.000Z","measurements":{},)"
       R"("metadata":{"tenant":"a","schedule":"s","subject":"","first":"2026-03-02T08:30:00.000Z","last":null,)"
       R"("count":1}})"},
      {LeaseLost{.job = kJob, .tenant = "a", .worker = "w"},
       R"({"event":"lease_lost","at":"2026-03-02T12:00:00.000Z","measurements":{},)"
       R"("metadata":{"job_id":"$JOB","tenant":"a","worker":"w"}})"},
      {HandlerAbandoned{.job = kJob, .tenant = "a", .type = "mail"},
       R"({"event":"handler.abandoned","at":"2026-03-02T12:00:00.000Z","measurements":{},)"
       R"("metadata":{"job_id":"$JOB","tenant":"a","type":"mail"}})"},
      {EnqueueIgnored{.job = kJob, .tenant = "a", .type = "mail", .reason = "idempotency_key"},
       R"({"event":"enqueue.ignored","at":"2026-03-02T12:00:00.000Z","measurements":{},)"
       R"("metadata":{"job_id":"$JOB","tenant":"a","type":"mail","reason":"idempotency_key"}})"},
      {StoreFailed{.code = ErrorCode::store_full, .message = "no \"space\"", .in_a_row = 2},
       R"({"event":"store.failed","at":"2026-03-02T12:00:00.000Z","measurements":{"in_a_row":2},)"
       R"("metadata":{"code":"store_full","message":"no \"space\""}})"},
      {StoreRecovered{.failures = 2, .after = 30ms},
       R"({"event":"store.recovered","at":"2026-03-02T12:00:00.000Z","measurements":{"failures":2,"duration_ms":30},)"
       R"("metadata":{}})"},
      {SweepStopped{.looked_at = 2000, .repaired = 1},
       R"({"event":"sweep.stop","at":"2026-03-02T12:00:00.000Z","measurements":{"looked_at":2000,"repaired":1},)"
       R"("metadata":{}})"},
  };
  for (const Golden& golden : goldens) {
    const Event event{.at = at("2026-03-02T12:00:00Z"), .body = golden.body};
    EXPECT_EQ(to_json_line(event), line_with_job(golden.line));
    EXPECT_EQ(JsonValue::parse(to_json_line(event)).value().at("event").as_string(), name_of(event));
  }
}

// ---- Counters
// ---------------------------------------------------------------------------------------------------------

class EngineEvents : public EngineTest {
 protected:
  void expect_counters_agree() {
    const Counters counters = engine().counters();
    std::uint64_t ok = 0;
    std::uint64_t missed = 0;
    std::uint64_t finalized = 0;
    for (const JobStopped& one : heard.of<JobStopped>()) ok += one.result == AttemptResult::ok ? 1U : 0U;
    std::uint64_t deferred = 0;
    for (const Deferred& one : heard.of<Deferred>()) deferred += one.count;
    for (const Missed& one : heard.of<Missed>()) missed += one.count;
    for (const Finalized& one : heard.of<Finalized>()) finalized += one.count;
    std::uint64_t parked = 0;
    for (const JobChanged& one : heard.of<JobChanged>()) parked += one.state == JobState::dlq ? 1U : 0U;
    EXPECT_EQ(counters, (Counters{.picked = heard.of<JobPicked>().size(),
                                  .succeeded = ok,
                                  .failed = heard.of<JobStopped>().size() - ok,
                                  .deferred = deferred,
                                  .dlq = parked,
                                  .stalled = heard.of<LeaseLost>().size(),
                                  .abandoned = heard.of<HandlerAbandoned>().size(),
                                  .rate_limited = heard.of<RateLimited>().size(),
                                  .missed = missed,
                                  .late = heard.of<StaleWord>().size(),
                                  .finalized = finalized,
                                  .store_failures = heard.of<StoreFailed>().size()}));
  }
};

TEST_P(EngineEvents, CountersAgreeWithEventsAndWithWhatHandlersCounted) {  // invariant 34
  std::map<Outcome::Kind, std::uint64_t> said;
  handle("mixed", [&](JobContext& context) {
    const auto kind = static_cast<Outcome::Kind>((context.payload().as_int() + context.attempt()) % 6);
    ++said[kind];
    switch (kind) {
      case Outcome::Kind::done: return done();
      case Outcome::Kind::skipped: return skipped("nothing");
      case Outcome::Kind::failed: return fail("no");
      case Outcome::Kind::permanent: return permanent("no");
      case Outcome::Kind::deferred: return context.job().token > 3 ? done() : defer(in(1min), "later");
      case Outcome::Kind::rate_limited: return context.job().token > 3 ? done() : rate_limited("", in(1min));
    }
    return done();
  });
  ASSERT_TRUE(client().schedule_recurring({.name = "s", .type = "mixed", .every = 1h, .payload = "3"}).has_value());
  for (int i = 0; i < 60; ++i) enqueue({.type = "mixed", .payload = std::to_string(i)});
  advance(5h);
  clock.advance(5h);
  run_due();
  const Counters counters = engine().counters();
  std::uint64_t attempts = 0;
  for (const auto& [kind, count] : said) attempts += count;
  EXPECT_EQ(counters.picked, attempts);
  EXPECT_EQ(counters.failed, said[Outcome::Kind::failed] + said[Outcome::Kind::permanent]);
  EXPECT_EQ(counters.succeeded + counters.failed + counters.deferred + counters.rate_limited, attempts);
  EXPECT_EQ(counters.missed, 4U);
  EXPECT_EQ(counters.dlq, jobs({.states = {JobState::dlq}}).size());
  EXPECT_EQ(counters.late, 0U);
  expect_counters_agree();
}

TEST_P(EngineEvents, LevelsAreToldOnceATick) {  // S0's E2 and E3
  ASSERT_TRUE(client().put_settings(kTenant, R"({"paused":true})").has_value());
  handle_counted("work");
  for (int i = 0; i < 3; ++i) enqueue({.type = "work"});
  const std::size_t before = heard.of<QueueDepth>().size();
  constexpr std::size_t kTicks = 10;
  for (std::size_t i = 0; i < kTicks; ++i) advance(1s);
  const auto depths = heard.of<QueueDepth>();
  ASSERT_EQ(depths.size(), before + kTicks);
  EXPECT_EQ(depths.back().depth, 3U);
  ASSERT_EQ(heard.of<InFlight>().size(), depths.size());
  EXPECT_EQ(heard.of<InFlight>().back().in_flight, 0U);
}

TEST_P(EngineEvents, ATickIsToldWithWhatItDid) {
  handle_counted("work");
  ASSERT_TRUE(client().schedule_recurring({.name = "a", .type = "work", .every = 1h}).has_value());
  ASSERT_TRUE(client().schedule_recurring({.name = "b", .type = "work", .every = 1h}).has_value());
  advance(1h);
  auto ticks = heard.of<TickStopped>();
  std::erase_if(ticks, [](const TickStopped& tick) { return tick.users_scanned == 0; });
  ASSERT_EQ(ticks.size(), 1U);
  EXPECT_EQ(ticks.front().users_scanned, 2U);
  EXPECT_EQ(ticks.front().eligible_in_window, 0U) << "only deliveries have a window";
  EXPECT_EQ(ticks.front().enqueued, 2U);
  EXPECT_EQ(ticks.front().cutoff_finalized, 0U);
}

TEST_P(EngineEvents, AnIdleNodeTellsEveryTickWithZeros) {  // S0's E1
  run_due();
  const std::size_t before = heard.of<TickStopped>().size();
  EXPECT_EQ(before, heard.of<QueueDepth>().size()) << "the first look is a tick as well";
  constexpr std::size_t kTicks = 10;
  for (std::size_t i = 0; i < kTicks; ++i) advance(1s);
  const auto ticks = heard.of<TickStopped>();
  ASSERT_EQ(ticks.size(), before + kTicks);
  for (const TickStopped& tick : ticks) {
    EXPECT_EQ(tick.users_scanned + tick.eligible_in_window + tick.enqueued + tick.cutoff_finalized, 0U);
  }
}

TEST_P(EngineEvents, AnOccurrenceIsFinalizedOnceWithItsOutcome) {  // invariant 3
  handle("flaky", [](JobContext& context) { return context.attempt() < 3 ? retry_after(1min) : done(); });
  ASSERT_TRUE(client().schedule_recurring({.name = "s", .type = "flaky", .every = 1h}).has_value());
  advance(65min);
  const auto finalized = heard.of<Finalized>();
  ASSERT_EQ(finalized.size(), 1U);
  EXPECT_EQ(finalized.front().status, JobState::done);
  EXPECT_EQ(finalized.front().schedule, "s");
  EXPECT_EQ(finalized.front().slot, at("2026-03-02T13:00:00Z"));
  EXPECT_TRUE(finalized.front().job);
  EXPECT_EQ(value_of(client().schedule(kTenant, "s")).last_outcome, "success");
}

TEST_P(EngineEvents, EveryChangeOfAJobIsTold) {
  handle("work", [](JobContext& context) { return context.attempt() == 1 ? retry_after(1min) : done(); });
  const JobId id = enqueue({.type = "work"});
  advance(2min);
  EXPECT_EQ(told_of(id), (std::vector{JobState::queued, JobState::queued, JobState::done}));
}

TEST_P(EngineEvents, LatenessIsFromWhenItWasDue) {
  handle_counted("work");
  enqueue({.type = "work", .run_at = in(1min)});
  run_due();
  clock.advance(90s);
  run_due();
  ASSERT_EQ(heard.of<JobPicked>().size(), 1U);
  EXPECT_EQ(heard.of<JobPicked>().front().lateness, Duration(30s));
}

TEST_P(EngineEvents, AListenerMayAskTheEngine) {
  handle_counted("work");
  std::vector<JobState> seen;
  engine().on_event([&](const Event& event) {
    if (const auto* changed = std::get_if<JobChanged>(&event.body)) seen.push_back(state(changed->job));
  });
  enqueue({.type = "work"});
  run_due();
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back(), JobState::done);
}

OVER_EVERY_STORE(EngineEvents);

// ---- Of attempts that do not end by themselves ----------------------------------------------------------------------

TEST(NodeEvents, ATimeoutIsStoppedAndAbandonedOnce) {  // invariants 13, 34
  HandNode node;
  node.enqueue({.type = "work", .max_attempts = 1, .timeout = 1min});
  const RunPtr run = node.take();
  node.begin(run);
  node.pass(5min);
  const auto stopped = node.heard.of<JobStopped>();
  ASSERT_EQ(stopped.size(), 1U);
  EXPECT_EQ(stopped.front().result, AttemptResult::timeout);
  EXPECT_EQ(stopped.front().duration, Duration(1min));
  EXPECT_EQ(stopped.front().error_class, "timeout");
  EXPECT_EQ(node.heard.of<HandlerAbandoned>().size(), 1U);
  EXPECT_EQ(node.node().counters().abandoned, 1U);
  EXPECT_EQ(node.node().counters().failed, 1U);
  EXPECT_EQ(node.node().counters().dlq, 1U);
}

TEST(NodeEvents, InFlightFollowsWhatRuns) {
  HandNode node;
  node.enqueue({.type = "work"});
  const RunPtr run = node.take();
  node.begin(run);
  node.pass(2s);
  EXPECT_EQ(node.heard.of<InFlight>().back().in_flight, 1U);
  EXPECT_EQ(node.heard.of<InFlight>().back().max_concurrency, 8U);
  node.finish(run, done());
  node.pass(2s);
  EXPECT_EQ(node.heard.of<InFlight>().back().in_flight, 0U);
}

TEST(NodeEvents, WhatRunsIsToldAsItIsAfterTheRound) {
  HandNode node({.max_concurrency = 1});
  for (int i = 0; i < 2; ++i) node.enqueue({.type = "work"});
  const RunPtr run = node.take();
  ASSERT_TRUE(node.begin(run));
  node.clock.advance(2s);
  node.finish(run, done());  // the same round is a tick, and claims the next one
  const RunPtr next = node.take();
  ASSERT_TRUE(next);
  EXPECT_EQ(node.heard.of<QueueDepth>().back().depth, 0U);
  EXPECT_EQ(node.heard.of<InFlight>().back().in_flight, 0U) << "it has not begun";
  ASSERT_TRUE(node.begin(next));
  node.pass(2s);
  EXPECT_EQ(node.heard.of<InFlight>().back().in_flight, 1U);
}

TEST(NodeEvents, WhatIsShownAsInFlightIsWhatRunsOnBothSides) {  // invariant 34
  HandNode node({.max_concurrency = 4});
  const auto levels = [&] {
    return value_of(
        node.node().call<NodeLevels>([&](Round& round) -> Result<NodeLevels> { return node.node().levels(round); }));
  };
  for (const char* tenant : {"default", "acme", "acme"}) node.enqueue({.type = "work", .tenant = tenant});
  std::vector<RunPtr> runs;
  while (const RunPtr run = node.take()) runs.push_back(run);
  ASSERT_EQ(runs.size(), 3U);
  for (std::size_t begun = 0; begun <= runs.size(); ++begun) {
    node.pass(2s);
    EXPECT_EQ(levels().in_flight, begun);
    EXPECT_EQ(node.heard.of<InFlight>().back().in_flight, begun);
    const std::size_t of_tenants = node.node().levels_of({"acme"}, node.clock.now()).in_flight +
                                   node.node().levels_of({"default"}, node.clock.now()).in_flight;
    EXPECT_EQ(of_tenants, begun);
    EXPECT_TRUE(begun == runs.size() || node.begin(runs[begun]));
  }
  ASSERT_TRUE(node.client().put_config(R"({"max_concurrent_jobs":1})").has_value());
  node.pass(2s);
  EXPECT_EQ(levels().in_flight, 3U) << "more than there may be now, and it is told so";
  EXPECT_EQ(node.heard.of<InFlight>().back().in_flight, 3U);
}

TEST(NodeEvents, SaturationIsSeenUnderACapForAll) {  // S0's E3
  HandNode node;
  ASSERT_TRUE(node.client().put_config(R"({"max_concurrent_jobs":2})").has_value());
  for (int i = 0; i < 5; ++i) node.enqueue({.type = "work"});
  for (int i = 0; i < 2; ++i) node.begin(node.take());
  node.pass(2s);
  EXPECT_EQ(node.heard.of<InFlight>().back().in_flight, 2U);
  EXPECT_EQ(node.heard.of<InFlight>().back().max_concurrency, 2U) << "of its 8 threads no more may be used";
  ASSERT_TRUE(node.client().put_config(R"({"max_concurrent_jobs":100})").has_value());
  node.pass(2s);
  EXPECT_EQ(node.heard.of<InFlight>().back().in_flight, 2U) << "three more are claimed, and have not begun";
  EXPECT_EQ(node.heard.of<InFlight>().back().max_concurrency, 8U);
  ASSERT_TRUE(node.client().put_config(R"({"max_concurrent_jobs":1})").has_value());
  node.pass(2s);
  EXPECT_EQ(node.heard.of<InFlight>().back().max_concurrency, 1U);
  EXPECT_EQ(node.heard.of<InFlight>().back().in_flight, 2U) << "those whose handlers were entered run on";
}

TEST(NodeEvents, WhatIsAnnouncedIsToldOnceAlsoWhileTheStoreFails) {
  HandNode node;
  node.settle_down();
  node.node().announce(SloBreached{.slo = "first"});
  node.settle_down();
  ASSERT_EQ(node.heard.of<SloBreached>().size(), 1U);
  node.commits().decide_by([] { return CommitFault::unavailable; });
  node.clock.advance(1min);
  node.node().announce(SloBreached{.slo = "second"});
  node.settle_down();
  ASSERT_EQ(node.heard.of<SloBreached>().size(), 2U);
  EXPECT_EQ(node.heard.of<SloBreached>().back().slo, "second");
  EXPECT_FALSE(node.heard.of<StoreFailed>().empty());
}

}  // namespace
}  // namespace carillon::test
