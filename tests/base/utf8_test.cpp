#include "base/utf8.h"

#include <gtest/gtest.h>

#include "base/plain_text.h"

namespace carillon {
namespace {

TEST(Utf8, TextsOfWholeCharactersAreUtf8) {
  for (const std::string_view text :
       {"", "plain", "Zo\xC3\xAB", "\xE2\x82\xAC", "\xF0\x9F\x94\x94", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
    EXPECT_EQ(valid_utf8(text), text);
  }
}

TEST(Utf8, WhatIsCutTooLongOrNoCharacterIsNot) {
  for (const std::string_view text : {"\xC3", "\xE2\x82", "\x80", "\xC0\xAF", "\xE0\x80\xAF", "\xF0\x80\x80\xAF",
                                      "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "a\xFFz"}) {
    EXPECT_FALSE(is_utf8(text)) << valid_utf8(text);
    EXPECT_TRUE(is_utf8(valid_utf8(text)));
  }
}

}  // namespace
}  // namespace carillon
