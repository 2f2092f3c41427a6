// Is it JSON or not? Boost.JSON, which shares no code with ours, is asked the same. They may differ only for the
// reasons in `known_difference`.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <boost/json.hpp>
#include <string>
#include <string_view>

#include "base/json.h"

namespace carillon {
namespace {

using namespace std::string_view_literals;

boost::json::error_code judge(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = kJsonDepthMax;
  boost::json::error_code error;
  boost::json::parse(boost::json::string_view(text.data(), text.size()), error, {}, options);
  return error;
}

// Why the two may differ on this text, or nothing if they may not.
std::string_view known_difference(const Result<Json>& ours, const boost::json::error_code& theirs) {
  if (!ours && ours.error().message.contains("is given twice")) return "we refuse a key given twice";
  if (ours && theirs == boost::json::error::exponent_overflow) return "we keep numbers as text, however large";
  return {};
}

// Empty if the two agree.
std::string disagreement(std::string_view text) {
  const auto ours = parse_json(text);
  const auto theirs = judge(text);
  if (ours.has_value() == !theirs.failed() || !known_difference(ours, theirs).empty()) return {};
  return fmt::format("{} is {} by us ({}), {} by Boost.JSON ({})", quoted(text), ours ? "accepted" : "refused",
                     ours ? "" : ours.error().message, theirs.failed() ? "refused" : "accepted", theirs.message());
}

constexpr std::array kValid{
    "null"sv,
    "true"sv,
    "false"sv,
    " null "sv,
    "\t\r\n1"sv,
    "0"sv,
    "-0"sv,
    "1"sv,
    "-1"sv,
    "10"sv,
    "0.5"sv,
    "-0.0"sv,
    "1e5"sv,
    "1E5"sv,
    "1e+5"sv,
    "1e-5"sv,
    "1.25e-3"sv,
    "12345678901234567890123"sv,
    "0e0"sv,
    "1e400"sv,
    "1e-400"sv,
    R"("")"sv,
    R"("a")"sv,
    R"(" ")"sv,
    R"("\"")"sv,
    R"("\\")"sv,
    R"("\/")"sv,
    R"("\b\f\n\r\t")"sv,
    R"("\u0000")"sv,
    R"("\u00e9")"sv,
    R"("\uABCD")"sv,
    R"("\ud83d\ude00")"sv,
    R"("\udbff\udfff")"sv,
    "\"\x7f\""sv,
    "\"é\""sv,
    "\"€\""sv,
    "\"😀\""sv,
    "\"\xc2\x80\""sv,
    "\"\xdf\xbf\""sv,
    "\"\xe0\xa0\x80\""sv,
    "\"\xed\x9f\xbf\""sv,
    "\"\xee\x80\x80\""sv,
    "\"\xef\xbf\xbf\""sv,
    "\"\xf0\x90\x80\x80\""sv,
    "\"\xf4\x8f\xbf\xbf\""sv,
    "[]"sv,
    "[ ]"sv,
    "[1]"sv,
    "[1,2]"sv,
    "[ 1 , 2 ]"sv,
    "[[]]"sv,
    "[[],[]]"sv,
    "[[[[]]]]"sv,
    R"(["a",1,null,true,{}])"sv,
    "{}"sv,
    "{ }"sv,
    R"({"":0})"sv,
    R"({"a":1})"sv,
    R"({ "a" : 1 , "b" : [ ] })"sv,
    R"({"a":{"b":{"c":{}}}})"sv,
    R"({"a":1,"A":2})"sv,
    R"({"kind": "weekly", "on": ["mon"], "at": "08:00"})"sv,
};

constexpr std::array kInvalid{
    ""sv,
    " "sv,
    "\n"sv,
    "nul"sv,
    "nulll"sv,
    "True"sv,
    "tru"sv,
    "fals"sv,
    "NULL"sv,
    "undefined"sv,
    "NaN"sv,
    "Infinity"sv,
    "-Infinity"sv,
    "+1"sv,
    "-"sv,
    "--1"sv,
    "01"sv,
    "-01"sv,
    "00"sv,
    "1."sv,
    ".5"sv,
    "1.e5"sv,
    "1e"sv,
    "1e+"sv,
    "1e5.5"sv,
    "0x10"sv,
    "1_000"sv,
    "1,2"sv,
    "1 2"sv,
    "\""sv,
    "\"a"sv,
    "'a'"sv,
    R"("\")"sv,
    R"("\a")"sv,
    R"("\x41")"sv,
    R"("\u")"sv,
    R"("\u1")"sv,
    R"("\u123")"sv,
    R"("\u12G4")"sv,
    R"("\U0041")"sv,
    R"("\ud800")"sv,
    R"("\ud800a")"sv,
    R"("\ud800\n")"sv,
    R"("\ud800\ud800")"sv,
    R"("\udc00")"sv,
    R"("\ude00\ud83d")"sv,
    "\"\n\""sv,
    "\"\t\""sv,
    "\"\0\""sv,
    "\"\x1f\""sv,
    "\"\x80\""sv,
    "\"\xbf\""sv,
    "\"\xc0\xaf\""sv,
    "\"\xc1\xbf\""sv,
    "\"\xc2\""sv,
    "\"\xc2\x41\""sv,
    "\"\xe0\x80\x80\""sv,
    "\"\xe0\x9f\xbf\""sv,
    "\"\xe2\x82\""sv,
    "\"\xed\xa0\x80\""sv,
    "\"\xed\xbf\xbf\""sv,
    "\"\xf0\x80\x80\x80\""sv,
    "\"\xf0\x8f\xbf\xbf\""sv,
    "\"\xf4\x90\x80\x80\""sv,
    "\"\xf5\x80\x80\x80\""sv,
    "\"\xff\""sv,
    "\xef\xbb\xbf{}"sv,
    "["sv,
    "]"sv,
    "[1"sv,
    "[1,"sv,
    "[1,]"sv,
    "[,1]"sv,
    "[,]"sv,
    "[1,,2]"sv,
    "[1 2]"sv,
    "[1}"sv,
    "[}"sv,
    "[]]"sv,
    "[[]"sv,
    "{"sv,
    "}"sv,
    "{,}"sv,
    "{1:2}"sv,
    "{a:1}"sv,
    "{'a':1}"sv,
    R"({"a")"sv,
    R"({"a":)"sv,
    R"({"a":})"sv,
    R"({"a" 1})"sv,
    R"({"a":1,})"sv,
    R"({"a":1 "b":2})"sv,
    R"({"a":1]})"sv,
    R"({"a":1}})"sv,
    R"({:1})"sv,
    R"({null:1})"sv,
    "/* x */ 1"sv,
    "1 // x"sv,
    "# x"sv,
    "\x0b 1"sv,
    "\f1"sv,
    "\xc2\xa0 1"sv,
    "1\0"sv,
    "\0"sv,
    "[1\0]"sv,
};

TEST(JsonDifferential, WhatIsValidIsAcceptedByBoth) {
  for (const std::string_view text : kValid) {
    EXPECT_TRUE(parse_json(text).has_value()) << quoted(text);
    EXPECT_EQ(disagreement(text), "");
  }
}

TEST(JsonDifferential, WhatIsInvalidIsRefusedByBoth) {
  for (const std::string_view text : kInvalid) {
    EXPECT_FALSE(parse_json(text).has_value()) << quoted(text);
    EXPECT_EQ(disagreement(text), "");
  }
}

TEST(JsonDifferential, NestingIsCountedAlike) {
  for (const std::string_view inside : {""sv, "1"sv, "{}"sv, "\"a\""sv}) {
    for (const std::size_t depth : {1U, 62U, 63U, 64U, 65U, 66U}) {
      const std::string text = std::string(depth, '[') + std::string(inside) + std::string(depth, ']');
      EXPECT_EQ(disagreement(text), "") << depth << " levels around " << inside;
    }
  }
}

TEST(JsonDifferential, TheOnlyDifferencesAreTheKnownOnes) {
  EXPECT_FALSE(parse_json(R"({"a":1,"a":2})").has_value());
  EXPECT_FALSE(judge(R"({"a":1,"a":2})").failed());
  EXPECT_TRUE(parse_json("1e99999999999").has_value());
  EXPECT_TRUE(judge("1e99999999999").failed());
}

// One of the texts above with a few bytes changed, removed, doubled or swapped in.
std::string mutated() {
  const bool valid = *rc::gen::inRange(0, 4) != 0;
  std::string text(valid ? *rc::gen::elementOf(kValid) : *rc::gen::elementOf(kInvalid));
  if (*rc::gen::arbitrary<bool>()) text = "{\"k\": [" + text + ", " + std::string(*rc::gen::elementOf(kValid)) + "]}";
  const std::string_view alphabet = "{}[]\",:\\/ntu0123456789abfeE+-. \t\n\x01\x7f\x80\xbf\xc2\xe0\xed\xf0\xf4\xff";
  const int changes = *rc::gen::inRange(1, 4);
  for (int i = 0; i < changes && !text.empty(); ++i) {
    const auto at = *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(0, text.size()));
    const char byte = *rc::gen::elementOf(std::string(alphabet));
    switch (*rc::gen::inRange(0, 4)) {
      case 0: text[at] = byte; break;
      case 1: text.erase(at, 1); break;
      case 2: text.insert(at, 1, text[at]); break;
      default: text.insert(at, 1, byte); break;
    }
  }
  return text;
}

RC_GTEST_PROP(JsonDifferential, MutatedTextsAreJudgedAlike, ()) {
  for (int i = 0; i < 50; ++i) {
    const std::string found = disagreement(mutated());
    if (!found.empty()) RC_FAIL(found);
  }
}

}  // namespace
}  // namespace carillon
