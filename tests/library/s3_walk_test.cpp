// S3's digests by topic on the library: each topic has its interval, mode, switch and cursor; "Scheduler behavior" 1 to
// 4, the required tests, and the acceptance criteria.
#include <carillon/carillon.h>
#include <carillon/settings.h>
#include <carillon/testing.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "library/collected.h"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The user is the tenant, the topic a subject.
constexpr std::string_view kUser = "user-1";
constexpr std::string_view kDigests =
    R"({"name":"digest","trigger":{"kind":"windows","interval":"60m","mode":"normal"},"job":{"type":"run_window"}})";

class S3Walk : public ::testing::Test {
 protected:
  S3Walk() {
    engine.handle("run_window", [this](JobContext& context) {
      const JsonValue data = context.payload();
      ran.push_back(context.job().subject + " " + data.at("window_start").as_string().substr(11, 5) + "-" +
                    data.at("window_end").as_string().substr(11, 5) + " " + data.at("mode").as_string() + " " +
                    data.at("trigger").as_string());
      return pipeline(context);
    });
    client.put_schedule(kUser, kDigests).value();
  }
  SubjectInfo put_topic(std::string_view topic, std::string_view settings) {
    return client.put_subject(kUser, "digest", topic, settings).value().info;
  }
  SubjectInfo topic(std::string_view name) { return client.subject(kUser, "digest", name).value(); }
  void run_until(std::string_view instant) { engine.advance(at(instant) - clock.now()); }
  std::vector<JobInfo> open() {
    return client.jobs({.tenant = std::string(kUser), .states = {JobState::queued, JobState::processing}}, {}, 100)
        .value()
        .jobs;
  }

  // 1) Env config: S3's own names, as they stand in its .env.
  const EngineSettings settings =
      load_settings({.environment = std::map<std::string, std::string>{{"SCHEDULER_TICK_MINUTES", "1"},
                                                                       {"SCHEDULER_MAX_BACKFILL_WINDOWS", "3"},
                                                                       {"SCHEDULER_MIN_WINDOW_SECONDS", "60"}}})
          .value();
  carillon::testing::ManualClock clock{at("2026-01-01T05:00:30Z")};
  carillon::testing::TestEngine engine{clock, {.engine = settings.engine}};
  Client& client = engine.client();
  std::vector<std::string> ran;
  std::function<Outcome(JobContext&)> pipeline = [](JobContext&) { return done(); };
};

TEST_F(S3Walk, Configuration) {  // 1)
  EXPECT_EQ(settings.engine.tick, 1min);
  EXPECT_EQ(settings.engine.max_backfill_windows, 3U);
  EXPECT_EQ(settings.engine.min_window, 60s);
  const auto unset = load_settings({.environment = std::map<std::string, std::string>()}).value();
  EXPECT_EQ(unset.engine.max_backfill_windows, 6U) << "default 6";
  EXPECT_FALSE(client.put_subject(kUser, "digest", "t", R"({"interval":"30s"})")) << "minimum window duration check";
}

TEST_F(S3Walk, AScheduleThatIsDisabledHasNoWindows) {  // required test 1; 2) 2.
  put_topic("t", R"({"enabled":false,"cursor_end":"2026-01-01T00:00:00Z"})");
  engine.advance(3h);
  EXPECT_THAT(ran, IsEmpty());
}

TEST_F(S3Walk, WithoutACursorATopicBeginsOneIntervalBeforeTheMinute) {  // required test 2; 2) 3.
  EXPECT_EQ(put_topic("t", "{}").cursor_end, at("2026-01-01T04:00:00Z"));
  run_until("2026-01-01T05:00:59Z");
  EXPECT_THAT(ran, IsEmpty()) << "1-minute lag";
  run_until("2026-01-01T05:01:00Z");
  EXPECT_THAT(ran, ElementsAre("t 04:00-05:00 normal scheduled"));
}

TEST_F(S3Walk, WithACursorATopicBeginsThere) {  // required test 3
  put_topic("t", R"({"cursor_end":"2026-01-01T03:00:00Z"})");
  engine.run_due();
  EXPECT_THAT(ran, ElementsAre("t 03:00-04:00 normal scheduled")) << "05:00 is within the lag";
}

TEST_F(S3Walk, BackfillIsConsecutiveAndBounded) {  // required test 4; "Backfill works (bounded)"
  put_topic("t", R"({"cursor_end":"2025-12-31T20:00:00Z"})");
  pipeline = [](JobContext&) { return fail("not yet"); };
  engine.run_due();
  EXPECT_THAT(ran, ElementsAre("t 20:00-21:00 normal scheduled", "t 21:00-22:00 normal scheduled",
                               "t 22:00-23:00 normal scheduled"));
  EXPECT_THAT(open(), SizeIs(3)) << "SCHEDULER_MAX_BACKFILL_WINDOWS";
  pipeline = [](JobContext&) { return done(); };
  run_until("2026-01-01T05:03:00Z");
  EXPECT_EQ(topic("t").cursor_end, at("2026-01-01T05:00:00Z")) << "as each closes, the next one opens";
}

TEST_F(S3Walk, EachTopicHasItsOwnIntervalAndMode) {  // required test 5; "based on each topic's interval settings"
  put_topic("fast", R"({"interval":"30m","mode":"low","cursor_end":"2026-01-01T04:00:00Z"})");
  put_topic("slow", R"({"interval":"120m","mode":"high","cursor_end":"2026-01-01T02:00:00Z"})");
  run_until("2026-01-01T05:01:00Z");
  EXPECT_THAT(ran, ::testing::UnorderedElementsAre("fast 04:00-04:30 low scheduled", "fast 04:30-05:00 low scheduled",
                                                   "slow 02:00-04:00 high scheduled"));
}

TEST_F(S3Walk, TheJobIdIsDeterministicAndATickMayBeRepeated) {  // 3)
  put_topic("t", R"({"cursor_end":"2026-01-01T03:00:00Z"})");
  pipeline = [](JobContext&) { return fail("not yet"); };
  engine.run_due();
  engine.run_due();
  ASSERT_THAT(open(), SizeIs(1));
  EXPECT_EQ(open()[0].key, "run_window_user-1_digest_t_20260101T030000Z_20260101T040000Z_normal");
  client.patch_subject(kUser, "digest", "t", R"({"mode":"high"})").value();
  engine.run_due();
  EXPECT_THAT(open(), SizeIs(1)) << "a window is itself, whatever its mode";
}

TEST_F(S3Walk, OnlyScheduledRunsMoveTheCursor) {  // 4); acceptance: "Only scheduled runs advance digest_cursor_end"
  put_topic("t", R"({"cursor_end":"2026-01-01T03:00:00Z"})");
  client
      .trigger(kUser, "digest",
               {.subject = "t", .window_start = at("2026-01-01T04:00:00Z"), .window_end = at("2026-01-01T05:00:00Z")})
      .value();
  client
      .backfill(kUser, "digest", {.subject = "t", .from = at("2025-12-01T00:00:00Z"), .to = at("2025-12-01T02:00:00Z")})
      .value();
  client.pause(kUser, "digest").value();
  engine.advance(10s);
  EXPECT_THAT(ran, ::testing::UnorderedElementsAre("t 04:00-05:00 normal manual", "t 00:00-01:00 normal manual",
                                                   "t 01:00-02:00 normal manual"));
  EXPECT_EQ(topic("t").cursor_end, at("2026-01-01T03:00:00Z"));
  client.resume(kUser, "digest").value();
  engine.run_due();
  EXPECT_EQ(topic("t").cursor_end, at("2026-01-01T04:00:00Z"));
}

TEST_F(S3Walk, ASkippedDigestMovesTheCursorToo) {  // 4) Notes: exhausted credits, policy=stop
  put_topic("t", R"({"cursor_end":"2026-01-01T03:00:00Z"})");
  pipeline = [](JobContext&) { return skipped("credits_exhausted"); };
  engine.run_due();
  EXPECT_EQ(topic("t").cursor_end, at("2026-01-01T04:00:00Z"));
}

TEST_F(S3Walk, TheCursorNeverFallsNorJumpsOverAFailedWindow) {  // 4) "ensure monotonicity"
  put_topic("t", R"({"cursor_end":"2026-01-01T01:00:00Z"})");
  pipeline = [](JobContext& context) {
    return context.payload().at("window_start").as_string().substr(11, 2) == "01" ? fail("not this one") : done();
  };
  engine.run_due();
  EXPECT_EQ(topic("t").cursor_end, at("2026-01-01T01:00:00Z")) << "the first is not done; two after it are";
  pipeline = [](JobContext&) { return done(); };
  engine.advance(2min);
  EXPECT_EQ(topic("t").cursor_end, at("2026-01-01T05:00:00Z"));
  EXPECT_FALSE(client.patch_subject(kUser, "digest", "t", R"({"cursor_end":"2026-01-01T02:00:00Z"})"));
}

}  // namespace
}  // namespace carillon::test
