#include "server/handlers/webhook_config.h"

#include "server/handlers/signature.h"
#include "support/results.h"

namespace carillon::server {
namespace {

using namespace carillon::test;
using namespace std::chrono_literals;

const Instant kNow = value_of(parse_instant("2026-11-16T12:00:00Z"));

TEST(WebhookConfig, EveryFieldIsRead) {
  const std::string secret = make_secret();
  const WebhookConfig config = value_of(parse_webhook(
      R"({"kind":"webhook","url":"https://example.com/hook","limits":["mail"],"timeout":"20s","secret":")" + secret +
          R"("})",
      AddressGuard()));
  EXPECT_EQ(config.url, "https://example.com/hook");
  EXPECT_EQ(config.signing.secret, secret);
  EXPECT_EQ(config.limits, std::vector<std::string>{"mail"});
  EXPECT_EQ(config.timeout, 20s);
}

TEST(WebhookConfig, WhatCannotBeReadOrCannotWorkIsRefused) {
  struct Case {
    std::string_view text;
    ErrorCode code;
  };
  for (const Case& one : {
           Case{"[]", ErrorCode::invalid_request},
           Case{"{}", ErrorCode::invalid_request},
           Case{R"({"kind":"webhook"})", ErrorCode::invalid_request},
           Case{R"({"kind":"webhook","url":5})", ErrorCode::invalid_request},
           Case{R"({"kind":"webhook","url":"https://a.example","colour":"red"})", ErrorCode::invalid_request},
           Case{R"({"kind":"webhook","url":"https://a.example","secret":"hunter2"})", ErrorCode::invalid_request},
           Case{R"({"kind":"webhook","url":"https://a.example","timeout":"0s"})", ErrorCode::invalid_request},
           Case{R"({"kind":"webhook","url":"https://a.example","timeout":"2h"})", ErrorCode::invalid_request},
           Case{R"({"kind":"webhook","url":"https://a.example","limits":["a b"]})", ErrorCode::invalid_request},
           Case{R"({"kind":"webhook","url":"https://a.example","limits":["a","b","c","d","e"]})",
                ErrorCode::invalid_request},
           Case{R"({"kind":"exec","url":"https://a.example"})", ErrorCode::invalid_configuration},
           Case{R"({"kind":"webhook","url":"http://127.0.0.1/"})", ErrorCode::invalid_configuration},
           Case{R"({"kind":"webhook","url":"ftp://a.example"})", ErrorCode::invalid_configuration},
       }) {
    const Error error = error_of(parse_webhook(one.text, AddressGuard()));
    EXPECT_EQ(error.code, one.code) << one.text << ": " << error.message;
    expect_one_line(error);
  }
}

TEST(WebhookConfig, WhatMayBeASecretOfAUrlIsMasked) {
  const auto expect_masked = [](std::string_view url, std::string_view masked) { EXPECT_EQ(masked_url(url), masked); };
  expect_masked("https://example.com/hook", "https://example.com/hook");
  expect_masked("https://example.com", "https://example.com");
  expect_masked("https://example.com:8443/a/b?token=s3cret", "https://example.com:8443/a/b?token=***");
  expect_masked("https://example.com/?a=1&token=s3cret==&b=", "https://example.com/?a=***&token=***==&b=");
  expect_masked("https://example.com/?s3cret", "https://example.com/?***");
  expect_masked("https://example.com?s3cret&a=s3cret", "https://example.com?***&a=***");
  expect_masked("https://example.com/?a=s3;cret=x", "https://example.com/?a=***=***");
  expect_masked("https://user:s3cret@example.com/x#s3cret", "https://***@example.com/x#***");
  expect_masked("https://example.com/?a=b#s3cret=x", "https://example.com/?a=***#***=***");
  WebhookConfig config;
  config.url = "https://example.com/hook?token=s3cret";
  EXPECT_THAT(write_webhook(config, UrlShown::masked),
              ::testing::HasSubstr(R"("url":"https://example.com/hook?token=***")"));
  EXPECT_THAT(write_webhook(config), ::testing::HasSubstr("s3cret"));
  EXPECT_THAT(write_stored_webhook(config), ::testing::HasSubstr("s3cret"));
}

TEST(WebhookConfig, WithoutASecretOneIsMadeAndNeverShownAgain) {
  const WebhookConfig given =
      value_of(parse_webhook(R"({"kind":"webhook","url":"https://a.example"})", AddressGuard()));
  const WebhookConfig made = replaced(std::nullopt, given, kNow);
  EXPECT_TRUE(check_secret(made.signing.secret));
  EXPECT_THAT(write_webhook_with_secret(made), ::testing::HasSubstr(made.signing.secret));
  EXPECT_EQ(write_webhook(made), R"({"kind":"webhook","url":"https://a.example","limits":[],"timeout":null})");
  EXPECT_EQ(replaced(made, given, kNow).signing.secret, made.signing.secret);
}

TEST(WebhookConfig, AReplacedSecretSignsForADayMore) {
  WebhookConfig given{.url = "https://a.example", .signing = {.secret = make_secret()}};
  const WebhookConfig first = replaced(std::nullopt, given, kNow);
  given.signing.secret = make_secret();
  const WebhookConfig stored = value_of(read_stored_webhook(write_stored_webhook(replaced(first, given, kNow))));
  EXPECT_EQ(target_of(stored, kNow + 23h).secrets, (std::vector{given.signing.secret, first.signing.secret}));
  EXPECT_EQ(target_of(stored, kNow + 24h).secrets, std::vector{given.signing.secret});
  // Another change of something else does not end that early.
  given.url = "https://b.example";
  EXPECT_EQ(target_of(replaced(stored, given, kNow + 1h), kNow + 23h).secrets.size(), 2U);
}

}  // namespace
}  // namespace carillon::server
