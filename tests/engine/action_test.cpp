// What operators do to jobs: cancel, retry, discard, run now, change, run again, one by one and in bulk.
#include "engine/support/engine_test.h"

namespace carillon::test {
namespace {

class EngineActions : public EngineTest {
 protected:
  // A job in the DLQ.
  JobId parked(std::string_view payload = "null") {
    handle("broken", [](JobContext&) { return permanent("no"); });
    const JobId id = enqueue({.type = "broken", .payload = std::string(payload)});
    run_due();
    EXPECT_EQ(state(id), JobState::dlq);
    return id;
  }
  std::string bulk_state(const BulkInfo& bulk) { return value_of(client().bulk_status(kTenant, bulk.id)).state; }
};

TEST_P(EngineActions, AQueuedJobIsCancelledAtOnceAndNeverRuns) {
  handle_counted("work");
  const JobId id = enqueue({.type = "work", .run_at = in(1h)});
  EXPECT_EQ(value_of(client().cancel(kTenant, id)), JobState::cancelled);
  advance(2h);
  EXPECT_EQ(calls("work"), 0);
  EXPECT_EQ(value_of(client().cancel(kTenant, id)), JobState::cancelled);  // once more changes nothing
  const JobId finished = enqueue({.type = "work"});
  run_due();
  EXPECT_EQ(error_of(client().cancel(kTenant, finished)).code, ErrorCode::conflict);
}

TEST_P(EngineActions, ACancelledJobThatIsDueAlreadyDoesNotStart) {
  handle_counted("work");
  const JobId id = enqueue({.type = "work"});
  EXPECT_EQ(value_of(client().cancel(kTenant, id)), JobState::cancelled);
  run_due();
  EXPECT_EQ(calls("work"), 0);
}

TEST_P(EngineActions, ARunningJobSeesThatItIsCancelledAndItsFailureIsNotRetried) {
  bool seen = false;
  handle("work", [&](JobContext& context) {
    EXPECT_EQ(value_of(client().cancel(kTenant, context.job().id)), JobState::processing);
    seen = context.cancelled();
    return fail("stopped");
  });
  const JobId id = enqueue({.type = "work"});
  run_due();
  EXPECT_TRUE(seen);
  EXPECT_EQ(state(id), JobState::cancelled);
  EXPECT_EQ(advance(24h), 0U);
}

TEST_P(EngineActions, ARunningJobThatCompletesIsDoneAlthoughItWasCancelled) {
  handle("work", [&](JobContext& context) {
    EXPECT_TRUE(client().cancel(kTenant, context.job().id).has_value());
    return done();
  });
  const JobId id = enqueue({.type = "work"});
  run_due();
  EXPECT_EQ(state(id), JobState::done);
}

TEST_P(EngineActions, ACancelledJobThatDefersItselfIsCancelled) {
  handle("work", [&](JobContext& context) {
    EXPECT_TRUE(client().cancel(kTenant, context.job().id).has_value());
    return defer(in(1min), "later");
  });
  const JobId id = enqueue({.type = "work"});
  advance(1h);
  EXPECT_EQ(state(id), JobState::cancelled);
}

TEST_P(EngineActions, AParkedJobIsRetriedWithFreshAttempts) {
  const JobId id = parked();
  handle_counted("broken");
  EXPECT_EQ(value_of(client().retry(kTenant, id)), JobState::queued);
  run_due();
  EXPECT_EQ(state(id), JobState::done);
  EXPECT_EQ(job(id).attempt, 1U);
  EXPECT_EQ(job(id).attempts.size(), 2U);
  EXPECT_EQ(error_of(client().retry(kTenant, id)).code, ErrorCode::conflict);
}

TEST_P(EngineActions, AParkedJobIsDiscarded) {
  const JobId id = parked();
  EXPECT_EQ(value_of(client().discard(kTenant, id)), JobState::cancelled);
  EXPECT_EQ(job(id).reason, "discarded");
  EXPECT_EQ(error_of(client().discard(kTenant, id)).code, ErrorCode::conflict);
}

TEST_P(EngineActions, RunNowStartsAFarOffJob) {
  handle_counted("work");
  const JobId id = enqueue({.type = "work", .run_at = in(20h)});
  run_due();
  EXPECT_EQ(value_of(client().run_now(kTenant, id)), JobState::queued);
  run_due();
  EXPECT_EQ(state(id), JobState::done);
  advance(21h);
  EXPECT_EQ(calls("work"), 1);
}

TEST_P(EngineActions, AJobMovesToAnEarlierAndToALaterTime) {
  handle_counted("work");
  const JobId sooner = enqueue({.type = "work", .run_at = in(5h)});
  const JobId later = enqueue({.type = "work", .run_at = in(5min)});
  run_due();
  EXPECT_TRUE(client().change(kTenant, sooner, {.run_at = clock.now() + 1min}).has_value());
  EXPECT_TRUE(client().change(kTenant, later, {.run_at = clock.now() + 10h}).has_value());
  advance(1h);
  EXPECT_EQ(state(sooner), JobState::done);
  EXPECT_EQ(state(later), JobState::queued);
  advance(9h - 1s);
  EXPECT_EQ(state(later), JobState::queued);
  advance(1s);
  EXPECT_EQ(state(later), JobState::done);
  EXPECT_EQ(calls("work"), 2);
}

TEST_P(EngineActions, AnotherPriorityChangesTheOrder) {
  max_concurrency = 1;
  std::string order;
  handle("work", [&](JobContext& context) {
    order += context.payload().as_string();
    return done();
  });
  enqueue({.type = "work", .payload = R"("a")", .run_at = in(1min)});
  const JobId b = enqueue({.type = "work", .payload = R"("b")", .run_at = in(1min)});
  EXPECT_TRUE(client().change(kTenant, b, {.priority = 1}).has_value());
  EXPECT_EQ(job(b).priority, 1);
  advance(1min);
  EXPECT_EQ(order, "ba");
  EXPECT_EQ(error_of(client().change(kTenant, b, {.priority = 1})).code, ErrorCode::conflict);
}

TEST_P(EngineActions, ALowerPriorityHoldsForAJobThatIsDueAlready) {
  max_concurrency = 1;
  std::string order;
  handle("work", [&](JobContext& context) {
    order += context.payload().as_string();
    return done();
  });
  ASSERT_TRUE(client().put_queue(kTenant, "default", R"({"paused":true})").has_value());
  const JobId a = enqueue({.type = "work", .payload = R"("a")"});
  const JobId b = enqueue({.type = "work", .payload = R"("b")"});
  enqueue({.type = "work", .payload = R"("c")"});
  run_due();
  EXPECT_TRUE(client().change(kTenant, a, {.priority = 5}).has_value());
  EXPECT_TRUE(client().change(kTenant, b, {.priority = 4}).has_value());
  EXPECT_TRUE(client().change(kTenant, b, {.priority = 3}).has_value());
  ASSERT_TRUE(client().put_queue(kTenant, "default", R"({"paused":false})").has_value());
  advance(5s);
  EXPECT_EQ(order, "bca");
}

TEST_P(EngineActions, RerunMakesANewJobLikeTheOldOne) {
  handle_counted("work");
  const JobId id = enqueue({.type = "work",
                            .queue = "slow",
                            .payload = "7",
                            .idempotency_key = "k",
                            .retry = RetryFixed{.delay = 1min},
                            .max_attempts = 2,
                            .timeout = 1min,
                            .lease = 20s,
                            .tags = {"t"}});
  run_due();
  const EnqueuedJob again = value_of(client().rerun(kTenant, id));
  EXPECT_NE(again.id, id);
  run_due();
  const JobInfo info = job(again.id);
  EXPECT_EQ(info.state, JobState::done);
  EXPECT_EQ(info.origin, Origin::manual);
  EXPECT_EQ(info.parent, id);
  EXPECT_EQ(info.payload, "7");
  EXPECT_EQ(info.queue, "slow");
  EXPECT_EQ(info.timeout, Duration(1min));
  EXPECT_EQ(info.max_attempts, 2U);
  EXPECT_EQ(info.tags, std::vector<std::string>{"t"});
  EXPECT_EQ(info.idempotency_key, "");
  EXPECT_EQ(calls("work"), 2);
}

TEST_P(EngineActions, RerunKeepsThatOnlyADeadlineEndedItAndHowItIsRetried) {
  handle("work", [](JobContext& context) { return context.attempt() < 7 ? retry_after(1s) : done(); });
  const JobId id = enqueue({.type = "work", .retry = RetryFixed{.delay = 1min}, .max_attempts = std::nullopt});
  advance(10min);
  ASSERT_EQ(state(id), JobState::done);
  const EnqueuedJob again = value_of(client().rerun(kTenant, id));
  EXPECT_EQ(job(again.id).max_attempts, std::nullopt);
  advance(10min);
  EXPECT_EQ(state(again.id), JobState::done);
}

TEST_P(EngineActions, BulkRetryTakesAllOfTheDlqThatMatch) {
  for (int i = 0; i < 25; ++i) parked();
  handle("other", [](JobContext&) { return permanent("no"); });
  const JobId other = enqueue({.type = "other"});
  run_due();
  handle_counted("broken");
  const BulkInfo bulk = value_of(client().bulk({.action = BulkAction::retry, .query = {.type = "broken"}}));
  EXPECT_EQ(bulk.state, "running");
  EXPECT_EQ(bulk.total, 25U);
  advance(1s);
  EXPECT_EQ(calls("broken"), 25);
  const BulkInfo end = value_of(client().bulk_status(kTenant, bulk.id));
  EXPECT_EQ(end.state, "done");
  EXPECT_EQ(end.total, 25U);
  EXPECT_EQ(end.done, 25U);
  EXPECT_EQ(end.failed, 0U);
  EXPECT_EQ(state(other), JobState::dlq);
}

TEST_P(EngineActions, BulkWorkKnowsHowManyItWillLookAt) {
  leave_unhandled = true;
  for (int i = 0; i < 7; ++i) enqueue({.type = "a", .queue = i < 3 ? "x" : "y"});
  enqueue({.type = "b", .queue = "x"});
  value_of(client().cancel(kTenant, enqueue({.type = "a", .queue = "x"})));
  const auto total = [&](const JobQuery& query) {
    return value_of(client().bulk({.action = BulkAction::cancel, .query = query, .rate = 0.001})).total;
  };
  EXPECT_EQ(value_of(client().bulk({.action = BulkAction::cancel, .query = {}, .rate = 0.001, .all = true})).total, 8U);
  EXPECT_EQ(total({.queue = "x"}), 4U);
  EXPECT_EQ(total({.states = {JobState::queued}, .type = "a", .queue = "x"}), 3U);
  EXPECT_EQ(total({.type = "none"}), 0U);
  EXPECT_EQ(total({.states = {JobState::done}}), 0U);
  EXPECT_EQ(value_of(client().bulk({.action = BulkAction::retry, .query = {}, .all = true})).total, 0U);
}

TEST_P(EngineActions, BulkRetryKeepsItsRate) {
  for (int i = 0; i < 30; ++i) parked();
  std::vector<Instant> starts;
  handle("broken", [&](JobContext&) {
    starts.push_back(clock.now());
    return done();
  });
  const BulkInfo bulk = value_of(client().bulk({.action = BulkAction::retry, .query = {}, .rate = 2.0, .all = true}));
  advance(5s);
  EXPECT_LE(starts.size(), 11U);
  EXPECT_GE(starts.size(), 9U);
  EXPECT_EQ(bulk_state(bulk), "running");
  advance(11s);
  EXPECT_EQ(starts.size(), 30U);
  EXPECT_EQ(bulk_state(bulk), "done");
}

TEST_P(EngineActions, BulkWorkGoesOnAfterARestart) {  // invariant 5
  if (!survives_restart()) GTEST_SKIP() << "memory is gone with the process";
  for (int i = 0; i < 20; ++i) parked();
  handle_counted("broken");
  const BulkInfo bulk = value_of(client().bulk({.action = BulkAction::retry, .query = {}, .rate = 1.0, .all = true}));
  advance(5s);
  const int before = calls("broken");
  EXPECT_LT(before, 20);
  restart();
  advance(30s);
  EXPECT_EQ(calls("broken"), 20);
  EXPECT_EQ(value_of(client().bulk_status(kTenant, bulk.id)).done, 20U);
  EXPECT_EQ(bulk_state(bulk), "done");
}

TEST_P(EngineActions, BulkWorkIsStopped) {
  for (int i = 0; i < 20; ++i) parked();
  handle_counted("broken");
  const BulkInfo bulk = value_of(client().bulk({.action = BulkAction::retry, .query = {}, .rate = 1.0, .all = true}));
  advance(3s);
  EXPECT_EQ(value_of(client().stop_bulk(kTenant, bulk.id)).state, "stopped");
  const int then = calls("broken");
  advance(1min);
  EXPECT_EQ(calls("broken"), then);
  EXPECT_EQ(bulk_state(bulk), "stopped");
  EXPECT_EQ(value_of(client().stop_bulk(kTenant, bulk.id)).state, "stopped");
  EXPECT_EQ(error_of(client().stop_bulk(kTenant, "none")).code, ErrorCode::not_found);
  EXPECT_EQ(error_of(client().stop_bulk("other", bulk.id)).code, ErrorCode::not_found);  // invariant 28
}

TEST_P(EngineActions, ATenantHasSoManyBulkWorksAtOnceAndOthersHaveTheirOwn) {
  for (int i = 0; i < 60; ++i) parked();
  const auto begin = [&](std::string_view tenant) {
    return client().bulk(
        {.action = BulkAction::retry, .query = {.tenant = std::string(tenant)}, .rate = 0.001, .all = true});
  };
  BulkInfo last;
  for (int i = 0; i < 20; ++i) last = value_of(begin(kTenant));
  EXPECT_EQ(bulk_state(last), "running");
  EXPECT_EQ(error_of(begin(kTenant)).code, ErrorCode::conflict);
  value_of(begin("other"));

  value_of(client().stop_bulk(kTenant, last.id));
  value_of(begin(kTenant));
}

TEST_P(EngineActions, HowBulkWorkEndedIsKeptForAWeek) {
  const BulkInfo old = value_of(client().bulk({.action = BulkAction::retry, .query = {}, .all = true}));
  run_due();
  EXPECT_EQ(bulk_state(old), "done");
  advance(6 * 24h);
  value_of(client().bulk({.action = BulkAction::retry, .query = {}, .all = true}));
  EXPECT_EQ(bulk_state(old), "done");
  advance(2 * 24h);
  value_of(client().bulk({.action = BulkAction::retry, .query = {}, .all = true}));
  EXPECT_EQ(error_of(client().bulk_status(kTenant, old.id)).code, ErrorCode::not_found);
}

TEST_P(EngineActions, BulkCancelTakesWhatIsQueuedAndLeavesTheRest) {
  handle_counted("work");
  const JobId finished = enqueue({.type = "work"});
  run_due();
  std::vector<JobId> queued;
  for (int i = 0; i < 10; ++i) queued.push_back(enqueue({.type = "work", .run_at = in(1h)}));
  const BulkInfo bulk =
      value_of(client().bulk({.action = BulkAction::cancel, .query = {.states = {JobState::queued}, .type = "work"}}));
  advance(1s);
  EXPECT_EQ(value_of(client().bulk_status(kTenant, bulk.id)).done, 10U);
  for (const JobId id : queued) EXPECT_EQ(state(id), JobState::cancelled);
  EXPECT_EQ(state(finished), JobState::done);
  advance(2h);
  EXPECT_EQ(calls("work"), 1);
}

TEST_P(EngineActions, BulkWorkNeedsAFilterOrTheWordAll) {
  const JobId id = parked();
  const JobId later = enqueue({.type = "work", .run_at = in(1h)});
  for (const BulkAction action : {BulkAction::retry, BulkAction::cancel, BulkAction::discard}) {
    const Error error = error_of(client().bulk({.action = action, .query = {}}));
    EXPECT_EQ(error.code, ErrorCode::invalid_request);
    EXPECT_EQ(error.field, "filter");
    const Error both = error_of(client().bulk({.action = action, .query = {.type = "work"}, .all = true}));
    EXPECT_EQ(both.code, ErrorCode::invalid_request);
    EXPECT_EQ(both.field, "all");
  }
  // Those would be found nowhere: nobody means parked jobs by another state.
  for (const BulkAction action : {BulkAction::retry, BulkAction::discard}) {
    for (const auto& states : {std::vector{JobState::queued}, std::vector{JobState::dlq, JobState::queued}}) {
      EXPECT_EQ(error_of(client().bulk({.action = action, .query = {.states = states}})).field, "filter.state");
    }
  }
  advance(1s);
  EXPECT_EQ(state(id), JobState::dlq);
  EXPECT_EQ(state(later), JobState::queued);
}

TEST_P(EngineActions, BulkCancelLeavesParkedJobsAloneUnlessTheyAreMeant) {
  const JobId first = parked();
  const JobId second = parked();
  const auto cancel = [&](const JobQuery& query, bool all = false) {
    const BulkInfo bulk = value_of(client().bulk({.action = BulkAction::cancel, .query = query, .all = all}));
    advance(1s);
    const BulkInfo end = value_of(client().bulk_status(kTenant, bulk.id));
    EXPECT_EQ(end.state, "done");
    EXPECT_EQ(end.failed, 0U);
    return end.done;
  };
  const JobId queued = enqueue({.type = "broken", .run_at = in(1h)});
  const JobId waiting = enqueue({.type = "broken", .depends_on = {queued}});
  EXPECT_EQ(cancel({.type = "broken"}), 1U);  // and the other ends with it
  EXPECT_EQ(state(queued), JobState::cancelled);
  EXPECT_EQ(state(waiting), JobState::cancelled);
  enqueue({.type = "broken", .run_at = in(1h)});
  EXPECT_EQ(cancel({}, true), 1U);
  EXPECT_EQ(cancel({.states = {JobState::queued, JobState::waiting, JobState::processing}}), 0U);
  EXPECT_EQ(state(first), JobState::dlq);
  EXPECT_EQ(state(second), JobState::dlq);

  enqueue({.type = "broken", .run_at = in(1h)});
  EXPECT_EQ(cancel({.states = {JobState::dlq, JobState::queued}, .type = "broken"}), 3U);
  EXPECT_EQ(state(first), JobState::cancelled);
}

TEST_P(EngineActions, BulkCancelAsksARunningJobToStop) {
  bool seen = false;
  handle("work", [&](JobContext& context) {
    const auto bulk = client().bulk({.action = BulkAction::cancel, .query = {.type = "work"}});
    EXPECT_TRUE(bulk.has_value());
    advance(1s);  // before the next heartbeat
    seen = context.cancelled();
    return fail("stopped");
  });
  const JobId id = enqueue({.type = "work"});
  run_due();
  EXPECT_TRUE(seen);
  EXPECT_EQ(state(id), JobState::cancelled);
}

TEST_P(EngineActions, BulkDiscardEmptiesTheDlq) {
  const JobId id = parked();
  const BulkInfo bulk = value_of(client().bulk({.action = BulkAction::discard, .query = {}, .all = true}));
  advance(1s);
  EXPECT_EQ(bulk_state(bulk), "done");
  EXPECT_EQ(job(id).reason, "discarded");
}

TEST_P(EngineActions, BulkWorkTellsEachChange) {
  const JobId in_dlq = parked();
  const JobId queued = enqueue({.type = "work", .run_at = in(1h)});
  const auto before = told_of(in_dlq);
  value_of(client().bulk({.action = BulkAction::cancel, .query = {.states = {JobState::queued}}}));
  advance(1s);
  EXPECT_EQ(told_of(queued), (std::vector{JobState::queued, JobState::cancelled}));
  EXPECT_EQ(told_of(in_dlq), before);
  value_of(client().bulk({.action = BulkAction::discard, .query = {}, .all = true}));
  advance(1s);
  ASSERT_EQ(told_of(in_dlq).size(), before.size() + 1);
  EXPECT_EQ(told_of(in_dlq).back(), JobState::cancelled);
}

TEST_P(EngineActions, WhatEndsWithAnotherIsTold) {
  const std::vector ended{JobState::waiting, JobState::cancelled};
  for (const bool in_bulk : {false, true}) {
    const JobId parent = enqueue({.type = "work", .run_at = in(1h)});
    const JobId child = enqueue({.type = "work", .depends_on = {parent}});
    const JobId grandchild = enqueue({.type = "work", .depends_on = {child}});
    if (in_bulk) {
      value_of(client().bulk({.action = BulkAction::cancel, .query = {}, .all = true}));
    } else {
      value_of(client().cancel(kTenant, parent));
    }
    advance(1s);
    EXPECT_EQ(told_of(parent), (std::vector{JobState::queued, JobState::cancelled}));
    EXPECT_EQ(told_of(child), ended);
    EXPECT_EQ(told_of(grandchild), ended);
  }
}

TEST_P(EngineActions, ARateThatCannotBeIsRefused) {
  EXPECT_EQ(error_of(client().bulk({.query = {}, .rate = 0.0, .all = true})).code, ErrorCode::invalid_request);
  EXPECT_EQ(error_of(client().bulk({.query = {}, .rate = -1.0, .all = true})).code, ErrorCode::invalid_request);
  EXPECT_EQ(error_of(client().bulk_status(kTenant, "nope")).code, ErrorCode::not_found);
}

OVER_EVERY_STORE(EngineActions);

}  // namespace
}  // namespace carillon::test
