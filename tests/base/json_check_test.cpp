#include "base/json_check.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/json.h"
#include "base/json_writer.h"

namespace carillon {
namespace {

void expect_same_judgement(const std::string& text) {
  const auto checked = check_json(text);
  const auto parsed = parse_json(text);
  ASSERT_EQ(checked.has_value(), parsed.has_value()) << text;
  if (parsed) return;
  EXPECT_EQ(checked.error().message, parsed.error().message);
}

TEST(CheckJson, JudgesAsTheParserDoes) {
  for (const char* text : {"null",
                           "true",
                           "false",
                           "0",
                           "-0",
                           "1.5e+10",
                           "1e400",
                           "\"\"",
                           "[]",
                           "{}",
                           "[1, 2, 3]",
                           "{\"a\": {\"b\": []}}",
                           " { \"a\" : 1 , \"b\" : 2 } ",
                           "{\"a\":1,\"a\":2}",
                           "",
                           " ",
                           "nul",
                           "truex",
                           "01",
                           "-",
                           "1.",
                           "1e",
                           ".5",
                           "+1",
                           "\"",
                           "\"\\",
                           "\"\\u0000\"",
                           "\"\\q\"",
                           "\"\x01\"",
                           "\"\xc3\xa9\"",
                           "\"\xff\"",
                           "[",
                           "[1",
                           "[1,",
                           "[1,]",
                           "[,]",
                           "{",
                           "{\"a\"",
                           "{\"a\":",
                           "{\"a\":1",
                           "{\"a\":1,",
                           "{\"a\":1,}",
                           "{a:1}",
                           "{1:1}",
                           "1 2",
                           "[] []",
                           "{} x",
                           "\"a\nb\"",
                           "[\"\\ud800\"]"}) {
    expect_same_judgement(text);
  }
}

TEST(CheckJson, JudgesNestingAndManyMembersAlike) {
  for (const std::size_t depth : {1U, 63U, 64U, 65U, 66U, 500U}) {
    expect_same_judgement(std::string(depth, '[') + std::string(depth, ']'));
  }
  for (const int members : {15, 16, 17, 40}) {
    JsonObject object;
    for (int i = 0; i < members; ++i) object.integer("member" + std::to_string(i), i);
    expect_same_judgement(object.str());
    object.integer("member0", 1);
    expect_same_judgement(object.str());
  }
}

RC_GTEST_PROP(CheckJsonProperty, AnyTextIsJudgedAlike, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(
      rc::gen::elementOf(std::vector<std::string>{"{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "1", "-1.5", "true",
                                                  "null", " ", "\"\\n\"", "\"\xc3\xa9\"", "x"}));
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  expect_same_judgement(text);
}

// Texts that need no escape are looked at eight bytes at a time: each byte at each place is seen.
TEST(JsonWriter, EscapesEveryByteWhereverItStands) {
  for (int byte = 0; byte < 0x80; ++byte) {
    for (std::size_t place = 0; place < 19; ++place) {
      std::string text(19, 'x');
      text[place] = static_cast<char>(byte);
      EXPECT_EQ(JsonObject().text("n", text).str(), "{\"n\":" + json_string(text) + "}") << byte << " at " << place;
    }
  }
}

TEST(JsonWriter, EscapesNamesAndValues) {
  JsonObject object;
  object.text("a\"b", "c\\d\n").integer("n", -5).boolean("t", true).raw("r", "[1]");
  EXPECT_EQ(object.str(), "{\"a\\\"b\":\"c\\\\d\\n\",\"n\":-5,\"t\":true,\"r\":[1]}");
  EXPECT_EQ(JsonObject().str(), "{}");
  EXPECT_EQ(JsonArray().raw("1").raw("\"x\"").str(), "[1,\"x\"]");
}

}  // namespace
}  // namespace carillon
