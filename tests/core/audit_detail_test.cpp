#include "core/settings/audit_detail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/json.h"
#include "support/results.h"

namespace carillon {
namespace {

using test::value_of;
using testing::HasSubstr;
using testing::Not;

std::string changed(std::optional<std::string_view> before, std::optional<std::string_view> after) {
  const auto detail = changed_fields(before, after);
  if (!detail) return "nothing";
  value_of(parse_json(detail->json()));
  EXPECT_LE(detail->json().size(), kAuditDetailBytesMax);
  return detail->json();
}

TEST(AuditDetail, ShowsTheFieldsThatDiffer) {
  EXPECT_EQ(changed(R"({"rate":5,"per":"1s"})", R"({"rate":9,"per":"1s"})"),
            R"({"before":{"rate":5},"after":{"rate":9}})");
  EXPECT_EQ(changed(R"({"a":1,"b":[1,2]})", R"({"b":[1,3],"c":{"d":null}})"),
            R"({"before":{"a":1,"b":[1,2]},"after":{"b":[1,3],"c":{"d":null}}})");
}

TEST(AuditDetail, SaysNothingWhereNothingDiffers) {
  EXPECT_EQ(changed(R"({"a":1, "b": "x"})", R"({"b":"x","a":1})"), "nothing");
  EXPECT_EQ(changed("{}", "{}"), "nothing");
  EXPECT_EQ(changed(std::nullopt, std::nullopt), "nothing");
}

TEST(AuditDetail, WhatIsMadeOrGoneHasOneSide) {
  EXPECT_EQ(changed(std::nullopt, R"({"a":1})"), R"({"before":null,"after":{"a":1}})");
  EXPECT_EQ(changed(R"({"a":1})", std::nullopt), R"({"before":{"a":1},"after":null})");
  EXPECT_EQ(changed(std::nullopt, "{}"), R"({"before":null,"after":{}})");
  EXPECT_EQ(new_fields(JsonObject().text("job", "j")).json(), R"({"before":null,"after":{"job":"j"}})");
  EXPECT_EQ(old_fields(JsonObject().text("job", "j")).json(), R"({"before":{"job":"j"},"after":null})");
}

TEST(AuditDetail, OfAnObjectItShowsThePartThatChanged) {
  EXPECT_EQ(changed(R"({"job":{"type":"t","priority":3,"retry":{"kind":"none"}}})",
                    R"({"job":{"type":"t","priority":4,"retry":{"kind":"none"}}})"),
            R"({"before":{"job":{"priority":3}},"after":{"job":{"priority":4}}})");
}

TEST(AuditDetail, SecretsAndPayloadsAreNeverInIt) {
  const std::string text = changed(
      R"({"secret":"CANARY1","job":{"payload":{"x":"CANARY2"},"meta":{"m":"CANARY3"},"type":"t"}})",
      R"({"secret":"CANARY4","hash":"CANARY5","job":{"payload":"CANARY6","type":"u"},"list":[{"secret":"CANARY7"}]})");
  EXPECT_THAT(text, Not(HasSubstr("CANARY")));
  EXPECT_THAT(text, HasSubstr(R"("secret":"***")"));
  EXPECT_THAT(text, HasSubstr(R"("payload":"***")"));
  EXPECT_THAT(text, HasSubstr(R"("type":"u")"));
  const std::string made = changed(std::nullopt, R"({"deep":{"er":[{"payload":[1,2,{"a":"CANARY"}]}]}})");
  EXPECT_EQ(made, R"({"before":null,"after":{"deep":{"er":[{"payload":"***"}]}}})");
}

TEST(AuditDetail, UrlsShowNeitherPasswordsNorQueries) {
  EXPECT_EQ(changed(std::nullopt, R"({"url":"https://ada:CANARY@example.com:8443/in?token=CANARY#x"})"),
            R"({"before":null,"after":{"url":"https://***@example.com:8443/in?***"}})");
  EXPECT_EQ(without_url_secrets("https://example.com/a"), "https://example.com/a");
  EXPECT_EQ(without_url_secrets("https://a@b@example.com"), "https://***@example.com");
  EXPECT_EQ(without_url_secrets("https://example.com/a@b"), "https://example.com/a@b");
  EXPECT_EQ(without_url_secrets("https://example.com?k=v"), "https://example.com?***");
  EXPECT_EQ(without_url_secrets("plain? text"), "plain? text");
}

TEST(AuditDetail, LongValuesAreCutWithAMark) {
  const std::string text = changed(R"({"reason":"short"})", R"({"reason":")" + std::string(5000, 'x') + R"("})");
  EXPECT_LT(text.size(), kAuditValueBytesMax + 200);
  EXPECT_THAT(text, HasSubstr("x… (5000 bytes)"));
  std::string umlauts;
  for (int i = 0; i < 3000; ++i) umlauts += "ü";
  EXPECT_THAT(changed(std::nullopt, R"({"reason":")" + umlauts + R"("})"), HasSubstr("ü… (6000 bytes)"));
  const std::string list =
      changed(std::nullopt, R"({"list":[")" + std::string(900, 'a') + R"(",")" + std::string(900, 'b') + R"("]})");
  EXPECT_EQ(list, R"x({"before":null,"after":{"list":"… (1807 bytes)"}})x");
}

TEST(AuditDetail, IsBoundedHoweverManyFieldsChange) {
  JsonObject before;
  JsonObject after;
  for (int i = 0; i < 20'000; ++i) {
    before.integer("field" + std::to_string(i), i);
    after.integer("field" + std::to_string(i), i + 1);
  }
  EXPECT_THAT(changed(before.str(), after.str()), HasSubstr(R"("left_out":)"));
  JsonObject outer_before;
  JsonObject outer_after;
  outer_before.raw("inner", before.str());
  outer_after.raw("inner", after.str());
  EXPECT_THAT(changed(outer_before.str(), outer_after.str()), HasSubstr(R"("left_out":)"));
}

TEST(AuditDetail, TextsWithEscapesStayWhole) {
  EXPECT_EQ(changed(R"({"a":"\"}{,\\"})", R"({"a":"\u0007\n]"})"),
            R"({"before":{"a":"\"}{,\\"},"after":{"a":"\u0007\n]"}})");
}

}  // namespace
}  // namespace carillon
