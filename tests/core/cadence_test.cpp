// Adaptive checks: bands, bounds, and never a burst.
#include "core/kinds/adaptive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "core/planned_subject.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::PlannedSubject;
using test::utc;
using testing::IsEmpty;

const Instant kNoon = utc("2026-01-01T12:00:00Z");

// The example of the documentation.
PlannedSubject stock(std::string_view more_of_trigger = "", std::string_view more = "") {
  return test::subject_of(R"({"name": "stock", "trigger": {"kind": "adaptive",
      "bands": [{"within": "24h", "every": "10m"}, {"within": "7d", "every": "60m"}], "otherwise": ["4h", "6h"])" +
                          std::string(more_of_trigger) + R"(}, "job": {"type": "check"})" + std::string(more) + "}");
}

// One whose check is due now.
PlannedSubject due_now(std::optional<Instant> expected_at, std::string_view more_of_trigger = "") {
  PlannedSubject shoe = stock(more_of_trigger);
  shoe.expected_at = expected_at;
  shoe.next_at = kNoon;
  return shoe;
}

TEST(Adaptive, MakingACheckPlansTheNextOneByTheBandInForce) {  // invariant 19
  struct Case {
    std::optional<Duration> away;
    Duration min;
    Duration max;
    std::string_view cadence;
  };
  for (const Case& c : {Case{0h, 10min, 10min, "1d"}, Case{24h, 10min, 10min, "1d"}, Case{-24h, 10min, 10min, "1d"},
                        Case{-25h, 60min, 60min, "7d"}, Case{3 * 24h, 60min, 60min, "7d"},
                        Case{7 * 24h, 60min, 60min, "7d"}, Case{-30 * 24h, 4h, 6h, "otherwise"},
                        Case{30 * 24h, 4h, 6h, "otherwise"}, Case{std::nullopt, 4h, 6h, "otherwise"}}) {
    PlannedSubject shoe = due_now(c.away ? std::optional(kNoon + *c.away) : std::nullopt);
    const SubjectPlan plan = shoe.plan(kNoon);
    ASSERT_EQ(plan.jobs.size(), 1U);
    EXPECT_EQ(plan.jobs[0].occurrence->slot, kNoon);
    EXPECT_EQ(plan.jobs[0].run_at, kNoon);
    EXPECT_TRUE(check_new_job(plan.jobs[0]).has_value());
    EXPECT_EQ(plan.cadence, c.cadence);
    ASSERT_TRUE(plan.next_at);
    EXPECT_GE(*plan.next_at, kNoon + c.min) << c.cadence;
    EXPECT_LE(*plan.next_at, kNoon + c.max) << c.cadence;
  }
}

TEST(Adaptive, APairMeansAPointBetweenThatIsTheSameEachTimeAndNotTheSameForAll) {
  std::set<Instant> times;
  for (int i = 0; i < 200; ++i) {
    PlannedSubject shoe = due_now(std::nullopt);
    shoe.name = "shoe-" + std::to_string(i);
    PlannedSubject twin = shoe;
    const auto next = shoe.plan(kNoon).next_at;
    EXPECT_EQ(next, twin.plan(kNoon).next_at);
    times.insert(next.value());
  }
  EXPECT_GT(times.size(), 190U);
  EXPECT_LT(*times.begin(), kNoon + 4h + 10min);
  EXPECT_GT(*times.rbegin(), kNoon + 6h - 10min);
}

TEST(Adaptive, TheNextTimeCountsFromThePlannedOneNotFromWhenItWasMade) {
  PlannedSubject shoe = due_now(kNoon + 1h);
  EXPECT_EQ(shoe.plan(kNoon + 3min).next_at, kNoon + 10min);
}

TEST(Adaptive, ItIsNeverLaterThanTheBeginningOfAFasterBandAndItsEvery) {
  // The band of 10 minutes begins in 5; without that the next check would be in an hour.
  PlannedSubject shoe = due_now(kNoon + 24h + 5min);
  EXPECT_EQ(shoe.plan(kNoon).next_at, kNoon + 15min);
  // From `otherwise` the band of an hour begins in 5 minutes.
  PlannedSubject far = due_now(kNoon + 7 * 24h + 5min);
  EXPECT_EQ(far.plan(kNoon).next_at, kNoon + 65min);
  // Bands that lie behind do not come again.
  PlannedSubject past = due_now(kNoon - 6 * 24h);
  EXPECT_EQ(past.plan(kNoon).next_at, kNoon + 60min);
}

TEST(Adaptive, FloorAndCeilingBoundIt) {
  PlannedSubject slow = due_now(kNoon, R"(, "floor": "30m")");
  EXPECT_EQ(slow.plan(kNoon).next_at, kNoon + 30min);
  PlannedSubject fast = due_now(std::nullopt, R"(, "ceiling": "2h")");
  EXPECT_EQ(fast.plan(kNoon).next_at, kNoon + 2h);
  PlannedSubject late = due_now(kNoon, R"(, "floor": "9m")");
  EXPECT_EQ(late.plan(kNoon + 5min).next_at, kNoon + 14min) << "the floor also counts from when a check is made";
}

TEST(Adaptive, TheFirstCheckIsSpreadOverTheEveryOfItsBand) {
  Instant earliest = kInstantMax;
  Instant latest = kInstantMin;
  for (int i = 0; i < 500; ++i) {
    PlannedSubject shoe = stock();
    shoe.name = "shoe-" + std::to_string(i);
    shoe.expected_at = kNoon + 48h;
    shoe.make(kNoon);
    earliest = std::min(earliest, shoe.next_at.value());
    latest = std::max(latest, *shoe.next_at);
  }
  EXPECT_GE(earliest, kNoon);
  EXPECT_LT(earliest, kNoon + 2min);
  EXPECT_GT(latest, kNoon + 58min);
  EXPECT_LE(latest, kNoon + 60min);
}

TEST(Adaptive, AnOccurrenceThatFallsDueWhileACheckIsOpenIsSkippedAndSeveralAreOneRow) {
  PlannedSubject shoe = due_now(kNoon + 1h);
  EXPECT_EQ(shoe.plan(kNoon).jobs.size(), 1U);
  shoe.open = {{.id = JobId{7}, .state = JobState::queued}};
  const SubjectPlan first = shoe.plan(kNoon + 10min);
  EXPECT_THAT(first.jobs, IsEmpty());
  ASSERT_EQ(first.closed.size(), 1U);
  EXPECT_EQ(first.closed[0].first, kNoon + 10min);
  EXPECT_EQ(first.closed[0].outcome, JobState::skipped);
  EXPECT_EQ(first.closed[0].reason, "check_open");
  EXPECT_FALSE(first.closed[0].extends);
  EXPECT_EQ(first.next_at, kNoon + 20min);
  for (int i = 2; i < 5; ++i) {
    const SubjectPlan more = shoe.plan(kNoon + i * 10min);
    ASSERT_EQ(more.closed.size(), 1U);
    EXPECT_TRUE(more.closed[0].extends);
    EXPECT_EQ(more.closed[0].first, kNoon + 10min);
    EXPECT_EQ(more.closed[0].until, kNoon + i * 10min);
    EXPECT_EQ(more.closed[0].count, 1) << "what is added";
  }
  shoe.open.clear();
  EXPECT_EQ(shoe.plan(kNoon + 50min).jobs.size(), 1U);
  shoe.open = {{.id = JobId{8}, .state = JobState::processing}};
  EXPECT_FALSE(shoe.plan(kNoon + 60min).closed.at(0).extends) << "another open check, another row";
}

TEST(Adaptive, ACheckInTheDlqIsNotOpen) {
  PlannedSubject shoe = due_now(kNoon);
  shoe.open = {{.id = JobId{7}, .state = JobState::dlq}};
  EXPECT_EQ(shoe.plan(kNoon).jobs.size(), 1U);
}

TEST(Adaptive, OneThatIsFarBehindGoesOnFromNowWithoutABurst) {
  std::set<Instant> times;
  for (int i = 0; i < 100; ++i) {
    PlannedSubject shoe = due_now(kNoon + 48h);
    shoe.name = "shoe-" + std::to_string(i);
    const Instant back = kNoon + 10h;
    const SubjectPlan plan = shoe.plan(back);
    EXPECT_EQ(plan.jobs.size(), 1U);
    EXPECT_GE(plan.next_at.value(), back + 30min);
    EXPECT_LE(plan.next_at.value(), back + 60min);
    EXPECT_THAT(shoe.plan(back).jobs, IsEmpty());
    times.insert(*plan.next_at);
  }
  EXPECT_GT(times.size(), 90U) << "a million of them do not come together again";
}

TEST(Adaptive, AChangedExpectationMovesTheNextTimeEarlierOrLater) {
  PlannedSubject shoe = due_now(std::nullopt);
  shoe.plan(kNoon);
  EXPECT_GE(shoe.next_at.value(), kNoon + 4h);
  shoe.expected_at = kNoon + 2h;
  shoe.edit(kNoon + 1min);
  EXPECT_EQ(shoe.next_at, kNoon + 10min) << "earlier";
  shoe.expected_at.reset();
  const SubjectPlan plan = shoe.edit(kNoon + 2min);
  EXPECT_GE(shoe.next_at.value(), kNoon + 4h) << "later";
  EXPECT_EQ(plan.cadence, "otherwise");
}

TEST(Adaptive, AChangeThatMakesManyOverdueSpreadsThemAndRepeatedOnesDoNotPutThemOff) {
  std::set<Instant> times;
  for (int i = 0; i < 100; ++i) {
    PlannedSubject shoe = due_now(std::nullopt);
    shoe.name = "shoe-" + std::to_string(i);
    shoe.plan(kNoon);
    shoe.expected_at = kNoon + 4h;
    shoe.edit(kNoon + 3h);
    const Instant next = shoe.next_at.value();
    EXPECT_GE(next, kNoon + 3h);
    EXPECT_LE(next, kNoon + 3h + 10min);
    shoe.edit(std::min(next, kNoon + 3h + 1s));
    EXPECT_LE(shoe.next_at.value(), std::max(next, kNoon + 3h + 1s));
    times.insert(next);
  }
  EXPECT_GT(times.size(), 90U);
}

TEST(Adaptive, TimeInAPauseHasNoOccurrences) {  // invariant 32
  PlannedSubject shoe = due_now(kNoon + 48h);
  shoe.plan(kNoon);
  const SubjectPlan resumed = shoe.resume(kNoon + 20h);
  EXPECT_THAT(resumed.closed, IsEmpty());
  EXPECT_GE(shoe.next_at.value(), kNoon + 20h);
  EXPECT_LE(shoe.next_at.value(), kNoon + 21h);
}

TEST(Adaptive, TheScheduleBeginsAndEnds) {
  PlannedSubject shoe = stock("", R"(, "starts_at": "2026-01-02T00:00:00Z", "ends_at": "2026-01-02T01:00:00Z")");
  shoe.expected_at = kNoon;
  shoe.make(kNoon);
  EXPECT_GE(shoe.next_at.value(), utc("2026-01-02T00:00:00Z"));
  int checks = 0;
  while (shoe.next_at && checks < 100) checks += static_cast<int>(shoe.plan(*shoe.next_at).jobs.size());
  EXPECT_GE(checks, 5);
  EXPECT_LE(checks, 7);
}

}  // namespace
}  // namespace carillon
