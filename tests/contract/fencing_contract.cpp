// Only the holder of the current token has a word, and saying it twice is saying it once.
#include <array>

#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TEST_P(StoreContract, TokensRiseOverEveryWayBackIntoTheQueue) {  // invariant 9
  const JobId id = enqueue(doubling_job(3));
  std::int64_t last = 0;
  const auto claim_higher = [&] {
    const LeasedJob leased = claim_one(id, {.lease = 10s});
    EXPECT_GT(leased.token, last);
    last = leased.token;
    return leased;
  };
  settle(released(claim_higher()));
  settle(deferred(claim_higher(), now()));
  settle(rate_limited(claim_higher(), now()));
  settle(failed(claim_higher()));
  clock().advance(1h);
  claim_higher();
  clock().advance(10s);
  reap();
  settle(failed_for_good(claim_higher()));
  act(JobAction::retry, id);
  const LeasedJob again = claim_higher();
  EXPECT_EQ(again.attempt, 1U);
  settle(completed(again));

  EXPECT_EQ(view(id).row.token, last);
}

TEST_P(StoreContract, AJobIsNeverUnderTwoLeases) {  // invariant 9
  const JobId id = enqueue(job());
  claim_one(id, {.worker = "ada"});

  EXPECT_FALSE(try_claim(id, {.worker = "bob"}));
  EXPECT_FALSE(try_claim(id, {.worker = "ada"}));
  EXPECT_THAT(value_of(jobs().leases()), SizeIs(1));
}

// Every word of a holder whose lease was lost to another, and what it leaves untouched.
TEST_P(StoreContract, AStaleWordIsRefusedAndChangesNothing) {  // invariant 10
  const JobId id = enqueue(job());
  const LeasedJob stale = claim_one(id, {.worker = "ada", .lease = 30s});
  clock().advance(31s);
  reap();
  const LeasedJob current = claim_one(id, {.worker = "bob", .lease = 30s});
  const JobView before = view(id);

  Settlement with_follow_up = completed(stale);
  with_follow_up.then = {job("second")};
  for (const Settlement& said :
       {completed(stale), skipped(stale), failed(stale), failed_for_good(stale), released(stale), rate_limited(stale),
        cancelled(stale), deferred(stale, now() + 1h), with_follow_up}) {
    EXPECT_EQ(refusal_of(said).code, ErrorCode::stale_token);
  }
  EXPECT_EQ(error_of(try_extend({.job = id, .token = stale.token, .progress = "1"})).code, ErrorCode::stale_token);
  EXPECT_EQ(error_of(jobs().claim_effect(kTenant, "effect", id, stale.token)).code, ErrorCode::stale_token);

  const JobView after = view(id);
  EXPECT_EQ(after.state, JobState::processing);
  EXPECT_EQ(after.row, before.row);
  EXPECT_EQ(after.lease, before.lease);
  EXPECT_EQ(after.attempts, before.attempts);
  EXPECT_THAT(all_ids(), SizeIs(1));
  expect_counts_agree();
  EXPECT_EQ(settle(completed(current)).state, JobState::done);
}

// A word, and what is told of why it comes too late.
struct LateWord {
  std::string details;
  std::string message;  // a part of it
};

std::string details(std::string_view state, std::string_view reason, Instant when) {
  const std::string why = reason.empty() ? "null" : "\"" + std::string(reason) + "\"";
  return "{\"state\":\"" + std::string(state) + "\",\"reason\":" + why + ",\"when\":\"" + format_instant(when) + "\"}";
}

TEST_P(StoreContract, ALateWordIsToldWhy) {  // invariant 10
  const auto expect_told = [&](const LeasedJob& late, const LateWord& wanted) {
    for (const Error& error : {refusal_of(failed(late)), error_of(try_extend({.job = late.id, .token = late.token})),
                               error_of(jobs().claim_effect(kTenant, "effect", late.id, late.token))}) {
      EXPECT_EQ(error.code, ErrorCode::stale_token);
      EXPECT_EQ(error.details, wanted.details);
      EXPECT_THAT(error.message, testing::HasSubstr(wanted.message));
    }
  };
  NewJob short_lived = job();
  short_lived.deadline = now() + 1min;
  const LeasedJob cut = claim_one(enqueue(short_lived));
  clock().advance(1min);
  finish_overdue();
  expect_told(cut, {.details = details("cutoff_reached", "deadline", now()),
                    .message = "ended as cutoff_reached at " + format_instant(now())});

  const LeasedJob lost = claim_one(enqueue(doubling_job(2)), {.lease = 30s});
  clock().advance(30s);
  const Instant lost_at = now();
  reap();
  expect_told(lost, {.details = details("queued", "lease_lost", lost_at),
                     .message = "ended as lease_lost at " + format_instant(lost_at) + ", and the job is queued"});
  clock().advance(1h);
  const LeasedJob next = claim_one(lost.id, {.lease = 30s});
  expect_told(lost, {.details = details("processing", "lease_lost", lost_at), .message = "the job is processing"});
  settle(failed(next));
  expect_told(lost, {.details = details("dlq", "max_retries_exceeded", lost_at), .message = "the job is dlq"});
  act(JobAction::discard, lost.id);
  expect_told(lost, {.details = details("cancelled", "discarded", now()), .message = "ended as cancelled at"});

  const LeasedJob done = claim_one(enqueue(job()));
  settle(completed(done));
  expect_told(done, {.details = details("done", "", now()), .message = "ended as done at " + format_instant(now())});

  LeasedJob never = claim_one(enqueue(job()));
  ++never.token;
  expect_told(never, {.details = details("processing", "", now()), .message = "was leased with token 1 at"});
  never.id = enqueue(job());
  expect_told(never, {.details = R"({"state":"queued","reason":null,"when":null})", .message = "the job is queued"});
}

TEST_P(StoreContract, AnAttemptPastItsTimeoutIsToldSo) {  // invariant 13
  NewJob quick = job();
  quick.options.timeout = 10s;
  const LeasedJob leased = claim_one(enqueue(quick));
  clock().advance(11s);
  const Error error = error_of(try_extend({.job = leased.id, .token = leased.token}));
  EXPECT_EQ(error.details, details("processing", "timeout", now() - 1s));
}

TEST_P(StoreContract, OfAForeignJobNothingIsTold) {  // invariant 28
  const LeasedJob live = claim_one(enqueue(job()));
  const LeasedJob ended = claim_one(enqueue(job()));
  settle(completed(ended));
  for (const JobId id : {live.id, ended.id, jobs().new_job_id()}) {
    const Error error = error_of(jobs().claim_effect("other", "effect", id, 1));
    EXPECT_EQ(error.code, ErrorCode::stale_token);
    EXPECT_EQ(error.details, "");
    EXPECT_EQ(error.message, "token 1 of job " + format_job_id(id) + " is not the current one");
  }
}

TEST_P(StoreContract, AnExpiredLeaseThatWasFoundCannotCompleteItsJob) {  // invariant 10
  const LeasedJob lost = claim_one(enqueue(doubling_job()), {.lease = 30s});
  clock().advance(30s);
  ASSERT_THAT(reap(), SizeIs(1));

  EXPECT_EQ(refusal_of(completed(lost)).code, ErrorCode::stale_token);
  EXPECT_EQ(refusal_of(failed(lost)).code, ErrorCode::stale_token);
  EXPECT_EQ(state(lost.id), JobState::queued);
}

TEST_P(StoreContract, ATokenStaysCurrentUntilTheStoreEndsTheAttempt) {  // invariants 8, 10: no duplicate without need
  const LeasedJob late = claim_one(enqueue(job()), {.lease = 30s});
  clock().advance(31s);

  EXPECT_EQ(settle(completed(late)).state, JobState::done);
  EXPECT_THAT(reap(), IsEmpty());
}

TEST_P(StoreContract, ATokenThatWasNeverGivenOutIsStale) {  // invariant 10
  const LeasedJob leased = claim_one(enqueue(job()));
  LeasedJob forged = leased;
  ++forged.token;
  EXPECT_EQ(refusal_of(completed(forged)).code, ErrorCode::stale_token);
  forged.token = 0;
  EXPECT_EQ(refusal_of(completed(forged)).code, ErrorCode::stale_token);
  LeasedJob unclaimed;
  unclaimed.id = enqueue(job());
  EXPECT_EQ(refusal_of(completed(unclaimed)).code, ErrorCode::stale_token);

  EXPECT_EQ(state(leased.id), JobState::processing);
  EXPECT_EQ(state(unclaimed.id), JobState::queued);
}

TEST_P(StoreContract, AnAbsentJobCannotBeSettled) {  // invariant 10
  LeasedJob absent;
  absent.id = jobs().new_job_id();
  absent.token = 1;

  EXPECT_EQ(refusal_of(completed(absent)).code, ErrorCode::not_found);
}

// Each word that settles an attempt, said again after its answer was lost.
TEST_P(StoreContract, ARepeatedWordIsAnsweredAsTheFirstTime) {  // invariant 10
  const std::vector<std::function<Settlement(const LeasedJob&)>> words{
      [](const LeasedJob& leased) { return completed(leased); },
      [](const LeasedJob& leased) { return skipped(leased); },
      [](const LeasedJob& leased) { return failed(leased); },
      [](const LeasedJob& leased) { return failed_for_good(leased); },
      [](const LeasedJob& leased) { return released(leased); },
      [](const LeasedJob& leased) { return released(leased, false); },
      [](const LeasedJob& leased) { return rate_limited(leased); },
      [](const LeasedJob& leased) { return cancelled(leased); },
      [&](const LeasedJob& leased) { return deferred(leased, now() + 1h); },
      [](const LeasedJob& leased) { return deferred(leased, std::nullopt); },
      [](const LeasedJob& leased) {
        Settlement held = failed(leased);
        held.hold = true;
        return held;
      },
  };
  for (const bool asked_to_stop : {false, true}) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      SCOPED_TRACE(std::to_string(i) + (asked_to_stop ? ", asked to stop" : ""));
      const LeasedJob leased = claim_one(enqueue(doubling_job()));
      if (asked_to_stop) act(JobAction::cancel, leased.id);
      const Settlement said = words[i](leased);
      const Settled first = settle(said);
      const JobView before = view(leased.id);
      clock().advance(1s);
      const auto second = try_settle(said);

      ASSERT_TRUE(second) << second.error().message;
      EXPECT_EQ(second->id, first.id);
      EXPECT_EQ(second->state, first.state);
      if (first.state == JobState::queued) {
        EXPECT_EQ(second->run_at, first.run_at);
        EXPECT_THAT(second->ready, IsEmpty()) << "it stands where the first word has put it";
      }
      const JobView after = view(leased.id);
      EXPECT_EQ(after.row, before.row);
      EXPECT_EQ(after.attempts, before.attempts);
    }
  }
  expect_counts_agree();
}

TEST_P(StoreContract, ARepeatedCompletionMakesItsFollowUpsOnce) {  // invariants 10, 30
  Settlement said = completed(claim_one(enqueue(job())));
  said.then = {job("second")};
  settle(said);
  settle(said);

  EXPECT_THAT(all_ids(), SizeIs(2));
}

TEST_P(StoreContract, AnotherWordThanTheFirstIsRefused) {  // invariant 10
  const LeasedJob done = claim_one(enqueue(job()));
  settle(completed(done));
  EXPECT_EQ(refusal_of(failed(done)).code, ErrorCode::stale_token);
  EXPECT_EQ(refusal_of(released(done)).code, ErrorCode::stale_token);
  EXPECT_EQ(state(done.id), JobState::done);

  const LeasedJob broken = claim_one(enqueue(doubling_job()));
  settle(failed(broken));
  EXPECT_EQ(refusal_of(completed(broken)).code, ErrorCode::stale_token);
  EXPECT_EQ(state(broken.id), JobState::queued);
}

// The same end in other words is neither a repeat nor stale.
TEST_P(StoreContract, TheSameEndInOtherWordsIsAConflict) {  // invariant 10
  const auto in_words = [](Settlement settlement, std::int64_t said) {
    settlement.said = said;
    return settlement;
  };
  const auto with_output = [&](const LeasedJob& leased, std::string output, std::int64_t said) {
    Settlement settlement = in_words(completed(leased), said);
    settlement.output = std::move(output);
    return settlement;
  };
  const LeasedJob done = claim_one(enqueue(job()));
  settle(with_output(done, "1", 11));
  EXPECT_EQ(refusal_of(with_output(done, "2", 12)).code, ErrorCode::conflict);
  EXPECT_EQ(refusal_of(completed(done)).code, ErrorCode::conflict);
  EXPECT_EQ(settle(with_output(done, "1", 11)).state, JobState::done);
  EXPECT_EQ(detail(done.id).output, "1");

  // Nothing was said the first time.
  const LeasedJob plain = claim_one(enqueue(job()));
  settle(completed(plain));
  EXPECT_EQ(refusal_of(with_output(plain, "1", 11)).code, ErrorCode::conflict);
  Settlement with_follow_up = in_words(completed(plain), 13);
  with_follow_up.then = {job("second")};
  EXPECT_EQ(refusal_of(with_follow_up).code, ErrorCode::conflict);
  EXPECT_EQ(settle(completed(plain)).state, JobState::done);
  EXPECT_EQ(detail(plain.id).output, "");
  EXPECT_EQ(all_ids().size(), 2U);

  const LeasedJob broken = claim_one(enqueue(doubling_job()));
  const Settled first = settle(in_words(failed(broken, "no"), 21));
  EXPECT_EQ(refusal_of(in_words(failed(broken, "yes"), 22)).code, ErrorCode::conflict);
  EXPECT_EQ(settle(in_words(failed(broken, "no"), 21)).run_at, first.run_at);
  const LeasedJob put_back = claim_one(enqueue(job()));
  settle(in_words(deferred(put_back, now() + 1h), 31));
  EXPECT_EQ(refusal_of(in_words(deferred(put_back, now() + 2h), 32)).code, ErrorCode::conflict);

  // What was said of an earlier attempt is not said of the next.
  clock().advance(1h);
  const LeasedJob next = claim_one(broken.id);
  settle(released(next));
  EXPECT_EQ(settle(released(next)).state, JobState::queued);
}

TEST_P(StoreContract, WhatWasSettledBeforeWordsWereKeptIsRecognisedByWhatItLeftBehind) {  // invariant 10
  const LeasedJob done = claim_one(enqueue(job()));
  Settlement old = completed(done);
  old.output = "1";
  settle(old);
  const LeasedJob broken = claim_one(enqueue(doubling_job()));
  settle(failed(broken, "no"));

  Settlement now = old;
  now.said = 11;
  EXPECT_EQ(settle(now).state, JobState::done);
  now.output = "2";
  EXPECT_EQ(refusal_of(now).code, ErrorCode::conflict);
  Settlement again = failed(broken, "no");
  again.said = 21;
  EXPECT_EQ(settle(again).state, JobState::queued);
  again = failed(broken, "yes");
  again.said = 22;
  EXPECT_EQ(refusal_of(again).code, ErrorCode::conflict);
}

TEST_P(StoreContract, TheSameSettlementTwiceInOneBatchIsOne) {  // invariant 10
  const LeasedJob leased = claim_one(enqueue(job()));
  const auto answers = jobs().settle(std::array{completed(leased), completed(leased), failed(leased)});

  EXPECT_EQ(value_of(answers[0]).state, JobState::done);
  EXPECT_EQ(value_of(answers[1]).state, JobState::done);
  EXPECT_EQ(error_of(answers[2]).code, ErrorCode::stale_token);
  EXPECT_EQ(count_of(JobState::done), 1);
}

TEST_P(StoreContract, AHeartbeatCannotReachPastTheTimeout) {  // invariant 13
  NewJob slow = job();
  slow.options.timeout = 100s;
  const LeasedJob leased = claim_one(enqueue(slow), {.lease = 60s});
  const Instant end = now() + 100s;
  clock().advance(30s);
  EXPECT_EQ(extend({.job = leased.id, .token = leased.token}).lease_until, now() + 60s);
  clock().advance(30s);
  EXPECT_EQ(extend({.job = leased.id, .token = leased.token}).lease_until, end);
  clock().advance(40s);

  EXPECT_EQ(error_of(try_extend({.job = leased.id, .token = leased.token})).code, ErrorCode::stale_token);
  const auto reaped = reap();
  ASSERT_THAT(reaped, SizeIs(1));
  EXPECT_EQ(reaped[0].result, AttemptResult::timeout);
}

TEST_P(StoreContract, TheTimeoutBeginsWhenTheHandlerIsEntered) {  // invariant 13
  NewJob slow = job();
  slow.options.timeout = 100s;
  const LeasedJob leased = claim_one(enqueue(slow), {.lease = 60s});
  for (int i = 0; i < 10; ++i) {
    clock().advance(50s);
    ASSERT_TRUE(try_extend({.job = leased.id, .token = leased.token, .started = false}));
  }
  EXPECT_THAT(reap(), IsEmpty());
  clock().advance(50s);
  EXPECT_EQ(extend({.job = leased.id, .token = leased.token}).lease_until, now() + 50s);
  clock().advance(50s);

  EXPECT_EQ(reap().at(0).result, AttemptResult::timeout);
}

}  // namespace
}  // namespace carillon::test
