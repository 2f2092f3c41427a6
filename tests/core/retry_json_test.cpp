#include "core/policies/retry_json.h"

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

RetryJson s1(std::string_view text) {
  const Json json = parse_json(text).value();
  return read_retry_json(text, json, "retry").value();
}

TEST(RetryJson, S1sPolicyIsReadInItsOwnWords) {
  const RetryJson weekly = s1(R"({"max_attempts": 3, "backoff_seconds": 60, "retry_on_failure": true})");
  EXPECT_EQ(weekly.policy, RetryPolicy(RetryExponential{.base = 60s, .jitter = 0}));
  EXPECT_EQ(weekly.max_attempts, 3U);
  EXPECT_EQ(s1(R"({"max_attempts": 0, "backoff_seconds": 5})").max_attempts, 1U) << "0 = no retry";
  const RetryJson off = s1(R"({"max_attempts": 3, "backoff_seconds": 60, "retry_on_failure": false})");
  EXPECT_EQ(off.policy, RetryPolicy(RetryNone{}));
  EXPECT_EQ(off.max_attempts, 1U);
  const RetryJson short_one = s1(R"({"backoff_seconds": 120})");
  EXPECT_EQ(short_one.policy, RetryPolicy(RetryExponential{.base = 120s, .jitter = 0}));
  EXPECT_FALSE(short_one.max_attempts);
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
  EXPECT_THAT(refusal(R"({"kind": "table", "delays": [60]})"), testing::HasSubstr("60 seconds are \"60s\""));
  EXPECT_THAT(refusal(R"({"kind": "table", "jitter": 1.5})"), testing::HasSubstr("must lie between 0 and 1"));
  EXPECT_THAT(refusal(R"({"kind": "none", "delay": "1m"})"), testing::HasSubstr("delay"));
  EXPECT_THAT(refusal(R"({"kind": "fixd", "delay": "1m"})"), testing::HasSubstr("(did you mean fixed?)"));
  EXPECT_THAT(refusal(R"({"zz": 1})"),
              testing::HasSubstr("allowed are backoff_seconds, base, delay, delays, jitter, kind, max_attempts, "
                                 "retry_on_failure"));
  EXPECT_THAT(refusal(R"({"max_attempts": 1, "base": "1m"})"), testing::HasSubstr("retry.base"));
  EXPECT_THAT(refusal(R"({"max_attempts": -1})"), testing::HasSubstr("from 0 to"));
  EXPECT_THAT(refusal(R"({"backoff_seconds": "60s"})"), testing::HasSubstr("expected a number"));
}

}  // namespace
}  // namespace carillon
