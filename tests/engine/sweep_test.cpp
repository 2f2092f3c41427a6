// The sweep: finds nothing in a healthy engine, and puts right what something else has broken.
#include <fmt/format.h>

#include "engine/support/hand_node.h"

namespace carillon::test {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::Not;
using ::testing::SizeIs;

class Sweep : public ::testing::TestWithParam<std::string> {
 protected:
  // One schedule has more than a slice of them, which are due when the test is over.
  static constexpr int kFarOff = 600;
  static constexpr int kNear = 10;
  static constexpr std::uint64_t kAll = kFarOff + 3 * kNear + 1;

  void SetUp() override {
    node.handlers["work"] = [this](JobContext& context) {
      ran.push_back(context.job().schedule + " " + context.job().subject);
      return done();
    };
    for (const std::string_view definition :
         {R"({"name":"day","trigger":{"kind":"delivery","due":"20:00"},"job":{"type":"work"}})",
          R"({"name":"span","trigger":{"kind":"windows","interval":"1h"},"job":{"type":"work"}})",
          R"({"name":"check","trigger":{"kind":"adaptive","bands":[{"within":"1d","every":"10m"}],"otherwise":"1h"},)"
          R"("job":{"type":"work"}})"}) {
      value_of(node.client().put_schedule("default", definition));
    }
    std::string far_off;
    std::string near;
    std::string due_near;
    for (int i = 0; i < kFarOff; ++i) far_off += fmt::format(R"({{"subject":"far-{}"}})", i) + "\n";
    for (int i = 0; i < kNear; ++i) {
      near += fmt::format(R"({{"subject":"s{}"}})", i) + "\n";
      due_near += fmt::format(R"({{"subject":"s{}","due":"14:00"}})", i) + "\n";
    }
    value_of(node.client().import_subjects("default", "day", far_off + due_near));
    value_of(node.client().import_subjects("default", "span", near));
    value_of(node.client().import_subjects("default", "check", near));
    // Its checks are far apart, so that nobody looks at its times but the sweep.
    value_of(node.client().put_schedule(
        "default",
        R"({"name":"solo","trigger":{"kind":"adaptive","bands":[],"otherwise":"4h"},"job":{"type":"work"}})"));
    value_of(node.client().put_subject("default", "solo", "s", "{}"));
  }

  ScheduleId id_of(std::string_view schedule) {
    return value_of(node.store().plans().schedule("default", schedule)).id;
  }
  SubjectInfo info(std::string_view schedule, std::string_view subject) {
    return value_of(node.client().subject("default", schedule, subject));
  }
  // As it is stored; who asks the client is not told of one that is not there.
  JobId open_job(std::string_view schedule, std::string_view subject) {
    return value_of(node.store().plans().subject(id_of(schedule), subject)).open_job;
  }
  Counters counters() { return node.node().counters(); }
  std::vector<SweepStopped> passes() const { return node.heard.of<SweepStopped>(); }

  // Time passes, and all that falls due is run.
  void live(Duration time) {
    for (; time > Duration::zero(); time -= 1min) {
      node.pass(1min);
      node.run_due();
    }
  }
  // The jobs that are made meanwhile are not started.
  void hold_starts(bool hold) {
    value_of(node.client().put_queue("default", "default", fmt::format(R"({{"paused":{}}})", hold)));
  }

  // As nothing that is right would do it.
  void set_time(std::string_view schedule, const std::string& subject, std::optional<Instant> next_at) {
    SubjectEdit edit{.subject = subject};
    edit.next_at = next_at;
    value_of(node.store().plans().put_subjects(id_of(schedule), std::array{edit}));
  }
  void lose_job(JobId id) {
    ASSERT_TRUE(id);
    node.tamper([&](Transaction& tx) {
      const std::optional<JobRow> job = tx.job(id);
      ASSERT_TRUE(job.has_value());
      ArchiveRow gone{.job = *job, .finished_at = node.clock.now()};
      gone.job.state = JobState::cancelled;
      tx.archive(*job, gone);
      tx.erase_archived(gone);
    });
  }

 private:
  static HandNode::Options options(const TestFolder& folder) {
    HandNode::Options options;
    if (GetParam() == "sqlite") options.sqlite = folder.path() / "jobs.db";
    return options;
  }
  TestFolder folder_;

 public:
  HandNode node{options(folder_)};
  std::vector<std::string> ran;
};

OVER_EVERY_STORE(Sweep);

TEST_P(Sweep, FindsNothingInAHealthyEngine) {
  // Whatever looks odd and is right: without a time, with an open job for long, late because nobody may start it.
  value_of(node.client().put_subject("default", "check", "disabled", R"({"enabled":false})"));
  value_of(node.client().put_subject("default", "span", "full", R"({"cursor_end":"2026-03-01T00:00:00Z"})"));
  value_of(node.client().put_schedule(
      "default",
      R"({"name":"paused","trigger":{"kind":"adaptive","bands":[],"otherwise":"1m"},"job":{"type":"work"}})"));
  value_of(node.client().put_subject("default", "paused", "s", "{}"));
  value_of(node.client().pause("default", "paused"));
  value_of(node.client().put_queue("default", "slow", R"({"paused":true})"));
  value_of(node.client().put_schedule("default",
                                      R"({"name":"slow","trigger":{"kind":"windows","interval":"1m","max_backfill":2},)"
                                      R"("job":{"type":"work","queue":"slow"}})"));
  value_of(node.client().put_subject("default", "slow", "s", R"({"cursor_end":"2026-03-02T11:00:00Z"})"));
  live(40min);
  EXPECT_FALSE(info("slow", "s").next_at.has_value()) << "as many windows are open as may be";
  EXPECT_GE(passes().size(), 3U);
  EXPECT_THAT(passes(), Each(Field(&SweepStopped::looked_at, kAll + 4)));
  EXPECT_THAT(passes(), Each(Field(&SweepStopped::repaired, 0U)));
  EXPECT_EQ(counters().swept, passes().size() * (kAll + 4));
  EXPECT_EQ(counters().repaired, 0U);
}

TEST_P(Sweep, GivesATimeToWhoHasLostIt) {
  live(2min);
  set_time("check", "s1", {});
  set_time("span", "s2", {});
  set_time("day", "s3", {});
  set_time("solo", "s", {});
  EXPECT_FALSE(info("check", "s1").next_at.has_value());
  ran.clear();
  live(6min);
  EXPECT_EQ(counters().repaired, 4U);
  EXPECT_GT(info("check", "s1").next_at, node.clock.now());
  EXPECT_EQ(info("span", "s2").next_at, at("2026-03-02T13:01:00Z"));
  EXPECT_EQ(info("day", "s3").next_at, at("2026-03-02T13:00:00Z"));
  EXPECT_GT(info("solo", "s").next_at, node.clock.now());
  ASSERT_THAT(passes(), SizeIs(1));
  EXPECT_EQ(passes().front().repaired, 4U);
  // They go on as if nothing had been.
  live(70min);
  EXPECT_THAT(ran, Contains("check s1"));
  EXPECT_THAT(ran, Contains("span s2").Times(1));
  EXPECT_THAT(ran, Contains("day s3").Times(1));
  live(3h);
  EXPECT_THAT(ran, Contains("solo s"));
  EXPECT_EQ(counters().repaired, 4U) << "and are right from then on";
}

TEST_P(Sweep, FindsATimeThatIsLongPast) {
  live(2min);
  ran.clear();
  set_time("span", "s8", node.clock.now() - 10min);
  set_time("day", "s9", node.clock.now() - 10min);
  set_time("solo", "s", node.clock.now() - 10min);
  live(2min);
  EXPECT_THAT(ran, Not(Contains("solo s"))) << "the planner does not know of it";
  live(4min);
  EXPECT_EQ(counters().repaired, 3U);
  ASSERT_THAT(passes(), SizeIs(1));
  EXPECT_EQ(passes().front().repaired, 3U);
  EXPECT_THAT(ran, Contains("solo s").Times(1)) << "its check is made up for, once";
  EXPECT_GT(info("solo", "s").next_at, node.clock.now());
  EXPECT_EQ(info("span", "s8").next_at, at("2026-03-02T13:01:00Z"));
  EXPECT_EQ(info("day", "s9").next_at, at("2026-03-02T13:00:00Z"));
  live(70min);
  EXPECT_THAT(ran, Contains("span s8").Times(1));
  EXPECT_THAT(ran, Contains("day s9").Times(1));
  EXPECT_EQ(counters().repaired, 3U);
}

TEST_P(Sweep, LetsGoOfAnOpenJobThatIsNoMore) {
  live(2min);
  hold_starts(true);
  set_time("solo", "s", node.clock.now());
  value_of(node.client().put_subject("default", "solo", "other", "{}"));  // so that the planner looks
  node.settle_down();
  const JobId lost = open_job("solo", "s");
  lose_job(lost);
  hold_starts(false);
  ran.clear();
  EXPECT_EQ(open_job("solo", "s"), lost);
  live(6min);
  EXPECT_EQ(counters().repaired, 1U);
  ASSERT_THAT(passes(), SizeIs(1));
  EXPECT_EQ(passes().front().repaired, 1U);
  EXPECT_FALSE(open_job("solo", "s"));
  EXPECT_THAT(ran, Not(Contains("solo s")));
  live(5h);
  EXPECT_THAT(ran, Contains("solo s")) << "it is checked again";
  EXPECT_EQ(counters().repaired, 1U);
}

TEST_P(Sweep, LetsGoOfAnOpenJobThatIsNoMoreWhateverItsKind) {
  hold_starts(true);
  live(62min);
  for (const auto& [schedule, subject] : {std::pair("check", "s1"), {"span", "s2"}, {"day", "s3"}}) {
    lose_job(open_job(schedule, subject));
  }
  EXPECT_EQ(counters().repaired, 0U);
  live(10min);
  EXPECT_EQ(counters().repaired, 3U);
  EXPECT_FALSE(open_job("day", "s3"));
  EXPECT_FALSE(open_job("span", "s2"));
  hold_starts(false);
  live(61min);
  EXPECT_THAT(ran, Contains("check s1")) << "each goes on with its next occurrence";
  EXPECT_THAT(ran, Contains("span s2"));
  EXPECT_EQ(info("day", "s3").next_at, at("2026-03-03T13:00:00Z"));
  EXPECT_EQ(counters().repaired, 3U);
}

TEST_P(Sweep, AWindowWhoseJobIsNoMoreIsClosedSoThatTheNextOpens) {
  value_of(node.client().put_schedule(
      "default",
      R"({"name":"one","trigger":{"kind":"windows","interval":"1h","max_backfill":1},"job":{"type":"work"}})"));
  value_of(node.client().put_subject("default", "one", "s", R"({"cursor_end":"2026-03-02T11:00:00Z"})"));
  hold_starts(true);
  live(2min);
  ASSERT_FALSE(info("one", "s").next_at.has_value()) << "the one window that may be open is";
  lose_job(open_job("one", "s"));
  hold_starts(false);
  live(10min);
  EXPECT_EQ(counters().repaired, 1U);
  live(4h);
  EXPECT_THAT(ran, Contains("one s")) << "its windows go on";
  EXPECT_GT(info("one", "s").cursor_end, at("2026-03-02T13:00:00Z")) << "and its cursor moves";
}

TEST_P(Sweep, ADayWhoseJobIsNoMoreGetsItsOutcome) {
  hold_starts(true);
  live(62min);
  lose_job(open_job("day", "s3"));
  hold_starts(false);
  live(70min);
  const auto items = value_of(node.client().outcome_items("default", "day", {.subject = "s3"}, {}, 10)).items;
  ASSERT_THAT(items, SizeIs(1));
  EXPECT_EQ(items[0].outcome + " " + items[0].reason, "missed job_lost");
}

TEST_P(Sweep, MovesACursorThatStandsBeforeClosedWindows) {  // invariant 20
  live(62min);
  ASSERT_EQ(info("span", "s5").cursor_end, at("2026-03-02T13:00:00Z"));
  const ScheduleId span = id_of("span");
  node.tamper([&](Transaction& tx) {
    SubjectRow row = *tx.subject(span, "s5");
    row.cursor = at("2026-03-02T11:00:00Z");
    tx.update_subject(row.next_at, row);
  });
  live(10min);
  EXPECT_EQ(info("span", "s5").cursor_end, at("2026-03-02T13:00:00Z"));
  EXPECT_EQ(counters().repaired, 1U);
}

}  // namespace
}  // namespace carillon::test
