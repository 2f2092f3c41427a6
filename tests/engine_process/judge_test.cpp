// A judge that never complains proves nothing: each kind of fault, made up, is noticed.
#include "engine_process/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using std::chrono_literals::operator""ms;

constexpr long kFirst = 11;  // processes
constexpr long kSecond = 12;

std::vector<std::string> judged(const std::vector<Line>& lines, const ListedJobs& found) {
  return judge(lines, found, 7000ms).violations;
}

const ListedJobs kDone{{1, {.state = "done", .attempts = 1, .id = 100}}};

TEST(EngineJudge, WhatWasAcknowledgedRanAndIsDoneIsInOrder) {
  EXPECT_THAT(
      judged({{0, kFirst, "up"}, {1, kFirst, "acked", 1}, {2, kFirst, "start", 1}, {3, kFirst, "end", 1}}, kDone),
      IsEmpty());
}

TEST(EngineJudge, AnAcknowledgedJobThatIsAbsentIsLost) {
  EXPECT_THAT(judged({{1, kFirst, "acked", 1}}, {}), ElementsAre(HasSubstr("LOST")));
}

TEST(EngineJudge, AnAcknowledgedJobThatNeverEndsIsLost) {
  EXPECT_THAT(judged({{1, kFirst, "acked", 1}}, {{1, {.state = "queued"}}}), ElementsAre(HasSubstr("LOST")));
}

TEST(EngineJudge, AJobThatIsDoneWithoutHavingRunIsNoticed) {
  EXPECT_THAT(judged({{1, kFirst, "acked", 1}, {2, kFirst, "start", 1}}, kDone), ElementsAre(HasSubstr("WRONG")));
}

TEST(EngineJudge, ARunAfterTheJobWasDoneIsNoticed) {  // invariant 2
  EXPECT_THAT(judged({{1, kFirst, "start", 1},
                      {2, kFirst, "end", 1},
                      {3, kFirst, "settled", 100},
                      {4, kSecond, "up"},
                      {5, kSecond, "start", 1}},
                     kDone),
              ElementsAre(HasSubstr("after it was done")));
}

TEST(EngineJudge, ARunAgainAfterAKillIsInOrderAndCounted) {  // invariant 8
  const Judgement judgement = judge({{1, kFirst, "start", 1},
                                     {2, kFirst, "end", 1},
                                     {10, kSecond, "up"},
                                     {40, kSecond, "start", 1},
                                     {41, kSecond, "end", 1}},
                                    kDone, 7000ms);
  EXPECT_THAT(judgement.violations, IsEmpty());
  EXPECT_EQ(judgement.runs, 2U);
  EXPECT_EQ(judgement.repeated, 1U);
  EXPECT_EQ(judgement.slowest, 30ms);
}

TEST(EngineJudge, TwoRunsInOneProcessAreNoticed) {
  EXPECT_THAT(
      judged({{0, kFirst, "up"}, {1, kFirst, "start", 1}, {2, kFirst, "start", 1}, {3, kFirst, "end", 1}}, kDone),
      ElementsAre(HasSubstr("twice in one process")));
}

TEST(EngineJudge, ARunAgainThatComesTooLateIsNoticed) {  // invariant 12
  EXPECT_THAT(
      judged({{1, kFirst, "start", 1}, {10, kSecond, "up"}, {7011, kSecond, "start", 1}, {7012, kSecond, "end", 1}},
             kDone),
      ElementsAre(HasSubstr("LATE")));
}

}  // namespace
}  // namespace carillon::test
