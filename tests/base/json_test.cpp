#include "base/json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "support/results.h"

namespace carillon {
namespace {

using test::error_of;
using test::expect_refused;
using test::value_of;

Json parsed(std::string_view text) { return value_of(parse_json(text)); }

std::string nested(int depth, std::string_view inside) {
  std::string text(static_cast<std::size_t>(depth), '[');
  text += inside;
  return text + std::string(static_cast<std::size_t>(depth), ']');
}

TEST(Json, ReadsEveryTypeOfValue) {
  EXPECT_EQ(parsed("null").type, JsonType::null);
  EXPECT_EQ(parsed("true").type, JsonType::boolean);
  EXPECT_TRUE(parsed("true").boolean);
  EXPECT_FALSE(parsed("false").boolean);
  EXPECT_EQ(parsed("-12.5e+3").type, JsonType::number);
  EXPECT_EQ(parsed("\"x\"").type, JsonType::string);
  EXPECT_EQ(parsed("[]").type, JsonType::array);
  EXPECT_EQ(parsed("{}").type, JsonType::object);
}

TEST(Json, NumbersStayAsTheyWereWritten) {
  for (const std::string text :
       {"0", "-0", "1e400", "0.10000000000000000001", "123456789012345678901234567890", "1E-7"}) {
    EXPECT_EQ(parsed(text).text, text);
  }
}

TEST(Json, MembersKeepTheirOrderAndItemsToo) {
  const Json json = parsed(R"( {"b": 1, "a": [2, "x", null]} )");
  ASSERT_EQ(json.members.size(), 2U);
  EXPECT_EQ(json.members[0].key, "b");
  EXPECT_EQ(json.members[1].key, "a");
  ASSERT_EQ(json.members[1].value.items.size(), 3U);
  EXPECT_EQ(json.find("a")->items[1].text, "x");
  EXPECT_EQ(json.find("c"), nullptr);
}

TEST(Json, EveryValueAndKeyKnowsWhereItBegins) {
  const Json json = parsed(" {\"a\":  [10, true]}");
  EXPECT_EQ(json.offset, 1U);
  EXPECT_EQ(json.members[0].offset, 2U);
  EXPECT_EQ(json.members[0].value.offset, 8U);
  EXPECT_EQ(json.members[0].value.items[1].offset, 13U);
}

TEST(Json, StringsAreDecoded) {
  EXPECT_EQ(parsed(R"("a\"\\\/\b\f\n\r\tz")").text, "a\"\\/\b\f\n\r\tz");
  EXPECT_EQ(parsed(R"("\u0041\u00e9\u20AC\ud83d\ude00")").text, "Aé€😀");
  EXPECT_EQ(parsed("\"é€😀\"").text, "é€😀");
  EXPECT_EQ(parsed(R"("\u007f\u0080\u07ff\u0800\uffff\ud800\udc00\udbff\udfff")").text,
            "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
  EXPECT_EQ(parsed(R"("\u0000")").text, std::string(1, '\0'));
}

TEST(Json, RefusesWhatIsNotJsonAndPointsAtIt) {
  expect_refused(parse_json, {
                                 {"", 1, "expected a value"},
                                 {"  ", 3, "expected a value"},
                                 {"nul", 1, "expected a value"},
                                 {"True", 1, "expected a value"},
                                 {"1 2", 3, "expected the end after the value"},
                                 {"01", 2, "expected the end after the value"},
                                 {"1.", 3, "expected a digit"},
                                 {"-", 2, "expected a digit"},
                                 {"1e", 3, "expected a digit"},
                                 {"+1", 1, "expected a value"},
                                 {".5", 1, "expected a value"},
                                 {"NaN", 1, "expected a value"},
                                 {"[1,]", 4, "expected a value"},
                                 {"[1 2]", 4, "expected , or ]"},
                                 {"[1", 3, "expected , or ]"},
                                 {"{a: 1}", 2, "expected a name in double quotes"},
                                 {"{'a': 1}", 2, "expected a name in double quotes"},
                                 {R"({"a" 1})", 6, "expected :"},
                                 {R"({"a": 1,})", 9, "expected a name in double quotes"},
                                 {R"({"a": 1 "b": 2})", 9, "expected , or }"},
                                 {R"("abc)", 5, "the string does not end"},
                                 {R"("\x")", 3, "unknown escape"},
                                 {R"("\)", 3, "unknown escape"},
                                 {R"("\u12g4")", 4, "four hexadecimal digits"},
                                 {R"("\u12)", 4, "four hexadecimal digits"},
                                 {"\"a\tb\"", 3, "a control character must be written as an escape"},
                                 {"\"\xff\"", 2, "not valid UTF-8"},
                                 {"\"\xc0\x80\"", 2, "not valid UTF-8"},      // overlong
                                 {"\"\xed\xa0\x80\"", 2, "not valid UTF-8"},  // a surrogate
                                 {R"("\udc00")", 8, "a low surrogate without a high one"},
                                 {R"("\ud800")", 8, "a high surrogate without a low one"},
                                 {R"("\ud800\u0041")", 14, "a high surrogate without a low one"},
                                 {"// x\n1", 1, "expected a value"},
                             });
}

TEST(Json, AnErrorNamesLineAndColumn) {
  const Error error = error_of(parse_json("{\n  \"a\": 1,\n  \"b\": x\n}"));
  EXPECT_EQ(error.message, "JSON (line 3, column 8): expected a value");
  EXPECT_EQ(error.column, 8);
  EXPECT_EQ(error.line, 3);
  EXPECT_EQ(error.field, "");
}

TEST(Json, AKeyGivenTwiceIsRefused) {
  expect_refused(parse_json, {{R"({"a": 1, "b": 2, "a": 3})", 18, R"("a" is given twice in one object)"},
                              {R"({"a": 1, "\u0061": 3})", 10, R"("a" is given twice in one object)"}});
  EXPECT_TRUE(parse_json(R"({"a": {"a": 1}})").has_value());
}

TEST(Json, AKeyGivenTwiceIsFoundInALargeObjectToo) {
  std::string text = "{";
  for (int i = 0; i < 100; ++i) text += "\"key" + std::to_string(i) + "\": 0, ";
  EXPECT_TRUE(parse_json(text + R"("key100": 0})").has_value());
  for (const int repeated : {0, 15, 16, 17, 99}) {
    const auto result = parse_json(text + "\"key" + std::to_string(repeated) + "\": 0}");
    EXPECT_EQ(error_of(result).column, text.size() + 1) << repeated;
  }
}

TEST(Json, NestingEndsAtSixtyFour) {
  EXPECT_TRUE(parse_json(nested(kJsonDepthMax, "")).has_value());
  EXPECT_TRUE(parse_json(nested(kJsonDepthMax - 1, "1")).has_value());
  const Error error = error_of(parse_json(nested(kJsonDepthMax + 1, "")));
  EXPECT_EQ(error.column, 65);
  EXPECT_EQ(error.message, "JSON (line 1, column 65): nested deeper than 64 levels");
}

TEST(Json, AValueInTheInnermostAllowedArrayIsNotALevelOfItsOwn) {
  EXPECT_TRUE(parse_json(nested(kJsonDepthMax, "1")).has_value());
}

TEST(Json, TenThousandBracketsAreRefusedWithoutRecursion) {
  EXPECT_EQ(error_of(parse_json(std::string(10'000, '['))).column, 65);
}

TEST(JsonString, EscapesWhatMustBeEscaped) {
  EXPECT_EQ(json_string("a\"b\\c\n\r\t\x01\x1f é"), R"("a\"b\\c\n\r\t\u0001\u001f é")");
  EXPECT_EQ(json_string(""), R"("")");
}

RC_GTEST_PROP(JsonString, ReadsBackAsTheSame, ()) {
  const auto code_points = *rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127));
  RC_ASSERT(value_of(parse_json(json_string(code_points))).text == code_points);
}

struct Fields {
  explicit Fields(std::string_view given)
      : text(given), json(parsed(given)), fields(JsonFields::open(text, json, "trigger")) {}
  std::string_view text;
  Json json;
  JsonFields fields;
};

TEST(JsonFields, ReadsMembersByNameAndType) {
  Fields f(R"({"kind": "every", "hours": 2, "anchor": null})");
  EXPECT_EQ(value_of(f.fields.string("kind")), "every");
  EXPECT_EQ(value_of(f.fields.integer("hours", {1, 24})), 2);
  EXPECT_EQ(f.fields.optional("anchor"), nullptr);
  EXPECT_TRUE(f.fields.has("anchor"));
  EXPECT_EQ(f.fields.optional("nothing"), nullptr);
}

TEST(JsonFields, AWrongTypeIsRefusedWithPathAndPlace) {
  Fields f(R"({"cron": 5, "on": "mon", "hours": "2"})");
  EXPECT_EQ(error_of(f.fields.string("cron")).message,
            "trigger.cron (line 1, column 10): expected a string, found a number");
  EXPECT_EQ(error_of(f.fields.required("on", JsonType::array)).message,
            "trigger.on (line 1, column 19): expected an array, found a string");
  EXPECT_EQ(error_of(f.fields.optional("on", JsonType::object)).message,
            "trigger.on (line 1, column 19): expected an object, found a string");
  EXPECT_EQ(error_of(f.fields.integer("hours", {1, 24})).message,
            "trigger.hours (line 1, column 35): expected a number, found a string");
}

TEST(JsonFields, AMissingOrNullMemberIsRefusedIfItIsRequired) {
  Fields f(R"( {"at": null})");
  EXPECT_EQ(error_of(f.fields.string("at")).message, "trigger.at (line 1, column 2): is missing; expected a string");
  EXPECT_EQ(error_of(f.fields.string("x")).message, "trigger.x (line 1, column 2): is missing; expected a string");
}

TEST(JsonFields, AnIntegerIsWholeAndInRange) {
  for (const std::string bad : {"0", "25", "-1", "2.0", "2e0", "1.5", "99999999999999999999", "1e400"}) {
    const std::string text = "{\"hours\": " + bad + "}";
    Fields f(text);
    EXPECT_EQ(error_of(f.fields.integer("hours", {1, 24})).message,
              "trigger.hours (line 1, column 11): expected a whole number from 1 to 24, found " + bad);
  }
  Fields f(R"({"low": -9223372036854775808, "high": 9223372036854775807, "zero": -0})");
  EXPECT_EQ(value_of(f.fields.integer("low", {INT64_MIN, 0})), INT64_MIN);
  EXPECT_EQ(value_of(f.fields.integer("high", {0, INT64_MAX})), INT64_MAX);
  EXPECT_EQ(value_of(f.fields.integer("zero", {0, 0})), 0);
}

constexpr auto kDailyFields = field_names("kind", "at");

Error refusal_of(std::string_view text, JsonFields::Names names) {
  const Json json = parsed(text);
  return error_of(JsonFields::of(text, json, "trigger", names));
}

TEST(JsonFields, WhatIsUnknownIsRefusedWithAllThatIsAllowed) {
  const Error error = refusal_of(R"({"kind": "daily", "hour": "08:00"})", kDailyFields);
  EXPECT_EQ(error.message, "trigger.hour (line 1, column 19): unknown field; allowed are at, kind");
  EXPECT_EQ(error.column, 19);
  EXPECT_EQ(error.field, "trigger.hour");
}

TEST(JsonFields, WhatIsUnknownIsToldBeforeWhatIsMissing) {
  EXPECT_EQ(refusal_of(R"({"hour": 8})", kDailyFields).message,
            "trigger.hour (line 1, column 2): unknown field; allowed are at, kind");
}

TEST(JsonFields, ANameThatIsNearlyRightIsAnsweredWithTheRightOne) {
  EXPECT_EQ(refusal_of(R"({"kidn": "daily"})", kDailyFields).message,
            "trigger.kidn (line 1, column 2): unknown field (did you mean kind?); allowed are at, kind");
}

TEST(JsonFields, AnObjectThatTakesNothingSaysSo) {
  EXPECT_EQ(refusal_of(R"({"a": 1})", {}).message,
            "trigger.a (line 1, column 2): unknown field; nothing is to be said here");
}

TEST(JsonFields, ListsOfNamesAreJoined) {
  constexpr auto kBoth = joined_fields(kDailyFields, field_names("on"));
  EXPECT_THAT(kBoth, testing::ElementsAre("kind", "at", "on"));
}

TEST(JsonFieldsDeathTest, ToReadWhatWasNotDeclaredIsABug) {
  const std::string_view text = R"({"kind": "daily"})";
  const Json json = parsed(text);
  const JsonFields fields = value_of(JsonFields::of(text, json, "", kDailyFields));
  EXPECT_DEATH(fields.optional("on"), "");
}

TEST(JsonFields, WithoutAPathTheNameStandsAlone) {
  const std::string_view text = R"({"a": 1})";
  const Json json = parsed(text);
  const JsonFields fields = JsonFields::open(text, json, "");
  EXPECT_EQ(error_of(fields.string("a")).message, "a (line 1, column 7): expected a string, found a number");
}

}  // namespace
}  // namespace carillon
