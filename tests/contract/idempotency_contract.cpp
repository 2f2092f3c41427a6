// While a key is held, asking again gives the same job.
#include <array>

#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

NewJob keyed(std::string key = "evt-1", std::string payload = R"({"a":1})") {
  NewJob asked = job();
  asked.payload = std::move(payload);
  asked.options.idempotency_key = std::move(key);
  return asked;
}

NewJob held_until_done(std::string key = "evt-1") {
  NewJob asked = keyed(std::move(key));
  asked.options.unique_until.until = KeyHold::Until::done;
  return asked;
}

NewJob held_for(Duration duration) {
  NewJob asked = keyed();
  asked.options.unique_until = {.until = KeyHold::Until::elapsed, .duration = duration};
  return asked;
}

TEST_P(StoreContract, TheSameKeyGivesTheSameJob) {  // invariant 17
  const Enqueued first = enqueued(keyed());
  const Enqueued second = enqueued(keyed());

  EXPECT_EQ(second.id, first.id);
  EXPECT_FALSE(first.deduplicated);
  EXPECT_TRUE(second.deduplicated);
  EXPECT_THAT(all_ids(), ElementsAre(first.id));
  EXPECT_EQ(count_of(JobState::queued), 1);
}

TEST_P(StoreContract, AKeyCanBeAddedToAJobThatIsThereAndGoesWithIt) {  // invariant 17
  const JobId id = enqueue(job());
  const std::string type = job().type;
  const auto holder = [&](std::string_view key, std::string_view said) {
    return jobs().key_holder({.tenant = kTenant, .type = type, .key = key, .said = said});
  };
  EXPECT_FALSE(value_of(holder("push-1", "{}")));
  ASSERT_TRUE(jobs().add_key(id, "push-1", "{}"));
  ASSERT_TRUE(jobs().add_key(id, "push-2", "{}"));

  EXPECT_EQ(value_of(holder("push-1", "{}"))->id, id);
  EXPECT_EQ(value_of(holder("push-2", "{}"))->id, id);
  EXPECT_EQ(error_of(holder("push-1", "[]")).code, ErrorCode::idempotency_conflict);
  EXPECT_FALSE(value_of(jobs().key_holder({.tenant = "other", .type = type, .key = "push-1", .said = "{}"})));

  settle(completed(claim_one(id)));
  EXPECT_EQ(value_of(holder("push-1", "{}"))->id, id) << "as long as it is kept";
  clock().advance(8 * 24h);
  value_of(jobs().prune({.after = {}, .limit = 100, .keep = {}}));
  EXPECT_FALSE(value_of(holder("push-1", "{}")));
  EXPECT_FALSE(value_of(holder("push-2", "{}")));
}

TEST_P(StoreContract, OfAddedKeysTheLastTwentyStay) {
  const JobId id = enqueue(job());
  for (int i = 0; i < 21; ++i) ASSERT_TRUE(jobs().add_key(id, "push-" + std::to_string(i), "{}"));
  const auto holder = [&](std::string_view key) {
    const std::string type = job().type;
    return value_of(jobs().key_holder({.tenant = kTenant, .type = type, .key = key, .said = "{}"}));
  };
  EXPECT_FALSE(holder("push-0"));
  EXPECT_TRUE(holder("push-1"));
  EXPECT_TRUE(holder("push-20"));
}

TEST_P(StoreContract, TheSameKeyTwiceInOneBatchIsOneJob) {  // invariant 17
  const auto answers = jobs().enqueue(std::array{keyed(), keyed()});

  EXPECT_EQ(value_of(answers[0]).id, value_of(answers[1]).id);
  EXPECT_TRUE(value_of(answers[1]).deduplicated);
  EXPECT_EQ(all_ids().size(), 1U);
}

TEST_P(StoreContract, AskingAgainMovesOnlyWhenItWasLastSeen) {  // invariant 17
  const JobId id = enqueue(keyed());
  const JobView before = view(id);
  clock().advance(10s);
  NewJob otherwise = keyed();
  otherwise.priority = 1;
  otherwise.queue = "other";
  otherwise.run_at = now() + 1h;
  enqueue(otherwise);

  const JobView after = view(id);
  EXPECT_EQ(detail(id).last_seen_at, now());
  EXPECT_EQ(after.row.priority, before.row.priority);
  EXPECT_EQ(after.row.run_at, before.row.run_at);
  EXPECT_EQ(after.lane, before.lane);
  expect_counts_agree();
}

TEST_P(StoreContract, AFinishedJobRemembersToWhenItWasLastSeen) {  // invariant 17
  const JobId id = enqueue(keyed());
  settle(completed(claim_one(id)));
  const JobView before = view(id);
  clock().advance(10s);
  enqueue(keyed());

  EXPECT_EQ(detail(id).last_seen_at, now());
  const JobView after = view(id);
  EXPECT_EQ(after.finished_at, before.finished_at);
  EXPECT_EQ(after.attempts, before.attempts);
  EXPECT_EQ(after.state, JobState::done);
}

TEST_P(StoreContract, AKeyIsHeldWhateverStateItsJobIsIn) {  // invariant 17
  const JobId id = enqueue(keyed());
  LeasedJob leased = claim_one(id);
  EXPECT_EQ(enqueued(keyed()).id, id);
  EXPECT_EQ(enqueued(keyed()).state, JobState::processing);
  settle(failed_for_good(leased));
  EXPECT_EQ(enqueued(keyed()).id, id);
  EXPECT_EQ(enqueued(keyed()).state, JobState::dlq);
  act(JobAction::retry, id);
  leased = claim_one(id);
  EXPECT_EQ(settle(completed(leased)).state, JobState::done);

  const Enqueued again = enqueued(keyed());
  EXPECT_EQ(again.id, id);
  EXPECT_TRUE(again.deduplicated);
  EXPECT_EQ(again.state, JobState::done);
  EXPECT_EQ(all_ids().size(), 1U);
}

TEST_P(StoreContract, AnotherPayloadUnderAHeldKeyIsAConflict) {  // invariant 17
  const JobId id = enqueue(keyed());
  const Error error = error_of(try_enqueue(keyed("evt-1", R"({"a":2})")));

  EXPECT_EQ(error.code, ErrorCode::idempotency_conflict);
  EXPECT_THAT(error.message, HasSubstr("evt-1"));
  EXPECT_THAT(error.message, HasSubstr(format_job_id(id)));
  // The bytes count, not what they mean.
  EXPECT_EQ(error_of(try_enqueue(keyed("evt-1", R"({"a": 1})"))).code, ErrorCode::idempotency_conflict);
  EXPECT_EQ(view(id).payload, R"({"a":1})");
  EXPECT_FALSE(detail(id).last_seen_at);
  EXPECT_EQ(all_ids().size(), 1U);

  settle(completed(claim_one(id)));
  EXPECT_EQ(error_of(try_enqueue(keyed("evt-1", R"({"a":2})"))).code, ErrorCode::idempotency_conflict);
}

TEST_P(StoreContract, AKeyBelongsToItsTenantAndType) {  // invariants 17, 28
  const JobId id = enqueue(keyed());
  NewJob other_type = keyed("evt-1", "2");
  other_type.type = "mail.read";
  NewJob other_tenant = keyed("evt-1", "3");
  other_tenant.tenant = "acme";

  EXPECT_NE(enqueue(other_type), id);
  const Enqueued foreign = enqueued(other_tenant);
  EXPECT_NE(foreign.id, id);
  EXPECT_FALSE(foreign.deduplicated);
}

TEST_P(StoreContract, WithoutAKeyNothingIsDeduplicated) {  // invariant 17
  EXPECT_NE(enqueue(job()), enqueue(job()));
  EXPECT_EQ(all_ids().size(), 2U);
}

TEST_P(StoreContract, ARefusedJobHoldsNoKey) {  // invariant 17
  NewJob refused = keyed("evt-1", "1");
  refused.depends_on = {jobs().new_job_id()};
  EXPECT_EQ(error_of(try_enqueue(refused)).code, ErrorCode::dependency_not_met);

  EXPECT_FALSE(enqueued(keyed("evt-1", "2")).deduplicated);
}

TEST_P(StoreContract, AKeyHeldUntilDoneIsFreeWhenTheJobHasEnded) {  // invariant 17
  const JobId first = enqueue(held_until_done());
  const LeasedJob leased = claim_one(first);
  EXPECT_EQ(enqueue(held_until_done()), first);
  settle(completed(leased));

  const Enqueued second = enqueued(held_until_done());
  EXPECT_NE(second.id, first);
  EXPECT_FALSE(second.deduplicated);
  EXPECT_EQ(enqueue(held_until_done()), second.id);
  act(JobAction::cancel, second.id);
  EXPECT_NE(enqueue(held_until_done()), second.id);
}

TEST_P(StoreContract, AKeyHeldUntilDoneIsHeldByAParkedJob) {  // invariant 17
  const JobId id = parked_job(held_until_done());

  EXPECT_EQ(enqueue(held_until_done()), id);
}

TEST_P(StoreContract, AKeyHeldForATimeIsFreeAfterIt) {  // invariant 17
  const JobId first = enqueue(held_for(1h));
  settle(completed(claim_one(first)));
  clock().advance(1h - 1us);
  EXPECT_EQ(enqueue(held_for(1h)), first);
  clock().advance(1us);

  const Enqueued second = enqueued(held_for(1h));
  EXPECT_NE(second.id, first);
  EXPECT_FALSE(second.deduplicated);
  EXPECT_EQ(enqueue(held_for(1h)), second.id);
}

TEST_P(StoreContract, AKeyWhoseTimeIsOverMayCarryAnotherPayload) {  // invariant 17
  enqueue(held_for(1h));
  clock().advance(1h);

  EXPECT_FALSE(enqueued(keyed("evt-1", "2")).deduplicated);
}

TEST_P(StoreContract, ARetryDoesNotAskForItsKeyAgain) {  // invariant 17
  const JobId first = parked_job(held_for(1h));
  clock().advance(1h);
  const JobId second = enqueue(keyed());
  ASSERT_NE(first, second);
  act(JobAction::retry, first);

  EXPECT_EQ(settle(completed(claim_one(first))).state, JobState::done);
  EXPECT_EQ(state(second), JobState::queued);
  EXPECT_EQ(enqueue(keyed()), second);
}

TEST_P(StoreContract, AJobDoesNotFreeAKeyThatHasPassedToAnother) {  // invariant 17
  const JobId first = parked_job(held_for(1h));
  clock().advance(1h);
  const JobId second = enqueue(keyed());
  act(JobAction::discard, first);
  clock().advance(24h);
  EXPECT_EQ(prune(1h), 1U);

  EXPECT_FALSE(exists(first));
  EXPECT_EQ(enqueue(keyed()), second);
}

TEST_P(StoreContract, AFollowUpHonoursItsKey) {  // invariants 17, 30
  const JobId held = enqueue(keyed());
  Settlement said = completed(claim_one(enqueue(job())));
  said.then = {keyed()};

  EXPECT_THAT(settle(said).ready, testing::IsEmpty());
  EXPECT_EQ(enqueue(keyed()), held);
  EXPECT_EQ(all_ids().size(), 2U);
}

}  // namespace
}  // namespace carillon::test
