// Adaptive checks at the level of the engine (S2).
#include "engine/support/subject_test.h"

namespace carillon::test {
namespace {

using ::testing::Each;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

class EngineAdaptive : public SubjectTest {
 protected:
  void SetUp() override {
    handle_noted("check");
    put(R"({"name":"s","trigger":{"kind":"adaptive","bands":[{"within":"24h","every":"10m"},{"within":"7d","every":"60m"}],)"
        R"("otherwise":["4h","6h"]},"job":{"type":"check","max_attempts":3,"retry":{"kind":"fixed","delay":"3m"}}})");
  }
  std::vector<Duration> gaps() const {
    std::vector<Duration> apart;
    for (std::size_t i = 1; i < starts.size(); ++i) apart.push_back(starts[i] - starts[i - 1]);
    return apart;
  }
  std::string expecting(Duration in) { return R"({"expected_at":")" + format_instant(clock.now() + in) + R"("})"; }
};

OVER_EVERY_STORE(EngineAdaptive);

TEST_P(EngineAdaptive, TheNearerTheCloserTogether) {
  put_subject("far", expecting(30 * 24h));
  advance(24h);
  EXPECT_THAT(gaps(), Each(Ge(4h)));
  EXPECT_THAT(gaps(), Each(Le(6h)));
  EXPECT_EQ(subject("far").cadence_state, "otherwise");
  starts.clear();
  value_of(client().delete_subject(kTenant, "s", "far"));
  put_subject("week", expecting(5 * 24h));
  advance(12h);
  EXPECT_THAT(gaps(), Each(1h));
  EXPECT_EQ(subject("week").cadence_state, "7d");
  starts.clear();
  value_of(client().delete_subject(kTenant, "s", "week"));
  put_subject("day", expecting(12h));
  advance(3h);
  EXPECT_THAT(gaps(), Each(10min));
  EXPECT_EQ(subject("day").cadence_state, "1d");
}

TEST_P(EngineAdaptive, AFasterBandIsNotMissedByASlowStep) {
  put_subject("t", expecting(7 * 24h + 1h));
  advance(3h);
  const Instant band = at("2026-03-02T13:00:00Z");
  ASSERT_FALSE(starts.empty());
  EXPECT_TRUE(std::ranges::any_of(starts, [&](Instant start) { return start > band && start <= band + 1h; }));
}

TEST_P(EngineAdaptive, AChecksResultMovesTheNextOne) {
  put_subject("t");
  int checks = 0;
  answer = [&](JobContext&) {
    ++checks;
    return done().subject_expects(clock.now() + 12h).subject_status("pending");
  };
  advance(6h);
  ASSERT_EQ(checks > 0, true);
  const Instant first = starts.front();
  ASSERT_THAT(starts, SizeIs(Ge(2U)));
  EXPECT_LE(starts[1] - first, Duration(10min));
  EXPECT_EQ(subject("t").last_status, "pending");
  EXPECT_TRUE(subject("t").last_checked_at.has_value());
}

TEST_P(EngineAdaptive, AvailableIsRemembered) {
  put_subject("t", expecting(1h));
  answer = [](JobContext&) { return done().subject_status("available"); };
  advance(30min);
  ASSERT_TRUE(subject("t").last_available_at.has_value());
}

TEST_P(EngineAdaptive, OneOpenCheckASubject) {
  put_subject("t", expecting(3h));
  value_of(client().put_queue(kTenant, "default", R"({"paused":true})"));
  advance(65min);
  EXPECT_THAT(jobs(), SizeIs(1)) << "the others fell due while it was open";
  // One row for all of them.
  const OutcomeList rows = value_of(client().outcome_items(kTenant, "s", {.subject = "t"}, "", 100));
  ASSERT_THAT(rows.items, SizeIs(2));
  EXPECT_EQ(rows.items[1].outcome, "skipped");
  EXPECT_EQ(rows.items[1].reason, "check_open");
  EXPECT_GE(rows.items[1].count, 5);
  value_of(client().put_queue(kTenant, "default", R"({"paused":false})"));
  run_due();
  EXPECT_THAT(starts, SizeIs(1));
  advance(30min);
  EXPECT_THAT(gaps(), Each(Le(10min)));
}

TEST_P(EngineAdaptive, AnOutageNeitherFloodsTheDlqNorLeavesASubjectStuck) {
  answer = [](JobContext&) { return fail("provider down"); };
  put_subject("t", expecting(1h));
  advance(3h);
  JobQuery parked;
  parked.states = {JobState::dlq};
  EXPECT_THAT(jobs(parked), IsEmpty());
  EXPECT_EQ(subject("t").last_status, "error");
  const std::size_t before = starts.size();
  answer = [](JobContext&) { return done().subject_status("pending"); };
  advance(30min);
  EXPECT_GT(starts.size(), before);
  EXPECT_EQ(subject("t").last_status, "pending");
}

TEST_P(EngineAdaptive, ATriggerChecksAtOnceAndItsResultCounts) {
  put_subject("t");
  run_due();
  const auto made = value_of(client().trigger(kTenant, "s", {.priority = 1, .subject = "t"}));
  EXPECT_EQ(job(made.id).priority, 1);
  answer = [this](JobContext&) { return done().subject_expects(clock.now() + 2h).subject_status("soon"); };
  run_due();
  EXPECT_EQ(state(made.id), JobState::done);
  EXPECT_EQ(subject("t").last_status, "soon");
  EXPECT_EQ(subject("t").expected_at, clock.now() + 2h);
  EXPECT_LE(*subject("t").next_at, clock.now() + 10min);
}

TEST_P(EngineAdaptive, DownForDaysItGoesOnWithoutABurst) {
  for (int i = 0; i < 20; ++i) put_subject("t" + std::to_string(i), expecting(2 * 24h));
  advance(2h);
  starts.clear();
  ran.clear();
  clock.advance(24h);
  run_due();
  EXPECT_THAT(starts, SizeIs(20)) << "one each, however many would have been due";
  advance(10min);
  EXPECT_THAT(starts, SizeIs(Le(41U)));
}

TEST_P(EngineAdaptive, FirstChecksAreSpread) {
  for (int i = 0; i < 40; ++i) put_subject("t" + std::to_string(i), expecting(12h));
  advance(10min);
  EXPECT_THAT(starts, SizeIs(Ge(40U)));
  const std::set<Instant> instants(starts.begin(), starts.end());
  EXPECT_GT(instants.size(), 30U);
}

}  // namespace
}  // namespace carillon::test
