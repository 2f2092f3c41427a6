// Paths and queries.
#include "server/http/target.h"

#include <gtest/gtest.h>

#include "support/results.h"

namespace carillon::server::test {
namespace {

using carillon::test::error_of;
using carillon::test::value_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> segments(std::string_view target) { return value_of(parse_target(target)).segments; }

std::string query_text(std::string_view target) {
  std::string text;
  for (const QueryItem& item : value_of(parse_target(target)).query) text += item.name + "=" + item.value + ";";
  return text;
}

TEST(Target, APathIsSplitAtItsSlashesAndThenDecoded) {
  EXPECT_THAT(segments("/"), IsEmpty());
  EXPECT_THAT(segments("/v1/jobs"), ElementsAre("v1", "jobs"));
  EXPECT_THAT(segments("/a%2Fb/c%20d/e+f"), ElementsAre("a/b", "c d", "e+f"));
  EXPECT_THAT(segments("/caf%C3%a9"), ElementsAre("café"));
  EXPECT_THAT(segments("/a/"), ElementsAre("a", ""));
  EXPECT_THAT(segments("//a"), ElementsAre("", "a"));
  EXPECT_EQ(value_of(parse_target("/a%2Fb?c")).path, "/a%2Fb");
}

TEST(Target, AWholeAddressMeansItsPath) {
  EXPECT_THAT(segments("http://host:80/a/b?c"), ElementsAre("a", "b"));
  EXPECT_THAT(segments("https://host"), IsEmpty());
  EXPECT_EQ(value_of(parse_target("*")).path, "*");
}

TEST(Target, AQueryKeepsItsOrderAndIsDecodedAsForms) {
  EXPECT_EQ(query_text("/?a=1&b=x+y&a=%2B"), "a=1;b=x y;a=+;");
  EXPECT_EQ(query_text("/?a&&b=&=c&d=e=f"), "a=;b=;=c;d=e=f;");
  EXPECT_EQ(query_text("/?a=/b?c"), "a=/b?c;");
  EXPECT_EQ(query_text("/?"), "");
}

TEST(Target, WhatCannotBeReadIsRefused) {
  for (const std::string_view target :
       {"",      "a",    "*a",        "a/b",  "http://", "http:///a",  "http://h?a",    "ftp://h/a", "/%",      "/%4",
        "/%zz",  "/a%",  "/a%0",      "/?%",  "/?a=%g0", "/%00",       "/%0a",          "/%7F",      "/?a=%0d", "/a b",
        "/a\tb", "/a#b", "/\xc3\xa9", "/%ff", "/%c0%af", "/%ed%a0%80", "/%f5%80%80%80", "/%e2%82",   "/?a=%80"}) {
    const Error error = error_of(parse_target(target));
    EXPECT_EQ(error.code, ErrorCode::invalid_request) << target;
    carillon::test::expect_one_line(error);
  }
}

// No route takes them: see Router.
TEST(Target, DotsStandAsTheyAre) {
  EXPECT_EQ(value_of(parse_target("/a/../b/./%2e%2E")).segments, (std::vector<std::string>{"a", "..", "b", ".", ".."}));
}

TEST(Target, AQueryHasABound) {
  std::string query = "/?";
  for (std::size_t i = 0; i < kQueryItemsMax; ++i) query += "a&";
  EXPECT_EQ(value_of(parse_target(query)).query.size(), kQueryItemsMax);
  EXPECT_THAT(error_of(parse_target(query + "a")).message, HasSubstr("more than 256"));
}

}  // namespace
}  // namespace carillon::server::test
