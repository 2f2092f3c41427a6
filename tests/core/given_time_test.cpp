#include "core/time/given_time.h"

#include <gtest/gtest.h>

#include "support/results.h"

namespace carillon::test {
namespace {

GivenTime given(std::string_view text) { return value_of(parse_given_time(text)); }

TEST(GivenTime, AnInstantIsTheSameInEveryZone) {
  const Zone paris = value_of(Zone::load("Europe/Paris"));
  const GivenTime time = given("2026-01-05T08:00:00Z");
  EXPECT_EQ(format_instant(time.in(paris)), "2026-01-05T08:00:00.000Z");
  EXPECT_EQ(format_local_seconds(time.local_in(paris)), "2026-01-05T09:00:00");
  EXPECT_EQ(given("1767600000000"), time);
  EXPECT_EQ(given(time.text()), time);
}

TEST(GivenTime, ALocalTimeIsWhatTheClockShows) {
  const Zone paris = value_of(Zone::load("Europe/Paris"));
  const GivenTime time = given("2026-01-05T09:00:00");
  EXPECT_EQ(format_instant(time.in(paris)), "2026-01-05T08:00:00.000Z");
  EXPECT_EQ(format_instant(time.in(Zone::utc())), "2026-01-05T09:00:00.000Z");
  EXPECT_EQ(format_local_seconds(time.local_in(paris)), "2026-01-05T09:00:00");
  EXPECT_EQ(time.text(), "2026-01-05T09:00:00");
}

TEST(GivenTime, InAGapItIsMovedOnAndOfTwoItIsTheFirst) {
  const Zone paris = value_of(Zone::load("Europe/Paris"));
  EXPECT_EQ(format_instant(given("2026-03-29T02:30:00").in(paris)), "2026-03-29T01:30:00.000Z");
  EXPECT_EQ(format_instant(given("2026-10-25T02:30:00").in(paris)), "2026-10-25T00:30:00.000Z");
}

TEST(GivenTime, WhatIsNeitherIsRefused) {
  for (const std::string_view text :
       {"", "tomorrow", "2026-01-05", "2026-01-05T09:00:00+25:00", "2026-13-05T09:00:00"}) {
    EXPECT_EQ(error_of(parse_given_time(text)).code, ErrorCode::invalid_request) << text;
  }
}

}  // namespace
}  // namespace carillon::test
