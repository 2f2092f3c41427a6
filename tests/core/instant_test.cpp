#include "core/time/instant.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <string>

#include "core/time/local_time.h"
#include "support/results.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_days;
using test::expect_refused;
using test::value_of;

Instant parsed(std::string_view text) { return value_of(parse_instant(text)); }

constexpr Instant kOneOClock = sys_days(std::chrono::year(2026) / 3 / 29) + 1h;

TEST(Instant, ReadsRfc3339InAnyOffset) {
  EXPECT_EQ(parsed("2026-03-29T01:00:00Z"), kOneOClock);
  EXPECT_EQ(parsed("2026-03-29T01:00:00.000Z"), kOneOClock);
  EXPECT_EQ(parsed("2026-03-29T02:00:00+01:00"), kOneOClock);
  EXPECT_EQ(parsed("2026-03-28T20:30:00-04:30"), kOneOClock);
  EXPECT_EQ(parsed("2026-03-29T14:45:00+13:45"), kOneOClock);
  EXPECT_EQ(parsed("2026-03-29T01:00:00-00:00"), kOneOClock);
  EXPECT_EQ(parsed("2026-03-29t01:00:00z"), kOneOClock);
  EXPECT_EQ(parsed("2026-03-29 01:00:00Z"), kOneOClock);
}

TEST(Instant, ReadsUnixMilliseconds) {
  EXPECT_EQ(parsed("1774746000000"), kOneOClock);
  EXPECT_EQ(parsed("0"), Instant{});
  EXPECT_EQ(parsed("-1"), Instant{} - 1ms);
}

TEST(Instant, KeepsMicrosecondsAndCutsWhatIsFiner) {
  EXPECT_EQ(parsed("2026-03-29T01:00:00.5Z"), kOneOClock + 500ms);
  EXPECT_EQ(parsed("2026-03-29T01:00:00.000001Z"), kOneOClock + 1us);
  EXPECT_EQ(parsed("2026-03-29T01:00:00.0000019999Z"), kOneOClock + 1us);
  EXPECT_EQ(parsed("2026-03-29T01:00:00." + std::string(1000, '9') + "Z"), kOneOClock + 999'999us);
}

TEST(Instant, CoversTheYearsOneToNineThousandNineHundredNinetyNine) {
  EXPECT_EQ(parsed("0001-01-01T00:00:00Z"), kInstantMin);
  EXPECT_EQ(parsed("9999-12-31T23:59:59.999999Z"), kInstantMax);
  EXPECT_EQ(parsed("-62135596800000"), kInstantMin);
  expect_refused(parse_instant, {{"0001-01-01T00:00:00+00:01", 1, "outside the years 0001 to 9999"},
                                 {"9999-12-31T23:59:59-00:01", 1, "outside the years 0001 to 9999"},
                                 {"-62135596800001", 1, "outside the years 0001 to 9999"},
                                 {"253402300800000", 1, "outside the years 0001 to 9999"},
                                 {"9999999999999999", 1, "the number of milliseconds is too large"},
                                 {"99999999999999999999", 1, "the number of milliseconds is too large"}});
}

TEST(Instant, RefusesWhatIsNotExact) {
  expect_refused(parse_instant,
                 {{"", 1, "is empty; write 2026-03-29T01:00:00Z or Unix milliseconds"},
                  {"2026-03-29T01:00:00", 20, "expected Z or an offset like +01:00, found the end"},
                  {"2026-03-29T01:00Z", 17, "expected a colon and seconds (an instant is exact)"},
                  {"2026-03-29", 11, "expected T and a time, found the end"},
                  {"2026-03-29T25:00:00Z", 12, "the hour must be 00 to 23, not 25"},
                  {"2026-03-29T24:00:00Z", 12, "the hour must be 00 to 23, not 24"},
                  {"2026-12-31T23:59:60Z", 18, "the second must be 00 to 59, not 60"},
                  {"2026-02-29T00:00:00Z", 9, "there is no day 29 in that month"},
                  {"2026-03-29T01:00:00.Z", 21, "expected a digit after the point"},
                  {"2026-03-29T01:00:00+1:00", 21, "the hour needs 2 digits"},
                  {"2026-03-29T01:00:00+0100", 21, "the hour needs 2 digits"},
                  {"2026-03-29T01:00:00+24:00", 21, "the hour must be 00 to 23"},
                  {"2026-03-29T01:00:00+01:60", 24, "the minute must be 00 to 59"},
                  {"2026-03-29T01:00:00ZZ", 21, "expected the end after the offset"},
                  {"2026-03-29T01:00:00 Europe/London", 20, "expected Z or an offset"},
                  {"now", 1, "expected a time like 2026-03-29T01:00:00Z, or Unix milliseconds, found \"n\""},
                  {"-", 2, "expected the number of milliseconds, found the end"},
                  {"1e3", 1, "the year needs 4 digits"},
                  {"tomorrow", 1, "expected a time like"}});
}

TEST(Instant, IsWrittenWithMillisecondsRoundedUp) {
  EXPECT_EQ(format_instant(kOneOClock), "2026-03-29T01:00:00.000Z");
  EXPECT_EQ(format_instant(kOneOClock + 1001us), "2026-03-29T01:00:00.002Z");
  EXPECT_EQ(format_instant(Instant{} - 1us), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_instant(Instant{} - 1ms), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(format_instant(kInstantMin), "0001-01-01T00:00:00.000Z");
  EXPECT_EQ(format_instant(kInstantMax), "9999-12-31T23:59:59.999Z");
}

TEST(Instant, IsCutOrRoundedUpToMilliseconds) {
  EXPECT_EQ(cut_to_millisecond(kOneOClock + 1999us), kOneOClock + 1ms);
  EXPECT_EQ(up_to_millisecond(kOneOClock + 1001us), kOneOClock + 2ms);
  EXPECT_EQ(up_to_millisecond(kOneOClock), kOneOClock);
  EXPECT_EQ(cut_to_millisecond(Instant{} - 1us), Instant{} - 1ms);
  EXPECT_EQ(up_to_millisecond(kInstantMax), kInstantMax);  // never stays never
  EXPECT_EQ(up_to_millisecond(1us), 1ms);
}

TEST(Instant, IsWrittenAsALocalClockWithItsOffset) {
  EXPECT_EQ(format_with_offset(kOneOClock, 1h), "2026-03-29T02:00:00+01:00");
  EXPECT_EQ(format_with_offset(kOneOClock, -(3h + 30min)), "2026-03-28T21:30:00-03:30");
  EXPECT_EQ(format_with_offset(kOneOClock, 0s), "2026-03-29T01:00:00+00:00");
  EXPECT_EQ(format_with_offset(kOneOClock, -75s), "2026-03-29T00:58:45-00:01:15");
}

TEST(Instant, AdditionStopsAtTheEndsOfTheCalendar) {
  EXPECT_EQ(add_clamped(kOneOClock, 1h), kOneOClock + 1h);
  EXPECT_EQ(add_clamped(kInstantMax, 1us), kInstantMax);
  EXPECT_EQ(add_clamped(kInstantMin, -1us), kInstantMin);
  EXPECT_EQ(add_clamped(kOneOClock, Duration::max()), kInstantMax);
  EXPECT_EQ(add_clamped(kOneOClock, Duration::min()), kInstantMin);
  EXPECT_EQ(add_clamped(Instant{} - 1us, Duration::min()), kInstantMin);
}

RC_GTEST_PROP(Instant, ReadsBackAsTheSame, ()) {
  const auto millisecond =
      *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(-62135596800000, 253402300800000));
  const Instant given{std::chrono::milliseconds(millisecond)};
  RC_ASSERT(parsed(format_instant(given)) == given);
  RC_ASSERT(parsed(std::to_string(millisecond)) == given);
}

RC_GTEST_PROP(Instant, WrittenWithAnyOffsetItReadsBackAsTheSame, ()) {
  const auto second =
      *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(-50'000'000'000, 250'000'000'000));
  const Instant given{std::chrono::seconds(second)};
  const auto offset = std::chrono::seconds(*rc::gen::resize(rc::kNominalSize, rc::gen::inRange(-86399, 86400)));
  RC_ASSERT(parsed(format_with_offset(given, offset)) == given);
}

}  // namespace
}  // namespace carillon
