// A judge that never complains proves nothing: each kind of loss, made up, is noticed.
#include "durability/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr JobId kFirst{1};
constexpr JobId kSecond{2};

JobFacts queued() { return {.payload_hash = 7, .key = "k", .worker = {}}; }
JobFacts leased() {
  return {.state = JobState::processing, .token = 1, .payload_hash = 7, .key = "k", .worker = "ada"};
}

class LedgerJudges : public testing::Test {
 protected:
  void SetUp() override { ledger_.acknowledge(ledger_.ask({{kFirst, queued()}, {kSecond, queued()}})); }
  std::vector<std::string> judge(const Facts& found) { return ledger_.violations({.jobs = found, .faults = {}}); }

  Ledger ledger_;
};

TEST_F(LedgerJudges, WhatWasAcknowledgedAndIsThereIsInOrder) {
  EXPECT_THAT(judge({{kFirst, queued()}, {kSecond, queued()}}), IsEmpty());
}

TEST_F(LedgerJudges, ALostJobIsNoticed) {
  EXPECT_THAT(judge({{kFirst, queued()}}), ElementsAre(HasSubstr("job 2 was acknowledged")));
}

TEST_F(LedgerJudges, ALostClaimIsNoticed) {
  ledger_.acknowledge(ledger_.ask({{kFirst, leased()}}));
  EXPECT_THAT(judge({{kFirst, queued()}, {kSecond, queued()}}), ElementsAre(HasSubstr("job 1 was acknowledged")));
}

TEST_F(LedgerJudges, ALostKeyIsNoticed) {
  JobFacts without_key = queued();
  without_key.key.clear();
  EXPECT_THAT(judge({{kFirst, without_key}, {kSecond, queued()}}), ElementsAre(HasSubstr("job 1 was acknowledged")));
}

TEST_F(LedgerJudges, AnotherPayloadIsNoticed) {
  JobFacts other = queued();
  other.payload_hash = 8;
  EXPECT_THAT(judge({{kFirst, other}, {kSecond, queued()}}), ElementsAre(HasSubstr("job 1 was acknowledged")));
}

TEST_F(LedgerJudges, AJobThatNobodyAskedForIsNoticed) {
  EXPECT_THAT(judge({{kFirst, queued()}, {kSecond, queued()}, {JobId{3}, queued()}}),
              ElementsAre(HasSubstr("job 3 was never asked for")));
}

TEST_F(LedgerJudges, AWriteInDoubtMayBeThereOrAbsentButNotInPart) {
  ledger_.ask({{kFirst, leased()}, {JobId{3}, queued()}});
  EXPECT_THAT(judge({{kFirst, queued()}, {kSecond, queued()}}), IsEmpty());
  EXPECT_THAT(judge({{kFirst, leased()}, {kSecond, queued()}, {JobId{3}, queued()}}), IsEmpty());
  EXPECT_THAT(judge({{kFirst, leased()}, {kSecond, queued()}}), ElementsAre(HasSubstr("neither there nor absent")));
  EXPECT_THAT(judge({{kFirst, queued()}, {kSecond, queued()}, {JobId{3}, queued()}}),
              ElementsAre(HasSubstr("neither there nor absent")));
}

TEST_F(LedgerJudges, ARefusedWriteMustNotBeThere) {
  ledger_.refuse(ledger_.ask({{kFirst, leased()}}));
  EXPECT_THAT(judge({{kFirst, leased()}, {kSecond, queued()}}), ElementsAre(HasSubstr("job 1 was acknowledged")));
}

TEST_F(LedgerJudges, AnAnswerBeforeTheWriteIsNoticed) {
  // As if the store had said yes and then crashed before the commit.
  ledger_.acknowledge(ledger_.ask({{JobId{3}, queued()}}));
  EXPECT_THAT(judge({{kFirst, queued()}, {kSecond, queued()}}), ElementsAre(HasSubstr("job 3 was acknowledged")));
}

TEST_F(LedgerJudges, FaultsOfTheFileAndSurprisesAreShown) {
  ledger_.surprise("stale_token");
  EXPECT_THAT(ledger_.violations({.jobs = {{kFirst, queued()}, {kSecond, queued()}}, .faults = {"torn"}}),
              ElementsAre("stale_token", "torn"));
}

TEST_F(LedgerJudges, DoubtsAreSettledByWhatIsFound) {
  ledger_.ask({{kFirst, leased()}});
  ledger_.ask({{kSecond, leased()}});
  ledger_.settle_doubts({.jobs = {{kFirst, leased()}, {kSecond, queued()}}, .faults = {}});
  EXPECT_EQ(ledger_.in_doubt(), 0U);
  EXPECT_EQ(ledger_.facts_of(kFirst), leased());
  EXPECT_EQ(ledger_.facts_of(kSecond), queued());
}

TEST(LedgerLines, AnotherLedgerCanFollow) {
  Ledger original;
  Ledger copy;
  original.echo_to([&](const std::string& line) { copy.replay(line.substr(0, line.size() - 1)); });
  original.acknowledge(original.ask({{kFirst, queued()}, {kSecond, leased()}}));
  original.refuse(original.ask({{kSecond, queued()}}));
  original.ask({{JobId{3}, queued()}});

  EXPECT_EQ(copy.acknowledged(), original.acknowledged());
  EXPECT_EQ(copy.in_doubt(), 1U);
  EXPECT_ANY_THROW(copy.replay("nonsense 1"));
  EXPECT_ANY_THROW(copy.replay("ask 4 1 17 1"));
}

}  // namespace
}  // namespace carillon::test
