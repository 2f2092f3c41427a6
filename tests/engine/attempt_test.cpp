// How attempts end, and what becomes of their jobs.
#include <stdexcept>

#include "engine/support/engine_test.h"

namespace carillon::test {
namespace {

using ::testing::HasSubstr;

class EngineAttempts : public EngineTest {
 protected:
  // Every attempt of "work" says this.
  void work_says(std::function<Outcome(JobContext&)> handler) {
    handle("work", [this, handler = std::move(handler)](JobContext& context) {
      started.push_back(clock.now());
      return handler(context);
    });
  }
  std::vector<Duration> pauses() const {
    std::vector<Duration> between;
    for (std::size_t i = 1; i < started.size(); ++i) between.push_back(started[i] - started[i - 1]);
    return between;
  }

 public:
  std::vector<Instant> started;
};

TEST_P(EngineAttempts, AJobRunsAtItsTimeAndNotBefore) {
  handle_counted("mail");
  const JobId id = enqueue({.type = "mail", .run_at = in(5min)});
  EXPECT_EQ(advance(5min - 1us), 0U);
  EXPECT_EQ(state(id), JobState::queued);
  EXPECT_EQ(advance(1us), 1U);
  EXPECT_EQ(state(id), JobState::done);
  EXPECT_EQ(advance(24h), 0U);
  EXPECT_EQ(calls("mail"), 1);
}

TEST_P(EngineAttempts, AHandlerIsGivenItsJob) {
  RunningJob seen;
  std::string name;
  handle("work", [&](JobContext& context) {
    seen = context.job();
    name = context.payload().at("name").as_string();
    EXPECT_FALSE(context.cancelled());
    EXPECT_EQ(context.check_gates(), std::nullopt);
    return done();
  });
  const JobId id =
      enqueue({.type = "work", .queue = "slow", .payload = R"({"name":"ada"})", .priority = 1, .subject = "u1"});
  run_due();
  EXPECT_EQ(seen.id, id);
  EXPECT_EQ(seen.queue, "slow");
  EXPECT_EQ(seen.priority, 1);
  EXPECT_EQ(seen.attempt, 1U);
  EXPECT_EQ(seen.subject, "u1");
  EXPECT_EQ(name, "ada");
  EXPECT_GT(seen.token, 0);
}

TEST_P(EngineAttempts, TheOutputOfASuccessIsKept) {
  work_says([](JobContext&) { return done(R"({"sent":3})"); });
  const JobId id = enqueue({.type = "work"});
  run_due();
  EXPECT_EQ(job(id).output, R"({"sent":3})");
  ASSERT_EQ(job(id).attempts.size(), 1U);
  EXPECT_EQ(job(id).attempts.front().result, AttemptResult::ok);
}

TEST_P(EngineAttempts, AnOutputThatIsNoJsonFailsTheAttemptAndSaysWhy) {
  work_says([](JobContext&) { return done("sent 3"); });
  const JobId id = enqueue({.type = "work", .max_attempts = 1});
  run_due();
  EXPECT_EQ(state(id), JobState::dlq);
  EXPECT_THAT(job(id).last_error, HasSubstr("output"));
  EXPECT_EQ(engine().counters().failed, 1U);
}

TEST_P(EngineAttempts, SkippedIsFinalKeepsItsReasonAndIsNoFailure) {
  work_says([](JobContext&) { return skipped("nothing new"); });
  const JobId id = enqueue({.type = "work"});
  run_due();
  EXPECT_EQ(state(id), JobState::skipped);
  EXPECT_EQ(job(id).reason, "nothing new");
  EXPECT_EQ(engine().counters().failed, 0U);
}

TEST_P(EngineAttempts, TheDefaultTableOfDelaysIsFollowedWithinItsJitter) {  // invariants 15, 16
  work_says([](JobContext&) { return fail("no"); });
  const JobId id = enqueue({.type = "work"});
  advance(3h);
  ASSERT_EQ(started.size(), 5U);
  const std::vector<Duration> delays{1min, 5min, 15min, 60min};
  for (std::size_t i = 0; i < delays.size(); ++i) {
    EXPECT_GE(pauses()[i], delays[i] * 9 / 10) << i;
    EXPECT_LE(pauses()[i], delays[i] * 11 / 10 + 1ms) << i;
  }
  EXPECT_EQ(state(id), JobState::dlq);
  EXPECT_EQ(job(id).reason, "max_retries_exceeded");
  EXPECT_EQ(job(id).attempt, 5U);
  EXPECT_EQ(engine().counters().dlq, 1U);
}

TEST_P(EngineAttempts, ExponentialDelaysDoubleExactly) {  // invariant 15
  work_says([](JobContext&) { return fail("no"); });
  enqueue({.type = "work", .retry = RetryExponential{.base = 60s}, .max_attempts = 9});
  advance(48h);
  EXPECT_EQ(pauses(), (std::vector<Duration>{1min, 2min, 4min, 8min, 16min, 32min, 32min, 32min}));
}

TEST_P(EngineAttempts, AFixedDelayKeepsItsBeatEvenIfTheEngineIsLate) {  // invariant 15
  work_says([](JobContext&) { return fail("no"); });
  enqueue({.type = "work", .retry = RetryFixed{.delay = 10min}, .max_attempts = 4});
  run_due();
  clock.advance(13min);  // 3 minutes late
  run_due();
  advance(1h);
  EXPECT_EQ(pauses(), (std::vector<Duration>{13min, 7min, 10min}));
}

TEST_P(EngineAttempts, WithoutRetriesTheFirstFailureParks) {
  work_says([](JobContext&) { return fail("no", "req"); });
  const JobId id = enqueue({.type = "work", .retry = RetryNone{}});
  advance(24h);
  EXPECT_EQ(started.size(), 1U);
  EXPECT_EQ(state(id), JobState::dlq);
  EXPECT_EQ(job(id).attempts.back().error_class, "req");
}

TEST_P(EngineAttempts, APermanentErrorGoesStraightToTheDlq) {
  work_says([](JobContext&) { return permanent("bad address", "parse"); });
  const JobId id = enqueue({.type = "work"});
  advance(24h);
  EXPECT_EQ(started.size(), 1U);
  EXPECT_EQ(state(id), JobState::dlq);
  EXPECT_EQ(job(id).reason, "execution_failed");
  EXPECT_EQ(job(id).last_error, "bad address");
  EXPECT_EQ(job(id).attempts.back().error_class, "parse");
}

TEST_P(EngineAttempts, AHandlerMayChooseItsNextTime) {
  work_says([&](JobContext&) { return started.size() == 1 ? retry_after(42s) : done(); });
  const JobId id = enqueue({.type = "work"});
  advance(5min);
  EXPECT_EQ(pauses(), std::vector<Duration>{42s});
  EXPECT_EQ(state(id), JobState::done);
  EXPECT_EQ(job(id).attempt, 2U);
}

TEST_P(EngineAttempts, TheMessageOfWhatWasThrownIsKept) {
  work_says([](JobContext&) -> Outcome { throw std::runtime_error("the disk is gone"); });
  const JobId id = enqueue({.type = "work", .max_attempts = 1});
  run_due();
  EXPECT_EQ(job(id).last_error, "the disk is gone");
  EXPECT_EQ(job(id).attempts.back().error_class, "exception");
  EXPECT_EQ(state(id), JobState::dlq);
}

TEST_P(EngineAttempts, WhateverIsThrownEndsOnlyTheAttempt) {
  work_says([](JobContext&) -> Outcome { throw 42; });
  const JobId id = enqueue({.type = "work", .max_attempts = 1});
  run_due();
  EXPECT_EQ(job(id).attempts.back().error_class, "exception");
}

TEST_P(EngineAttempts, ATextThatIsNotUtf8IsKeptAsOneThatIs) {
  work_says([](JobContext&) { return fail("bad \xff\xfe byte", "r\xff"); });
  const JobId id = enqueue({.type = "work", .max_attempts = 1});
  run_due();
  EXPECT_EQ(state(id), JobState::dlq);
  EXPECT_THAT(job(id).last_error, HasSubstr("bad "));
  EXPECT_TRUE(JsonValue::parse(to_json(job(id))).has_value());
}

TEST_P(EngineAttempts, AVeryLongErrorIsCutNotRefused) {
  work_says([](JobContext&) { return fail(std::string(5'000'000, 'x')); });
  const JobId id = enqueue({.type = "work", .max_attempts = 1});
  run_due();
  EXPECT_EQ(state(id), JobState::dlq);
  EXPECT_FALSE(job(id).last_error.empty());
  EXPECT_LT(job(id).last_error.size(), 100'000U);
}

TEST_P(EngineAttempts, ATypeWithoutAHandlerFailsWithNoHandler) {
  const JobId id = enqueue({.type = "unknown", .max_attempts = 1});
  run_due();
  EXPECT_EQ(state(id), JobState::dlq);
  EXPECT_EQ(job(id).attempts.back().error_class, "no_handler");
  EXPECT_THAT(job(id).last_error, HasSubstr("unknown"));
}

TEST_P(EngineAttempts, LeftUnhandledAJobStaysQueuedAndHoldsUpNobody) {
  leave_unhandled = true;
  handle_counted("work");
  const JobId id = enqueue({.type = "unknown"});
  enqueue({.type = "work"});
  advance(1h);
  EXPECT_EQ(state(id), JobState::queued);
  EXPECT_EQ(job(id).attempt, 0U);
  EXPECT_EQ(calls("work"), 1);
  EXPECT_EQ(value_of(client().explain(kTenant, id)).steps.back().why, "no_worker");
}

TEST_P(EngineAttempts, WithoutMaxAttemptsOnlyTheDeadlineEndsIt) {
  work_says([](JobContext&) { return fail("no"); });
  const JobId id = enqueue(
      {.type = "work", .deadline = clock.now() + 1h, .retry = RetryFixed{.delay = 5min}, .max_attempts = std::nullopt});
  advance(2h);
  EXPECT_EQ(started.size(), 12U);
  EXPECT_EQ(state(id), JobState::cutoff_reached);
  EXPECT_EQ(job(id).reason, "deadline");
}

TEST_P(EngineAttempts, ADeadlineThatPassesInTheQueueEndsTheJobWithoutAnAttempt) {
  handle_counted("work");
  const JobId id = enqueue({.type = "work", .run_at = in(2h), .deadline = clock.now() + 1h});
  advance(1h);
  EXPECT_EQ(state(id), JobState::cutoff_reached);
  advance(2h);
  EXPECT_EQ(calls("work"), 0);
}

TEST_P(EngineAttempts, ADeferralCostsNoAttemptAndIsExplained) {  // invariants 16, 33
  work_says([&](JobContext&) { return started.size() <= 30 ? defer(in(1min), "no ticket") : done(); });
  const JobId id = enqueue({.type = "work"});
  advance(90s);
  EXPECT_EQ(job(id).attempt, 0U);
  EXPECT_EQ(job(id).defer_reason, "no ticket");
  EXPECT_EQ(job(id).deferrals, 2U);
  EXPECT_EQ(job(id).deferred_until, clock.now() + 30s);
  advance(1h);
  EXPECT_EQ(state(id), JobState::done);
  EXPECT_EQ(job(id).attempt, 1U);
  EXPECT_EQ(job(id).deferrals, 30U);
  EXPECT_EQ(engine().counters().deferred, 30U);
}

TEST_P(EngineAttempts, RateLimitedCostsAnAttemptOnlyTheTwentiethTimeInARow) {  // invariant 16
  work_says([](JobContext&) { return rate_limited("", in(1min)); });
  const JobId id = enqueue({.type = "work", .max_attempts = 2});
  advance(18min);
  EXPECT_EQ(started.size(), 19U);
  EXPECT_EQ(job(id).attempt, 0U);
  EXPECT_EQ(job(id).state, JobState::queued);
  advance(1min);
  EXPECT_EQ(job(id).attempt, 1U);
  advance(2h);
  EXPECT_EQ(started.size(), 40U);
  EXPECT_EQ(state(id), JobState::dlq);
  EXPECT_EQ(engine().counters().rate_limited, 40U);
  EXPECT_EQ(engine().counters().failed, 0U);
}

TEST_P(EngineAttempts, RateLimitedForLongerThanAnHourComesAfterAnHour) {
  work_says([&](JobContext&) { return started.size() == 1 ? rate_limited("", in(24h)) : done(); });
  enqueue({.type = "work"});
  advance(2h);
  EXPECT_EQ(pauses(), std::vector<Duration>{1h});
}

TEST_P(EngineAttempts, PrioritiesGoFirstThenTimes) {
  max_concurrency = 1;
  std::string order;
  handle("work", [&](JobContext& context) {
    order += context.payload().as_string();
    return done();
  });
  enqueue({.type = "work", .payload = R"("c")", .priority = 5});
  enqueue({.type = "work", .payload = R"("b")"});
  enqueue({.type = "work", .payload = R"("a")", .priority = 1});
  run_due();
  EXPECT_EQ(order, "abc");
}

TEST_P(EngineAttempts, AWrongRequestIsRefusedWithWhatIsAllowed) {
  EXPECT_EQ(error_of(client().enqueue({.type = ""})).code, ErrorCode::invalid_request);
  EXPECT_EQ(error_of(client().enqueue({.type = "a", .payload = "{"})).code, ErrorCode::invalid_request);
  EXPECT_EQ(error_of(client().enqueue({.type = "a", .priority = 6})).code, ErrorCode::invalid_request);
  EXPECT_EQ(error_of(client().job(kTenant, JobId{.value = 77})).code, ErrorCode::not_found);
  expect_one_line(error_of(client().enqueue({.type = "a\nb"})));
  EXPECT_TRUE(jobs().empty());
}

TEST_P(EngineAttempts, AForeignIdAnswersLikeAnAbsentOne) {  // invariant 28
  const JobId id = enqueue({.type = "work", .run_at = in(1h)});
  EXPECT_EQ(error_of(client().job("other", id)).code, ErrorCode::not_found);
  EXPECT_EQ(error_of(client().cancel("other", id)).code, ErrorCode::not_found);
  EXPECT_EQ(error_of(client().explain("other", id)).code, ErrorCode::not_found);
  EXPECT_EQ(error_of(client().rerun("other", id)).code, ErrorCode::not_found);
  EXPECT_EQ(state(id), JobState::queued);
}

TEST_P(EngineAttempts, AllOrNoneOfABatchAreStored) {
  handle_counted("work");
  const std::vector<JobRequest> bad{{.type = "work"}, {.type = "work", .priority = 9}};
  EXPECT_FALSE(client().enqueue_all(bad).has_value());
  EXPECT_TRUE(jobs().empty());
  const std::vector<JobRequest> good{{.type = "work"}, {.type = "work"}};
  EXPECT_EQ(value_of(client().enqueue_all(good)).size(), 2U);
  run_due();
  EXPECT_EQ(calls("work"), 2);
}

OVER_EVERY_STORE(EngineAttempts);

}  // namespace
}  // namespace carillon::test
