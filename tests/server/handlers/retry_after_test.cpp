#include "server/handlers/retry_after.h"

#include "support/results.h"

namespace carillon::server {
namespace {

using namespace carillon::test;
using namespace std::chrono_literals;

const Instant kNow = value_of(parse_instant("2026-11-16T12:00:00Z"));

TEST(RetryAfter, SecondsAreCountedFromNow) {
  EXPECT_EQ(parse_retry_after("120", kNow), 120s);
  EXPECT_EQ(parse_retry_after(" 0\t", kNow), 0s);
  EXPECT_EQ(parse_retry_after("007", kNow), 7s);
  EXPECT_EQ(parse_retry_after("99999999999999999999999999", kNow), std::chrono::days(365));
}

TEST(RetryAfter, AllThreeDatesOfHttpAreRead) {
  EXPECT_EQ(parse_retry_after("Mon, 16 Nov 2026 12:02:00 GMT", kNow), 120s);
  EXPECT_EQ(parse_retry_after("Monday, 16-Nov-26 12:02:00 GMT", kNow), 120s);
  EXPECT_EQ(parse_retry_after("Mon Nov 16 12:02:00 2026", kNow), 120s);
  EXPECT_EQ(parse_retry_after("Tue Dec  1 12:00:00 2026", kNow), std::chrono::days(15));
  EXPECT_EQ(parse_retry_after("Thu, 31 Dec 2026 23:59:60 GMT", kNow), std::chrono::days(45) + 12h);
}

TEST(RetryAfter, ADateThatHasPassedIsNoTimeAndAFarOneIsAYear) {
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", kNow), 0s);
  EXPECT_EQ(parse_retry_after("Sunday, 06-Nov-94 08:49:37 GMT", kNow), 0s);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 9999 08:49:37 GMT", kNow), std::chrono::days(365));
  EXPECT_EQ(parse_retry_after("Mon, 16 Nov 99999999 12:00:00 GMT", kNow), std::chrono::days(365));
}

TEST(RetryAfter, ADateThatMeansOneTimeIsReadHoweverItIsSpelled) {
  for (const std::string_view date : {"Mon, 16 Nov 2026 12:02:00", "Mon, 16 Nov 2026 12:02:00 UTC",
                                      "Mon Nov 16 12:02:00 26", "Monday, 16 Nov 2026 13:02:00 +0100"}) {
    EXPECT_EQ(parse_retry_after(date, kNow), 120s) << date;
  }
}

TEST(RetryAfter, WhatCannotBeReadIsNothing) {
  for (const std::string_view bad :
       {"", " ", "-1", "+1", "1.5", "1s", "soon", "1 2", "Mon, 00 Nov 2026 12:02:00 GMT",
        "Mon, 16 Nov 2026 24:00:00 GMT", "Mon, 16 Nov 2026 12:60:00 GMT", "Xyz, 16 Nov 2026 12:00:00 GMT",
        "Mon, 16 Now 2026 12:00:00 GMT", "Monday", "Mon", "Mon,", "2026-11-16T12:02:00Z"}) {
    EXPECT_EQ(parse_retry_after(bad, kNow), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace carillon::server
