#include "core/settings/merge_patch.h"

#include <gtest/gtest.h>

#include <array>

#include "core/jobs/job_fields.h"
#include "core/schedules/schedule.h"
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

TEST(PatchedSchedule, ARetryInS1sWordsStandsForTheOneThatIsThere) {
  const auto patched = [](std::string_view job, std::string_view patch) {
    return value_of(
        patched_schedule(R"({"name":"s","job":)" + std::string(job) + "}", R"({"job":)" + std::string(patch) + "}"));
  };
  const std::string_view stored = R"({"type":"t","retry":{"kind":"fixed","delay":"1m"},"max_attempts":3})";
  EXPECT_EQ(patched(stored, R"({"retry":{"max_attempts":5,"backoff_seconds":60}})"),
            R"({"name":"s","job":{"type":"t","retry":{"max_attempts":5,"backoff_seconds":60}}})");
  EXPECT_EQ(patched(stored, R"({"retry":{"backoff_seconds":60}})"),
            R"({"name":"s","job":{"type":"t","max_attempts":3,"retry":{"backoff_seconds":60}}})");
  EXPECT_EQ(patched(stored, R"({"retry":{"retry_on_failure":false}})"),
            R"({"name":"s","job":{"type":"t","retry":{"retry_on_failure":false}}})");
  EXPECT_EQ(patched(stored, R"({"retry":{"delay":"2m"}})"),
            R"({"name":"s","job":{"type":"t","max_attempts":3,"retry":{"kind":"fixed","delay":"2m"}}})");
  EXPECT_EQ(patched(stored, R"({"retry":null})"), R"({"name":"s","job":{"type":"t","max_attempts":3}})");
  EXPECT_EQ(error_of(patched_schedule(R"({"name":"s"})", R"({"name":"other"})")).field, "name");
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
