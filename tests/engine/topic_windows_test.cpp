// S3's own list of tests and of what it accepts: digests of topics, each with its interval, mode, switch and cursor.
#include <fmt/format.h>

#include "engine/support/subject_test.h"

namespace carillon::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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

TEST_P(TopicWindows, ATickThatIsRepeatedMakesNothingTwice) {
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

TEST_P(TopicWindows, ThereIsNoModeThatCatchesUp) {
  const auto refused = client().put_schedule(
      kTenant, R"({"name":"x","trigger":{"kind":"windows","interval":"60m","catch_up":true},"job":{"type":"digest"}})");
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("catch_up"));
}

}  // namespace
}  // namespace carillon::test
