#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/json.h"
#include "carillon/json.h"
#include "support/results.h"

namespace carillon {
namespace {

using test::error_of;
using test::value_of;

JsonValue read(std::string_view text) { return value_of(JsonValue::parse(text)); }

TEST(JsonValueTest, AChainOfNamesLeadsToTheValue) {
  const JsonValue payload = read(R"({"user": {"address": {"city": "Łódź"}, "tags": ["a", "b"]}})");
  EXPECT_EQ(payload.at("user").at("address").at("city").as_string(), "Łódź");
  EXPECT_EQ(payload.at("user").at("tags").at(1).as_string(), "b");
}

TEST(JsonValueTest, AChainThatLeadsNowhereEndsAtNull) {
  const JsonValue payload = read(R"({"list": [1], "text": "x"})");
  EXPECT_TRUE(payload.at("none").at("further").at(3).at("on").is_null());
  EXPECT_TRUE(payload.at("list").at("name").is_null());
  EXPECT_TRUE(payload.at("list").at(1).is_null());
  EXPECT_TRUE(payload.at("list").at(std::numeric_limits<std::size_t>::max()).is_null());
  EXPECT_TRUE(payload.at(0).is_null());
  EXPECT_TRUE(payload.at("text").at(0).is_null());
}

TEST(JsonValueTest, AValueThatWasNeverParsedIsNull) {
  const JsonValue nothing;
  EXPECT_EQ(nothing.type(), JsonType::null);
  EXPECT_TRUE(nothing.at("a").at(0).is_null());
  EXPECT_EQ(nothing.size(), 0U);
  EXPECT_EQ(nothing.raw(), "null");
  EXPECT_TRUE(nothing.keys().empty());
  EXPECT_FALSE(nothing.contains("a"));
}

TEST(JsonValueTest, EveryTypeIsTold) {
  const JsonValue all = read(R"([null, true, 1, "x", [], {}])");
  EXPECT_TRUE(all.is_array());
  EXPECT_TRUE(all.at(0).is_null());
  EXPECT_TRUE(all.at(1).is_boolean());
  EXPECT_TRUE(all.at(2).is_number());
  EXPECT_TRUE(all.at(3).is_string());
  EXPECT_TRUE(all.at(4).is_array());
  EXPECT_TRUE(all.at(5).is_object());
  EXPECT_EQ(all.at(5).type(), JsonType::object);
}

TEST(JsonValueTest, AnotherTypeGivesTheValueForOtherwise) {
  const JsonValue all = read(R"({"text": "7", "number": 7, "flag": true, "nothing": null})");
  EXPECT_EQ(all.at("number").as_string("none"), "none");
  EXPECT_EQ(all.at("text").as_int(-1), -1);
  EXPECT_EQ(all.at("text").as_double(0.5), 0.5);
  EXPECT_TRUE(all.at("number").as_bool(true));
  EXPECT_EQ(all.at("nothing").as_string("none"), "none");
  EXPECT_EQ(all.at("absent").as_int(3), 3);
}

TEST(JsonValueTest, WithoutAnOtherwiseItIsEmptyZeroOrFalse) {
  const JsonValue nothing;
  EXPECT_EQ(nothing.as_string(), "");
  EXPECT_EQ(nothing.as_int(), 0);
  EXPECT_EQ(nothing.as_double(), 0);
  EXPECT_FALSE(nothing.as_bool());
}

TEST(JsonValueTest, BooleansAreRead) {
  EXPECT_TRUE(read("true").as_bool(false));
  EXPECT_FALSE(read("false").as_bool(true));
}

TEST(JsonValueTest, WholeNumbersAreReadHoweverTheyAreWritten) {
  EXPECT_EQ(read("9223372036854775807").as_int(), INT64_MAX);
  EXPECT_EQ(read("-9223372036854775808").as_int(), INT64_MIN);
  EXPECT_EQ(read("5.0").as_int(-1), 5);
  EXPECT_EQ(read("-12e2").as_int(-1), -1200);
  EXPECT_EQ(read("-0").as_int(-1), 0);
  EXPECT_EQ(read("9007199254740991.0").as_int(-1), 9007199254740991);
}

TEST(JsonValueTest, ANumberThatIsNotWholeOrTooLargeIsNoInt) {
  for (const std::string_view text : {"1.5", "9223372036854775808", "-9223372036854775809", "1e19", "1e400",
                                      "9007199254740992.0", "123456789012345678901234567890"}) {
    EXPECT_EQ(read(text).as_int(-1), -1) << text;
  }
}

TEST(JsonValueTest, DoublesAreTheNearestOnes) {
  EXPECT_EQ(read("0.1").as_double(), 0.1);
  EXPECT_EQ(read("-1.5e3").as_double(), -1500.0);
  EXPECT_EQ(read("7").as_double(), 7.0);
  EXPECT_EQ(read("1e400").as_double(-1), -1);
}

TEST(JsonValueTest, SizeAndKeysAreThoseOfTheContainer) {
  const JsonValue object = read(R"({"b": 1, "a": null})");
  EXPECT_EQ(object.size(), 2U);
  EXPECT_EQ(object.keys(), (std::vector<std::string>{"b", "a"}));
  EXPECT_TRUE(object.contains("a"));
  EXPECT_FALSE(object.contains("c"));
  EXPECT_EQ(read("[1, 2, 3]").size(), 3U);
  EXPECT_TRUE(read("[1]").keys().empty());
  EXPECT_EQ(read("\"text\"").size(), 0U);
}

TEST(JsonValueTest, RawIsTheTextAsItWasWritten) {
  const JsonValue value =
      read(R"(  {"a": 1.50 , "b": [ 1, "]\"}\\", {"x":{}} ] , "c":"\u0041\\", "d" :true,"e": null, "f":false}  )");
  EXPECT_EQ(value.at("a").raw(), "1.50");
  EXPECT_EQ(value.at("b").raw(), R"([ 1, "]\"}\\", {"x":{}} ])");
  EXPECT_EQ(value.at("b").at(1).raw(), R"("]\"}\\")");
  EXPECT_EQ(value.at("b").at(2).raw(), R"({"x":{}})");
  EXPECT_EQ(value.at("c").raw(), R"("\u0041\\")");
  EXPECT_EQ(value.at("d").raw(), "true");
  EXPECT_EQ(value.at("e").raw(), "null");
  EXPECT_EQ(value.at("f").raw(), "false");
  EXPECT_TRUE(value.raw().starts_with('{') && value.raw().ends_with('}'));
}

TEST(JsonValueTest, APartOutlivesTheWholeAndTheTextThatWasParsed) {
  JsonValue part;
  {
    const std::string text = R"({"deep": {"text": "long enough to be stored on the heap"}})";
    part = read(text).at("deep").at("text");
  }
  EXPECT_EQ(part.as_string(), "long enough to be stored on the heap");
  EXPECT_EQ(part.raw(), "\"long enough to be stored on the heap\"");
}

TEST(JsonValueTest, WhatIsNoJsonIsRefusedWithItsPlace) {
  const Error error = error_of(JsonValue::parse("{\"a\": 1,\n \"a\": 2}"));
  EXPECT_EQ(error.code, ErrorCode::invalid_request);
  EXPECT_EQ(error.column, 2U);
  EXPECT_FALSE(JsonValue::parse(""));
  EXPECT_FALSE(JsonValue::parse("1 2"));
}

RC_GTEST_PROP(JsonValueTest, AnyTextComesBackAsItWas, (const std::vector<std::string>& texts)) {
  std::string document = "[";
  for (const std::string& text : texts) document += (document.size() > 1 ? ", " : "") + json_string(text);
  const JsonValue value = read(document + "]");

  RC_ASSERT(value.size() == texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    RC_ASSERT(value.at(i).raw() == json_string(texts[i]));
    RC_ASSERT(read(value.at(i).raw()).as_string() == value.at(i).as_string());
  }
}

RC_GTEST_PROP(JsonValueTest, AnyIntComesBackAsItWas, (std::int64_t number)) {
  RC_ASSERT(read(std::to_string(number)).as_int() == number);
}

}  // namespace
}  // namespace carillon
