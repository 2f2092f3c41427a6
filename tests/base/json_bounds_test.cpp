// What somebody who sends a text can make us keep.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>

#include <array>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/json_check.h"
#include "support/results.h"

namespace carillon {
namespace {

using test::error_of;
using test::value_of;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::array<JsonBounds::List, 2> kLists{JsonBounds::List{"types", 3}, JsonBounds::List{"jobs", 5}};
constexpr std::array<std::string_view, 2> kWhole{"payload", "output"};

std::string list_of(std::string_view item, std::size_t count) {
  std::string text = "[";
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) text += ',';
    text += item;
  }
  return text + ']';
}

std::string members(std::size_t count) {
  std::string text = "{";
  for (std::size_t i = 0; i < count; ++i) text += fmt::format("{}\"{:x}\":0", i == 0 ? "" : ",", i);
  return text + '}';
}

TEST(JsonBounds, AListOfABoundedNameIsRefusedAtItsFirstItemTooMany) {
  const JsonBounds bounds{.lists = kLists};
  EXPECT_TRUE(
      parse_json_within(R"({"types": [1, 2, 3], "jobs": [1, 2, 3, 4, 5], "other": [1, 2, 3, 4, 5, 6]})", bounds));
  const Error error = error_of(parse_json_within(R"({"types": [1, 2, 3, x)", bounds));
  EXPECT_EQ(error.message, "types (line 1, column 11): more than 3 items; at most 3 are allowed");
  EXPECT_EQ(error.field, "types");
  // Wherever it stands.
  EXPECT_FALSE(parse_json_within(R"([{"a": {"jobs": [1, 2, 3, 4, 5, 6]}}])", bounds));
}

TEST(JsonBounds, ArraysAndObjectsAreRefusedAtTheirFirstPartTooMany) {
  const JsonBounds bounds{.items_max = 2, .members_max = 2};
  EXPECT_TRUE(parse_json_within(R"({"a": [1, 2], "b": {"c": [[1, 2], [3, 4]]}})", bounds));
  EXPECT_THAT(error_of(parse_json_within("[1, 2, x", bounds)).message, HasSubstr("more than 2 items"));
  EXPECT_THAT(error_of(parse_json_within(R"({"a": 1, "b": 2, "c": x)", bounds)).message,
              HasSubstr("more than 2 members"));
}

TEST(JsonBounds, WhatIsWholeIsCheckedAndNotTakenApart) {
  const JsonBounds bounds{.bytes_max = 2000, .items_max = 2, .members_max = 3, .whole = kWhole};
  const std::string text = R"({"payload": )" + list_of("0", 100'000) + R"(, "output": -1.5e3, "a": [1, 2]})";
  const Json json = value_of(parse_json_within(text, bounds));
  EXPECT_EQ(json.find("payload")->type, JsonType::array);
  EXPECT_TRUE(json.find("payload")->items.empty());
  EXPECT_EQ(text[json.find("payload")->offset], '[');
  EXPECT_EQ(json.find("output")->text, "-1.5e3");
  EXPECT_EQ(json.find("a")->items.size(), 2U);
  for (const auto& [value, type] : {std::pair("{\"a\": [1]}", JsonType::object),
                                    std::pair("\"\\u0041\"", JsonType::string), std::pair("true", JsonType::boolean),
                                    std::pair("false", JsonType::boolean), std::pair("null", JsonType::null)}) {
    const Json one = value_of(parse_json_within(fmt::format(R"({{"payload" : {} }})", value), bounds));
    EXPECT_EQ(one.find("payload")->type, type) << value;
    EXPECT_EQ(one.find("payload")->boolean, std::string_view(value) == "true");
  }
  // It is judged as strictly as if it were taken apart, with the same words.
  const std::string deep(kJsonDepthMax, '[');
  for (const std::string& wrong : {std::string("[1, 2"), std::string("{\"a\": 1, \"a\": 2}"), std::string("\"\\x\""),
                                   std::string("[01]"), std::string("tru"), std::string("\"\xff\""), deep}) {
    const std::string one = R"({"payload": )" + wrong + "}";
    EXPECT_EQ(error_of(parse_json_within(one, bounds)).message, error_of(parse_json(one)).message) << wrong;
  }
}

TEST(JsonBounds, ValuesThatWouldTakeTooMuchAreRefusedBeforeTheyDo) {
  const std::string text = list_of("0", 1'000'000);
  const std::size_t before = mallinfo2().uordblks;
  const Error error = error_of(parse_json_within(text, {.bytes_max = 1'000'000}));
  EXPECT_THAT(error.message, HasSubstr("would take more than 1000000 bytes"));
  EXPECT_LT(error.column, 50'000U);
  EXPECT_LT(mallinfo2().uordblks, before + 100'000);
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
// How many bytes a parsed text takes, by byte of the text.
double cost_of(const std::string& text) {
  const std::size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  const auto json = parse_json(text);
  EXPECT_TRUE(json.has_value());
  return static_cast<double>(mallinfo2().uordblks + mallinfo2().hblkhd - before) / static_cast<double>(text.size());
}

TEST(JsonBounds, WhatIsCountedIsWhatAValueTakes) {
  for (const std::string& text : {list_of("0", 100'000), list_of("[0]", 50'000), list_of("{\"a\":1}", 50'000),
                                  list_of(R"("a string of more than 16 bytes")", 50'000), members(50'000)}) {
    const double cost = cost_of(text);
    RecordProperty(fmt::format("bytes_per_byte_{}", text.substr(1, 8)), fmt::format("{:.1f}", cost));
    const auto bytes = static_cast<std::size_t>(cost * static_cast<double>(text.size()));
    EXPECT_TRUE(parse_json_within(text, {.bytes_max = bytes + bytes / 4})) << text.substr(0, 40) << " costs " << cost;
    EXPECT_FALSE(parse_json_within(text, {.bytes_max = bytes - bytes / 4})) << text.substr(0, 40) << " costs " << cost;
  }
}

// The most memory that this process has had.
std::size_t peak_bytes() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<std::size_t>(used.ru_maxrss) * 1024;
}

TEST(JsonBounds, JudgingTakesNextToNothing) {
  for (const std::string& text : {list_of("0", 8'000'000), R"({"payload": )" + list_of("[0]", 4'000'000) + "}"}) {
    const std::size_t before = peak_bytes();
    EXPECT_TRUE(judge_json(text));
    EXPECT_TRUE(text.starts_with('[') || parse_json_within(text, {.bytes_max = 1000, .whole = kWhole}));
    EXPECT_LT(peak_bytes() - before, text.size() / 4);
  }
}
#endif

TEST(JsonBounds, AKeyGivenTwiceIsFoundAmongVeryMany) {
  std::string text = members(200'000);
  EXPECT_TRUE(judge_json(text));
  EXPECT_TRUE(parse_json(text));
  const std::size_t place = text.size() + 1;
  text.pop_back();
  text += R"(,"\u0031a":1,"zz":2})";  // "1a" was there
  for (const Error& error : {error_of(judge_json(text)), error_of(parse_json(text))}) {
    EXPECT_EQ(error.column, place);
    EXPECT_THAT(error.message, HasSubstr(R"("1a" is given twice in one object)"));
  }
}

}  // namespace
}  // namespace carillon
