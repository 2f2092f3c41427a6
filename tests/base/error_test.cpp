#include "base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/check.h"
#include "carillon/version.h"
#include "support/results.h"

namespace carillon {
namespace {

TEST(Error, CodesAreSpelledAsInTheDocumentation) {
  EXPECT_EQ(to_string(ErrorCode::invalid_request), "invalid_request");
  EXPECT_EQ(to_string(ErrorCode::invalid_configuration), "invalid_configuration");
  EXPECT_EQ(to_string(ErrorCode::not_found), "not_found");
  EXPECT_EQ(to_string(ErrorCode::unavailable), "unavailable");
}

TEST(Error, AShortTextIsQuotedAsItStands) {
  EXPECT_EQ(quoted(""), R"("")");
  EXPECT_EQ(quoted("25:00"), R"("25:00")");
}

TEST(Error, QuotingKeepsAMessageOnOneLineAndUnambiguous) {
  EXPECT_EQ(quoted("a\nb\t\x7f"), R"("a\x0ab\x09\x7f")");
  EXPECT_EQ(carillon::quoted(std::string_view("a\0b", 3)), R"("a\x00b")");
  EXPECT_EQ(quoted("say \"x\" \\ y"), R"("say \"x\" \\ y")");
  EXPECT_EQ(quoted("é"), R"("\xc3\xa9")");
}

TEST(Error, ALongTextIsCutAfterEightyBytes) {
  EXPECT_EQ(carillon::quoted(std::string(80, 'a')), '"' + std::string(80, 'a') + '"');
  EXPECT_EQ(carillon::quoted(std::string(81, 'a')), '"' + std::string(80, 'a') + "…\"");
  EXPECT_EQ(carillon::quoted(std::string(10'000, '\n')).size(), 1 + 80 * 4 + std::string("…\"").size());
}

TEST(Error, TheTwoKindsOfRefusalDifferInTheirCode) {
  EXPECT_EQ(invalid_request("x").error().code, ErrorCode::invalid_request);
  EXPECT_EQ(invalid_configuration("x").error().code, ErrorCode::invalid_configuration);
  EXPECT_EQ(invalid_configuration("x").error().message, "x");
  EXPECT_FALSE(invalid_configuration("x").error().column.has_value());
}

TEST(Error, ContextGoesBeforeTheMessageAndChangesNothingElse) {
  const Error plain{.code = ErrorCode::not_found, .message = "no such file", .column = 7};
  const Error error = with_context("schedule \"a\"", plain);
  EXPECT_EQ(error.message, "schedule \"a\": no such file");
  EXPECT_EQ(error.code, ErrorCode::not_found);
  EXPECT_EQ(error.column, 7);
}

TEST(Error, AFieldOnceNamedStaysNamed) {
  EXPECT_EQ(invalid_field("rate", "x").error().field, "rate");
  EXPECT_EQ(about_field("limit", invalid_field("limit.rate", "x").error()).field, "limit.rate");
  EXPECT_EQ(about_field("trigger", invalid_configuration("never fires").error()).field, "trigger");
  EXPECT_EQ(about_field("trigger", invalid_configuration("never fires").error()).message, "never fires");
}

Result<int> half(int number) {
  if (number % 2 != 0) return invalid_request("odd");
  return number / 2;
}

Result<int> quarter(int number) {
  TRY_ASSIGN(const int once, half(number));
  TRY_ASSIGN(const int twice, half(once));
  return twice;
}

Result<void> divisible_by_four(int number) {
  TRY(quarter(number));
  return {};
}

TEST(Error, TryHandsTheFirstErrorToTheCaller) {
  EXPECT_EQ(test::value_of(quarter(12)), 3);
  EXPECT_EQ(test::error_of(quarter(7)).message, "odd");
  EXPECT_EQ(test::error_of(quarter(6)).message, "odd");
  EXPECT_TRUE(divisible_by_four(8).has_value());
  EXPECT_EQ(test::error_of(divisible_by_four(6)).message, "odd");
}

TEST(CheckDeathTest, AFailedCheckSaysWhatAndWhere) {
  EXPECT_DEATH(CHECK(1 + 1 == 3), "internal error: CHECK\\(1 \\+ 1 == 3\\) failed at .*error_test.cpp:[0-9]+");
  EXPECT_DEATH(UNREACHABLE(), "unreachable");
}

TEST(Check, ATrueConditionDoesNothing) { CHECK(1 + 1 == 2); }

TEST(Version, IsASemanticVersion) {
  EXPECT_THAT(std::string(version()), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace carillon
