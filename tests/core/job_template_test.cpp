#include "core/schedules/job_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/jobs/job_fields.h"
#include "support/results.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::error_of;
using test::value_of;
using testing::ElementsAre;
using testing::HasSubstr;

Result<JobTemplate> read(std::string_view text) {
  TRY_ASSIGN(const Json json, parse_json(text));
  return parse_job_template(text, json, "job");
}

std::string refusal(std::string_view text) { return error_of(read(text)).message; }

TEST(JobTemplate, OnlyTheTypeIsNeeded) {
  const JobTemplate job = value_of(read(R"({"type": "digest.send"})"));
  EXPECT_EQ(job.type, "digest.send");
  EXPECT_EQ(job.queue, "default");
  EXPECT_EQ(job.payload, "null");
  EXPECT_FALSE(job.priority.has_value());
  EXPECT_EQ(job.options.max_attempts, kMaxAttemptsDefault);
  EXPECT_EQ(job.options.timeout, kTimeoutDefault);
  EXPECT_EQ(job.options.lease, kLeaseDefault);
  EXPECT_FALSE(job.options.retry.has_value());
  EXPECT_EQ(refusal("{}"), "job.type (line 1, column 1): is missing; expected a string");
}

TEST(JobTemplate, EveryFieldIsRead) {
  const JobTemplate job = value_of(read(R"({"type": "t", "queue": "mail", "payload": [1], "priority": 4,
      "retry": {"kind": "fixed", "delay": "7s"}, "max_attempts": 9, "timeout": "90s", "lease": "10s",
      "limits": ["smtp", "api"], "notifies": true, "on_ambiguous": "hold", "tags": ["a"], "meta": {"k": 1}})"));
  EXPECT_EQ(job.queue, "mail");
  EXPECT_EQ(job.payload, "[1]");
  EXPECT_EQ(job.priority, 4);
  EXPECT_EQ(job.options.retry, RetryPolicy(RetryFixed{.delay = 7s}));
  EXPECT_EQ(job.options.max_attempts, 9U);
  EXPECT_EQ(job.options.timeout, 90s);
  EXPECT_EQ(job.options.lease, 10s);
  EXPECT_THAT(job.options.limits, ElementsAre("smtp", "api"));
  EXPECT_TRUE(job.options.notifies);
  EXPECT_EQ(job.options.on_ambiguous, OnAmbiguous::hold);
  EXPECT_THAT(job.options.tags, ElementsAre("a"));
  EXPECT_EQ(job.options.meta, R"({"k": 1})");
}

TEST(JobTemplate, APayloadIsKeptByteForByte) {
  for (const std::string payload :
       {R"({ "b" : 1e400,"a":[ 1.0, "\u00e9\"}]" , {}] })", R"("a \"quoted\" \\")", R"("\\")", "-0.0", "true", "false",
        "null", "[]", "{}", R"([[["]"]]])", "12345678901234567890123", "\"\"", R"({"x":"{"})"}) {
    for (const std::string& text :
         {R"({"type":"t","payload":)" + payload + R"(,"queue":"q"})", R"({"type":"t","payload": )" + payload + "\n}"}) {
      const JobTemplate job = value_of(read(text));
      EXPECT_EQ(job.payload, payload);
      EXPECT_EQ(value_of(read(write_job_template(job))).payload, payload);
    }
  }
}

TEST(JobTemplate, APriorityIsANumberOrAName) {
  const auto priority = [](const std::string& value) {
    return value_of(read(R"({"type": "t", "priority": )" + value + "}")).priority;
  };
  EXPECT_EQ(priority("1"), 1);
  EXPECT_EQ(priority("5"), 5);
  EXPECT_EQ(priority("\"critical\""), 1);
  EXPECT_EQ(priority("\"high\""), 2);
  EXPECT_EQ(priority("\"medium\""), 3);
  EXPECT_EQ(priority("\"low\""), 4);
  EXPECT_EQ(priority("\"bulk\""), 5);
  EXPECT_EQ(priority("null"), std::nullopt);
}

TEST(JobTemplate, RefusesWhatNoJobCouldHave) {
  EXPECT_THAT(refusal("[]"), HasSubstr("expected an object, found an array"));
  EXPECT_THAT(refusal(R"({"type": "t", "priority": 6})"), HasSubstr("whole number from 1 to 5"));
  EXPECT_THAT(refusal(R"({"type": "t", "priority": "urgent"})"), HasSubstr("none of critical, high"));
  EXPECT_THAT(refusal(R"({"type": "t", "priority": true})"), HasSubstr("job.priority"));
  EXPECT_THAT(refusal(R"({"type": "a b"})"), HasSubstr("type \"a b\""));
  EXPECT_THAT(refusal(R"({"type": "t", "queue": ""})"), HasSubstr("queue is empty"));
  EXPECT_THAT(refusal(R"({"type": "t", "max_attempts": -1})"), HasSubstr("job.max_attempts"));
  EXPECT_THAT(refusal(R"({"type": "t", "timeout": "0s"})"), HasSubstr("timeout is 0s"));
  EXPECT_THAT(refusal(R"({"type": "t", "timeout": 5})"), HasSubstr("job.timeout"));
  EXPECT_THAT(refusal(R"({"type": "t", "lease": "25h"})"), HasSubstr("lease is"));
  EXPECT_THAT(refusal(R"({"type": "t", "lease": "soon"})"), HasSubstr("job.lease"));
  EXPECT_THAT(refusal(R"({"type": "t", "limits": ["a", "b", "c", "d", "e"]})"), HasSubstr("at most 4"));
  EXPECT_THAT(refusal(R"({"type": "t", "limits": [1]})"), HasSubstr("expected a list of strings, found a number"));
  EXPECT_THAT(refusal(R"({"type": "t", "notifies": "yes"})"), HasSubstr("job.notifies"));
  EXPECT_THAT(refusal(R"({"type": "t", "on_ambiguous": "ask"})"), HasSubstr("none of retry, hold"));
  EXPECT_THAT(refusal(R"({"type": "t", "meta": []})"), HasSubstr("expected an object"));
  EXPECT_THAT(refusal(R"({"type": "t", "retry": {"kind": "linear"}})"), HasSubstr("job.retry.kind"));
  EXPECT_THAT(refusal(R"({"type": "t", "timeout": 60})"), HasSubstr("60 seconds are \"60s\""));
  EXPECT_THAT(refusal(R"({"type": "t", "max_attempts": 3, "retry": {"max_attempts": 3}})"),
              HasSubstr("job.max_attempts (line 1, column 31): is said twice"));
  EXPECT_THAT(refusal(R"({"type": "t", "run_at": 0})"), HasSubstr("job.run_at (line 1, column 15): unknown field"));
}

TEST(JobTemplate, WhatItDoesNotSayGetsItsDefault) {
  const JobDefaults defaults{.timeout = 10min, .lease = 20s, .max_attempts = 2, .retry = RetryExponential{.base = 30s}};
  JobTemplate silent = value_of(read(R"({"type": "t"})"));
  fill(silent, defaults);
  EXPECT_EQ(silent.options.timeout, 10min);
  EXPECT_EQ(silent.options.lease, 20s);
  EXPECT_EQ(silent.options.max_attempts, 2U);
  EXPECT_EQ(silent.options.retry, RetryPolicy(RetryExponential{.base = 30s}));
}

TEST(JobTemplate, WhatItSaysStaysEvenIfItIsWhatItWouldHaveBeen) {
  const std::string written = write_job_template(value_of(
      read(R"({"type": "t", "timeout": "5m", "lease": "1m", "max_attempts": 5, "retry": {"kind": "table"}})")));
  JobTemplate job = value_of(read(written));
  fill(job, {.timeout = 10min, .lease = 20s, .max_attempts = 2, .retry = RetryNone{}});
  EXPECT_EQ(job.options.timeout, kTimeoutDefault);
  EXPECT_EQ(job.options.lease, kLeaseDefault);
  EXPECT_EQ(job.options.max_attempts, kMaxAttemptsDefault);
  EXPECT_EQ(job.options.retry, RetryPolicy(RetryTable{}));
}

TEST(JobTemplate, ReadsBackAsTheSame) {
  for (const std::string_view text :
       {R"({"type":"t"})", R"({"type":"t","priority":"low","retry":{"kind":"table"},"max_attempts":5})",
        R"({"type":"t","queue":"q","payload":{"a": 1},"priority":1,"retry":{"kind":"none"},"max_attempts":1000,
            "timeout":"1h30m","lease":"1s","limits":["x"],"notifies":true,"on_ambiguous":"hold","tags":["y","z"],
            "meta":{ "k" : null }})"}) {
    const std::string written = write_job_template(value_of(read(text)));
    EXPECT_EQ(write_job_template(value_of(read(written))), written);
  }
}

}  // namespace
}  // namespace carillon
