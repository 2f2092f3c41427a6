#include "core/merge_patch.h"

#include <gtest/gtest.h>

#include <array>

#include "core/job_fields.h"
#include "support/results.h"

namespace carillon::test {
namespace {

constexpr std::array<std::string_view, 1> kWhole{"payload"};
constexpr std::array kShapes{MergeRules::Shape{.object = "t", .member = "kind"}};
constexpr MergeRules kRules{.whole = kWhole, .shapes = kShapes};

std::string merged(std::string_view target, std::string_view patch) {
  return value_of(merge_patch(target, patch, kRules));
}

TEST(MergePatch, ReplacesMergesAndTakesAway) {  // RFC 7396, appendix A
  EXPECT_EQ(merged(R"({"a":"b"})", R"({"a":"c"})"), R"({"a":"c"})");
  EXPECT_EQ(merged(R"({"a":"b"})", R"({"b":"c"})"), R"({"a":"b","b":"c"})");
  EXPECT_EQ(merged(R"({"a":"b"})", R"({"a":null})"), R"({})");
  EXPECT_EQ(merged(R"({"a":"b","b":"c"})", R"({"a":null})"), R"({"b":"c"})");
  EXPECT_EQ(merged(R"({"a":["b"]})", R"({"a":"c"})"), R"({"a":"c"})");
  EXPECT_EQ(merged(R"({"a":"c"})", R"({"a":["b"]})"), R"({"a":["b"]})");
  EXPECT_EQ(merged(R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})"), R"({"a":{"b":"d"}})");
  EXPECT_EQ(merged(R"({"a":[{"b":"c"}]})", R"({"a":[1]})"), R"({"a":[1]})");
  EXPECT_EQ(merged(R"({"e":null})", R"({"a":1})"), R"({"e":null,"a":1})");
  EXPECT_EQ(merged(R"({})", R"({"a":{"bb":{"ccc":null}}})"), R"({"a":{"bb":{}}})");
}

TEST(MergePatch, WhatBelongsToOthersIsReplacedWhole) {
  EXPECT_EQ(merged(R"({"job":{"payload":{"a":1},"type":"t"}})", R"({"job":{"payload":{"b":null}}})"),
            R"({"job":{"type":"t","payload":{"b":null}}})");
}

TEST(MergePatch, AnObjectOfAnotherKindIsReplacedWhole) {
  EXPECT_EQ(merged(R"({"t":{"kind":"cron","cron":"* * * * *"}})", R"({"t":{"kind":"every","every":"1h"}})"),
            R"({"t":{"kind":"every","every":"1h"}})");
  EXPECT_EQ(merged(R"({"t":{"kind":"every","every":"2h","anchor":"x"}})", R"({"t":{"kind":"every","every":"1h"}})"),
            R"({"t":{"anchor":"x","kind":"every","every":"1h"}})");
  EXPECT_EQ(merged(R"({"t":{"kind":"every","every":"2h","anchor":"x"}})", R"({"t":{"anchor":null}})"),
            R"({"t":{"kind":"every","every":"2h"}})");
  EXPECT_EQ(merged(R"({"job":{"kind":"a","b":1}})", R"({"job":{"kind":"c"}})"), R"({"job":{"b":1,"kind":"c"}})")
      << "here it is a member like any other";
}

TEST(MergePatch, APatchIsAnObject) {
  EXPECT_EQ(error_of(merge_patch("{}", "[1]", kRules)).code, ErrorCode::invalid_request);
  EXPECT_EQ(error_of(merge_patch("{}", "{", kRules)).code, ErrorCode::invalid_request);
}

TEST(MergePatch, AnErrorIsSaidOfThePatch) {
  const std::string_view whole = R"({"name":"s","job":{"type":"t","timeout":"soon"}})";
  const std::string_view patch = "{\n  \"job\": {\"timeout\": \"soon\"}}";
  const Error error = json_error(whole, 41, "job.timeout", "not a duration").error();
  const Error told = about_patch(error, patch);
  EXPECT_EQ(told.message, "job.timeout (line 2, column 22): not a duration");
  EXPECT_EQ(told.line, 2U);

  const Error elsewhere = about_patch(json_error(whole, 20, "job.type", "unknown").error(), patch);
  EXPECT_EQ(elsewhere.message, "job.type: unknown") << "the patch does not say it";
  EXPECT_FALSE(elsewhere.line);
}

}  // namespace
}  // namespace carillon::test
