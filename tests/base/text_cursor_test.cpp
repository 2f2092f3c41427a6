#include "base/text_cursor.h"

#include <gtest/gtest.h>

#include "support/results.h"

namespace carillon {
namespace {

using test::error_of;
using test::value_of;

TEST(TextCursor, ReadsFromLeftToRight) {
  TextCursor cursor("word", "ab:12");
  EXPECT_EQ(cursor.peek(), 'a');
  EXPECT_EQ(cursor.peek(2), ':');
  EXPECT_EQ(cursor.letters(), "ab");
  EXPECT_EQ(cursor.position(), 2U);
  EXPECT_TRUE(cursor.eat(':'));
  EXPECT_EQ(cursor.rest(), "12");
  EXPECT_TRUE(cursor.at_digit());
  EXPECT_EQ(value_of(cursor.number("a number")), 12);
  EXPECT_TRUE(cursor.at_end());
}

TEST(TextCursor, AtTheEndThereIsNothingToPeekEatOrRead) {
  TextCursor cursor("word", "a");
  cursor.advance();
  EXPECT_TRUE(cursor.at_end());
  EXPECT_EQ(cursor.peek(), '\0');
  EXPECT_EQ(cursor.peek(100), '\0');
  EXPECT_FALSE(cursor.eat('a'));
  EXPECT_FALSE(cursor.eat('\0'));
  EXPECT_EQ(cursor.letters(), "");
  EXPECT_FALSE(cursor.at_digit());
}

TEST(TextCursor, ANulByteInTheTextIsNotItsEnd) {
  TextCursor cursor("word", std::string_view("\0a", 2));
  EXPECT_FALSE(cursor.at_end());
  EXPECT_TRUE(cursor.eat('\0'));
  EXPECT_EQ(cursor.letters(), "a");
}

TEST(TextCursor, EatLeavesWhatItDoesNotExpect) {
  TextCursor cursor("word", "ab");
  EXPECT_FALSE(cursor.eat('b'));
  EXPECT_EQ(cursor.position(), 0U);
}

TEST(TextCursor, LettersAreAscii) {
  TextCursor cursor("word", "aZ[é");
  EXPECT_EQ(cursor.letters(), "aZ");
}

TEST(TextCursor, ReadsTheLargestNumberAndRefusesTheNext) {
  EXPECT_EQ(value_of(TextCursor("n", "9223372036854775807").number("it")), INT64_MAX);
  const Error error = error_of(TextCursor("n", "9223372036854775808").number("it"));
  EXPECT_EQ(error.message, R"(n "9223372036854775808", column 1: it is too large)");
  EXPECT_EQ(error.column, 1);
}

TEST(TextCursor, ANumberOfAnyLengthIsRefusedNotWrapped) {
  const std::string digits(10'000, '9');
  EXPECT_EQ(error_of(TextCursor("n", digits).number("it")).column, 1);
  const std::string zeros = std::string(10'000, '0') + "5";
  EXPECT_EQ(error_of(TextCursor("n", zeros).number("it")).column, 1);
}

TEST(TextCursor, AskingForSoManyDigitsSaysHowMany) {
  EXPECT_EQ(value_of(TextCursor("n", "007").number("it", {.min = 3, .max = 3})), 7);
  EXPECT_EQ(error_of(TextCursor("n", "07").number("it", {.min = 3, .max = 3})).message,
            R"(n "07", column 1: it needs 3 digits)");
  EXPECT_EQ(error_of(TextCursor("n", "0007").number("it", {.min = 3, .max = 3})).message,
            R"(n "0007", column 1: it needs 3 digits)");
  EXPECT_EQ(error_of(TextCursor("n", "7").number("it", {.min = 2, .max = 3})).message,
            R"(n "7", column 1: it needs at least 2 digits)");
  EXPECT_EQ(error_of(TextCursor("n", "7777").number("it", {.min = 2, .max = 3})).message,
            R"(n "7777", column 1: it is too large)");
}

TEST(TextCursor, AnErrorNamesKindTextColumnAndWhatStandsThere) {
  TextCursor cursor("duration", "5x");
  cursor.advance();
  const Error error = cursor.expected("a unit").error();
  EXPECT_EQ(error.message, R"(duration "5x", column 2: expected a unit, found "x")");
  EXPECT_EQ(error.column, 2);
  EXPECT_EQ(error.code, ErrorCode::invalid_request);

  cursor.advance();
  EXPECT_EQ(cursor.expected("more").error().message, R"(duration "5x", column 3: expected more, found the end)");
  EXPECT_EQ(cursor.fail_at(0, "no").error().column, 1);
}

}  // namespace
}  // namespace carillon
