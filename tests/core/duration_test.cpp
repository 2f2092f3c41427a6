#include "core/time/duration.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <string>

#include "support/results.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using std::chrono::days;
using test::expect_refused;
using test::value_of;

TEST(Duration, ReadsWhatPeopleWrite) {
  EXPECT_EQ(value_of(parse_duration("90s")), 90s);
  EXPECT_EQ(value_of(parse_duration("10m")), 10min);
  EXPECT_EQ(value_of(parse_duration("4h")), 4h);
  EXPECT_EQ(value_of(parse_duration("7d")), days(7));
  EXPECT_EQ(value_of(parse_duration("250ms")), 250ms);
  EXPECT_EQ(value_of(parse_duration("1h30m")), 90min);
  EXPECT_EQ(value_of(parse_duration("1d2h3m4s5ms")), days(1) + 2h + 3min + 4s + 5ms);
  EXPECT_EQ(value_of(parse_duration("0s")), 0s);
  EXPECT_EQ(value_of(parse_duration("007m")), 7min);
}

TEST(Duration, IsWrittenInItsShortestForm) {
  EXPECT_EQ(format_duration(90s), "1m30s");
  EXPECT_EQ(format_duration(0s), "0s");
  EXPECT_EQ(format_duration(24h), "1d");
  EXPECT_EQ(format_duration(1h + 5ms), "1h5ms");
  EXPECT_EQ(format_duration(999us), "0s");
}

TEST(Duration, EndsAtFourHundredYears) {
  EXPECT_EQ(value_of(parse_duration("146097d")), kDurationMax);
  expect_refused(parse_duration, {{"146097d1ms", 8, "longer than 400 years"},
                                  {"146096d24h1ms", 11, "longer than 400 years"},
                                  {"146098d", 1, "longer than 400 years"},
                                  {"9999999999d", 1, "longer than 400 years"},
                                  {"9223372036854775807ms", 1, "longer than 400 years"},
                                  {"9223372036854775807d", 1, "longer than 400 years"},
                                  {"99999999999999999999d", 1, "the number is too large"}});
}

TEST(Duration, RefusesWhatIsNotOne) {
  expect_refused(parse_duration, {{"", 1, "is empty; write it like 90s, 10m, 1h30m or 7d"},
                                  {"-5m", 1, "a duration cannot be negative"},
                                  {"5m-3s", 3, "expected a digit"},
                                  {"+5m", 1, "expected a digit"},
                                  {"5", 2, "a unit is missing; allowed are d, h, m, s, ms (5 seconds are 5s)"},
                                  {"1h30", 5, "a unit is missing"},
                                  {"5x", 2, "unknown unit; allowed are d, h, m, s, ms"},
                                  {"5min", 2, "unknown unit"},
                                  {"5M", 2, "unknown unit"},
                                  {"2w", 2, "unknown unit"},
                                  {"m", 1, "expected a digit"},
                                  {"30m1h", 5, "units go from large to small, each once"},
                                  {"1m1m", 4, "units go from large to small, each once"},
                                  {"5 m", 2, "a unit is missing"},
                                  {" 5m", 1, "expected a digit"},
                                  {"5m ", 3, "expected a digit"},
                                  {"1.5h", 2, "a unit is missing"},
                                  {"5µs", 2, "a unit is missing"},
                                  {"PT5M", 1, "expected a digit"}});
}

TEST(Duration, AnErrorSaysWhatWhereAndWhatIsAllowed) {
  EXPECT_EQ(test::error_of(parse_duration("10x")).message,
            R"(duration "10x", column 3: unknown unit; allowed are d, h, m, s, ms)");
}

RC_GTEST_PROP(Duration, ReadsBackAsTheSame, ()) {
  const auto most = kDurationMax / 1ms;
  const Duration duration =
      std::chrono::milliseconds(*rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(0, most + 1)));
  RC_ASSERT(value_of(parse_duration(format_duration(duration))) == duration);
}

}  // namespace
}  // namespace carillon
