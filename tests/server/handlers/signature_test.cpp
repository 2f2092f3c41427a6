#include "server/handlers/signature.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "server/handlers/support/node_process.h"
#include "support/results.h"

namespace carillon::server {
namespace {

using namespace carillon::test;
using namespace std::chrono_literals;

std::int64_t seconds_of(Instant at) { return std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count(); }

const std::vector<std::string> kBodies = {"",
                                          "{}",
                                          R"({"job":{"payload":"ünï ☃ 🎉"},"attempt":1})",
                                          "[1,\n 2]\r\n",
                                          " {\"a\":\t1.50}\n",
                                          '"' + std::string(100'000, 'x') + '"'};

std::string request(std::string_view op, const std::string& secret, std::int64_t timestamp, const std::string& body,
                    const std::string& signature) {
  JsonObject object;
  object.text("op", op).text("secret", secret).text("id", "msg_1").integer("timestamp", timestamp);
  object.text("body", body).text("signature", signature);
  return object.str();
}

TEST(Signature, TheReferenceImplementationAcceptsOurs) {
  NodeProcess node("signatures.mjs");
  for (const std::string& body : kBodies) {
    const std::string secret = make_secret();
    const std::int64_t now = seconds_of(system_now());
    const std::string signature = sign(std::vector{secret}, {.id = "msg_1", .timestamp = now, .body = body});
    node.write_line(request("verify", secret, now, body, signature));
    EXPECT_EQ(node.read_line(), R"({"good":true})") << body.substr(0, 100);
    node.write_line(request("verify", secret, now, body + " ", signature));
    EXPECT_THAT(node.read_line(), ::testing::HasSubstr(R"("good":false)"));
  }
}

TEST(Signature, WhileASecretIsReplacedTheReferenceImplementationAcceptsOursWithEither) {
  NodeProcess node("signatures.mjs");
  const std::vector secrets{make_secret(), make_secret()};
  const std::int64_t now = seconds_of(system_now());
  const std::string signature = sign(secrets, {.id = "msg_1", .timestamp = now, .body = "{}"});
  for (const std::string& secret : secrets) {
    node.write_line(request("verify", secret, now, "{}", signature));
    EXPECT_EQ(node.read_line(), R"({"good":true})");
  }
  node.write_line(request("verify", make_secret(), now, "{}", signature));
  EXPECT_THAT(node.read_line(), ::testing::HasSubstr(R"("good":false)"));
}

TEST(Signature, WeAcceptThoseOfTheReferenceImplementation) {
  NodeProcess node("signatures.mjs");
  const Instant now = system_now();
  for (const std::string& body : kBodies) {
    const std::string secret = make_secret();
    node.write_line(request("sign", secret, seconds_of(now), body, ""));
    const std::string signature = value_of(JsonValue::parse(node.read_line())).at("signature").as_string();
    const std::string timestamp = fmt::format("{}", seconds_of(now));
    const SignatureHeaders headers{.id = "msg_1", .timestamp = timestamp, .signature = signature};
    EXPECT_TRUE(verify(std::vector{make_secret(), secret}, headers, body, now));
    EXPECT_FALSE(verify(std::vector{make_secret()}, headers, body, now));
    EXPECT_FALSE(verify(std::vector{secret}, headers, body + "x", now));
    const SignatureHeaders other_id{.id = "msg_2", .timestamp = timestamp, .signature = signature};
    EXPECT_FALSE(verify(std::vector{secret}, other_id, body, now));
  }
}

TEST(Signature, OneThatIsTooOldOrFromTheFutureIsRefused) {
  const std::vector secrets{make_secret()};
  const Instant now = system_now();
  const std::int64_t signed_at = seconds_of(now);
  const std::string signature = sign(secrets, {.id = "a", .timestamp = signed_at, .body = "{}"});
  const std::string timestamp = fmt::format("{}", signed_at);
  const SignatureHeaders headers{.id = "a", .timestamp = timestamp, .signature = signature};
  EXPECT_TRUE(verify(secrets, headers, "{}", now + 4min + 50s));
  EXPECT_TRUE(verify(secrets, headers, "{}", now - 4min - 50s));
  EXPECT_FALSE(verify(secrets, headers, "{}", now + 5min + 2s));
  EXPECT_FALSE(verify(secrets, headers, "{}", now - 5min - 2s));
}

TEST(Signature, HeadersThatCannotBeReadAreRefusedWithAWord) {
  const std::vector secrets{make_secret()};
  for (const SignatureHeaders& headers :
       {SignatureHeaders{}, SignatureHeaders{"a", "", "v1,x"}, SignatureHeaders{"a", "12x", "v1,x"},
        SignatureHeaders{"a", "-5", "v1,x"}, SignatureHeaders{"a", "99999999999999999999", "v1,x"},
        SignatureHeaders{"a", "1", "v1,"}, SignatureHeaders{"", "1", "v1,x"}}) {
    expect_one_line(error_of(verify(secrets, headers, "{}", system_now())));
  }
}

TEST(Signature, ASecretIsNewEachTimeAndOthersAreRefusedWithoutBeingShown) {
  const std::string secret = make_secret();
  EXPECT_NE(secret, make_secret());
  EXPECT_TRUE(secret.starts_with("whsec_"));
  EXPECT_TRUE(check_secret(secret));
  EXPECT_TRUE(check_secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"));
  for (const std::string_view bad :
       {"", "whsec_", "hunter2hunter2", "whsec_hunter2", "whsec_aHVudGVyMg==", "whsec_!!!!",
        "whsec_====", "WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS"}) {
    EXPECT_THAT(error_of(check_secret(bad)).message, ::testing::Not(::testing::HasSubstr("hunter2")));
  }
}

}  // namespace
}  // namespace carillon::server
