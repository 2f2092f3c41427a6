// What people ask of jobs: cancel, retry, discard, run now, change; one by one and by the thousand.
#include <algorithm>
#include <array>

#include "contract/store_contract.h"
#include "store/job_text.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

TEST_P(StoreContract, AJobThatIsNotRunningIsCancelledAtOnce) {  // invariant 14
  const JobId queued = enqueue(job());
  NewJob child = job();
  child.depends_on = {enqueue(job())};
  const JobId waiting = enqueue(child);
  const JobId parked = parked_job(job());
  clock().advance(1s);

  for (const JobId id : {queued, waiting, parked}) {
    const Changed changed = act(JobAction::cancel, id);
    EXPECT_EQ(changed.id, id);
    EXPECT_EQ(changed.state, JobState::cancelled);
    EXPECT_EQ(state(id), JobState::cancelled);
    EXPECT_EQ(view(id).finished_at, now());
    EXPECT_FALSE(try_claim(id));
  }
  EXPECT_EQ(detail(queued).reason, "cancelled");
  expect_counts_agree();
}

TEST_P(StoreContract, AFinishedJobSaysWhenItsLastAttemptBegan) {
  const Instant began = now();
  const JobId tried = parked_job(job());
  clock().advance(1h);
  act(JobAction::discard, tried);
  EXPECT_EQ(view(tried).started_at, began);
  const JobId never = enqueue(job());
  act(JobAction::cancel, never);
  EXPECT_EQ(view(never).started_at, std::nullopt);
}

TEST_P(StoreContract, ARunningJobIsAskedToStopAndItsHolderDecides) {
  const std::vector<std::pair<std::function<Settlement(const LeasedJob&)>, JobState>> words{
      {[](const LeasedJob& leased) { return completed(leased); }, JobState::done},
      {[](const LeasedJob& leased) { return skipped(leased); }, JobState::skipped},
      {[](const LeasedJob& leased) { return failed(leased); }, JobState::cancelled},
      {[](const LeasedJob& leased) { return failed_for_good(leased); }, JobState::cancelled},
      {[](const LeasedJob& leased) { return released(leased); }, JobState::cancelled},
      {[](const LeasedJob& leased) { return rate_limited(leased); }, JobState::cancelled},
      {[](const LeasedJob& leased) { return cancelled(leased); }, JobState::cancelled},
      {[&](const LeasedJob& leased) { return deferred(leased, now() + 1h); }, JobState::cancelled},
  };
  for (const auto& [word, expected] : words) {
    const LeasedJob leased = claim_one(enqueue(doubling_job()));
    const Changed changed = act(JobAction::cancel, leased.id);
    EXPECT_EQ(changed.state, JobState::processing);
    EXPECT_TRUE(changed.cancel_requested);
    EXPECT_EQ(state(leased.id), JobState::processing);
    EXPECT_TRUE(detail(leased.id).cancel_requested);
    EXPECT_EQ(settle(word(leased)).state, expected);
    EXPECT_EQ(state(leased.id), expected);
  }
  expect_counts_agree();
}

TEST_P(StoreContract, CancellingTwiceIsCancellingOnce) {
  const JobId id = enqueue(job());
  act(JobAction::cancel, id);
  const JobView before = view(id);
  clock().advance(1s);

  EXPECT_EQ(act(JobAction::cancel, id).state, JobState::cancelled);
  EXPECT_EQ(view(id).finished_at, before.finished_at);
  EXPECT_EQ(count_of(JobState::cancelled), 1);
}

TEST_P(StoreContract, AFinalStateIsNeverLeft) {  // invariant 14
  const JobId done = done_job(job());
  const JobId skipped_one = enqueue(job());
  settle(skipped(claim_one(skipped_one)));
  NewJob limited = job();
  limited.deadline = now();
  const JobId cut_off = enqueue(limited);
  const JobId gone = enqueue(job());
  act(JobAction::cancel, gone);

  for (const JobId id : {done, skipped_one, cut_off, gone}) {
    const JobState before = state(id);
    for (const JobAction action : {JobAction::cancel, JobAction::retry, JobAction::discard, JobAction::run_now}) {
      if (id == gone && action == JobAction::cancel) continue;
      EXPECT_EQ(error_of(try_act(action, id)).code, ErrorCode::conflict);
    }
    EXPECT_EQ(error_of(jobs().patch(kTenant, id, {.priority = 1})).code, ErrorCode::conflict);
    EXPECT_EQ(state(id), before);
  }
  expect_counts_agree();
}

TEST_P(StoreContract, ARetryGivesTheSameJobFreshAttempts) {
  const JobId id = enqueue(doubling_job(2));
  settle(failed(claim_one(id)));
  clock().advance(1h);
  settle(failed(claim_one(id)));
  ASSERT_EQ(state(id), JobState::dlq);
  clock().advance(1h);
  const Changed changed = act(JobAction::retry, id);

  EXPECT_EQ(changed.state, JobState::queued);
  EXPECT_THAT(ids_of(changed.ready), ElementsAre(id));
  EXPECT_EQ(changed.ready[0].run_at, now());
  EXPECT_EQ(detail(id).reason, "");
  EXPECT_THAT(view(id).attempts, SizeIs(2));
  EXPECT_EQ(settle(failed(claim_one(id))).state, JobState::queued);
  clock().advance(1h);
  EXPECT_EQ(settle(failed(claim_one(id))).state, JobState::dlq);
  EXPECT_THAT(view(id).attempts, SizeIs(4));
  expect_counts_agree();
}

TEST_P(StoreContract, ARetriedJobHasNoBadLuckBehindIt) {  // invariant 12
  const JobId id = enqueue(doubling_job(2));
  for (int i = 0; i < 2; ++i) {
    claim_one(id, {.lease = 10s});
    clock().advance(1h);
    reap();
    clock().advance(1h);
  }
  ASSERT_EQ(state(id), JobState::dlq);
  act(JobAction::retry, id);
  claim_one(id, {.lease = 10s});
  clock().advance(10s);

  EXPECT_EQ(reap().at(0).ready.at(0).run_at, now());
}

TEST_P(StoreContract, ADiscardedJobIsCancelledWithItsReason) {
  const JobId id = parked_job(job());

  EXPECT_EQ(act(JobAction::discard, id).state, JobState::cancelled);
  EXPECT_EQ(detail(id).reason, "discarded");
}

TEST_P(StoreContract, RetryAndDiscardAreForTheDlqOnly) {  // invariant 14
  const JobId queued = enqueue(job());
  const JobId running = enqueue(job());
  claim_one(running);

  EXPECT_EQ(error_of(try_act(JobAction::retry, queued)).code, ErrorCode::conflict);
  EXPECT_EQ(error_of(try_act(JobAction::discard, queued)).code, ErrorCode::conflict);
  EXPECT_EQ(error_of(try_act(JobAction::retry, running)).code, ErrorCode::job_already_running);
  EXPECT_EQ(state(queued), JobState::queued);
  EXPECT_EQ(state(running), JobState::processing);
}

TEST_P(StoreContract, RunNowBringsAQueuedJobForward) {
  NewJob later = job();
  later.run_at = now() + 24h;
  const JobId id = enqueue(later);
  const Changed changed = act(JobAction::run_now, id);

  EXPECT_EQ(changed.state, JobState::queued);
  EXPECT_THAT(ids_of(changed.ready), ElementsAre(id));
  EXPECT_LE(changed.ready[0].run_at, now());
  EXPECT_TRUE(try_claim(id));
}

TEST_P(StoreContract, RunNowIsForQueuedJobsOnly) {  // invariant 14
  const JobId running = enqueue(job());
  claim_one(running);
  NewJob child = job();
  child.depends_on = {running};
  const JobId waiting = enqueue(child);
  const JobId parked = parked_job(job());

  EXPECT_EQ(error_of(try_act(JobAction::run_now, running)).code, ErrorCode::job_already_running);
  EXPECT_EQ(error_of(try_act(JobAction::run_now, waiting)).code, ErrorCode::conflict);
  EXPECT_EQ(error_of(try_act(JobAction::run_now, parked)).code, ErrorCode::conflict);
}

TEST_P(StoreContract, AQueuedJobCanBeChanged) {
  const JobId id = enqueue(job());
  const Changed changed = value_of(jobs().patch(kTenant, id, {.priority = 1, .run_at = now() + 1h}));

  EXPECT_EQ(changed.state, JobState::queued);
  ASSERT_THAT(changed.ready, SizeIs(1));
  EXPECT_EQ(changed.ready[0].priority, 1);
  EXPECT_EQ(changed.ready[0].run_at, now() + 1h);
  EXPECT_EQ(view(id).row.priority, 1);
  EXPECT_EQ(view(id).row.run_at, now() + 1h);
  EXPECT_THAT(ids_of(value_of(jobs().load_later(now(), now() + 1h, 10))), ElementsAre(id));
  EXPECT_FALSE(try_claim(id));
  value_of(jobs().patch(kTenant, id, {.run_at = now()}));
  EXPECT_TRUE(try_claim(id));
}

TEST_P(StoreContract, AChangeLeavesAloneWhatItDoesNotName) {
  const JobId id = enqueue(job());
  value_of(jobs().patch(kTenant, id, {.priority = 5}));

  EXPECT_EQ(view(id).row.run_at, now());
}

TEST_P(StoreContract, PayloadAndMetaCanBeLaidOver) {
  NewJob one = job();
  one.payload = R"({"a":1,"b":2})";
  one.options.meta = R"({"team":"x"})";
  const JobId id = enqueue(one);
  const std::string push(100'000, 'p');  // longer than what stands in a row
  for (const std::string& text : {std::string("short"), push, std::string("short again")}) {
    const std::string word = text.substr(0, 20);
    const Changed changed = value_of(jobs().patch(
        kTenant, id, {.payload_over = R"({"b":")" + text + R"("})", .meta_over = R"({"hook":")" + word + R"("})"}));
    EXPECT_EQ(changed.state, JobState::queued);
    EXPECT_EQ(view(id).payload, R"({"a":1,"b":")" + text + R"("})");
    EXPECT_EQ(value_of(view(id).row.options.read()).meta, R"({"team":"x","hook":")" + word + R"("})");
  }
  const LeasedJob leased = claim_one(id);
  EXPECT_EQ(leased.payload, R"({"a":1,"b":"short again"})");
  EXPECT_EQ(error_of(jobs().patch(kTenant, id, {.payload_over = "{}"})).code, ErrorCode::job_already_running);
}

TEST_P(StoreContract, APayloadThatWouldBecomeTooLongIsLeftAlone) {
  NewJob one = job();
  one.payload = R"({"a":1})";
  const JobId id = enqueue(one);
  const std::string big = R"({"b":")" + std::string(kPayloadBytesMax - 10, 'x') + R"("})";
  EXPECT_EQ(error_of(jobs().patch(kTenant, id, {.payload_over = big})).code, ErrorCode::invalid_request);
  EXPECT_EQ(view(id).payload, R"({"a":1})");
}

TEST_P(StoreContract, AWaitingJobCanBeChangedAndWaitsOn) {
  const JobId parent = enqueue(job());
  NewJob child = job();
  child.depends_on = {parent};
  const JobId id = enqueue(child);
  const Changed changed = value_of(jobs().patch(kTenant, id, {.priority = 1, .run_at = now() + 1h}));
  EXPECT_EQ(changed.state, JobState::waiting);
  EXPECT_THAT(changed.ready, IsEmpty());

  const Settled answer = settle(completed(claim_one(parent)));
  EXPECT_EQ(answer.ready.at(0).run_at, now() + 1h);
  EXPECT_EQ(answer.ready.at(0).priority, 1);
}

TEST_P(StoreContract, TheWorkOfAJobCanBeChanged) {
  NewJob asked = doubling_job();
  asked.options.tags = {"kept"};
  const JobId id = enqueue(asked);
  const std::string large = "\"" + std::string(100'000, 'x') + "\"";
  value_of(jobs().patch(kTenant, id, {.payload = large}));
  EXPECT_EQ(view(id).payload, large);
  value_of(jobs().patch(kTenant, id, {.payload = R"({"a": 1, "b": {"c": 2}})"}));
  EXPECT_EQ(view(id).payload, R"({"a": 1, "b": {"c": 2}})");
  value_of(jobs().patch(kTenant, id, {.payload_over = R"({"b": {"d": 3}})"}));
  EXPECT_EQ(view(id).payload, R"({"a":1,"b":{"d": 3}})");
  const Changed changed = value_of(
      jobs().patch(kTenant, id, {.retry = RetryPolicy(RetryNone{}), .limits = std::vector<std::string>{"smtp"}}));
  ASSERT_THAT(changed.ready, SizeIs(1)) << "its place is judged anew";
  EXPECT_TRUE(changed.ready[0].has_options);
  EXPECT_EQ(changed.before.limits, std::vector<std::string>());
  EXPECT_EQ(changed.after.limits, std::vector<std::string>{"smtp"});
  const JobOptions options = value_of(view(id).row.options.read());
  EXPECT_EQ(options.retry, RetryPolicy(RetryNone{}));
  EXPECT_THAT(options.tags, ElementsAre("kept"));
  EXPECT_EQ(claim_one(id).payload, R"({"a":1,"b":{"d": 3}})");
}

TEST_P(StoreContract, HowOftenAJobIsTriedCanBeChanged) {  // invariant 16
  const auto allowed = [&](JobId id) { return value_of(view(id).row.options.read()).max_attempts; };
  const JobId id = enqueue(doubling_job());
  const Changed changed = value_of(jobs().patch(kTenant, id, {.max_attempts = 7}));
  EXPECT_EQ(changed.after.max_attempts, 7U);
  EXPECT_EQ(allowed(id), 7U);
  settle(failed(claim_one(id)));
  clock().advance(1h);
  value_of(jobs().patch(kTenant, id, {.max_attempts = 1}));
  EXPECT_EQ(allowed(id), 2U) << "it waits for its second attempt, which it has";
  settle(failed(claim_one(id)));
  EXPECT_EQ(view(id).state, JobState::dlq);
}

TEST_P(StoreContract, AnIdempotencyKeyStaysWithWhatWasSaidThough) {  // invariant 17
  NewJob asked = job();
  asked.payload = "1";
  asked.options.idempotency_key = "k";
  const JobId id = enqueue(asked);
  value_of(jobs().patch(kTenant, id, {.payload = "2"}));

  EXPECT_EQ(enqueue(asked), id);
  asked.payload = "2";
  EXPECT_EQ(error_of(try_enqueue(asked)).code, ErrorCode::idempotency_conflict);
}

TEST_P(StoreContract, ADeliveryIsTriedAgainAsItsScheduleSays) {
  const ScheduleId id = schedule();
  put_subject(id, {.subject = ""});
  NewJob day = occurrence_job(now());
  day.deadline = now() + 1h;
  Advance step;
  step.schedule = id;
  step.version = subject_of(id).version;
  step.jobs = {day};
  const JobId open = advance(step).jobs.at(0).id;

  EXPECT_EQ(error_of(jobs().patch(kTenant, open, {.retry = RetryPolicy(RetryNone{})})).code,
            ErrorCode::invalid_configuration);
  EXPECT_EQ(error_of(jobs().patch(kTenant, open, {.max_attempts = 3})).field, "max_attempts");
  EXPECT_TRUE(jobs().patch(kTenant, open, {.payload = "1"}));
}

TEST_P(StoreContract, AChangeThatCannotBeIsRefused) {
  const JobId running = enqueue(job());
  claim_one(running);
  const JobId parked = parked_job(job());
  const JobId queued = enqueue(job());

  EXPECT_EQ(error_of(jobs().patch(kTenant, running, {.priority = 1})).code, ErrorCode::job_already_running);
  EXPECT_EQ(error_of(jobs().patch(kTenant, parked, {.priority = 1})).code, ErrorCode::conflict);
  EXPECT_EQ(error_of(jobs().patch(kTenant, queued, {.priority = 6})).code, ErrorCode::invalid_request);
  EXPECT_EQ(error_of(jobs().patch(kTenant, queued, {.payload = "{"})).code, ErrorCode::invalid_request);
  EXPECT_EQ(error_of(jobs().patch(kTenant, running, {.payload = "1"})).code, ErrorCode::job_already_running);
  EXPECT_EQ(error_of(jobs().patch(kTenant, jobs().new_job_id(), {})).code, ErrorCode::not_found);
  EXPECT_EQ(view(queued).row.priority, 3);
}

TEST_P(StoreContract, EachActionOfABatchIsJudgedAlone) {
  const std::array ids{enqueue(job()), jobs().new_job_id(), done_job(job()), enqueue(job())};
  const auto answers = jobs().act(kTenant, JobAction::cancel, ids);

  EXPECT_EQ(value_of(answers[0]).state, JobState::cancelled);
  EXPECT_EQ(error_of(answers[1]).code, ErrorCode::not_found);
  EXPECT_EQ(error_of(answers[2]).code, ErrorCode::conflict);
  EXPECT_EQ(value_of(answers[3]).state, JobState::cancelled);
}

TEST_P(StoreContract, BulkWorkGoesInBoundedStepsOverAllThatMatch) {
  std::vector<JobId> parked;
  for (int i = 0; i < 20; ++i) {
    parked.push_back(parked_job(job(i % 2 == 0 ? "even" : "odd")));
    enqueue(job("even"));
  }
  NewJob foreign = job("even");
  foreign.tenant = "acme";
  const JobId foreign_id = parked_job(foreign);
  JobQuery filter;
  filter.states = {JobState::dlq};
  filter.type = "even";
  BulkStep total;
  JobId after;
  int steps = 0;
  for (bool end = false; !end && steps < 100; ++steps) {
    const BulkStep step = value_of(jobs().act_on(filter, JobAction::retry, after, 7));
    EXPECT_LE(step.changed + step.refused, 7U);
    EXPECT_GE(step.next_after, after);
    total.changed += step.changed;
    total.refused += step.refused;
    std::ranges::copy(step.ready, std::back_inserter(total.ready));
    after = step.next_after;
    end = step.end;
  }

  EXPECT_GT(steps, 1);
  EXPECT_EQ(total.changed, 10U);
  EXPECT_EQ(total.refused, 0U);
  EXPECT_THAT(total.ready, SizeIs(10));
  for (std::size_t i = 0; i < parked.size(); ++i) {
    EXPECT_EQ(state(parked[i]), i % 2 == 0 ? JobState::queued : JobState::dlq);
  }
  EXPECT_EQ(state(foreign_id, "acme"), JobState::dlq);
  expect_counts_agree();
}

TEST_P(StoreContract, BulkWorkStopsAtTheNumberOfChangesAndGoesOnFromThere) {
  for (int i = 0; i < 5; ++i) enqueue(job());
  const BulkStep first = value_of(jobs().act_on({}, JobAction::cancel, {}, {100, 2}));
  EXPECT_EQ(first.changed, 2U);
  EXPECT_FALSE(first.end);
  ASSERT_THAT(first.jobs, SizeIs(2));
  EXPECT_EQ(first.jobs[1].id, first.next_after);
  EXPECT_EQ(first.jobs[1].tenant, kTenant);
  EXPECT_EQ(first.jobs[1].state, JobState::cancelled);
  const BulkStep second = value_of(jobs().act_on({}, JobAction::cancel, first.next_after, {100, 100}));
  EXPECT_EQ(second.changed, 3U);
  EXPECT_TRUE(second.end);
}

TEST_P(StoreContract, BulkWorkCountsWhatItCouldNotDo) {
  enqueue(job());
  parked_job(job());
  const BulkStep step = value_of(jobs().act_on({}, JobAction::discard, {}, 100));

  EXPECT_TRUE(step.end);
  EXPECT_EQ(step.changed, 1U);
  EXPECT_EQ(step.refused, 1U);
  EXPECT_THAT(step.jobs, SizeIs(1));
}

TEST_P(StoreContract, BulkWorkFiltersByEveryField) {
  const ScheduleId id = schedule();
  put_subject(id, {.subject = "user-17"});
  NewJob tagged = job();
  tagged.options.tags = {"red"};
  NewJob elsewhere = job();
  elsewhere.queue = "slow";
  NewJob speaking = job();
  speaking.payload = R"({"name":"Zoë"})";
  NewJob of_subject = job();
  of_subject.subject = "user-1";
  const JobId by_tag = enqueue(tagged);
  const JobId by_queue = enqueue(elsewhere);
  const JobId by_text = enqueue(speaking);
  const JobId by_subject = enqueue(of_subject);
  const JobId by_schedule = enqueue(occurrence_job(now(), "user-17"));
  clock().advance(1h);
  const Instant then = now();
  const JobId by_time = enqueue(job());
  const auto cancels = [&](auto change, JobId expected) {
    JobQuery filter;
    change(filter);
    const BulkStep step = value_of(jobs().act_on(filter, JobAction::cancel, {}, 100));
    EXPECT_EQ(step.changed, 1U);
    EXPECT_EQ(state(expected), JobState::cancelled);
  };
  cancels([](JobQuery& filter) { filter.tag = "red"; }, by_tag);
  cancels([](JobQuery& filter) { filter.queue = "slow"; }, by_queue);
  cancels([](JobQuery& filter) { filter.text = "Zoë"; }, by_text);
  cancels([](JobQuery& filter) { filter.subject = "user-1"; }, by_subject);
  cancels([](JobQuery& filter) { filter.schedule = "standup"; }, by_schedule);
  cancels([&](JobQuery& filter) { filter.since = then; }, by_time);
}

TEST_P(StoreContract, BulkWorkMeetsWhatItsOwnStepsHaveEnded) {
  const JobId parent = enqueue(job());
  NewJob child = job();
  child.depends_on = {parent};
  const JobId waits = enqueue(child);
  BulkStep step;
  std::vector<Changed> along;
  ASSERT_TRUE(store().atomically([&] {
    step = value_of(jobs().act_on({}, JobAction::cancel, {}, 100));
    along = jobs().ended_along();
  }));

  EXPECT_TRUE(step.end);
  EXPECT_EQ(step.refused, 0U);
  EXPECT_EQ(count_of(JobState::cancelled), 2);
  ASSERT_THAT(step.jobs, SizeIs(1));
  EXPECT_EQ(step.jobs[0].id, parent);
  ASSERT_THAT(along, SizeIs(1)) << "each is told once";
  EXPECT_EQ(along[0].id, waits);
  EXPECT_EQ(along[0].tenant, kTenant);
  EXPECT_EQ(along[0].state, JobState::cancelled);
  EXPECT_THAT(jobs().ended_along(), IsEmpty());
}

TEST_P(StoreContract, WhatLeavesTheQueueOtherwiseThanByAClaimIsTold) {
  const JobId cancelled = enqueue(job());
  const JobId moved = enqueue(job());
  const JobId stays = enqueue(job());
  const JobId claimed = enqueue(job());
  NewJob short_lived = job();
  short_lived.deadline = now() + 1h;
  const JobId overdue = enqueue(short_lived);
  const Instant run_at = now();
  const JobId parked = parked_job(job());
  clock().advance(2h);

  std::vector<LeftQueue> left;
  std::vector<ReadyJob> queued;
  ASSERT_TRUE(store().atomically([&] {
    act(JobAction::cancel, cancelled);
    EXPECT_TRUE(jobs().patch(kTenant, moved, {.priority = 1, .run_at = {}}));
    EXPECT_THAT(act(JobAction::run_now, stays).ready, IsEmpty());  // it is due already, where it stands
    claim_one(claimed);
    act(JobAction::retry, parked);
    EXPECT_TRUE(jobs().finish_overdue(10, {}));
    left = jobs().take_left_queue();
    EXPECT_THAT(jobs().take_left_queue(), IsEmpty());
    queued = value_of(jobs().queued(std::array{cancelled, moved, stays, claimed, parked, overdue}));
  }));
  std::vector<JobId> ids;
  for (const LeftQueue& one : left) {
    ids.push_back(one.job.id);
    EXPECT_EQ(one.job.run_at, run_at);
    EXPECT_EQ(one.job.priority, kPriorityDefault);
  }
  EXPECT_THAT(ids, UnorderedElementsAre(cancelled, moved, overdue));
  std::vector<JobId> there;
  for (const ReadyJob& one : queued) there.push_back(one.id);
  EXPECT_THAT(there, ElementsAre(moved, stays, parked));
  EXPECT_EQ(queued.front().priority, 1);
}

}  // namespace
}  // namespace carillon::test
