// S3's own list of tests and of what it accepts: digests of topics, each with its interval, mode, switch and cursor.
#include <fmt/format.h>

#include <array>
#include <set>

#include "engine/support/hand_node.h"
#include "engine/support/subject_test.h"

namespace carillon::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAreArray;

class TopicWindows : public SubjectTest {
 protected:
  void SetUp() override {
    go_to("2026-01-01T05:00:30Z");
    put(R"({"name":"s","trigger":{"kind":"windows","interval":"60m","mode":"normal"},"job":{"type":"digest"}})");
    handle("digest", [this](JobContext& context) {
      const auto payload = context.payload();
      ran.push_back(fmt::format("{} {}-{} {} {}", context.job().subject,
                                payload.at("window_start").as_string().substr(11, 5),
                                payload.at("window_end").as_string().substr(11, 5), payload.at("mode").as_string(),
                                payload.at("trigger").as_string()));
      return answer(context);
    });
  }
  Instant cursor(std::string_view topic) { return subject(topic).cursor_end.value(); }
};

OVER_EVERY_STORE(TopicWindows);

// ---- Tests (required) -----------------------------------------------------------------------------------------------

TEST_P(TopicWindows, ADisabledTopicHasNoWindows) {
  put_subject("t", R"({"enabled":false,"cursor_end":"2026-01-01T00:00:00Z"})");
  run_until("2026-01-01T12:00:00Z");
  EXPECT_THAT(ran, IsEmpty());
  EXPECT_THAT(jobs(), IsEmpty());
}

TEST_P(TopicWindows, WithoutACursorItBeginsAnIntervalBeforeTheMinute) {
  put_subject("t");
  EXPECT_EQ(subject("t").cursor_end, at("2026-01-01T04:00:00Z"));
  EXPECT_EQ(subject("t").planned_end, at("2026-01-01T04:00:00Z"));
  run_until("2026-01-01T05:01:00Z");
  EXPECT_THAT(ran, ElementsAre("t 04:00-05:00 normal scheduled"));
}

TEST_P(TopicWindows, WithACursorItStartsFromThere) {
  put_subject("t", R"({"cursor_end":"2026-01-01T03:00:00Z"})");
  run_due();
  EXPECT_THAT(ran, ElementsAre("t 03:00-04:00 normal scheduled"));
}

TEST_P(TopicWindows, BackfillMakesConsecutiveWindowsNoMoreThanTheCapAtOnce) {
  put(R"({"name":"s","trigger":{"kind":"windows","interval":"60m","max_backfill":3},"job":{"type":"digest"}})");
  value_of(client().put_queue(kTenant, "default", R"({"paused":true})"));
  put_subject("t", R"({"cursor_end":"2025-12-31T20:00:00Z"})");
  run_due();
  std::vector<std::string> keys;
  for (const JobInfo& one : jobs()) keys.push_back(one.key.substr(0, 52));
  EXPECT_THAT(keys, ElementsAre("run_window_default_s_t_20251231T220000Z_20251231T230",
                                "run_window_default_s_t_20251231T210000Z_20251231T220",
                                "run_window_default_s_t_20251231T200000Z_20251231T210"));
  run_due();
  advance(30min);
  EXPECT_THAT(jobs(), SizeIs(3)) << "repeated ticks do not pile up";
  value_of(client().put_queue(kTenant, "default", R"({"paused":false})"));
  run_due();
  EXPECT_EQ(cursor("t"), at("2026-01-01T05:00:00Z"));
  EXPECT_THAT(ran, SizeIs(9));
}

TEST_P(TopicWindows, TheModeOfTheTopicGoesIntoItsJobs) {
  put_subject("own", R"({"cursor_end":"2026-01-01T03:00:00Z","mode":"high"})");
  put_subject("plain", R"({"cursor_end":"2026-01-01T03:00:00Z"})");
  run_due();
  EXPECT_THAT(ran,
              ::testing::UnorderedElementsAre("own 03:00-04:00 high scheduled", "plain 03:00-04:00 normal scheduled"));
  std::vector<std::string> keys;
  for (const JobInfo& one : jobs({.subject = "own"})) keys.push_back(one.key);
  EXPECT_THAT(keys, ElementsAre("run_window_default_s_own_20260101T030000Z_20260101T040000Z_high"));
}

// ---- Acceptance criteria --------------------------------------------------------------------------------------------

TEST_P(TopicWindows, WindowsFollowEachTopicsOwnInterval) {
  put_subject("a", R"({"cursor_end":"2026-01-01T05:00:00Z","interval":"30m"})");
  put_subject("b", R"({"cursor_end":"2026-01-01T05:00:00Z","interval":"90m"})");
  run_until("2026-01-01T06:40:00Z");
  EXPECT_THAT(ran, ElementsAre("a 05:00-05:30 normal scheduled", "a 05:30-06:00 normal scheduled",
                               "a 06:00-06:30 normal scheduled", "b 05:00-06:30 normal scheduled"));
}

TEST_P(TopicWindows, ARestartMakesNothingTwice) {
  if (!survives_restart()) GTEST_SKIP() << "memory does not survive";
  put_subject("t", R"({"cursor_end":"2026-01-01T00:00:00Z"})");
  answer = [](JobContext&) { return fail("later"); };
  run_due();
  for (int i = 0; i < 3; ++i) {
    restart();
    run_due();
  }
  EXPECT_THAT(jobs(), SizeIs(4));
  std::set<std::string> keys;
  for (const JobInfo& one : jobs()) keys.insert(one.key);
  EXPECT_THAT(keys, SizeIs(4));
}

TEST_P(TopicWindows, OnlyScheduledRunsAdvanceTheCursor) {
  put_subject("t", R"({"cursor_end":"2026-01-01T04:00:00Z"})");
  value_of(client().trigger(
      kTenant, "s",
      {.subject = "t", .window_start = at("2026-01-01T04:00:00Z"), .window_end = at("2026-01-01T05:00:00Z")}));
  run_due();
  EXPECT_THAT(ran, ElementsAre("t 04:00-05:00 normal manual"));
  EXPECT_EQ(cursor("t"), at("2026-01-01T04:00:00Z"));
  value_of(client().backfill(kTenant, "s", {.from = at("2026-01-01T00:00:00Z"), .to = at("2026-01-01T04:00:00Z")}));
  run_due();
  EXPECT_THAT(ran, SizeIs(5));
  EXPECT_THAT(ran, Each(HasSubstr("manual")));
  EXPECT_EQ(cursor("t"), at("2026-01-01T04:00:00Z"));
  run_until("2026-01-01T05:01:00Z");
  EXPECT_EQ(ran.back(), "t 04:00-05:00 normal scheduled");
  EXPECT_EQ(cursor("t"), at("2026-01-01T05:00:00Z"));
}

TEST_P(TopicWindows, ADigestSkippedForWantOfCreditsMovesTheCursorOn) {  // invariant 20
  answer = [](JobContext&) { return skipped("no_credits"); };
  put_subject("t", R"({"cursor_end":"2026-01-01T00:00:00Z"})");
  run_due();
  EXPECT_THAT(ran, SizeIs(4));
  EXPECT_EQ(cursor("t"), at("2026-01-01T04:00:00Z"));
  EXPECT_THAT(subject("t").gaps, IsEmpty());
  advance(10min);
  EXPECT_THAT(ran, SizeIs(5)) << "none of them again";
}

TEST_P(TopicWindows, TheCursorNeverFallsWhateverOrderRunsEndIn) {  // invariant 20
  std::vector<Instant> seen;
  answer = [&](JobContext& context) {
    seen.push_back(cursor("t"));
    const bool odd = context.payload().at("window_start").as_string()[12] % 2 == 1;
    return odd && context.attempt() < 3 ? fail("later") : done();
  };
  put_subject("t", R"({"cursor_end":"2026-01-01T00:00:00Z"})");
  for (int i = 0; i < 30; ++i) {
    advance(10min);
    seen.push_back(cursor("t"));
  }
  EXPECT_TRUE(std::ranges::is_sorted(seen));
  EXPECT_EQ(seen.back(), at("2026-01-01T09:00:00Z"));
}

// S3: "without any catch_up mode". A mode is a text for whoever runs the window, and nothing of the planning.
TEST_P(TopicWindows, NoModeChangesWhichWindowsThereAre) {
  put(R"({"name":"s","trigger":{"kind":"windows","interval":"60m","max_backfill":3,"mode":"normal"},)"
      R"("job":{"type":"digest"}})");
  const std::vector<std::string> topics{"normal", "catch_up", "since_last_run", "fixed_3x_daily"};
  for (const std::string& mode : topics) {
    put_subject(mode, fmt::format(R"({{"cursor_end":"2025-12-31T20:00:00Z","mode":"{}"}})", mode));
  }
  value_of(client().put_queue(kTenant, "default", R"({"paused":true})"));
  run_due();
  // All of a job but its topic, mode and key.
  const auto planned = [&](const std::string& topic) {
    std::vector<std::string> windows;
    for (const JobInfo& one : jobs({.subject = topic})) {
      const JsonValue payload = value_of(JsonValue::parse(one.payload));
      EXPECT_EQ(payload.at("mode").as_string(), topic);
      windows.push_back(fmt::format("{}-{} {} backfilled {} priority {} at {}", payload.at("window_start").as_string(),
                                    payload.at("window_end").as_string(), payload.at("trigger").as_string(),
                                    payload.at("backfilled").as_bool(), one.priority, format_instant(one.run_at)));
    }
    return windows;
  };
  EXPECT_THAT(planned("normal"), SizeIs(3));
  for (const std::string& mode : topics) EXPECT_EQ(planned(mode), planned("normal")) << mode;
  value_of(client().put_queue(kTenant, "default", R"({"paused":false})"));
  run_until("2026-01-01T06:01:00Z");
  EXPECT_THAT(planned("normal"), SizeIs(10));
  for (const std::string& mode : topics) {
    EXPECT_EQ(planned(mode), planned("normal")) << mode;
    EXPECT_EQ(cursor(mode), at("2026-01-01T06:00:00Z")) << mode;
  }
}

TEST_P(TopicWindows, ThereIsNoFieldThatCatchesUp) {
  const auto refused = client().put_schedule(
      kTenant, R"({"name":"x","trigger":{"kind":"windows","interval":"60m","catch_up":true},"job":{"type":"digest"}})");
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("catch_up"));
}

// ---- A tick that is repeated ----------------------------------------------------------------------------------------

class TopicTicks : public ::testing::TestWithParam<std::string> {
 protected:
  static constexpr std::array<std::string_view, 3> kTopics{"a", "b", "c"};
  void SetUp() override {
    node.handlers["digest"] = [this](JobContext& context) {
      ran.push_back(context.job().subject + " " + context.payload().at("window_start").as_string().substr(11, 5));
      return done();
    };
    value_of(node.client().put_schedule(
        "default", R"({"name":"s","trigger":{"kind":"windows","interval":"60m"},"job":{"type":"digest"}})"));
    for (const std::string_view topic : kTopics) {
      value_of(node.client().put_subject("default", "s", topic, R"({"cursor_end":"2026-01-01T00:00:00Z"})"));
    }
    node.settle_down();
  }
  std::vector<std::string> keys() {
    std::vector<std::string> keys;
    for (const JobInfo& one : value_of(node.client().jobs({}, {}, 1000)).jobs) keys.push_back(one.key);
    std::ranges::sort(keys);
    return keys;
  }
  SubjectInfo topic(std::string_view name) { return value_of(node.client().subject("default", "s", name)); }
  // One round, in which windows of all topics fall due, and whose commit goes wrong.
  void fail_tick(CommitFault fault) {
    node.commits().next(fault);
    node.node().step();
    EXPECT_THAT(node.heard.of<StoreFailed>(), SizeIs(1));
    EXPECT_THAT(node.heard.of<JobChanged>(), IsEmpty());
  }
  void repeat_tick() {
    node.clock.advance(1s);
    node.settle_down();
  }
  void expect_four_windows_each_once() {
    const std::vector<std::string> all = keys();
    EXPECT_THAT(all, SizeIs(4 * kTopics.size()));
    EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
    node.run_due();
    std::vector<std::string> expected;
    for (const std::string_view name : kTopics) {
      for (const std::string_view start : {"00:00", "01:00", "02:00", "03:00"}) {
        expected.push_back(fmt::format("{} {}", name, start));
      }
      EXPECT_EQ(topic(name).cursor_end, at("2026-01-01T04:00:00Z")) << name;
      EXPECT_EQ(topic(name).next_at, at("2026-01-01T05:01:00Z")) << name;
    }
    EXPECT_THAT(ran, UnorderedElementsAreArray(expected));
    EXPECT_EQ(keys(), all);
  }

 private:
  static HandNode::Options options(const TestFolder& folder) {
    HandNode::Options options{.start = at("2026-01-01T00:00:30Z")};
    if (GetParam() == "sqlite") options.sqlite = folder.path() / "jobs.db";
    return options;
  }
  TestFolder folder_;

 public:
  HandNode node{options(folder_)};
  std::vector<std::string> ran;
};

OVER_EVERY_STORE(TopicTicks);

TEST_P(TopicTicks, OneWhoseAnswerWasLostMakesNothingTwice) {  // invariants 1, 21
  node.clock.advance(4h + 30min);
  fail_tick(CommitFault::answer_lost);
  EXPECT_THAT(keys(), SizeIs(4 * kTopics.size())) << "it is stored all the same";
  repeat_tick();
  expect_four_windows_each_once();
}

TEST_P(TopicTicks, OneThatWasNotStoredLosesNothing) {  // invariants 3, 21
  node.clock.advance(4h + 30min);
  fail_tick(CommitFault::unavailable);
  EXPECT_THAT(keys(), IsEmpty());
  repeat_tick();
  expect_four_windows_each_once();
}

// The store says no, not only the planner's memory: the subject stands as it did before the tick, its jobs do not.
TEST_P(TopicTicks, TheSameWindowsPlannedAgainAreNotMadeAgain) {  // invariant 1
  const ScheduleId schedule = value_of(node.store().plans().schedule("default", "s")).id;
  std::vector<SubjectRow> before;
  for (const std::string_view name : kTopics) {
    before.push_back(value_of(node.store().plans().subject(schedule, name)));
  }
  node.clock.advance(4h + 30min);
  node.settle_down();
  EXPECT_THAT(keys(), SizeIs(4 * kTopics.size()));
  node.tamper([&](Transaction& tx) {
    for (const SubjectRow& old : before) {
      SubjectRow row = *tx.subject(schedule, old.subject);
      const auto next_at = std::exchange(row.next_at, old.next_at);
      row.position = old.position;
      ++row.version;
      tx.update_subject(next_at, row);
    }
  });
  EXPECT_EQ(topic("a").planned_end, at("2026-01-01T00:00:00Z"));
  // A change of any of them, and the planner looks at the times as they are stored.
  value_of(node.client().put_subject("default", "s", "d", R"({"cursor_end":"2026-01-01T04:00:00Z"})"));
  node.settle_down();
  EXPECT_GT(topic("a").planned_end, at("2026-01-01T00:00:00Z")) << "it was planned again";
  expect_four_windows_each_once();
}

}  // namespace
}  // namespace carillon::test
