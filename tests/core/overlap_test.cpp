#include "core/schedules/overlap.h"

#include <gtest/gtest.h>

#include <array>

#include "support/results.h"

namespace carillon {
namespace {

using enum OverlapPolicy;
using New = OverlapDecision::New;

constexpr std::array kPolicies{allow, skip, queue_one, replace};
constexpr std::array kOpen{JobState::waiting, JobState::queued, JobState::processing};

TEST(Overlap, WithoutAnOpenPredecessorEveryOccurrenceRuns) {
  for (const OverlapPolicy policy : kPolicies) {
    for (const bool one_waits : {false, true}) {
      EXPECT_EQ(on_overlap(policy, std::nullopt, one_waits).occurrence, New::run);
      for (const JobState state : kJobStates) {
        if (is_open(state)) continue;
        const OverlapDecision decision = on_overlap(policy, state, one_waits);
        EXPECT_EQ(decision.occurrence, New::run) << to_string(policy) << " " << to_string(state);
        EXPECT_FALSE(decision.cancel_previous);
        EXPECT_FALSE(decision.skip_waiting);
      }
    }
  }
}

TEST(Overlap, AJobInTheDlqDoesNotHoldUpTheSeries) {
  EXPECT_EQ(on_overlap(skip, JobState::dlq, false).occurrence, New::run);
}

TEST(Overlap, AllowRunsBesideThePredecessor) {
  for (const JobState state : kOpen) {
    EXPECT_EQ(on_overlap(allow, state, false).occurrence, New::run);
    EXPECT_FALSE(on_overlap(allow, state, false).cancel_previous);
  }
}

TEST(Overlap, SkipRecordsTheNewOneAsSkipped) {
  for (const JobState state : kOpen) EXPECT_EQ(on_overlap(skip, state, false).occurrence, New::skipped);
}

TEST(Overlap, QueueOneLetsTheNewestWaitAndDisplacesTheOneBefore) {
  for (const JobState state : kOpen) {
    const OverlapDecision first = on_overlap(queue_one, state, false);
    EXPECT_EQ(first.occurrence, New::wait);
    EXPECT_FALSE(first.skip_waiting);
    EXPECT_FALSE(first.cancel_previous);
    EXPECT_TRUE(on_overlap(queue_one, state, true).skip_waiting);
  }
}

TEST(Overlap, ReplaceCancelsAndStartsWhenTheOldOneHasEnded) {
  for (const JobState state : kOpen) {
    const OverlapDecision decision = on_overlap(replace, state, false);
    EXPECT_EQ(decision.occurrence, New::wait);
    EXPECT_TRUE(decision.cancel_previous);
    EXPECT_FALSE(decision.skip_waiting);
    EXPECT_TRUE(on_overlap(replace, state, true).skip_waiting);
  }
}

TEST(Overlap, NamesReadBack) {
  for (const OverlapPolicy policy : kPolicies) EXPECT_EQ(test::value_of(parse_overlap(to_string(policy))), policy);
  EXPECT_EQ(to_string(queue_one), "queue_one");
}

TEST(Overlap, AnUnknownNameIsRefusedWithWhatIsAllowed) {
  for (const std::string_view name : {"", "Allow", "queue", "allow "}) {
    const Error error = test::error_of(parse_overlap(name));
    EXPECT_EQ(error.code, ErrorCode::invalid_request);
    EXPECT_THAT(error.message, testing::HasSubstr("allowed are allow, skip, queue_one, replace"));
  }
}

}  // namespace
}  // namespace carillon
