// Jobs come in, and are found again by those who start them.
#include <algorithm>
#include <array>
#include <set>

#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_P(StoreContract, ANewJobIsQueuedAndDueNow) {
  const Enqueued made = enqueued(job());

  EXPECT_TRUE(made.id);
  EXPECT_FALSE(made.deduplicated);
  EXPECT_EQ(made.state, JobState::queued);
  EXPECT_EQ(made.ready.id, made.id);
  EXPECT_EQ(made.ready.run_at, now());
  const JobView stored = view(made.id);
  EXPECT_EQ(stored.state, JobState::queued);
  EXPECT_EQ(stored.row.run_at, now());
  EXPECT_EQ(stored.row.attempts, 0U);
  EXPECT_EQ(stored.row.token, 0);
  EXPECT_EQ(stored.payload, "null");
  EXPECT_FALSE(stored.finished_at);
  EXPECT_FALSE(stored.lease);
  EXPECT_THAT(stored.attempts, IsEmpty());
}

TEST_P(StoreContract, AJobIsReadAsItWasAskedFor) {
  NewJob asked = job("report.build");
  asked.queue = "reports";
  asked.payload = R"({"top": 10})";
  asked.priority = 1;
  asked.run_at = now() + 5min;
  asked.deadline = now() + 1h;
  asked.subject = "user-17";
  asked.options.retry = RetryFixed{.delay = 7min};
  asked.options.max_attempts = std::nullopt;
  asked.options.timeout = 90s;
  asked.options.lease = 30s;
  asked.options.limits = {"smtp", "api"};
  asked.options.notifies = true;
  asked.options.run_anyway = true;
  asked.options.on_ambiguous = OnAmbiguous::hold;
  asked.options.tags = {"red", "blue"};
  asked.options.meta = R"({"x": 1.50})";
  asked.options.created_by = "key-1";
  asked.options.origin = Origin::manual;
  asked.options.parent = enqueue(job());
  asked.options.idempotency_key = "evt-1";
  asked.options.unique_until = {.until = KeyHold::Until::elapsed, .duration = 3h};
  asked.options.key = "run_window_x";
  const JobView stored = view(enqueue(asked));

  EXPECT_EQ(stored.lane, (Lane{.tenant = "default", .queue = "reports"}));
  EXPECT_EQ(stored.type, "report.build");
  EXPECT_EQ(stored.payload, asked.payload);
  EXPECT_EQ(stored.row.priority, 1);
  EXPECT_EQ(stored.row.run_at, now() + 5min);
  EXPECT_EQ(stored.row.deadline, now() + 1h);
  EXPECT_EQ(stored.row.subject, "user-17");
  const JobOptions options = value_of(stored.row.options.read());
  EXPECT_EQ(options.retry, asked.options.retry);
  EXPECT_EQ(options.max_attempts, std::nullopt);
  EXPECT_EQ(options.timeout, 90s);
  EXPECT_EQ(options.lease, 30s);
  EXPECT_EQ(options.limits, asked.options.limits);
  EXPECT_TRUE(options.notifies);
  EXPECT_TRUE(options.run_anyway);
  EXPECT_EQ(options.on_ambiguous, OnAmbiguous::hold);
  EXPECT_EQ(options.tags, asked.options.tags);
  EXPECT_EQ(options.meta, asked.options.meta);
  EXPECT_EQ(options.created_by, "key-1");
  EXPECT_EQ(options.origin, Origin::manual);
  EXPECT_EQ(options.parent, asked.options.parent);
  EXPECT_EQ(options.idempotency_key, "evt-1");
  EXPECT_EQ(options.unique_until, asked.options.unique_until);
  EXPECT_EQ(options.key, "run_window_x");
}

TEST_P(StoreContract, ARefusedJobFailsAloneAndLeavesNothing) {
  const std::array batch{job("a"), job(""), job("b")};
  const auto answers = jobs().enqueue(batch);

  ASSERT_EQ(answers.size(), 3U);
  EXPECT_TRUE(answers[0]);
  EXPECT_EQ(error_of(answers[1]).code, ErrorCode::invalid_request);
  EXPECT_TRUE(answers[2]);
  EXPECT_EQ(all_ids().size(), 2U);
  EXPECT_EQ(count_of(JobState::queued), 2);
}

TEST_P(StoreContract, WhatCannotWorkIsRefusedByName) {
  struct Wrong {
    std::string_view says;
    std::function<void(NewJob&)> change;
  };
  const std::vector<Wrong> wrongs{
      {"tenant", [](NewJob& job) { job.tenant = ""; }},
      {"queue", [](NewJob& job) { job.queue = "a/b"; }},
      {"type", [](NewJob& job) { job.type = std::string(201, 'x'); }},
      {"type", [](NewJob& job) { job.type = "mail send"; }},
      {"priority", [](NewJob& job) { job.priority = 0; }},
      {"priority", [](NewJob& job) { job.priority = 6; }},
      {"payload", [](NewJob& job) { job.payload = "{"; }},
      {"payload", [](NewJob& job) { job.payload = ""; }},
      {"lease", [](NewJob& job) { job.options.lease = 999ms; }},
      {"lease", [](NewJob& job) { job.options.lease = 25h; }},
      {"timeout", [](NewJob& job) { job.options.timeout = 0s; }},
      {"max_attempts", [](NewJob& job) { job.options.max_attempts = 0; }},
      {"max_attempts", [](NewJob& job) { job.options.max_attempts = 1001; }},
      {"limits", [](NewJob& job) { job.options.limits = {"a", "b", "c", "d", "e"}; }},
      {"tags", [](NewJob& job) { job.options.tags.assign(21, "t"); }},
      {"meta", [](NewJob& job) { job.options.meta = "[]"; }},
      {"idempotency_key", [](NewJob& job) { job.options.idempotency_key = std::string(513, 'k'); }},
      {"subject", [](NewJob& job) { job.subject = "a\nb"; }},
      {"depends_on", [](NewJob& job) { job.depends_on.assign(1001, JobId{1}); }},
  };
  for (const Wrong& wrong : wrongs) {
    NewJob asked = job();
    wrong.change(asked);
    const Error error = error_of(try_enqueue(asked));
    EXPECT_EQ(error.code, ErrorCode::invalid_request) << wrong.says;
    EXPECT_THAT(error.message, HasSubstr(std::string(wrong.says)));
    expect_one_line(error);
  }
  EXPECT_THAT(all_ids(), IsEmpty());
  EXPECT_THAT(kept_counts(), IsEmpty());
}

TEST_P(StoreContract, ABatchOfNothingIsAnsweredWithNothing) {
  EXPECT_THAT(jobs().enqueue({}), IsEmpty());
  EXPECT_THAT(value_of(jobs().enqueue_all({})), IsEmpty());
  EXPECT_THAT(value_of(jobs().claim({})).jobs, IsEmpty());
  EXPECT_THAT(jobs().settle({}), IsEmpty());
  EXPECT_THAT(jobs().extend({}), IsEmpty());
}

TEST_P(StoreContract, AnIdOfTheCallersChoiceIsKept) {
  NewJob asked = job();
  asked.id = jobs().new_job_id();

  EXPECT_EQ(enqueue(asked), asked.id);
  EXPECT_EQ(state(asked.id), JobState::queued);
}

TEST_P(StoreContract, AJobAskedForBeforeIsAnsweredAsAtFirstAndWrittenOnce) {  // invariant 4
  NewJob asked = job();
  asked.id = jobs().new_job_id();
  asked.options.idempotency_key = "evt-1";
  const Enqueued first = enqueued(asked);
  const Enqueued second = enqueued(asked);

  EXPECT_EQ(second.id, first.id);
  EXPECT_FALSE(second.deduplicated);
  EXPECT_EQ(second.state, JobState::queued);
  ReadyJob ready = second.ready;
  ready.has_options = first.ready.has_options;  // "may" have: whoever reads it back does not look closer
  EXPECT_EQ(ready, first.ready);
  EXPECT_THAT(all_ids(), ElementsAre(first.id));

  settle(completed(claim_one(asked.id)));
  EXPECT_EQ(enqueue(asked), first.id);
  EXPECT_EQ(state(asked.id), JobState::done);
  EXPECT_THAT(all_ids(), ElementsAre(first.id));
  expect_counts_agree();
}

TEST_P(StoreContract, AnIdThatAnotherTenantHasIsNotFree) {  // invariant 28
  NewJob asked = job();
  asked.id = enqueue(job());
  asked.tenant = "acme";
  const auto answers = jobs().enqueue(std::array{job(), asked, job()});

  EXPECT_TRUE(answers[0]);
  EXPECT_EQ(error_of(answers[1]).code, ErrorCode::conflict);
  EXPECT_TRUE(answers[2]);
  EXPECT_THAT(all_ids({.tenant = "acme"}), IsEmpty());
}

TEST_P(StoreContract, AnIdThatNobodyCanHaveChosenYetIsRefused) {
  for (const JobId id : {kJobIdMax, first_job_id_at(now() + 61min), JobId{-1}}) {
    NewJob asked = job();
    asked.id = id;
    EXPECT_EQ(error_of(try_enqueue(asked)).code, ErrorCode::invalid_request);
  }
  reopen();

  EXPECT_LT(jobs().new_job_id(), first_job_id_at(now() + 1min));
}

TEST_P(StoreContract, IdsOfAnotherClockAreTakenAndThoseOfTheStoreFollow) {
  NewJob asked = job();
  asked.id = first_job_id_at(now() + 59min);
  EXPECT_EQ(enqueue(asked), asked.id);
  const JobId next = enqueue(job());

  EXPECT_GT(next, asked.id);
}

TEST_P(StoreContract, AnIdTwiceInOneBatchIsOneJob) {
  NewJob asked = job();
  asked.id = jobs().new_job_id();
  const auto answers = jobs().enqueue(std::array{asked, asked});

  EXPECT_EQ(value_of(answers[0]).id, asked.id);
  EXPECT_EQ(value_of(answers[1]).id, asked.id);
  EXPECT_THAT(all_ids(), ElementsAre(asked.id));
}

TEST_P(StoreContract, NewIdsRiseAlsoIfTheClockIsSetBack) {  // invariant 11
  std::set<JobId> seen;
  JobId last;
  const auto draw_some = [&] {
    for (int i = 0; i < 100; ++i) {
      const JobId id = i % 2 == 0 ? jobs().new_job_id() : enqueue(job());
      EXPECT_GT(id, last);
      last = id;
      seen.insert(id);
    }
  };
  draw_some();
  clock().step_wall(-24h);
  draw_some();
  clock().step_wall(48h);
  draw_some();

  EXPECT_EQ(seen.size(), 300U);
}

TEST_P(StoreContract, TheStoreTellsTheTimeThatItWasGiven) {  // invariant 11
  EXPECT_EQ(jobs().now(), clock().wall());
  clock().step_wall(-1h);
  EXPECT_EQ(jobs().now(), clock().wall());
}

TEST_P(StoreContract, LanesAndTypesHaveTheirNames) {
  NewJob asked = job("report.build");
  asked.queue = "reports";
  const ReadyJob ready = enqueued(asked).ready;

  EXPECT_EQ(jobs().lane(ready.lane), (Lane{.tenant = "default", .queue = "reports"}));
  EXPECT_EQ(jobs().type_name(ready.type), "report.build");
}

TEST_P(StoreContract, AReadyJobSaysWhetherLimitsOrGatesMayApply) {
  NewJob limited = job();
  limited.options.limits = {"smtp"};
  NewJob notifying = job();
  notifying.options.notifies = true;
  NewJob patient = job();
  patient.options.retry = RetryFixed{.delay = 10min};

  EXPECT_FALSE(enqueued(job()).ready.has_options);
  EXPECT_TRUE(enqueued(limited).ready.has_options);
  EXPECT_TRUE(enqueued(notifying).ready.has_options);
  EXPECT_FALSE(enqueued(patient).ready.has_options);
}

TEST_P(StoreContract, TheReadySetIsReadBackInPages) {  // invariant 5
  std::vector<ReadyJob> expected;
  for (int i = 0; i < 50; ++i) {
    NewJob asked = job();
    asked.priority = 1 + i % 5;
    expected.push_back(enqueued(asked).ready);
  }
  claim_one(expected[7].id);
  NewJob later = job();
  later.run_at = now() + 1h;
  enqueue(later);
  NewJob waiting = job();
  waiting.depends_on = {expected[0].id};
  enqueue(waiting);
  parked_job(job());
  done_job(job());
  expected.erase(expected.begin() + 7);

  std::vector<ReadyJob> found;
  JobId after;
  bool end = false;
  for (int pages = 0; pages < 100 && !end; ++pages) {
    const LivePage page = value_of(jobs().load_live(after, now(), 7));
    EXPECT_LE(page.jobs.size(), 7U);
    EXPECT_GE(page.next_after, after);
    found.insert(found.end(), page.jobs.begin(), page.jobs.end());
    after = page.next_after;
    end = page.end;
  }
  EXPECT_TRUE(end);
  EXPECT_THAT(found, ElementsAreArray(expected));
}

TEST_P(StoreContract, AFarOffJobIsLiveOnceItsTimeIsAskedFor) {
  NewJob soon = job();
  soon.run_at = now() + 5min;
  NewJob far = job();
  far.run_at = now() + 5h;
  const JobId soon_id = enqueue(soon);
  const JobId far_id = enqueue(far);

  EXPECT_THAT(live_ids(now()), ElementsAre(soon_id));
  EXPECT_THAT(live_ids(now() + 5h - 1us), ElementsAre(soon_id));
  EXPECT_THAT(live_ids(now() + 5h), ElementsAre(soon_id, far_id));
}

TEST_P(StoreContract, AJobThatWasNotFarOffIsLiveHoweverFarTheClockWasSetBack) {  // invariant 5
  NewJob soon = job();
  soon.run_at = now() + 5min;
  const JobId id = enqueue(soon);

  EXPECT_THAT(live_ids(now() - 24h), ElementsAre(id));
}

TEST_P(StoreContract, FarOffJobsAreFoundByTheirTimeEarliestFirst) {
  std::vector<JobId> by_time;
  for (const Duration in : std::array<Duration, 4>{3h, 1h, 4h, 2h}) {
    NewJob asked = job();
    asked.run_at = now() + in;
    by_time.push_back(enqueue(asked));
  }
  std::swap(by_time[0], by_time[1]);  // 1h, 3h, 4h, 2h
  std::swap(by_time[1], by_time[3]);  // 1h, 2h, 4h, 3h
  std::swap(by_time[2], by_time[3]);
  const auto due_in = [&](Duration from, Duration until, std::size_t limit) {
    return ids_of(value_of(jobs().load_later(now() + from, now() + until, limit)));
  };

  EXPECT_THAT(due_in(0h, 4h, 100), ElementsAreArray(by_time));
  EXPECT_THAT(due_in(0h, 4h, 2), ElementsAre(by_time[0], by_time[1]));
  EXPECT_THAT(due_in(1h, 3h, 100), ElementsAre(by_time[1], by_time[2]));  // after 1 h, up to 3 h
  EXPECT_THAT(due_in(4h, 9h, 100), IsEmpty());
}

TEST_P(StoreContract, AFarOffJobThatWasStartedOrEndedIsNotFarOffAnyMore) {
  const auto far = [&] {
    NewJob asked = doubling_job();
    asked.run_at = now() + 1h;
    return enqueue(asked);
  };
  const JobId started = far();
  const JobId ended = far();
  const JobId brought_forward = far();
  act(JobAction::cancel, ended);
  act(JobAction::run_now, brought_forward);
  clock().advance(1h);
  claim_one(started);

  EXPECT_THAT(value_of(jobs().load_later(now() - 2h, now() + 2h, 100)), IsEmpty());
}

}  // namespace
}  // namespace carillon::test
