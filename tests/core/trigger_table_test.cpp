// The table of the kinds of trigger: what is written from it, and what has to say the same.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "core/schedules/schedule.h"
#include "core/triggers/trigger_kind.h"
#include "support/results.h"

namespace carillon {
namespace {

using test::error_of;
using test::value_of;
using testing::HasSubstr;

std::string page(const std::string& path) {
  std::ifstream file(std::string(CARILLON_SOURCE_FOLDER) + "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Error refusal_of(std::string_view json) { return error_of(parse_trigger_json(json, value_of(parse_json(json)), "t")); }

TEST(TriggerTable, EachKindHasANameOfItsOwnAndIsFoundByIt) {
  std::set<std::string_view> names;
  for (const TriggerKind* const kind : trigger_kinds()) {
    EXPECT_TRUE(names.insert(kind->name).second) << kind->name;
    EXPECT_EQ(find_kind(kind->name), kind);
    EXPECT_NE(kind->read, nullptr) << kind->name;
  }
  EXPECT_EQ(names.size(), std::variant_size_v<Trigger>);
  EXPECT_EQ(find_kind("hourly"), nullptr);
}

TEST(TriggerTable, AnUnknownKindIsToldAllThatThereAre) {
  const Error json = refusal_of(R"({"kind": "hourly"})");
  const Error text = error_of(parse_trigger_text("hourly:1"));
  for (const TriggerKind* const kind : trigger_kinds()) {
    EXPECT_THAT(json.message, HasSubstr(std::string(kind->name)));
    EXPECT_THAT(text.message, HasSubstr(std::string(kind->example)));
  }
  EXPECT_THAT(refusal_of(R"({"type": "hourly"})").message, HasSubstr("allowed are once, every_n_hours, daily, weekly"));
}

TEST(TriggerTable, AnExampleIsReadAsItsKind) {
  for (const TriggerKind* const kind : trigger_kinds()) {
    if (kind->example.empty()) continue;
    EXPECT_EQ(&kind_of(value_of(parse_trigger_text(kind->example))), kind) << kind->name;
    EXPECT_FALSE(kind->means.empty()) << kind->name;
  }
}

TEST(TriggerTable, AKindWithoutATimetablePlansByItself) {
  for (const TriggerKind* const kind : trigger_kinds()) {
    EXPECT_EQ(kind->times == nullptr, kind->traits.plans_by_subject) << kind->name;
    EXPECT_TRUE(kind->times || (kind->plan && kind->anchor)) << kind->name;
    EXPECT_TRUE(kind->traits.has_windows || !kind->traits.keeps_cursor) << kind->name;
  }
}

// A text without the word is of no such kind; one with it may be.
TEST(TriggerTable, AStoredTextTellsWhatItCannotBe) {
  const auto has_cutoff = [](const TriggerKind& kind) { return kind.traits.has_cutoff; };
  EXPECT_TRUE(may_be_of_kind(R"({"trigger":{"kind":"delivery"}})", has_cutoff));
  EXPECT_TRUE(may_be_of_kind(R"({"trigger":{"kind":"deliver\u0079"}})", has_cutoff));
  EXPECT_FALSE(may_be_of_kind(R"({"trigger":{"kind":"daily"}})", has_cutoff));
}

TEST(TriggerTable, ThePagesListEachKind) {
  const std::string reference = page("docs/reference/triggers.md");
  ASSERT_FALSE(reference.empty());
  for (const TriggerKind* const kind : trigger_kinds()) {
    EXPECT_THAT(reference, HasSubstr(fmt::format("\n| {} | ", kind->name)));
    EXPECT_THAT(reference, HasSubstr(fmt::format("{{\"kind\": \"{}\"", kind->name)));
    if (kind->example.empty()) continue;
    EXPECT_THAT(reference, HasSubstr(fmt::format("`{}`", kind->example)));
  }
}

}  // namespace
}  // namespace carillon
