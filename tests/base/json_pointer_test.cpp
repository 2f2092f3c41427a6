#include "base/json_pointer.h"

#include <gtest/gtest.h>

#include <string>

namespace carillon {
namespace {

// The document and the pointers of RFC 6901, section 5.
constexpr std::string_view kDocument =
    R"({"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8,"deep":{"x":[{"y":9}]}})";

std::string at(std::string_view pointer) {
  const auto parsed = JsonPointer::parse(pointer);
  if (!parsed) return "refused";
  const Json root = parse_json(kDocument).value();
  const Json* const found = parsed->find(root);
  if (found == nullptr) return "nothing";
  return found->text.empty() ? std::string(describe(found->type)) : found->text;
}

TEST(JsonPointerTest, ItFindsWhatTheStandardSays) {
  EXPECT_EQ(at(""), "an object");
  EXPECT_EQ(at("/foo"), "an array");
  EXPECT_EQ(at("/foo/0"), "bar");
  EXPECT_EQ(at("/"), "0");
  EXPECT_EQ(at("/a~1b"), "1");
  EXPECT_EQ(at("/c%d"), "2");
  EXPECT_EQ(at("/e^f"), "3");
  EXPECT_EQ(at("/g|h"), "4");
  EXPECT_EQ(at("/i\\j"), "5");
  EXPECT_EQ(at("/k\"l"), "6");
  EXPECT_EQ(at("/ "), "7");
  EXPECT_EQ(at("/m~0n"), "8");
  EXPECT_EQ(at("/deep/x/0/y"), "9");
}

TEST(JsonPointerTest, WhereNothingIsItFindsNothing) {
  for (const std::string_view pointer :
       {"/none", "/foo/2", "/foo/-", "/foo/00", "/foo/01", "/foo/+1", "/foo/1e0", "/foo/", "/foo/0/x", "/foo/bar",
        "/deep/y", "/foo/99999999999999999999", "/m~0n/x", "/~01"}) {
    EXPECT_EQ(at(pointer), "nothing") << pointer;
  }
}

TEST(JsonPointerTest, WhatIsNoPointerIsRefused) {
  for (const std::string_view pointer : {"foo", "#/foo", "/a~", "/a~2b", "~", "/a/~x"}) {
    EXPECT_EQ(at(pointer), "refused") << pointer;
  }
}

}  // namespace
}  // namespace carillon
