#include "engine/telling/told_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ToldError, IsWhatTheAttemptSaid) {
  EXPECT_EQ(told_error("the server answered 503", R"({"to":"ada"})"), "the server answered 503");
  EXPECT_EQ(told_error("", "{}"), "");
  EXPECT_EQ(told_error("no luck", "null"), "no luck");
}

TEST(ToldError, HasNothingOfThePayload) {
  const char* const payload =
      R"({"to":"ada@example.com","card":{"number":"4111111111111111"},"tags":["vip customer"]})";
  EXPECT_EQ(told_error("cannot mail ada@example.com: ada@example.com is a vip customer", payload),
            "cannot mail [payload]: [payload] is a [payload]");
  EXPECT_EQ(told_error("refused 4111111111111111", payload), "refused [payload]");
  EXPECT_EQ(told_error(std::string("cannot read ") + payload, payload), "cannot read [payload]");
  EXPECT_EQ(told_error(R"(bad name "Zoë Müller")", R"({"name":"Zo\u00eb M\u00fcller"})"), R"(bad name "[payload]")");
}

TEST(ToldError, KeepsShortWordsWhichAreEverybodys) {
  EXPECT_EQ(told_error("mode full is not known", R"({"mode":"full"})"), "mode full is not known");
}

TEST(ToldError, IsBounded) {
  const std::string told = told_error(std::string(10'000, 'x'), "{}");
  EXPECT_LE(told.size(), kToldErrorBytesMax);
  EXPECT_THAT(told, EndsWith("…"));
  // Cut between two characters, never inside of one.
  std::string accents;
  for (int i = 0; i < 1000; ++i) accents += "é";
  const std::string cut = told_error("a" + accents, "{}");
  EXPECT_EQ((cut.size() - 1 - std::string_view("…").size()) % 2, 0U);
}

TEST(ToldError, OfAPayloadThatIsNotKnownOrTooLongToLookThroughNothingIsTold) {
  EXPECT_EQ(told_error("a secret word", ""), "");
  const std::string payload = R"({"a":"secret word", "b":")" + std::string(100'000, 'x') + "\"}";
  EXPECT_THAT(told_error("a secret word", payload), Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace carillon
