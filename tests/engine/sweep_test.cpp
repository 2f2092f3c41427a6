// The sweep: finds nothing in a healthy engine, and puts right what something else has broken.
#include "engine/support/hand_node.h"

namespace carillon::test {
namespace {

class Sweep : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::string_view definition :
         {R"({"name":"day","trigger":{"kind":"delivery","due":"20:00"},"job":{"type":"work"}})",
          R"({"name":"span","trigger":{"kind":"windows","interval":"1h"},"job":{"type":"work"}})",
          R"({"name":"check","trigger":{"kind":"adaptive","bands":[{"within":"1d","every":"10m"}],"otherwise":"1h"},)"
          R"("job":{"type":"work"}})"}) {
      value_of(node.client().put_schedule("default", definition));
    }
    for (const std::string_view schedule : {"day", "span", "check"}) {
      for (int i = 0; i < 600; ++i) {
        value_of(node.client().put_subject("default", schedule, "s" + std::to_string(i), "{}"));
      }
    }
  }
  ScheduleId id_of(std::string_view schedule) {
    return value_of(node.store().plans().schedule("default", schedule)).id;
  }
  std::optional<Instant> next_at(std::string_view schedule, std::string_view subject) {
    return value_of(node.client().subject("default", schedule, subject)).next_at;
  }
  // As nothing that is right would do it.
  void lose_time(std::string_view schedule, const std::string& subject) {
    SubjectEdit edit{.subject = subject};
    edit.next_at = std::optional<Instant>();
    value_of(node.store().plans().put_subjects(id_of(schedule), std::array{edit}));
  }
  Counters counters() { return node.node().counters(); }

 public:
  HandNode node;
};

TEST_F(Sweep, FindsNothingInAHealthyEngine) {
  for (int i = 0; i < 40; ++i) {
    node.pass(1min);
    node.run_due();
  }
  EXPECT_GE(counters().swept, 1800U);
  EXPECT_EQ(counters().repaired, 0U);
}

TEST_F(Sweep, GivesATimeToWhoHasLostIt) {
  lose_time("check", "s17");
  lose_time("span", "s18");
  lose_time("day", "s19");
  EXPECT_FALSE(next_at("check", "s17").has_value());
  node.pass(8min);
  EXPECT_EQ(counters().repaired, 3U);
  EXPECT_TRUE(next_at("check", "s17").has_value());
  EXPECT_TRUE(next_at("span", "s18").has_value());
  EXPECT_TRUE(next_at("day", "s19").has_value());
  const auto told = node.heard.of<SweepStopped>();
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.front().repaired, 3U);
}

}  // namespace
}  // namespace carillon::test
