// What outlives a store that is closed, or dies. Backends that keep nothing skip this.
#include <algorithm>

#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class ReopenContract : public StoreContract {
 protected:
  void SetUp() override {
    if (!GetParam().outlives_close) GTEST_SKIP() << GetParam().name << " keeps nothing";
    StoreContract::SetUp();
  }
};

RUN_OVER_EVERY_STORE(ReopenContract);

TEST_P(ReopenContract, EverythingIsThere) {  // invariant 4
  NewJob keyed = doubling_job();
  keyed.options.idempotency_key = "evt-1";
  keyed.payload = R"({"n": 1e400})";
  const JobId failed_once = enqueue(keyed);
  settle(failed(claim_one(failed_once)));
  const JobId done = done_job(job());
  const JobId parked = parked_job(job());
  NewJob child = job();
  child.depends_on = {parked};
  const JobId waiting = enqueue(child);
  NewJob later = job();
  later.run_at = now() + 5h;
  later.deadline = now() + 6h;
  const JobId far_off = enqueue(later);
  const ScheduleId id = schedule();
  put_subject(id, {.subject = "a", .overrides = "{}", .next_at = std::optional(now()), .cursor = now()});
  const LeasedJob leased = claim_one(enqueue(occurrence_job(now(), "a", now() + 1h)));
  ASSERT_TRUE(jobs().claim_effect(kTenant, "mail:1", leased.id, leased.token));
  ASSERT_TRUE(jobs().effect_done(kTenant, "mail:1", leased.id, leased.token, "7"));
  settle(completed(leased));
  const LeasedJob running = claim_one(enqueue(job()), {.lease = 60s});
  const Document document =
      value_of(admin().put_document({.key = {.tenant = "default", .kind = "limit", .name = "smtp"}, .body = "{}"}, {}));
  ASSERT_TRUE(admin().append_audit({.tenant = "default", .actor = "ada", .action = "put", .target = {}},
                                   new_fields(JsonObject().integer("rate", 1))));

  const auto describe = [&] {
    std::vector<JobView> all;
    for (const JobView& listed : all_jobs()) all.push_back(view(listed.row.id));
    return all;
  };
  const auto before = describe();
  const Counts counts = kept_counts();
  const SubjectRow subject = subject_of(id, "a");
  const auto outcomes = outcomes_of(id, "a");
  const auto trail = value_of(reader().audit(kTenant, 0, 10));
  reopen();

  const auto after = describe();
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].row, before[i].row);
    EXPECT_EQ(after[i].state, before[i].state);
    EXPECT_EQ(after[i].payload, before[i].payload);
    EXPECT_EQ(after[i].attempts, before[i].attempts);
    EXPECT_EQ(after[i].waits_for, before[i].waits_for);
    EXPECT_EQ(after[i].finished_at, before[i].finished_at);
  }
  EXPECT_EQ(kept_counts(), counts);
  expect_counts_agree();
  EXPECT_EQ(subject_of(id, "a"), subject);
  EXPECT_EQ(outcomes_of(id, "a"), outcomes);
  EXPECT_EQ(value_of(reader().audit(kTenant, 0, 10)), trail);
  EXPECT_EQ(value_of(reader().document(document.key)), document);
  EXPECT_EQ(enqueue(keyed), failed_once);
  EXPECT_EQ(state(done), JobState::done);
  EXPECT_THAT(ids_of(value_of(jobs().load_later(now(), now() + 5h, 10))), ElementsAre(far_off));
  EXPECT_EQ(settle(completed(running)).state, JobState::done);
  const LeasedJob other = claim_one(enqueue(job()));
  EXPECT_EQ(value_of(jobs().claim_effect(kTenant, "mail:1", other.id, other.token)).result, "7");
  act(JobAction::retry, parked);
  EXPECT_THAT(ids_of(settle(completed(claim_one(parked))).ready), ElementsAre(waiting));
}

TEST_P(ReopenContract, IdsGoOnAfterTheHighestEvenIfTheClockWasSetBack) {  // invariant 11
  const JobId live = enqueue(job());
  const JobId ended = done_job(job());
  clock().step_wall(-24h);
  reopen();

  EXPECT_GT(jobs().new_job_id(), std::max(live, ended));
}

TEST_P(ReopenContract, TheLeaseOfAPullWorkerIsCutToItsLengthFromNow) {  // invariant 11
  const JobId id = enqueue(job());
  const LeasedJob leased = claim_one(id, {.worker = "ada", .lease = 60s});
  clock().advance(20s);
  clock().restart_machine(24h);
  reopen();
  EXPECT_EQ(state(id), JobState::processing);
  EXPECT_EQ(view(id).lease_until, now() + 60s);
  EXPECT_THAT(reap(), IsEmpty());
  clock().advance(59s);
  EXPECT_THAT(reap(), IsEmpty());
  EXPECT_EQ(extend({.job = id, .token = leased.token}).lease_until, now() + 60s);
  clock().advance(60s);
  const auto reaped = reap();

  ASSERT_THAT(reaped, SizeIs(1));
  EXPECT_EQ(reaped[0].result, AttemptResult::lease_lost);
}

TEST_P(ReopenContract, ALeaseIsNotLengthenedBeyondItsLength) {  // invariants 8, 11
  claim_one(enqueue(job()), {.lease = 60s});
  clock().advance(50s);
  reopen();
  clock().advance(60s);

  EXPECT_THAT(reap(), SizeIs(1));
}

TEST_P(ReopenContract, ATimeoutIsNotReachedByARestartOfTheMachine) {  // invariants 11, 13
  NewJob slow = job();
  slow.options.timeout = 30s;
  const JobId id = enqueue(slow);
  claim_one(id, {.lease = 60s});
  clock().restart_machine(24h);
  reopen();
  clock().advance(29s);
  EXPECT_THAT(reap(), IsEmpty());
  clock().advance(31s);

  EXPECT_THAT(reap(), SizeIs(1));
}

TEST_P(ReopenContract, TheLeasesOfItsOwnProcessAreLostAtOnce) {  // invariants 5, 11, 12
  const JobId own = enqueue(job());
  const LeasedJob lost = claim_one(own, {.worker = "node-1", .lease = 24h, .in_process = true});
  const JobId pulled = enqueue(job());
  claim_one(pulled, {.worker = "ada", .lease = 60s});
  reopen();
  const auto reaped = reap();

  // Found by the first round of the reaper, if opening did not end them already.
  for (const Reaped& one : reaped) EXPECT_EQ(one.id, own);
  EXPECT_EQ(state(own), JobState::queued);
  EXPECT_EQ(view(own).row.run_at, now());
  EXPECT_EQ(view(own).row.attempts, 1U);
  EXPECT_EQ(view(own).attempts.at(0).result, AttemptResult::lease_lost);
  EXPECT_EQ(state(pulled), JobState::processing);
  EXPECT_EQ(refusal_of(completed(lost)).code, ErrorCode::stale_token);
  EXPECT_GT(claim_one(own).token, lost.token);
  expect_counts_agree();
}

TEST_P(ReopenContract, OpeningAgainAndAgainChangesNothing) {
  enqueue(job());
  claim_one(enqueue(job()), {.lease = 60s});
  const Counts before = kept_counts();
  for (int i = 0; i < 5; ++i) reopen();

  EXPECT_EQ(kept_counts(), before);
  EXPECT_EQ(schedule(), schedule());
}

}  // namespace
}  // namespace carillon::test
