#include "core/retry_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon {
namespace {

using namespace std::chrono_literals;

Result<RetryPolicy> read(std::string_view text) {
  const auto json = parse_json(text);
  if (!json) return std::unexpected(json.error());
  return parse_retry_json(text, *json, "retry");
}

TEST(RetryJson, EachKindReadsBackAsItself) {
  for (const RetryPolicy& policy :
       {RetryPolicy(RetryTable{}), RetryPolicy(RetryTable{.delays = {5ms, 7h, 400 * 24h}, .jitter = 0.123456789}),
        RetryPolicy(RetryExponential{.base = 90s, .jitter = 1}), RetryPolicy(RetryFixed{.delay = 10min}),
        RetryPolicy(RetryNone{})}) {
    const std::string text = format_retry_json(policy);
    const auto again = read(text);
    ASSERT_TRUE(again.has_value()) << text << ": " << again.error().message;
    EXPECT_EQ(*again, policy) << text;
  }
}

TEST(RetryJson, WhatIsLeftOutHasItsDefault) {
  EXPECT_EQ(read(R"({"kind": "table"})").value(), RetryPolicy(RetryTable{}));
  EXPECT_EQ(read(R"({"kind": "exponential", "base": "60s"})").value(), RetryPolicy(RetryExponential{.base = 60s}));
}

TEST(RetryJson, RefusesAndPointsAtIt) {
  const auto refusal = [](std::string_view text) {
    const auto policy = read(text);
    return policy ? std::string("accepted") : policy.error().message;
  };
  EXPECT_EQ(refusal("[]"), "retry (line 1, column 1): must be an object, not an array");
  EXPECT_EQ(refusal(R"({"kind": "linear"})"),
            "retry.kind (line 1, column 10): \"linear\" is none of table, exponential, fixed, none");
  EXPECT_THAT(refusal(R"({"kind": "fixed"})"), testing::HasSubstr("delay"));
  EXPECT_THAT(refusal(R"({"kind": "fixed", "delay": "soon"})"), testing::StartsWith("retry.delay (line 1, column 28)"));
  EXPECT_THAT(refusal(R"({"kind": "table", "delays": []})"), testing::HasSubstr("must name 1 to 50 delays"));
  EXPECT_THAT(refusal(R"({"kind": "table", "delays": [60]})"), testing::HasSubstr("must be a duration, not a number"));
  EXPECT_THAT(refusal(R"({"kind": "table", "jitter": 1.5})"), testing::HasSubstr("must lie between 0 and 1"));
  EXPECT_THAT(refusal(R"({"kind": "none", "delay": "1m"})"), testing::HasSubstr("delay"));
}

}  // namespace
}  // namespace carillon
