#include "server/handlers/webhook_answer.h"

#include "support/results.h"

namespace carillon::server {
namespace {

using namespace carillon::test;
using namespace std::chrono_literals;
using Kind = Outcome::Kind;

const Instant kNow = value_of(parse_instant("2026-11-16T12:00:00Z"));

WebhookAnswer answer(int status, std::string body = "", std::string type = "application/json") {
  return {.status = status, .content_type = std::move(type), .retry_after = {}, .body = std::move(body), .error = {}};
}

Outcome outcome(const WebhookAnswer& answer) { return outcome_of(answer, "acme", kNow); }

TEST(WebhookAnswer, AnySuccessIsDone) {
  for (const int status : {200, 201, 202, 204, 299}) EXPECT_EQ(outcome(answer(status)).kind, Kind::done) << status;
  EXPECT_EQ(outcome(answer(200, R"({"ok":true})")).kind, Kind::done);
  EXPECT_EQ(outcome(answer(200, "[1,2]")).kind, Kind::done);
  EXPECT_EQ(outcome(answer(200, "\"text\"")).kind, Kind::done);
  EXPECT_EQ(outcome(answer(200, "<html>", "text/html")).kind, Kind::done);
  EXPECT_EQ(outcome(answer(200, "{ not json", "text/plain")).kind, Kind::done);
}

TEST(WebhookAnswer, ABodyMayCarryWhatAHandlerMaySay) {
  const Outcome said = outcome(answer(200, R"({"output":{"sent": 3.10},
      "then":[{"type":"report.build","payload":{"a":1},"delay":"5m","priority":1,"idempotency_key":"k"},
              {"type":"b","run_at":"2026-12-01T00:00:00Z","limits":["x"],"idempotency_key":"b","unique_until":"done","run_anyway":true}],
      "subject":{"expected_at":"2026-12-24T18:00:00Z","status":"late"},"own":"thing"})"));
  EXPECT_EQ(said.kind, Kind::done);
  EXPECT_EQ(said.output, R"({"sent": 3.10})");
  ASSERT_EQ(said.follow_ups.size(), 2U);
  EXPECT_EQ(said.follow_ups[0].type, "report.build");
  EXPECT_EQ(said.follow_ups[0].tenant, "acme");
  EXPECT_EQ(said.follow_ups[0].payload, R"({"a":1})");
  EXPECT_EQ(said.follow_ups[0].run_at.delay, 5min);
  EXPECT_EQ(said.follow_ups[0].priority, 1);
  EXPECT_EQ(said.follow_ups[0].idempotency_key, "k");
  EXPECT_EQ(said.follow_ups[1].run_at.at, value_of(parse_instant("2026-12-01T00:00:00Z")));
  EXPECT_EQ(said.follow_ups[1].unique_until.until, KeyHold::Until::done);
  EXPECT_EQ(said.expected_at, value_of(parse_instant("2026-12-24T18:00:00Z")));
  EXPECT_EQ(said.status, "late");
}

TEST(WebhookAnswer, ThenIsReadAsEverybodysIs) {
  const Outcome said =
      outcome(answer(200, R"({"then":[{"type":"a","run_anyway":true,"run_at":1774746000000,"max_attempts":0}]})"));
  ASSERT_EQ(said.kind, Kind::done) << said.error;
  EXPECT_TRUE(said.follow_ups.front().run_anyway);
  EXPECT_EQ(said.follow_ups.front().run_at.at, value_of(parse_instant("2026-03-29T01:00:00Z")));
  EXPECT_EQ(said.follow_ups.front().max_attempts, 1U);
}

TEST(WebhookAnswer, ASuccessThatSaysErrorIsAFailedAttempt) {
  const Outcome plain = outcome(answer(200, R"({"error":"no credit","output":1})"));
  EXPECT_EQ(plain.kind, Kind::failed);
  EXPECT_EQ(plain.error, "no credit");
  EXPECT_EQ(plain.error_class, "unknown");
  EXPECT_FALSE(plain.again);
  const Outcome whole =
      outcome(answer(200, R"({"error":"no credit","error_class":"billing","permanent":true,"then":[{"type":"a"}]})"));
  EXPECT_EQ(whole.kind, Kind::permanent);
  EXPECT_EQ(whole.error_class, "billing");
  EXPECT_TRUE(whole.follow_ups.empty());
  EXPECT_EQ(outcome(answer(200, R"({"error":"x","retry_after":"20m"})")).again->delay, 20min);
  for (const std::string_view none : {R"({"error":null})", R"({"error":false})", R"({"error":""})",
                                      R"({"permanent":true,"retry_after":60,"error_class":5})"}) {
    EXPECT_EQ(outcome(answer(200, std::string(none))).kind, Kind::done) << none;
  }
  for (const std::string_view bad : {R"({"error":{"code":1}})", R"({"error":true})",
                                     R"({"error":"x","retry_after":60})", R"({"error":"x","permanent":"yes"})"}) {
    EXPECT_EQ(outcome(answer(200, std::string(bad))).error_class, "bad_answer") << bad;
  }
}

TEST(WebhookAnswer, ARefusalMayTellMoreThanItsStatus) {
  const Outcome said = outcome(answer(
      422, R"({"error":"bad\naddress","error_class":"parse","permanent":true,"retry_after":"2026-11-16T13:00:00Z"})"));
  EXPECT_EQ(said.kind, Kind::permanent);
  EXPECT_EQ(said.error, "the webhook answered 422: bad address");
  EXPECT_EQ(said.error_class, "parse");
  EXPECT_EQ(said.again->at, value_of(parse_instant("2026-11-16T13:00:00Z")));
  EXPECT_EQ(outcome(answer(500, R"({"retry_after":"20m"})")).again->delay, 20min);
  EXPECT_EQ(outcome(answer(429, R"({"retry_after":"20m"})")).kind, Kind::rate_limited);
  EXPECT_EQ(outcome(answer(410, R"({"permanent":false})")).kind, Kind::permanent);
  // What is not for us is the target's own; what is, and cannot be read, is told.
  const Outcome own = outcome(answer(400, R"({"error":{"code":7},"permanent":"no"})"));
  EXPECT_EQ(own.kind, Kind::failed);
  EXPECT_EQ(own.error_class, "http_400");
  EXPECT_EQ(own.error, R"(the webhook answered 400: {"error":{"code":7},"permanent":"no"})");
  EXPECT_NE(outcome(answer(500, R"({"error":"x","retry_after":60})")).error.find("60 seconds are \"60s\""),
            std::string::npos);
}

TEST(WebhookAnswer, SkippedIsSaidWithAReason) {
  const Outcome with_reason = outcome(answer(200, R"({"skipped":true,"reason":"nothing new"})"));
  EXPECT_EQ(with_reason.kind, Kind::skipped);
  EXPECT_EQ(with_reason.reason, "nothing new");
  EXPECT_EQ(outcome(answer(200, R"({"skipped":"nothing new"})")).reason, "nothing new");
  EXPECT_EQ(outcome(answer(200, R"({"skipped":false})")).kind, Kind::done);
}

TEST(WebhookAnswer, WhatItAsksForAndCannotBeIsAFailedAttempt) {
  for (const std::string_view body :
       {R"({"then":5})", R"({"then":[5]})", R"({"then":[{}]})", R"({"then":[{"type":"a b"}]})",
        R"({"then":[{"type":"a","unknown":1}]})", R"({"then":[{"type":"a","tenant":"other"}]})",
        R"({"then":[{"type":"a","delay":"5m","run_at":"2026-12-01T00:00:00Z"}]})",
        R"({"then":[{"type":"a","depends_on":["x"]}]})", R"({"then":[{"type":"a","unique_until":"never"}]})",
        R"({"then":[{"type":"a","priority":9}]})", R"({"skipped":5})", R"({"subject":5})",
        R"({"subject":{"expected_at":"soon"}})", R"({"subject":{"colour":"red"}})", R"({"output":1,"output":2})",
        R"({"then":[)"}) {
    const Outcome said = outcome(answer(200, std::string(body)));
    EXPECT_EQ(said.kind, Kind::failed) << body;
    EXPECT_EQ(said.error_class, "bad_answer") << body;
  }
}

TEST(WebhookAnswer, ABodyOverTheCapCountsOnlyIfItIsJson) {
  WebhookAnswer cut = answer(200, "{\"output\":", "application/json; charset=utf-8");
  cut.body_is_whole = false;
  EXPECT_EQ(outcome(cut).error_class, "bad_answer");
  cut.content_type = "text/html";
  EXPECT_EQ(outcome(cut).kind, Kind::done);
}

TEST(WebhookAnswer, RetryAfterWith429And503IsRateLimited) {
  for (const int status : {429, 503}) {
    WebhookAnswer busy = answer(status);
    busy.retry_after = " 90";
    EXPECT_EQ(outcome(busy).kind, Kind::rate_limited);
    EXPECT_EQ(outcome(busy).again->delay, 90s);
    busy.retry_after = "Mon, 16 Nov 2026 12:01:00 GMT";
    EXPECT_EQ(outcome(busy).again->delay, 60s);
    for (const std::string_view none : {"", "soon", "-1"}) {
      busy.retry_after = none;
      EXPECT_EQ(outcome(busy).kind, Kind::failed) << none;
    }
  }
  WebhookAnswer other = answer(500);
  other.retry_after = "90";
  EXPECT_EQ(outcome(other).kind, Kind::failed);
}

TEST(WebhookAnswer, GoneIsPermanentAndAllElseFails) {
  EXPECT_EQ(outcome(answer(410)).kind, Kind::permanent);
  EXPECT_EQ(outcome(answer(410)).error_class, "http_410");
  for (const int status : {301, 302, 307, 400, 401, 404, 500, 502, 599, 100}) {
    EXPECT_EQ(outcome(answer(status)).kind, Kind::failed) << status;
  }
  EXPECT_EQ(outcome(answer(500, "out\r\nof\x1b order", "text/plain")).error,
            "the webhook answered 500: out  of  order");
}

TEST(WebhookAnswer, WithoutAnAnswerTheClassSaysWhy) {
  EXPECT_EQ(outcome({.kind = WebhookAnswer::Kind::blocked}).kind, Kind::permanent);
  EXPECT_EQ(outcome({.kind = WebhookAnswer::Kind::blocked}).error_class, "blocked_address");
  EXPECT_EQ(outcome({.kind = WebhookAnswer::Kind::timed_out}).error_class, "timeout");
  EXPECT_EQ(outcome({.kind = WebhookAnswer::Kind::unreachable}).error_class, "unreachable");
  EXPECT_EQ(outcome({.kind = WebhookAnswer::Kind::cancelled}).error_class, "cancelled");
  // The host is left alone, and no attempt is used up by that.
  const Outcome wait = outcome({.kind = WebhookAnswer::Kind::breaker_open, .wait = 20s});
  EXPECT_EQ(wait.kind, Kind::deferred);
  EXPECT_EQ(wait.again->delay, 20s);
}

}  // namespace
}  // namespace carillon::server
