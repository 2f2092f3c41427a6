// While a key is held, asking again gives the same job.
#include <array>

#include "base/hash.h"
#include "contract/store_contract.h"
#include "store/transactional_store.h"

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
  EXPECT_EQ(view(id).payload, R"({"a":1})");
  EXPECT_FALSE(detail(id).last_seen_at);
  EXPECT_EQ(all_ids().size(), 1U);

  settle(completed(claim_one(id)));
  EXPECT_EQ(error_of(try_enqueue(keyed("evt-1", R"({"a":2})"))).code, ErrorCode::idempotency_conflict);
}

TEST_P(StoreContract, PayloadsUnderAKeyAreComparedAsValues) {  // invariant 17
  const JobId id = enqueue(keyed("evt-1", R"({"a":1,"b":{"c":[1,2.50,"Zoë/"],"d":null}})"));
  for (const std::string_view same : {R"({"b":{"d":null,"c":[1,2.50,"Zoë/"]},"a":1})",
                                      " {\n\"a\" : 1 ,\t\"b\": { \"c\" : [ 1 , 2.50, \"Zoë/\" ], \"d\" : null } }\r\n",
                                      R"({"\u0061":1,"b":{"c":[1,2.50,"Zo\u00eb\/"],"d":null}})"}) {
    SCOPED_TRACE(same);
    const Enqueued again = enqueued(keyed("evt-1", std::string(same)));
    EXPECT_EQ(again.id, id);
    EXPECT_TRUE(again.deduplicated);
  }
  for (const std::string_view other :
       {R"({"a":1,"b":{"c":[2.50,1,"Zoë/"],"d":null}})",    // the order of items counts
        R"({"a":1.0,"b":{"c":[1,2.50,"Zoë/"],"d":null}})",  // numbers count by their text
        R"({"a":1,"b":{"c":[1,2.5,"Zoë/"],"d":null}})", R"({"a":"1","b":{"c":[1,2.50,"Zoë/"],"d":null}})",
        R"({"a":1,"b":{"c":[1,2.50,"zoë/"],"d":null}})",
        R"({"a":1,"b":{"c":[1,2.50,"Zoë/"]}})",  // null is there, or is not
        R"({"a":1,"b":{"c":[1,2.50,"Zoë/"],"d":false}})", R"({"a":1,"b":{"c":[[1,2.50],"Zoë/"],"d":null}})",
        R"({"b":1,"a":{"c":[1,2.50,"Zoë/"],"d":null}})", R"([])", "1"}) {
    SCOPED_TRACE(other);
    EXPECT_EQ(error_of(try_enqueue(keyed("evt-1", std::string(other)))).code, ErrorCode::idempotency_conflict);
  }
  EXPECT_EQ(all_ids().size(), 1U);
}

TEST_P(StoreContract, AKeyFromBeforeIsComparedByItsBytes) {  // invariant 17
  constexpr std::string_view kPayload = R"({"a": 1, "b": 2})";
  const std::filesystem::path folder = make_scratch_folder();
  {
    ManualStoreClock own_clock;
    auto backend = GetParam().open_backend(own_clock, folder);
    const JobId id{7};
    Transaction& old = backend->begin();
    const TypeId type = old.type(job().type);
    JobRow row{.id = id, .lane = old.lane(kTenant, "default"), .type = type, .run_at = own_clock.wall()};
    row.options = StoredOptions(R"({"idempotency_key":"evt-1"})");
    old.insert_job(row, kPayload);
    old.put_key({.tenant = std::string(kTenant),
                 .type = type,
                 .key = "evt-1",
                 .job = id,
                 .payload_hash = static_cast<std::int64_t>(stable_hash({"payload", kPayload})),
                 .held_until = {}});
    ASSERT_TRUE(backend->commit());
    const auto own_store = make_store(std::move(backend), own_clock);
    const auto ask = [&](std::string_view payload) {
      return own_store->jobs().enqueue(std::array{keyed("evt-1", std::string(payload))}).front();
    };
    EXPECT_EQ(value_of(ask(kPayload)).id, id);
    EXPECT_TRUE(value_of(ask(kPayload)).deduplicated);
    EXPECT_EQ(error_of(ask(R"({"b": 2, "a": 1})")).code, ErrorCode::idempotency_conflict);
    EXPECT_EQ(error_of(ask(R"({"a":1,"b":2})")).code, ErrorCode::idempotency_conflict);
    EXPECT_EQ(error_of(ask(R"({"a": 1, "b": 3})")).code, ErrorCode::idempotency_conflict);
  }
  std::filesystem::remove_all(folder);
}

TEST_P(StoreContract, AnEmptyKeyIsRefused) {  // invariant 17
  const Error error = error_of(try_enqueue(keyed("")));
  EXPECT_EQ(error.code, ErrorCode::invalid_request);
  EXPECT_EQ(error.field, "idempotency_key");
  Settlement said = completed(claim_one(enqueue(job())));
  said.then = {keyed("")};
  EXPECT_EQ(refusal_of(said).code, ErrorCode::invalid_request);
  EXPECT_EQ(all_ids().size(), 1U);
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

  const Settled settled = settle(said);
  EXPECT_THAT(settled.ready, testing::IsEmpty());
  ASSERT_EQ(settled.then.size(), 1U);
  EXPECT_EQ(settled.then[0].id, held);
  EXPECT_TRUE(settled.then[0].deduplicated);
  EXPECT_FALSE(settled.then[0].error);
  EXPECT_EQ(enqueue(keyed()), held);
  EXPECT_EQ(all_ids().size(), 2U);
}

TEST_P(StoreContract, AFollowUpWhoseKeyHasAnotherPayloadDoesNotRefuseTheCompletion) {  // invariants 17, 30
  const JobId held = enqueue(keyed());
  const JobId id = enqueue(job());
  Settlement said = completed(claim_one(id));
  said.then = {job("before"), keyed("evt-1", R"({"a":2})"), job("behind")};
  said.said = 7;
  const Settled settled = settle(said);

  EXPECT_EQ(settled.state, JobState::done);
  EXPECT_EQ(state(id), JobState::done);
  EXPECT_EQ(settled.ready.size(), 2U);
  ASSERT_EQ(settled.then.size(), 3U);
  EXPECT_EQ(view(settled.then[0].id).type, "before");
  EXPECT_EQ(view(settled.then[2].id).type, "behind");
  EXPECT_FALSE(settled.then[0].error);
  EXPECT_EQ(settled.then[1].id, held);
  ASSERT_TRUE(settled.then[1].error);
  EXPECT_EQ(settled.then[1].error->code, ErrorCode::idempotency_conflict);
  EXPECT_THAT(settled.then[1].error->message, HasSubstr("evt-1"));
  EXPECT_EQ(all_ids().size(), 4U);
  expect_counts_agree();

  // Asked again it is the same answer, and nothing is made.
  const Settled again = settle(said);
  ASSERT_EQ(again.then.size(), 3U);
  for (std::size_t i = 0; i < again.then.size(); ++i) {
    EXPECT_EQ(again.then[i].id, settled.then[i].id);
    EXPECT_EQ(again.then[i].deduplicated, settled.then[i].deduplicated);
    EXPECT_EQ(again.then[i].error.has_value(), settled.then[i].error.has_value());
  }
  EXPECT_EQ(again.then[1].error->message, settled.then[1].error->message);
  EXPECT_EQ(all_ids().size(), 4U);
}

TEST_P(StoreContract, AFollowUpMayTakeTheKeyThatItsCauseHeldUntilItsEnd) {  // invariants 17, 30
  const JobId id = enqueue(held_until_done());
  Settlement said = completed(claim_one(id));
  said.then = {keyed("evt-1", "2")};

  const Settled settled = settle(said);
  ASSERT_EQ(settled.then.size(), 1U);
  EXPECT_FALSE(settled.then[0].error);
  EXPECT_NE(settled.then[0].id, id);
}

}  // namespace
}  // namespace carillon::test
