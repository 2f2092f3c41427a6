// Which closings held a job: each once, from when it was due until it started.
#include "core/policies/gate_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/policies/gate.h"

namespace carillon::gate_history_test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Instant kDay = Instant(std::chrono::sys_days(std::chrono::year(2026) / 3 / 2));
Instant hour(int hours) { return kDay + std::chrono::hours(hours); }

PastClosing quiet(int from, int to) {
  return {.gate = GateKind::quiet_hours, .closed_at = hour(from), .until = hour(to), .opened_at = hour(to)};
}
PastClosing maintenance(int from, std::optional<int> to) {
  return {.gate = GateKind::maintenance,
          .closed_at = hour(from),
          .until = {},
          .opened_at = to ? std::optional(hour(*to)) : std::nullopt};
}
// "gate from-until" in hours of the day.
std::vector<std::string> held(const std::vector<PastClosing>& closings, const GateWait& wait) {
  std::vector<std::string> texts;
  for (const GateHeld& one : closings_that_held(closings, wait)) {
    const auto hours = [](Instant at) { return std::to_string((at - kDay) / 1h); };
    texts.push_back(std::string(to_string(one.gate)) + " " + hours(one.from) + "-" +
                    (one.until ? hours(*one.until) : ""));
  }
  return texts;
}

TEST(GateHistory, AClosingHoldsWhatIsDueBehindItUntilItStarts) {
  const std::vector<PastClosing> closings{quiet(1, 7), quiet(23, 31)};
  EXPECT_THAT(held(closings, {.job = {5}, .notifies = true, .due = hour(2), .until = hour(7) + 2s}),
              ElementsAre("quiet_hours 2-7"));
  EXPECT_THAT(held(closings, {.job = {5}, .notifies = true, .due = hour(8), .until = hour(9)}), IsEmpty());
  EXPECT_THAT(held(closings, {.job = {5}, .notifies = true, .due = hour(7), .until = hour(9)}), IsEmpty());
  EXPECT_THAT(held(closings, {.job = {5}, .notifies = true, .due = hour(0), .until = hour(1)}), IsEmpty());
  EXPECT_THAT(held(closings, {.job = {5}, .notifies = true, .due = hour(0), .until = hour(24)}),
              ElementsAre("quiet_hours 1-7", "quiet_hours 23-31"));
}

TEST(GateHistory, QuietHoursHoldOnlyWhatNotifies) {
  const std::vector<PastClosing> closings{quiet(1, 7), maintenance(2, 3)};
  EXPECT_THAT(held(closings, {.job = {5}, .notifies = false, .due = hour(0), .until = hour(9)}),
              ElementsAre("maintenance 2-3"));
}

TEST(GateHistory, OneThatIsClosedStillHoldsOn) {
  EXPECT_THAT(held({maintenance(2, std::nullopt)}, {.job = {5}, .due = hour(0), .until = hour(9)}),
              ElementsAre("maintenance 2-"));
}

TEST(GateHistory, WhoseTurnHasNotComeIsNotHeldByAGateThatClosesAndOpensMeanwhile) {
  const JobId job{7};
  ASSERT_GT(release_delay(job), 10ms);
  PastClosing short_one{.gate = GateKind::quiet_hours, .closed_at = hour(3), .until = {}, .opened_at = hour(3) + 5ms};
  EXPECT_THAT(held({maintenance(2, 3), short_one}, {.job = job, .notifies = true, .due = hour(0), .until = hour(9)}),
              ElementsAre("maintenance 2-3"));
  // Two that are closed at the same time hold it both.
  EXPECT_THAT(held({maintenance(2, 4), quiet(3, 4)}, {.job = job, .notifies = true, .due = hour(0), .until = hour(9)}),
              ElementsAre("maintenance 2-4", "quiet_hours 3-4"));
}

TEST(GateHistory, ARecordTellsOfOneClosingThatItLiesIn) {
  const auto held_at = [](GateKind gate) {
    return GateHeld{.gate = gate, .from = hour(2), .until = hour(4), .closed_at = hour(2), .opened_at = hour(4)};
  };
  const std::vector<GateHeld> both{held_at(GateKind::maintenance_for_all), held_at(GateKind::maintenance)};
  const auto none = std::optional<std::size_t>();
  const auto records = [&](const std::vector<PastDeferral>& past) { return records_of(both, past); };
  EXPECT_THAT(records({{.reason = "maintenance", .at = hour(3)}}), ElementsAre(none, std::optional<std::size_t>(0)));
  EXPECT_THAT(records({{.reason = "maintenance", .at = hour(3)}, {.reason = "maintenance", .at = hour(4)}}),
              ElementsAre(std::optional<std::size_t>(1), std::optional<std::size_t>(0)));
  EXPECT_THAT(records({{.reason = "maintenance:all", .at = hour(2)}}),
              ElementsAre(std::optional<std::size_t>(0), none));
  EXPECT_THAT(records({{.reason = "maintenance", .at = hour(5)}, {.reason = "quiet_hours", .at = hour(3)}}),
              ElementsAre(none, none));
}

}  // namespace
}  // namespace carillon::gate_history_test
