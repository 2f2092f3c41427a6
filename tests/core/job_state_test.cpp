#include "core/jobs/job_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

#include "core/schedules/overlap.h"

namespace carillon {
namespace {

// Section 2 of the semantics, read again and written as a matrix: row to column, x where the move is allowed.
// (invariant 14)
//
// Beyond the arrows of the diagram: "any state that is not final → cancelled | cutoff_reached" (a deadline ends dlq
// jobs too), "a due occurrence never run → missed | skipped" (waiting and queued have not run; what is missed is
// written as such from the beginning, so no row moves there).
constexpr std::array<std::string_view, 9> kOrder{"waiting", "queued",    "processing",     "dlq",   "done",
                                                 "skipped", "cancelled", "cutoff_reached", "missed"};
constexpr std::array<std::string_view, 9> kMatrix{
    //  w    q    p    d    D    s    c    o    m
    " .    x    .    .    .    x    x    x    . ",  // waiting
    " .    .    x    .    .    x    x    x    . ",  // queued
    " .    x    .    x    x    x    x    x    . ",  // processing
    " .    x    .    .    .    .    x    x    . ",  // dlq
    " .    .    .    .    .    .    .    .    . ",  // done
    " .    .    .    .    .    .    .    .    . ",  // skipped
    " .    .    .    .    .    .    .    .    . ",  // cancelled
    " .    .    .    .    .    .    .    .    . ",  // cutoff_reached
    " .    .    .    .    .    .    .    .    . ",  // missed
};

bool allowed_by_matrix(std::size_t from, std::size_t to) { return kMatrix[from][1 + 5 * to] == 'x'; }

JobState state(std::size_t index) { return *job_state_from(kOrder[index]); }

TEST(JobState, EveryPairOfStatesAgreesWithTheTable) {  // invariant 14
  for (std::size_t from = 0; from < kOrder.size(); ++from) {
    for (std::size_t to = 0; to < kOrder.size(); ++to) {
      EXPECT_EQ(can_move(state(from), state(to)), allowed_by_matrix(from, to)) << kOrder[from] << " to " << kOrder[to];
    }
  }
}

TEST(JobState, SuccessorsAreThoseThatCanBeMovedTo) {
  for (const JobState from : kJobStates) {
    std::set<JobState> listed(successors(from).begin(), successors(from).end());
    EXPECT_EQ(listed.size(), successors(from).size()) << "one is listed twice: " << to_string(from);
    for (const JobState to : kJobStates) EXPECT_EQ(listed.contains(to), can_move(from, to));
  }
}

TEST(JobState, TheFinalOnesAreNeverLeft) {
  const std::set<std::string_view> final{"done", "skipped", "cancelled", "cutoff_reached", "missed"};
  for (const JobState each : kJobStates) {
    EXPECT_EQ(is_final(each), final.contains(to_string(each))) << to_string(each);
    EXPECT_EQ(successors(each).empty(), is_final(each));
  }
}

TEST(JobState, EverythingThatIsNotFinalCanBeCancelledOrCutOff) {
  for (const JobState each : kJobStates) {
    EXPECT_EQ(can_move(each, JobState::cancelled), !is_final(each));
    EXPECT_EQ(can_move(each, JobState::cutoff_reached), !is_final(each));
  }
}

TEST(JobState, OnlyAProcessingJobCanBecomeDoneOrBeParked) {
  for (const JobState each : kJobStates) {
    EXPECT_EQ(can_move(each, JobState::done), each == JobState::processing);
    EXPECT_EQ(can_move(each, JobState::dlq), each == JobState::processing);
  }
}

TEST(JobState, NamesReadBackAndAreThoseOfTheTable) {
  ASSERT_EQ(kJobStates.size(), kOrder.size());
  for (std::size_t i = 0; i < kOrder.size(); ++i) {
    EXPECT_EQ(to_string(kJobStates[i]), kOrder[i]);
    EXPECT_EQ(job_state_from(kOrder[i]), kJobStates[i]);
  }
  for (const std::string_view name : {"", "failed", "pending", "Done", "done ", "running"}) {
    EXPECT_FALSE(job_state_from(name).has_value()) << name;
  }
}

TEST(JobState, AJobIsOpenUntilItIsFinalOrParked) {
  const std::set<std::string_view> open{"waiting", "queued", "processing"};
  for (const JobState each : kJobStates) EXPECT_EQ(is_open(each), open.contains(to_string(each)));
}

}  // namespace
}  // namespace carillon
