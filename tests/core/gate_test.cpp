#include "core/policies/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "core/times.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::text_of;
using test::utc;
using test::value_of;
using test::zone;

QuietHours hours(std::string_view start, std::string_view end, std::vector<Weekday> days = {}) {
  return {.start = value_of(parse_time_of_day(start)),
          .end = value_of(parse_time_of_day(end)),
          .days = std::move(days),
          .timezone = {}};
}

// "open", or until when it is quiet.
std::string quiet(const QuietHours& quiet_hours, std::string_view zone_name, std::string_view now) {
  const auto closing = quiet_at(quiet_hours, zone(zone_name), utc(now));
  if (!closing) return "open";
  EXPECT_EQ(closing->reason, "quiet_hours");
  return closing->until ? text_of(*closing->until) : "endless";
}

std::string changes(const QuietHours& quiet_hours, std::string_view zone_name, std::string_view now) {
  const auto at = quiet_changes_after(quiet_hours, zone(zone_name), utc(now));
  return at ? text_of(*at) : "never";
}

Maintenance maintenance_until(std::string_view until) { return {.until = utc(until), .reason = "upgrade"}; }

// ---- Maintenance ---------------------------------------------------------------------------------------------------

TEST(GateTest, MaintenanceClosesUntilItsEndAndNoLonger) {
  const Maintenance maintenance = maintenance_until("2026-03-01T12:00:00Z");
  const Closing closed{.reason = "maintenance", .until = maintenance.until};
  EXPECT_EQ(maintenance_at(maintenance, utc("2026-03-01T11:59:59.999Z")), closed);
  EXPECT_EQ(maintenance_at(maintenance, utc("2026-03-01T12:00:00Z")), std::nullopt);
  EXPECT_EQ(maintenance_at(maintenance, utc("2026-03-02T00:00:00Z")), std::nullopt);
}

TEST(GateTest, MaintenanceWithoutAnEndClosesUntilItIsLifted) {
  const Closing endless{.reason = "maintenance", .until = {}};
  EXPECT_EQ(maintenance_at(Maintenance{}, utc("2026-03-01T12:00:00Z")), endless);
  EXPECT_EQ(maintenance_at(Maintenance{}, kInstantMax), endless);
  EXPECT_EQ(maintenance_at(std::nullopt, utc("2026-03-01T12:00:00Z")), std::nullopt);
}

// ---- Quiet hours ---------------------------------------------------------------------------------------------------

TEST(GateTest, QuietHoursIncludeTheirStartAndNotTheirEnd) {
  const QuietHours lunch = hours("12:00", "13:30");
  EXPECT_EQ(quiet(lunch, "UTC", "2026-03-02T11:59:59.999Z"), "open");
  EXPECT_EQ(quiet(lunch, "UTC", "2026-03-02T12:00:00Z"), "2026-03-02T13:30:00Z");
  EXPECT_EQ(quiet(lunch, "UTC", "2026-03-02T13:29:59.999Z"), "2026-03-02T13:30:00Z");
  EXPECT_EQ(quiet(lunch, "UTC", "2026-03-02T13:30:00Z"), "open");
}

TEST(GateTest, QuietHoursOverMidnightEndOnTheNextDay) {
  const QuietHours night = hours("22:00", "07:00");
  EXPECT_EQ(quiet(night, "America/New_York", "2026-01-10T02:59:00Z"), "open");
  EXPECT_EQ(quiet(night, "America/New_York", "2026-01-10T03:00:00Z"), "2026-01-10T12:00:00Z");
  EXPECT_EQ(quiet(night, "America/New_York", "2026-01-10T11:59:59Z"), "2026-01-10T12:00:00Z");
  EXPECT_EQ(quiet(night, "America/New_York", "2026-01-10T12:00:00Z"), "open");
}

TEST(GateTest, DaysNameTheDayOnWhichQuietHoursStart) {
  // 2 January 2026 was a Friday.
  const QuietHours night = hours("22:00", "07:00", {Weekday::friday});
  EXPECT_EQ(quiet(night, "UTC", "2026-01-02T06:00:00Z"), "open");  // the tail of Thursday's
  EXPECT_EQ(quiet(night, "UTC", "2026-01-02T23:00:00Z"), "2026-01-03T07:00:00Z");
  EXPECT_EQ(quiet(night, "UTC", "2026-01-03T06:00:00Z"), "2026-01-03T07:00:00Z");
  EXPECT_EQ(quiet(night, "UTC", "2026-01-03T23:00:00Z"), "open");
}

TEST(GateTest, TheWeekdayIsThatOfTheZone) {
  const QuietHours sunday = hours("00:00", "23:59", {Weekday::sunday});
  EXPECT_EQ(quiet(sunday, "Pacific/Auckland", "2026-01-03T12:00:00Z"), "2026-01-04T10:59:00Z");  // Sunday, 01:00 there
  EXPECT_EQ(quiet(sunday, "UTC", "2026-01-03T12:00:00Z"), "open");
}

TEST(GateTest, AnEndThatTheClockSkipsIsShifted) {
  const QuietHours night = hours("22:00", "01:30");
  EXPECT_EQ(quiet(night, "Europe/London", "2026-03-28T23:00:00Z"), "2026-03-29T01:30:00Z");
  EXPECT_EQ(quiet(night, "Europe/London", "2026-03-29T01:29:00Z"), "2026-03-29T01:30:00Z");
}

TEST(GateTest, HoursWhoseStartTheClockSkipsBeginWithTheChange) {
  const QuietHours night = hours("01:45", "02:15");
  EXPECT_EQ(quiet(night, "Europe/London", "2026-03-29T00:59:59Z"), "open");
  EXPECT_EQ(quiet(night, "Europe/London", "2026-03-29T01:00:00Z"), "2026-03-29T01:15:00Z");
  EXPECT_EQ(quiet(night, "Europe/London", "2026-03-29T01:15:00Z"), "open");
}

TEST(GateTest, HoursThatTheClockSkipsWholeDoNotHappen) {
  const QuietHours night = hours("01:15", "01:45");
  EXPECT_EQ(changes(night, "Europe/London", "2026-03-28T01:45:00Z"), "2026-03-30T00:15:00Z");
  EXPECT_EQ(changes(hours("01:30", "02:00"), "Europe/London", "2026-03-28T02:00:00Z"), "2026-03-30T00:30:00Z");
  // Samoa had no 30 December 2011, a Friday.
  const QuietHours friday = hours("09:00", "17:00", {Weekday::friday});
  EXPECT_EQ(changes(friday, "Pacific/Apia", "2011-12-24T12:00:00Z"), "2012-01-05T19:00:00Z");
}

TEST(GateTest, AnEndThatTheClockShowsTwiceIsTheSecond) {
  const QuietHours night = hours("22:00", "01:30");
  EXPECT_EQ(quiet(night, "Europe/London", "2026-10-24T22:00:00Z"), "2026-10-25T01:30:00Z");
  EXPECT_EQ(quiet(night, "Europe/London", "2026-10-25T00:45:00Z"), "2026-10-25T01:30:00Z");
}

TEST(GateTest, AnEndToWhichTheClockIsSetBackIsTheFirst) {
  const QuietHours night = hours("22:00", "01:00");
  EXPECT_EQ(quiet(night, "Europe/London", "2026-10-24T22:00:00Z"), "2026-10-25T00:00:00Z");
  EXPECT_EQ(quiet(night, "Europe/London", "2026-10-25T00:30:00Z"), "open");
  EXPECT_EQ(quiet(night, "Europe/London", "2026-10-25T01:00:00Z"), "open");
}

TEST(GateTest, AStartThatTheClockShowsTwiceIsTheFirst) {
  const QuietHours night = hours("01:30", "07:00");
  EXPECT_EQ(changes(night, "Europe/London", "2026-10-24T12:00:00Z"), "2026-10-25T00:30:00Z");
  EXPECT_EQ(quiet(night, "Europe/London", "2026-10-25T01:10:00Z"), "2026-10-25T07:00:00Z");
}

TEST(GateTest, HoursThatTouchAroundAChangeAreOne) {
  const QuietHours most = hours("01:45", "01:15");
  EXPECT_EQ(quiet(most, "Europe/London", "2026-03-28T12:00:00Z"), "2026-03-30T00:15:00Z");  // both edges skipped
  EXPECT_EQ(changes(most, "Europe/London", "2026-03-28T12:00:00Z"), "2026-03-30T00:15:00Z");
  EXPECT_EQ(quiet(hours("01:45", "01:30"), "Europe/London", "2026-10-24T12:00:00Z"), "2026-10-26T01:30:00Z");
}

TEST(GateTest, TheNextChangeOfOneWeekdayIsFoundAWeekAhead) {
  const QuietHours friday = hours("09:00", "17:00", {Weekday::friday});
  EXPECT_EQ(changes(friday, "UTC", "2026-01-02T08:00:00Z"), "2026-01-02T09:00:00Z");
  EXPECT_EQ(changes(friday, "UTC", "2026-01-02T09:00:00Z"), "2026-01-02T17:00:00Z");
  EXPECT_EQ(changes(friday, "UTC", "2026-01-02T17:00:00Z"), "2026-01-09T09:00:00Z");
}

TEST(GateTest, QuietHoursWorkUpToTheEndsOfTheCalendar) {
  const QuietHours night = hours("22:00", "07:00");
  for (const std::string_view name : {"UTC", "Pacific/Auckland", "America/Los_Angeles"}) {
    for (const Instant now : {kInstantMin, kInstantMax, Instant::min(), Instant::max()}) {
      const auto closing = quiet_at(night, zone(name), now);
      EXPECT_TRUE(!closing || closing->until <= kInstantMax);
      const auto change = quiet_changes_after(night, zone(name), now);
      EXPECT_TRUE(!change || *change <= kInstantMax);
    }
  }
  EXPECT_EQ(quiet_changes_after(night, Zone::utc(), kInstantMax), std::nullopt);
}

// ---- All gates together --------------------------------------------------------------------------------------------

class ClosedForTest : public testing::Test {
 protected:
  ClosedForTest() {
    settings_.quiet_hours = hours("22:00", "07:00");
    facts_.settings = &settings_;
  }

  // Friday, 2 January 2026, at 23:00.
  std::optional<Closing> notifying() const { return closed_for(facts_, true, utc("2026-01-02T23:00:00Z")); }
  std::optional<Closing> other() const { return closed_for(facts_, false, utc("2026-01-02T23:00:00Z")); }

  static Closing closing(std::string reason, std::string_view until) { return {std::move(reason), utc(until)}; }

  TenantSettings settings_;
  GateFacts facts_;
};

TEST_F(ClosedForTest, QuietHoursHoldOnlyJobsThatNotify) {  // invariant 27
  EXPECT_EQ(notifying(), closing("quiet_hours", "2026-01-03T07:00:00Z"));
  EXPECT_EQ(other(), std::nullopt);
}

TEST_F(ClosedForTest, MaintenanceHoldsEveryJob) {  // invariant 27
  facts_.maintenance = maintenance_until("2026-01-02T23:30:00Z");
  EXPECT_EQ(other(), closing("maintenance", "2026-01-02T23:30:00Z"));
  facts_.maintenance.reset();
  facts_.maintenance_for_all = maintenance_until("2026-01-02T23:45:00Z");
  EXPECT_EQ(other(), closing("maintenance", "2026-01-02T23:45:00Z"));
}

TEST_F(ClosedForTest, TheReasonIsThatOfTheGateThatHoldsLongest) {  // invariant 33
  facts_.maintenance = maintenance_until("2026-01-03T06:00:00Z");
  EXPECT_EQ(notifying(), closing("quiet_hours", "2026-01-03T07:00:00Z"));
  facts_.maintenance_for_all = maintenance_until("2026-01-03T08:00:00Z");
  EXPECT_EQ(notifying(), closing("maintenance", "2026-01-03T08:00:00Z"));
  facts_.maintenance_for_all = maintenance_until("2026-01-03T07:00:00Z");
  EXPECT_EQ(notifying(), closing("maintenance", "2026-01-03T07:00:00Z"));
}

TEST_F(ClosedForTest, AnEndlessGateHoldsLongerThanAnyEnd) {  // invariant 33
  const Closing endless{.reason = "maintenance", .until = {}};
  facts_.maintenance = Maintenance{};
  facts_.maintenance_for_all = maintenance_until("9999-01-01T00:00:00Z");
  EXPECT_EQ(notifying(), endless);
  std::swap(facts_.maintenance, facts_.maintenance_for_all);
  EXPECT_EQ(notifying(), endless);
}

TEST_F(ClosedForTest, WithoutSettingsOrHoursNothingIsQuiet) {
  settings_.quiet_hours.reset();
  EXPECT_EQ(notifying(), std::nullopt);
  facts_.settings = nullptr;
  EXPECT_EQ(notifying(), std::nullopt);
}

TEST_F(ClosedForTest, QuietHoursFollowTheirOwnZoneBeforeTheTenants) {
  facts_.tenant_zone = zone("Asia/Tokyo");  // 08:00 there
  EXPECT_EQ(notifying(), std::nullopt);
  settings_.quiet_hours->timezone = "Europe/Paris";  // midnight there
  EXPECT_EQ(notifying(), closing("quiet_hours", "2026-01-03T06:00:00Z"));
}

// ---- Opening -------------------------------------------------------------------------------------------------------

// Worked out by hand from XXH64: a restart or an upgrade must not move a job that waits.
TEST(GateTest, TheDelayOfAReleaseIsTheSameForEver) {
  EXPECT_EQ(release_delay(JobId{1}), 1'209ms);
  EXPECT_EQ(release_delay(JobId{2}), 206ms);
  EXPECT_EQ(release_delay(kJobIdMax), 2'556ms);
}

TEST(GateTest, ReleasesAreSpreadEvenlyOverTheSpread) {
  std::array<int, 6> in_half_second{};
  for (std::int64_t i = 1; i <= 6000; ++i) {
    const Duration delay = release_delay(JobId{i << 13});
    ASSERT_GE(delay, 0s);
    ASSERT_LE(delay, kReleaseSpread);
    ++in_half_second.at(std::min<std::size_t>(static_cast<std::size_t>(delay / 500ms), 5));
  }
  EXPECT_THAT(in_half_second, testing::Each(testing::AllOf(testing::Gt(850), testing::Lt(1150))));
}

}  // namespace
}  // namespace carillon
