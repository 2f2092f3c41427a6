// A worker takes jobs: what it gets, and what it does not.
#include <algorithm>
#include <array>

#include "contract/store_contract.h"
#include "store/gate_document.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

TEST_P(StoreContract, AClaimTellsAllThatAHandlerNeeds) {
  NewJob asked = job("report.build");
  asked.queue = "reports";
  asked.payload = R"({"top": 10})";
  asked.priority = 2;
  asked.deadline = now() + 1h;
  asked.subject = "user-17";
  asked.options.timeout = 90s;
  asked.options.limits = {"smtp"};
  const JobId id = enqueue(asked);
  clock().advance(3s);
  const LeasedJob leased = claim_one(id, {.worker = "ada", .lease = 30s});

  EXPECT_EQ(leased.tenant, "default");
  EXPECT_EQ(leased.queue, "reports");
  EXPECT_EQ(leased.type, "report.build");
  EXPECT_EQ(leased.payload, asked.payload);
  EXPECT_EQ(leased.priority, 2);
  EXPECT_EQ(leased.attempt, 1U);
  EXPECT_GT(leased.token, 0);
  EXPECT_EQ(leased.run_at, now() - 3s);
  EXPECT_EQ(leased.deadline, asked.deadline);
  EXPECT_EQ(leased.lease_until, now() + 30s);
  EXPECT_EQ(leased.lease, 30s);
  EXPECT_EQ(leased.timeout, 90s);
  EXPECT_EQ(leased.subject, "user-17");
  EXPECT_EQ(leased.schedule, "");
  EXPECT_FALSE(leased.slot);
  EXPECT_EQ(value_of(leased.options.read()).limits, asked.options.limits);
}

TEST_P(StoreContract, AClaimTellsWhatHappenedToTheJobSoFar) {
  const JobId id = enqueue(doubling_job(1));
  EXPECT_TRUE(claim_one(id, {.worker = "ada"}).detail.empty());
  settle(failed_for_good({.id = id, .token = 1}));
  act(JobAction::retry, id);
  const LeasedJob again = claim_one(id, {.worker = "bob"});

  EXPECT_EQ(again.worker, "bob");
  EXPECT_EQ(again.claimed_at, now());
  EXPECT_EQ(again.detail, view(id).row.detail);
  const JobDetail detail = value_of(again.detail.read());
  EXPECT_TRUE(detail.retried);
  EXPECT_EQ(detail.last_error.value().message, "it broke");
}

TEST_P(StoreContract, AClaimCountsTheGatesThatHeldTheJob) {
  const JobId id = enqueue(job());
  const std::vector<PastClosing> closings{{.closed_at = now() + 1s, .until = {}, .opened_at = now() + 10s},
                                          {.closed_at = now() + 20s, .until = {}, .opened_at = now() + 30s}};
  ASSERT_TRUE(admin()
                  .put_document({.key = gate_history_key(kTenant), .body = write_gate_history(closings)}, std::nullopt)
                  .has_value());
  clock().advance(1min);
  const LeasedJob held = claim_one(id);
  EXPECT_EQ(held.closings, 2U);
  settle(released(held));
  // Now they stand in its detail.
  EXPECT_EQ(detail(id).deferrals, 2U);
  EXPECT_EQ(claim_one(id).closings, 0U);
  EXPECT_EQ(claim_one(enqueue(job())).closings, 0U);
}

TEST_P(StoreContract, AClaimedOccurrenceNamesItsScheduleSubjectAndSlot) {
  const ScheduleId id = schedule();
  put_subject(id, {.subject = "user-17"});
  const LeasedJob leased = claim_one(enqueue(occurrence_job(now(), "user-17")));

  EXPECT_EQ(leased.schedule, "standup");
  EXPECT_EQ(leased.subject, "user-17");
  EXPECT_EQ(leased.slot, now());
}

TEST_P(StoreContract, AClaimedJobIsProcessing) {
  const JobId id = enqueue(job());
  const LeasedJob leased = claim_one(id, {.worker = "ada"});
  const JobView seen = view(id);

  EXPECT_EQ(seen.state, JobState::processing);
  ASSERT_TRUE(seen.lease);
  EXPECT_EQ(seen.lease->worker, "ada");
  EXPECT_EQ(seen.lease->token, leased.token);
  EXPECT_EQ(seen.lease->attempt, 1U);
  EXPECT_EQ(seen.lease->claimed_at, now());
  EXPECT_FALSE(seen.lease->in_process);
  EXPECT_EQ(seen.lease_until, leased.lease_until);
  EXPECT_EQ(count_of(JobState::queued), 0);
  EXPECT_EQ(count_of(JobState::processing), 1);
  expect_counts_agree();
}

TEST_P(StoreContract, TheLeaseIsTheWorkersElseTheJobsElseAMinute) {
  NewJob short_one = job();
  short_one.options.lease = 10s;

  EXPECT_EQ(claim_one(enqueue(job())).lease_until, now() + 60s);
  EXPECT_EQ(claim_one(enqueue(short_one)).lease_until, now() + 10s);
  EXPECT_EQ(claim_one(enqueue(short_one), {.lease = 25s}).lease_until, now() + 25s);
}

TEST_P(StoreContract, ALeaseIsNeverLongerThanTheTimeout) {  // invariant 13
  NewJob quick = job();
  quick.options.timeout = 20s;

  EXPECT_EQ(claim_one(enqueue(quick), {.lease = 60s}).lease_until, now() + 20s);
}

TEST_P(StoreContract, OnlyQueuedAndDueJobsCanBeClaimed) {  // invariant 14
  NewJob later = job();
  later.run_at = now() + 1s;
  const JobId later_id = enqueue(later);
  const JobId parent = enqueue(job());
  NewJob child = job();
  child.depends_on = {parent};
  const JobId waiting = enqueue(child);
  const JobId taken = enqueue(job());
  claim_one(taken);
  const JobId parked = parked_job(job());
  const JobId done = done_job(job());
  const JobId absent = jobs().new_job_id();
  const Counts before = kept_counts();

  const std::array ids{later_id, waiting, taken, parked, done, absent};
  ClaimRequest request;
  request.worker = "bob";
  request.jobs = ids;
  EXPECT_THAT(value_of(jobs().claim(request)).jobs, IsEmpty());
  EXPECT_EQ(kept_counts(), before);

  clock().advance(1s);
  EXPECT_TRUE(try_claim(later_id));
}

TEST_P(StoreContract, WhatIsNotToBeHadIsAbsentAndTheRestIsLeased) {
  std::vector<JobId> ids;
  for (int i = 0; i < 10; ++i) ids.push_back(enqueue(job()));
  for (int i = 0; i < 10; i += 2) claim_one(ids[static_cast<std::size_t>(i)], {.worker = "ada"});
  ClaimRequest request;
  request.worker = "bob";
  request.jobs = ids;
  const auto leased = value_of(jobs().claim(request)).jobs;

  std::vector<JobId> got;
  for (const LeasedJob& one : leased) got.push_back(one.id);
  EXPECT_THAT(got, UnorderedElementsAreArray({ids[1], ids[3], ids[5], ids[7], ids[9]}));
  EXPECT_EQ(count_of(JobState::processing), 10);
}

TEST_P(StoreContract, AJobNamedTwiceInOneClaimIsLeasedOnce) {  // invariant 9
  const JobId id = enqueue(job());
  const std::array ids{id, id};
  ClaimRequest request;
  request.worker = "ada";
  request.jobs = ids;

  EXPECT_EQ(value_of(jobs().claim(request)).jobs.size(), 1U);
  EXPECT_EQ(value_of(jobs().leases()).size(), 1U);
}

TEST_P(StoreContract, AllLeasesCanBeRead) {
  const LeasedJob pulled = claim_one(enqueue(job()), {.worker = "ada"});
  const LeasedJob own = claim_one(enqueue(job()), {.worker = "node-1", .in_process = true});
  settle(completed(claim_one(enqueue(job()))));
  auto leases = value_of(jobs().leases());
  std::ranges::sort(leases, {}, &LeaseRow::job);

  ASSERT_EQ(leases.size(), 2U);
  EXPECT_EQ(leases[0].job, pulled.id);
  EXPECT_EQ(leases[0].token, pulled.token);
  EXPECT_EQ(leases[0].worker, "ada");
  EXPECT_FALSE(leases[0].in_process);
  EXPECT_EQ(leases[1].job, own.id);
  EXPECT_TRUE(leases[1].in_process);
}

TEST_P(StoreContract, LeasesOfWorkersOutsideComeWithWhatTheirClaimGave) {
  NewJob limited = job();
  limited.options.limits = {"mail"};
  LeasedJob pulled = claim_one(enqueue(limited), {.worker = "ada"});
  claim_one(enqueue(job()), {.worker = "node-1", .in_process = true});
  const auto held = value_of(jobs().outside_leases());

  ASSERT_EQ(held.size(), 1U);
  EXPECT_EQ(held[0].lease.worker, "ada");
  EXPECT_EQ(jobs().type_name(held[0].type), pulled.type);
  pulled.payload.clear();
  EXPECT_EQ(held[0].job, pulled);
}

TEST_P(StoreContract, WhoseAJobIsCanBeAskedLiveOrFinished) {  // invariant 28
  const JobId live = enqueue(job());
  const JobId finished = done_job(job());

  EXPECT_EQ(value_of(jobs().tenant_of(live)), job().tenant);
  EXPECT_EQ(value_of(jobs().tenant_of(finished)), job().tenant);
  EXPECT_EQ(value_of(jobs().tenant_of(jobs().new_job_id())), std::nullopt);
}

TEST_P(StoreContract, AClaimIsNoOutcomeAndUsesNoMoreThanOneAttempt) {  // invariant 8
  const JobId id = enqueue(job());
  claim_one(id);

  EXPECT_EQ(view(id).row.attempts, 0U);
  EXPECT_THAT(view(id).attempts, IsEmpty());
  EXPECT_FALSE(view(id).finished_at);
}

TEST_P(StoreContract, AHeartbeatRenewsTheLeaseByItsOwnLength) {
  const LeasedJob leased = claim_one(enqueue(job()), {.lease = 30s});
  clock().advance(20s);

  EXPECT_EQ(extend({.job = leased.id, .token = leased.token}).lease_until, now() + 30s);
  EXPECT_EQ(view(leased.id).lease_until, now() + 30s);
  clock().advance(29s);
  EXPECT_THAT(reap(), IsEmpty());
}

TEST_P(StoreContract, AHeartbeatBringsProgressAndTakesTheWishToStop) {
  const LeasedJob leased = claim_one(enqueue(job()));
  EXPECT_FALSE(extend({.job = leased.id, .token = leased.token, .progress = R"({"done": 3})"}).cancel_requested);
  EXPECT_EQ(detail(leased.id).progress, R"({"done": 3})");
  extend({.job = leased.id, .token = leased.token});
  EXPECT_EQ(detail(leased.id).progress, R"({"done": 3})");
  act(JobAction::cancel, leased.id);

  EXPECT_TRUE(extend({.job = leased.id, .token = leased.token}).cancel_requested);
}

TEST_P(StoreContract, EachHeartbeatOfABatchIsJudgedAlone) {
  const LeasedJob first = claim_one(enqueue(job()));
  const LeasedJob second = claim_one(enqueue(job()));
  const std::array<Extension, 3> batch{{{.job = first.id, .token = first.token},
                                        {.job = jobs().new_job_id(), .token = 1},
                                        {.job = second.id, .token = second.token}}};
  const auto answers = jobs().extend(batch);

  ASSERT_EQ(answers.size(), 3U);
  EXPECT_TRUE(answers[0]);
  EXPECT_EQ(error_of(answers[1]).code, ErrorCode::stale_token);
  EXPECT_TRUE(answers[2]);
}

TEST_P(StoreContract, ALeaseRunsOnTheBootClockWhateverTheWallClockSays) {  // invariant 11
  const JobId id = enqueue(job());
  claim_one(id, {.lease = 60s});
  clock().step_wall(24h);
  EXPECT_THAT(reap(), IsEmpty());
  EXPECT_EQ(view(id).lease_until, now() + 60s);
  clock().step_wall(-48h);
  clock().advance(59s);
  EXPECT_THAT(reap(), IsEmpty());
  clock().advance(1s);

  EXPECT_EQ(reap().size(), 1U);
}

TEST_P(StoreContract, AWallClockSetBackMakesNothingDueTwice) {  // invariant 11
  const JobId id = done_job(job());
  clock().step_wall(-1h);

  EXPECT_FALSE(try_claim(id));
  EXPECT_EQ(state(id), JobState::done);
}

TEST_P(StoreContract, AWallClockSetForwardIsTimeThatPassed) {  // invariant 11
  NewJob later = job();
  later.run_at = now() + 1h;
  const JobId id = enqueue(later);
  clock().step_wall(1h);

  EXPECT_TRUE(try_claim(id));
}

}  // namespace
}  // namespace carillon::test
