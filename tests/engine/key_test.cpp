// Idempotency keys, dependencies, follow-ups, and effects that happen once.
#include <stdexcept>

#include "engine/support/engine_test.h"

namespace carillon::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class EngineKeys : public EngineTest {
 protected:
  // The attempt hangs until its time is over and that was written; its job goes on.
  void sleep_through_lease() {
    clock.advance(kTimeoutDefault + 1s);
    run_due();
  }
};

TEST_P(EngineKeys, TheSameKeyGivesTheSameJobAndRunsOnce) {  // invariant 17
  handle_counted("work");
  const EnqueuedJob first = value_of(client().enqueue({.type = "work", .payload = "1", .idempotency_key = "k"}));
  const EnqueuedJob second = value_of(client().enqueue({.type = "work", .payload = "1", .idempotency_key = "k"}));
  EXPECT_FALSE(first.deduplicated);
  EXPECT_TRUE(second.deduplicated);
  EXPECT_EQ(first.id, second.id);
  run_due();
  EXPECT_EQ(calls("work"), 1);
  const EnqueuedJob third = value_of(client().enqueue({.type = "work", .payload = "1", .idempotency_key = "k"}));
  EXPECT_EQ(third.id, first.id);
  EXPECT_EQ(third.state, JobState::done);
  run_due();
  EXPECT_EQ(calls("work"), 1);
}

TEST_P(EngineKeys, AnotherPayloadUnderAHeldKeyIsAConflict) {  // invariant 17
  enqueue({.type = "work", .payload = "1", .idempotency_key = "k"});
  EXPECT_EQ(error_of(client().enqueue({.type = "work", .payload = "2", .idempotency_key = "k"})).code,
            ErrorCode::idempotency_conflict);
  EXPECT_EQ(jobs().size(), 1U);
}

TEST_P(EngineKeys, AKeyIsOfItsTenantAndType) {  // invariant 17
  const JobId one = enqueue({.type = "a", .idempotency_key = "k"});
  EXPECT_NE(enqueue({.type = "b", .idempotency_key = "k"}), one);
  EXPECT_NE(enqueue({.type = "a", .tenant = "other", .idempotency_key = "k"}), one);
  EXPECT_NE(enqueue({.type = "a"}), enqueue({.type = "a"}));
}

TEST_P(EngineKeys, AKeyHeldUntilDoneIsFreeAgainAfterThat) {  // invariant 17
  handle_counted("work");
  const JobRequest request{.type = "work", .idempotency_key = "k", .unique_until = {.until = KeyHold::Until::done}};
  const JobId first = enqueue(request);
  EXPECT_EQ(enqueue(request), first);
  run_due();
  EXPECT_NE(enqueue(request), first);
  run_due();
  EXPECT_EQ(calls("work"), 2);
}

TEST_P(EngineKeys, AKeyHeldForATimeIsFreeAfterIt) {  // invariant 17
  handle_counted("work");
  const JobRequest request{
      .type = "work", .idempotency_key = "k", .unique_until = {.until = KeyHold::Until::elapsed, .duration = 1h}};
  const JobId first = enqueue(request);
  advance(1h - 1s);
  EXPECT_EQ(enqueue(request), first);
  advance(2s);
  EXPECT_NE(enqueue(request), first);
}

TEST_P(EngineKeys, ARetryNeverAsksForItsKeyAgain) {  // invariant 17
  handle("work", [](JobContext& context) { return context.attempt() < 3 ? fail("no") : done(); });
  const JobId id = enqueue({.type = "work", .idempotency_key = "k"});
  advance(1h);
  EXPECT_EQ(state(id), JobState::done);
}

// ---- Dependencies -----------------------------------------------------------------------------------------------

TEST_P(EngineKeys, ADependentStartsWhenAllThatItWaitsForAreDone) {  // invariant 31
  handle_counted("work");
  const JobId a = enqueue({.type = "work", .run_at = in(1h)});
  const JobId b = enqueue({.type = "work", .run_at = in(2h)});
  const JobId last = enqueue({.type = "work", .depends_on = {a, b}});
  EXPECT_EQ(state(last), JobState::waiting);
  advance(90min);
  EXPECT_EQ(state(last), JobState::waiting);
  advance(30min);
  EXPECT_EQ(state(last), JobState::done);
  EXPECT_EQ(calls("work"), 3);
}

TEST_P(EngineKeys, WhatAJobDependedOnStaysReadable) {
  handle_counted("work");
  const JobId a = enqueue({.type = "work", .run_at = in(1h)});
  const JobId b = enqueue({.type = "work", .run_at = in(2h)});
  const JobId last = enqueue({.type = "work", .depends_on = {a, b, a}});
  const JobId lost = enqueue({.type = "work", .depends_on = {b}, .run_anyway = false});
  EXPECT_THAT(job(last).depends_on, ElementsAre(a, b));
  EXPECT_THAT(job(last).waits_for, UnorderedElementsAre(a, b));
  advance(90min);
  EXPECT_THAT(job(last).depends_on, ElementsAre(a, b));
  EXPECT_THAT(job(last).waits_for, ElementsAre(b));
  EXPECT_THAT(value_of(client().explain(kTenant, last)).summary, HasSubstr("for 1 other job"));
  EXPECT_TRUE(client().cancel(kTenant, b).has_value());
  advance(1h);
  EXPECT_EQ(state(lost), JobState::cancelled);
  EXPECT_THAT(job(lost).depends_on, ElementsAre(b));
  EXPECT_THAT(job(last).depends_on, ElementsAre(a, b));
  EXPECT_THAT(job(last).waits_for, IsEmpty());
  const JobId late = enqueue({.type = "work", .depends_on = {b}});
  EXPECT_EQ(state(late), JobState::cancelled) << "born so";
  EXPECT_THAT(job(late).depends_on, ElementsAre(b));
  EXPECT_EQ(job(late).reason, "dependency_not_met");
}

TEST_P(EngineKeys, ADependentOfOneThatDidNotEndAsDoneIsCancelledWithItsReason) {
  handle_counted("work");
  const JobId parent = enqueue({.type = "work", .run_at = in(1h)});
  const JobId child = enqueue({.type = "work", .depends_on = {parent}});
  const JobId grandchild = enqueue({.type = "work", .depends_on = {child}});
  EXPECT_TRUE(client().cancel(kTenant, parent).has_value());
  advance(2h);
  EXPECT_EQ(state(child), JobState::cancelled);
  EXPECT_EQ(job(child).reason, "dependency_not_met");
  EXPECT_EQ(state(grandchild), JobState::cancelled);
  EXPECT_EQ(calls("work"), 0);
}

TEST_P(EngineKeys, OneThatRunsAnywayDoesSo) {
  handle_counted("work");
  const JobId parent = enqueue({.type = "work", .run_at = in(1h)});
  const JobId child = enqueue({.type = "work", .depends_on = {parent}, .run_anyway = true});
  EXPECT_TRUE(client().cancel(kTenant, parent).has_value());
  run_due();
  EXPECT_EQ(state(child), JobState::done);
}

TEST_P(EngineKeys, AParentInTheDlqKeepsItsDependentsWaitingUntilSomebodyDecides) {
  handle("broken", [](JobContext&) { return permanent("no"); });
  handle_counted("work");
  const JobId parent = enqueue({.type = "broken"});
  const JobId child = enqueue({.type = "work", .depends_on = {parent}});
  advance(1h);
  EXPECT_EQ(state(parent), JobState::dlq);
  EXPECT_EQ(state(child), JobState::waiting);
  handle_counted("broken");
  EXPECT_TRUE(client().retry(kTenant, parent).has_value());
  run_due();
  EXPECT_EQ(state(child), JobState::done);
}

TEST_P(EngineKeys, ADependentOfWhatIsDoneAlreadyStartsAtOnce) {
  handle_counted("work");
  const JobId parent = enqueue({.type = "work"});
  run_due();
  const JobId child = enqueue({.type = "work", .depends_on = {parent}});
  run_due();
  EXPECT_EQ(state(child), JobState::done);
}

TEST_P(EngineKeys, WaitingForAJobThatIsNotThereIsRefused) {
  EXPECT_EQ(error_of(client().enqueue({.type = "work", .depends_on = {JobId{.value = 12345}}})).code,
            ErrorCode::dependency_not_met);
}

// ---- Follow-ups -------------------------------------------------------------------------------------------------

TEST_P(EngineKeys, AFollowUpIsMadeByTheCompletionThatCausesIt) {  // invariant 30
  handle("first", [](JobContext&) { return done().then({.type = "second", .payload = "5"}).then({.type = "second"}); });
  handle_counted("second");
  const JobId id = enqueue({.type = "first"});
  run_due();
  EXPECT_EQ(calls("second"), 2);
  for (const JobInfo& follower : jobs({.type = "second"})) {
    EXPECT_EQ(follower.origin, Origin::dependent);
    EXPECT_EQ(follower.parent, id);
  }
}

TEST_P(EngineKeys, AFailureMakesNoFollowUps) {  // invariant 30
  handle("first", [](JobContext&) { return fail("no").then({.type = "second"}); });
  handle_counted("second");
  enqueue({.type = "first", .max_attempts = 2});
  advance(1h);
  EXPECT_TRUE(jobs({.type = "second"}).empty());
}

TEST_P(EngineKeys, AFollowUpThatIsRefusedFailsTheAttemptAndSaysWhy) {  // invariant 30
  handle("first", [](JobContext&) { return done().then({.type = "second", .priority = 99}); });
  const JobId id = enqueue({.type = "first", .max_attempts = 1});
  run_due();
  EXPECT_EQ(state(id), JobState::dlq);
  EXPECT_THAT(job(id).last_error, HasSubstr("priority"));
  EXPECT_EQ(engine().counters().failed, 1U);
  EXPECT_EQ(engine().counters().succeeded, 0U);
  EXPECT_EQ(engine().counters().late, 0U);
  EXPECT_TRUE(jobs({.type = "second"}).empty());
}

TEST_P(EngineKeys, AFollowUpWhoseKeyHasAnotherPayloadIsToldAndDoesNotFailTheAttempt) {  // invariants 17, 30
  handle("first", [](JobContext&) {
    return done()
        .then({.type = "second", .payload = "2", .idempotency_key = "k"})
        .then({.type = "second", .payload = "1", .idempotency_key = "k"})
        .then({.type = "second", .payload = "3"});
  });
  handle_counted("second");
  const JobId held = enqueue({.type = "second", .payload = "1", .idempotency_key = "k"});
  const JobId id = enqueue({.type = "first", .max_attempts = 1});
  run_due();
  EXPECT_EQ(state(id), JobState::done);
  EXPECT_EQ(calls("second"), 2);
  std::vector<std::pair<JobId, std::string>> ignored;
  for (const EnqueueIgnored& one : heard.of<EnqueueIgnored>()) ignored.emplace_back(one.job, one.reason);
  EXPECT_EQ(ignored,
            (std::vector<std::pair<JobId, std::string>>{{held, "idempotency_conflict"}, {held, "idempotency_key"}}));
}

TEST_P(EngineKeys, AnEmptyKeyIsRefused) {  // invariant 17
  const Error error = error_of(client().enqueue({.type = "work", .idempotency_key = ""}));
  EXPECT_EQ(error.code, ErrorCode::invalid_request);
  EXPECT_EQ(error.field, "idempotency_key");
}

TEST_P(EngineKeys, AFollowUpForLaterComesInItsTime) {
  handle("first", [](JobContext&) { return done().then({.type = "second", .run_at = in(3h)}); });
  handle_counted("second");
  enqueue({.type = "first"});
  advance(3h - 1s);
  EXPECT_EQ(calls("second"), 0);
  advance(1s);
  EXPECT_EQ(calls("second"), 1);
}

// ---- Effects ------------------------------------------------------------------------------------------------------

TEST_P(EngineKeys, AnEffectHappensOnceOverAllAttempts) {  // invariant 18
  int effects = 0;
  std::vector<OnceResult> answers;
  handle("work", [&](JobContext& context) {
    answers.push_back(context.once("charge", [&] { ++effects; }));
    return context.attempt() < 3 ? retry_after(1s) : done();
  });
  enqueue({.type = "work"});
  advance(1min);
  EXPECT_EQ(effects, 1);
  EXPECT_EQ(answers, (std::vector{OnceResult::done_now, OnceResult::done_before, OnceResult::done_before}));
}

TEST_P(EngineKeys, TheKeyOfAnEffectIsTheTenants) {  // invariants 18, 28
  int effects = 0;
  handle("work", [&](JobContext& context) {
    context.once("charge", [&] { ++effects; });
    return done();
  });
  enqueue({.type = "work"});
  enqueue({.type = "work"});
  enqueue({.type = "work", .tenant = "other"});
  run_due();
  EXPECT_EQ(effects, 2);
}

TEST_P(EngineKeys, AnEffectThatThrewIsTakenAsNotDone) {  // invariant 18
  int tries = 0;
  std::vector<OnceResult> answers;
  handle("work", [&](JobContext& context) {
    answers.push_back(context.once("charge", [&] {
      if (++tries == 1) throw std::runtime_error("refused");
    }));
    return done();
  });
  const JobId id = enqueue({.type = "work"});
  advance(10min);
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(answers, std::vector{OnceResult::done_now});
  EXPECT_EQ(state(id), JobState::done);
  EXPECT_EQ(job(id).attempts.front().error, "refused");
}

TEST_P(EngineKeys, AnEffectThatMayHaveHappenedIsRunAgainByDefault) {  // invariants 8, 18
  std::vector<OnceResult> answers;
  int effects = 0;
  handle("work", [&](JobContext& context) {
    answers.push_back(context.once("charge", [&] {
      ++effects;
      if (effects == 1) sleep_through_lease();
    }));
    return done();
  });
  const JobId id = enqueue({.type = "work"});
  advance(1h);
  EXPECT_EQ(effects, 2);
  EXPECT_EQ(answers, std::vector{OnceResult::ambiguous_rerun});
  EXPECT_EQ(state(id), JobState::done);
}

TEST_P(EngineKeys, AJobThatSaysHoldIsParkedWithAnAmbiguousEffect) {  // invariant 18
  int effects = 0;
  handle("work", [&](JobContext& context) {
    context.once("charge", [&] {
      ++effects;
      sleep_through_lease();
    });
    return done();
  });
  const JobId id = enqueue({.type = "work", .on_ambiguous = OnAmbiguous::hold});
  advance(1h);
  EXPECT_EQ(effects, 1);
  EXPECT_EQ(state(id), JobState::dlq);
  EXPECT_EQ(job(id).reason, "ambiguous_effect");
  EXPECT_THAT(job(id).last_error, HasSubstr("charge"));
}

TEST_P(EngineKeys, AnOperatorsRetryRunsTheEffectThatAJobWasHeldFor) {  // invariant 18
  int effects = 0;
  std::vector<OnceResult> answers;
  handle("work", [&](JobContext& context) {
    answers.push_back(context.once("charge", [&] {
      if (++effects <= 2) sleep_through_lease();
    }));
    return done();
  });
  const JobId id = enqueue({.type = "work", .on_ambiguous = OnAmbiguous::hold});
  advance(1h);
  ASSERT_EQ(job(id).reason, "ambiguous_effect");
  EXPECT_EQ(effects, 1);

  // It runs, and its attempt is lost again: nobody has decided about that one.
  value_of(client().retry(kTenant, id));
  advance(1h);
  EXPECT_EQ(effects, 2);
  EXPECT_EQ(state(id), JobState::dlq);
  EXPECT_EQ(job(id).reason, "ambiguous_effect");

  value_of(client().retry(kTenant, id));
  advance(1h);
  EXPECT_EQ(effects, 3);
  EXPECT_EQ(answers, std::vector{OnceResult::done_now});
  EXPECT_EQ(state(id), JobState::done);
}

TEST_P(EngineKeys, NoEffectBeginsAfterTheLeaseRanOut) {  // invariant 11
  int effects = 0;
  handle("work", [&](JobContext& context) {
    if (context.attempt() == 1) clock.advance(10min);
    context.once("charge", [&] { ++effects; });
    return done();
  });
  const JobId id = enqueue({.type = "work"});
  advance(1h);
  EXPECT_EQ(effects, 1);
  EXPECT_EQ(state(id), JobState::done);
  EXPECT_GE(job(id).attempt, 2U);
}

OVER_EVERY_STORE(EngineKeys);

}  // namespace
}  // namespace carillon::test
