// The hash is of what a text says: any other way to write it has the same one, any other value another.
#include "base/json_hash.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/json_check.h"

namespace carillon {
namespace {

// ---- Values, and ways to write them ----

struct Value {
  JsonType type = JsonType::null;
  bool boolean = false;
  std::string text;  // of a string: what it says, as UTF-8; of a number: as it is written
  std::vector<Value> items;
  std::map<std::string, Value> members;
  friend bool operator==(const Value&, const Value&) = default;
};

int below(int bound) { return *rc::gen::inRange(0, bound); }

std::string any_string() {
  static const std::vector<std::string> kCharacters{
      "a",  "b",    "Z",    "0", "\"", "\\", "/", "\b", "\f",           "\n", "\r",
      "\t", "\x01", "\x7f", " ", "{",  ",",  ":", "ë",  "\xe2\x80\xa8", "漢", "\xf0\x9f\x98\x80"};
  std::string text;
  for (int i = below(6); i > 0; --i)
    text += kCharacters[static_cast<std::size_t>(below(static_cast<int>(kCharacters.size())))];
  if (below(20) == 0) text += '\0';
  return text;
}

std::string any_number() {
  static const std::vector<std::string> kNumbers{"0",
                                                 "-0",
                                                 "1",
                                                 "1.0",
                                                 "1e0",
                                                 "1E0",
                                                 "1e+0",
                                                 "10",
                                                 "-1",
                                                 "1e400",
                                                 "1.5e3",
                                                 "1500",
                                                 "0.10",
                                                 "0.1",
                                                 "100",
                                                 "1e2",
                                                 "9007199254740993",
                                                 "9007199254740992"};
  return kNumbers[static_cast<std::size_t>(below(static_cast<int>(kNumbers.size())))];
}

Value any_value(int depth) {
  switch (below(depth > 4 ? 4 : 8)) {
    case 0: return {};
    case 1: return {.type = JsonType::boolean, .boolean = below(2) == 1};
    case 2: return {.type = JsonType::number, .text = any_number()};
    case 3: return {.type = JsonType::string, .text = any_string()};
    case 4:
    case 5: {
      Value array{.type = JsonType::array};
      for (int i = below(4); i > 0; --i) array.items.push_back(any_value(depth + 1));
      return array;
    }
    default: {
      Value object{.type = JsonType::object};
      for (int i = below(5); i > 0; --i) object.members[any_string()] = any_value(depth + 1);
      return object;
    }
  }
}

std::string any_space() {
  static const std::vector<std::string> kSpaces{"", "", " ", "\n", "\t\r\n "};
  return kSpaces[static_cast<std::size_t>(below(static_cast<int>(kSpaces.size())))];
}

std::string escaped(unsigned unit) {
  return below(2) == 0 ? fmt::format("\\u{:04x}", unit) : fmt::format("\\u{:04X}", unit);
}

// Of one character, in one of the ways that there are.
std::string any_letters(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  unsigned code = lead;
  if (character.size() > 1) {
    code = lead & (0x7FU >> character.size());
    for (const char c : character.substr(1)) code = (code << 6U) | (static_cast<unsigned char>(c) & 0x3FU);
  }
  static const std::map<unsigned, std::string> kShort{{'"', "\\\""}, {'\\', "\\\\"}, {'/', "\\/"},  {'\b', "\\b"},
                                                      {'\f', "\\f"}, {'\n', "\\n"},  {'\r', "\\r"}, {'\t', "\\t"}};
  const auto as_short = kShort.find(code);
  if (as_short != kShort.end() && below(2) == 0) return as_short->second;
  const bool must_be_escaped = code < 0x20 || code == '"' || code == '\\';
  if (!must_be_escaped && below(3) != 0) return std::string(character);
  if (code < 0x10000) return escaped(code);
  return escaped(0xD800 + ((code - 0x10000) >> 10U)) + escaped(0xDC00 + ((code - 0x10000) & 0x3FFU));
}

std::string any_string_text(std::string_view says) {
  std::string out = "\"";
  while (!says.empty()) {
    const auto lead = static_cast<unsigned char>(says[0]);
    const std::size_t bytes = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    out += any_letters(says.substr(0, bytes));
    says.remove_prefix(bytes);
  }
  return out + '"';
}

std::string any_text(const Value& value) {
  std::string out;
  switch (value.type) {
    case JsonType::null: return any_space() + "null" + any_space();
    case JsonType::boolean: return any_space() + (value.boolean ? "true" : "false") + any_space();
    case JsonType::number: return any_space() + value.text + any_space();
    case JsonType::string: return any_space() + any_string_text(value.text) + any_space();
    case JsonType::array:
      for (const Value& item : value.items) out += (out.empty() ? "" : ",") + any_text(item);
      return any_space() + "[" + any_space() + out + "]" + any_space();
    case JsonType::object: {
      std::vector<const std::pair<const std::string, Value>*> members;
      for (const auto& member : value.members) {
        members.insert(members.begin() + below(static_cast<int>(members.size()) + 1), &member);
      }
      for (const auto* const member : members) {
        out += (out.empty() ? "" : ",") + any_space() + any_string_text(member->first) + any_space() + ":" +
               any_text(member->second);
      }
      return any_space() + "{" + any_space() + out + "}" + any_space();
    }
  }
  return out;
}

// One change somewhere in it.
void change(Value& value) {
  if (value.type == JsonType::array && !value.items.empty()) {
    const auto at = static_cast<std::size_t>(below(static_cast<int>(value.items.size())));
    switch (below(4)) {
      case 0: value.items.push_back(any_value(5)); return;
      case 1: value.items.erase(value.items.begin() + static_cast<std::ptrdiff_t>(at)); return;
      case 2: std::ranges::reverse(value.items); return;
      default: return change(value.items[at]);
    }
  }
  if (value.type == JsonType::object && !value.members.empty()) {
    auto at = value.members.begin();
    std::advance(at, below(static_cast<int>(value.members.size())));
    switch (below(5)) {
      case 0: value.members[any_string()] = any_value(5); return;
      case 1: value.members.erase(at); return;
      case 2: {
        Value moved = at->second;
        value.members.erase(at);
        value.members[any_string()] = std::move(moved);
        return;
      }
      case 3: std::swap(at->second, value.members.begin()->second); return;
      default: return change(at->second);
    }
  }
  value = any_value(5);
}

RC_GTEST_PROP(JsonHashProperty, HoweverAValueIsWrittenItsHashIsTheSame, ()) {
  const Value value = any_value(1);
  const std::string one = any_text(value);
  const std::string other = any_text(value);
  RC_ASSERT(check_json(one).has_value());
  RC_ASSERT(json_hash(one) == json_hash(other));
}

RC_GTEST_PROP(JsonHashProperty, AnotherValueHasAnotherHash, ()) {
  const Value value = any_value(1);
  Value other = value;
  change(other);
  RC_ASSERT((json_hash(any_text(value)) == json_hash(any_text(other))) == (value == other));
}

RC_GTEST_PROP(JsonHashProperty, AnyTextIsSafe, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(
      std::vector<std::string>{"{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "d8", "1", "true", " ", "x", "\xff"}));
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  json_hash(text);
}

TEST(JsonHash, DeepTextThatIsNoJsonIsSafe) {
  json_hash(std::string(1'000'000, '['));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"\":";
  json_hash(objects);
}

TEST(JsonHash, WhatLooksAlikeDiffers) {
  std::set<std::uint64_t> hashes;
  const std::vector<std::string> texts{"null",
                                       "\"null\"",
                                       "true",
                                       "false",
                                       "0",
                                       "-0",
                                       "\"0\"",
                                       "[]",
                                       "{}",
                                       "\"\"",
                                       "[[]]",
                                       "[{}]",
                                       "[null]",
                                       "[0]",
                                       "[0,0]",
                                       "[[0],0]",
                                       "[0,[0]]",
                                       "[[0,0]]",
                                       "{\"\":0}",
                                       "{\"a\":0}",
                                       "{\"a\":[0]}",
                                       "{\"a\":{}}",
                                       "{\"a\":null}",
                                       "\"a\"",
                                       "[\"a\",0]",
                                       "[\"a\"]",
                                       "{\"a\":\"b\"}",
                                       "{\"b\":\"a\"}",
                                       "\"ab\"",
                                       "[\"a\",\"b\"]",
                                       "\"\\\\n\"",
                                       "\"\\n\"",
                                       "\"n\"",
                                       "\"\\u0000\"",
                                       "{\"a\":{\"b\":1},\"c\":{}}",
                                       "{\"a\":{},\"c\":{\"b\":1}}",
                                       "{\"a\":1,\"b\":2}",
                                       "{\"a\":2,\"b\":1}"};
  for (const std::string& text : texts) {
    ASSERT_TRUE(check_json(text)) << text;
    EXPECT_TRUE(hashes.insert(json_hash(text)).second) << text;
  }
}

// Worked out with another implementation of XXH64. Keys that are stored hang on these numbers: if this test breaks, a
// repeated call would be a conflict after an upgrade. (invariant 17)
TEST(JsonHash, IsTheSameForEver) {
  EXPECT_EQ(json_hash(R"(null)"), 0x6a4366b5700dcdfcU);
  EXPECT_EQ(json_hash(R"(1.50)"), 0x5a547a04a61559bdU);
  EXPECT_EQ(json_hash(R"("")"), 0x5a68f3b1643c966fU);
  EXPECT_EQ(json_hash(R"("Zo\u00eb \ud83d\ude00\n")"), 0x5504395c5eff9689U);
  EXPECT_EQ(json_hash(R"([])"), 0xfb1ef8fda92b47efU);
  EXPECT_EQ(json_hash(R"({})"), 0x7bf2b64489fc8fc2U);
  EXPECT_EQ(json_hash(R"([1,[2,"a"],{}])"), 0x3be228a1ae6d8c24U);
  EXPECT_EQ(json_hash(R"({"b":{"c":[1,2.50,null,true]},"a":"a long text, longer than one block of the hash"})"),
            0xdbcbe003554d8baeU);
}

}  // namespace
}  // namespace carillon
