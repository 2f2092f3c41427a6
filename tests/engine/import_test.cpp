// Imports of more lines than a round should take: in parts, and still all of them or none.
#include <fmt/format.h>

#include "engine/support/hand_node.h"

namespace carillon::test {
namespace {

using ::testing::HasSubstr;

constexpr int kMany = 12'001;
constexpr std::string_view kDigest =
    R"({"name":"digest","trigger":{"kind":"delivery","due":"08:00"},"job":{"type":"work"}})";
const ImportWork::Name kName{.tenant = "default", .schedule = "digest"};

std::string many_lines(int count, std::string_view due = "07:00") {
  std::string lines;
  for (int i = 0; i < count; ++i) lines += fmt::format(R"({{"subject":"user-{:05}","due":"{}"}})", i, due) + "\n";
  return lines;
}

class EngineImports : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { value_of(client().put_schedule("default", kDigest)); }
  Client& client() { return node->client(); }
  std::int64_t subjects() {
    return static_cast<std::int64_t>(value_of(client().schedule("default", "digest")).subjects);
  }
  Result<void> call(const std::function<Result<void>(Round&)>& operation) { return node->node().call<void>(operation); }
  // All that comes before it is accepted.
  void stage(int count) {
    const auto lines = value_of(parse_import(many_lines(count)));
    ImportWork& work = node->node().imports();
    value_of(call([&](Round& round) { return work.begin(round, kName); }));
    for (std::size_t first = 0; first < lines.size(); first += 2000) {
      const auto part = std::span(lines).subspan(first, std::min<std::size_t>(2000, lines.size() - first));
      value_of(call([&](Round& round) { return work.add_part(round, kName, part); }));
    }
  }
  void accept() {
    value_of(call([&](Round& round) { return node->node().imports().accept(round, kName); }));
  }
  bool is_under_way() { return node->store().admin().document(import_key("default", "digest")).has_value(); }
  std::size_t documents() { return value_of(node->store().admin().documents_above({}, 1000)).size(); }
  HandNode::Options options() const {
    HandNode::Options options;
    if (GetParam() == "sqlite") options.sqlite = folder.path() / "jobs.db";
    return options;
  }
  void restart() {
    node.reset();
    node.emplace(options());
    node->settle_down();
  }

 public:
  TestFolder folder;
  std::optional<HandNode> node{options()};
};

OVER_EVERY_STORE(EngineImports);

TEST_P(EngineImports, ManyLinesAreMadeChangedAndLeftAlone) {
  const ImportedSubjects made = value_of(client().import_subjects("default", "digest", many_lines(kMany)));
  EXPECT_EQ(made.created, static_cast<std::uint64_t>(kMany));
  EXPECT_EQ(subjects(), kMany);
  const ImportedSubjects again = value_of(client().import_subjects("default", "digest", many_lines(kMany)));
  EXPECT_EQ(again.unchanged, static_cast<std::uint64_t>(kMany));
  const ImportedSubjects changed =
      value_of(client().import_subjects("default", "digest", many_lines(6000, "09:00") + many_lines(100, "10:00")));
  EXPECT_EQ(changed.updated, 6100U) << "the last word about a name counts, in whatever part it is";
  EXPECT_EQ(value_of(client().subject("default", "digest", "user-00099")).next_at, at("2026-03-03T09:00:00Z"));
  EXPECT_EQ(value_of(client().subject("default", "digest", "user-00100")).next_at, at("2026-03-03T08:00:00Z"));
  EXPECT_EQ(documents(), 0U) << "nothing of it stays behind";
}

TEST_P(EngineImports, ABadLineInALaterPartIsNamedAndNothingIsImported) {
  const std::string bad = many_lines(kMany) + R"({"subject":"x","interval":"1h"})";
  const auto refused = client().import_subjects("default", "digest", bad);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().line, static_cast<std::size_t>(kMany + 1));
  node->settle_down();
  EXPECT_EQ(subjects(), 0);
  EXPECT_EQ(documents(), 0U);
  EXPECT_TRUE(client().import_subjects("default", "digest", many_lines(kMany)).has_value());
}

TEST_P(EngineImports, BetweenTwoPartsOthersHaveTheirTurn) {
  stage(6000);
  accept();
  value_of(
      node->node().call<ImportWork::Stepped>([&](Round& round) { return node->node().imports().step(round, kName); }));
  EXPECT_EQ(subjects(), 2000);
  node->enqueue({.type = "other"});
  const RunPtr run = node->take();
  ASSERT_TRUE(run);
  EXPECT_EQ(run->job.type, "other");
}

TEST_P(EngineImports, WhatWasNotAcceptedBeforeARestartIsDropped) {
  if (GetParam() == "memory") GTEST_SKIP() << "memory does not survive";
  stage(kMany);
  restart();
  EXPECT_EQ(subjects(), 0);
  EXPECT_EQ(documents(), 0U);
}

TEST_P(EngineImports, WhatWasAcceptedBeforeARestartIsImportedToTheLastLine) {
  if (GetParam() == "memory") GTEST_SKIP() << "memory does not survive";
  stage(kMany);
  accept();
  value_of(
      node->node().call<ImportWork::Stepped>([&](Round& round) { return node->node().imports().step(round, kName); }));
  restart();
  EXPECT_EQ(subjects(), kMany);
  EXPECT_EQ(documents(), 0U);
  EXPECT_TRUE(value_of(client().subject("default", "digest", "user-12000")).next_at.has_value());
}

TEST_P(EngineImports, OneThatNobodyDrivesIsCarriedOnOrDropped) {
  stage(4000);
  node->pass(31s);
  EXPECT_FALSE(is_under_way());
  EXPECT_EQ(subjects(), 0);
  stage(4000);
  accept();
  node->pass(31s);
  EXPECT_FALSE(is_under_way());
  EXPECT_EQ(subjects(), 4000);
}

TEST_P(EngineImports, MeanwhileTheScheduleStaysAsItIs) {
  stage(4000);
  const auto edited = client().put_schedule(
      "default", R"({"name":"digest","trigger":{"kind":"windows","interval":"1h"},"job":{"type":"work"}})");
  EXPECT_EQ(error_of(edited).code, ErrorCode::conflict);
  EXPECT_THAT(error_of(edited).message, HasSubstr("under way"));
  EXPECT_TRUE(client().put_schedule("default", kDigest).has_value()) << "the same again is no edit";
  EXPECT_EQ(error_of(client().delete_schedule("default", "digest")).code, ErrorCode::conflict);
  EXPECT_EQ(error_of(client().import_subjects("default", "digest", many_lines(kMany))).code, ErrorCode::conflict);
  value_of(client().put_subject("default", "digest", "ada", "{}"));
  node->pass(31s);
  EXPECT_TRUE(client().delete_schedule("default", "digest").has_value());
}

TEST_P(EngineImports, AStoreThatFailsInTheMiddleLosesNothingThatWasAccepted) {
  stage(kMany);
  accept();
  int rounds = 0;
  node->commits().decide_by([&] { return ++rounds % 2 == 0 ? CommitFault::unavailable : CommitFault::none; });
  node->pass(2min);
  node->commits().decide_by([] { return CommitFault::none; });
  node->pass(1min);
  EXPECT_EQ(subjects(), kMany);
  EXPECT_EQ(documents(), 0U);
}

}  // namespace
}  // namespace carillon::test
