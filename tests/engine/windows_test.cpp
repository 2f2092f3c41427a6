// Windows at the level of the engine (S3; invariants 20, 21).
#include "engine/support/subject_test.h"

namespace carillon::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class EngineWindows : public SubjectTest {
 protected:
  void SetUp() override {
    handle_noted("sync");
    go_to("2026-03-03T00:00:00Z");
    put(kHourly);
  }
  static constexpr std::string_view kHourly =
      R"({"name":"s","trigger":{"kind":"windows","interval":"1h"},"job":{"type":"sync"}})";
  // "01-02" for the window from one to two, in the order of starts.
  void note_windows() {
    handle("sync", [this](JobContext& context) {
      starts.push_back(clock.now());
      const auto payload = context.payload();
      windows.push_back(payload.at("window_start").as_string().substr(11, 2) + "-" +
                        payload.at("window_end").as_string().substr(11, 2));
      return answer(context);
    });
  }

 public:
  std::vector<std::string> windows;
};

OVER_EVERY_STORE(EngineWindows);

TEST_P(EngineWindows, AWindowIsDueOnceItAndItsLagAreOver) {
  note_windows();
  put_subject("t", R"({"cursor_end":"2026-03-03T00:00:00Z"})");
  go_to("2026-03-03T05:00:30Z");
  run_due();
  EXPECT_THAT(windows, ElementsAre("00-01", "01-02", "02-03", "03-04"));
  EXPECT_EQ(subject("t").cursor_end, at("2026-03-03T04:00:00Z"));
  run_until("2026-03-03T05:00:59Z");
  EXPECT_THAT(windows, SizeIs(4));
  run_until("2026-03-03T05:01:00Z");
  EXPECT_THAT(windows, SizeIs(5));
}

TEST_P(EngineWindows, NoMoreThanMaxBackfillAreOpenAndEachThatClosesOpensTheNext) {
  answer = [](JobContext&) { return fail("later"); };
  put_subject("t", R"({"cursor_end":"2026-03-03T00:00:00Z"})");
  go_to("2026-03-03T20:00:00Z");
  run_due();
  EXPECT_THAT(jobs(), SizeIs(6));
  answer = [](JobContext&) { return done(); };
  advance(5min);
  // 19 windows are over with their lag; the one that ends at 20:00 followed a minute later.
  EXPECT_THAT(jobs(), SizeIs(20));
  EXPECT_EQ(subject("t").cursor_end, at("2026-03-03T20:00:00Z"));
}

TEST_P(EngineWindows, TheCursorWaitsForTheFirstThatIsOpen) {  // invariant 20
  answer = [](JobContext& context) {
    return context.payload().at("window_start").as_string().substr(11, 2) == "00" ? fail("later") : done();
  };
  put_subject("t", R"({"cursor_end":"2026-03-03T00:00:00Z"})");
  go_to("2026-03-03T06:00:30Z");
  run_due();
  advance(30s);
  std::map<Instant, JobState> states;  // by window
  for (const JobInfo& one : jobs()) states[one.slot.value()] = one.state;
  const auto start_of = [](int hour) { return at("2026-03-03T00:00:00Z") + std::chrono::hours(hour); };
  EXPECT_THAT(states, ElementsAre(Pair(start_of(0), JobState::queued), Pair(start_of(1), JobState::done),
                                  Pair(start_of(2), JobState::done), Pair(start_of(3), JobState::done),
                                  Pair(start_of(4), JobState::done), Pair(start_of(5), JobState::done)));
  EXPECT_EQ(subject("t").cursor_end, at("2026-03-03T00:00:00Z"));
  answer = [](JobContext&) { return done(); };
  advance(2min);
  EXPECT_EQ(subject("t").cursor_end, at("2026-03-03T06:00:00Z"));
}

// Found by the simulation: all but the newest went on.
TEST_P(EngineWindows, ADeletedSubjectTakesAllItsOpenWindowsWithIt) {  // invariant 32
  answer = [](JobContext&) { return fail("later"); };
  put_subject("t", R"({"cursor_end":"2026-03-03T00:00:00Z"})");
  put_subject("u", R"({"cursor_end":"2026-03-03T03:00:00Z"})");
  go_to("2026-03-03T04:01:00Z");
  run_due();
  ASSERT_THAT(starts, SizeIs(5));
  value_of(client().delete_subject(kTenant, "s", "t"));
  std::size_t cancelled = 0;
  for (const JobInfo& job : jobs()) cancelled += job.state == JobState::cancelled ? 1U : 0U;
  EXPECT_EQ(cancelled, 4U);
  advance(2min);
  EXPECT_THAT(starts, SizeIs(6)) << "the other subject's goes on";
}

TEST_P(EngineWindows, AParkedWindowLeavesAGapThatALaterSuccessCloses) {  // invariant 20
  answer = [](JobContext& context) {
    return context.payload().at("window_start").as_string().substr(11, 2) == "00" ? permanent("broken") : done();
  };
  put_subject("t", R"({"cursor_end":"2026-03-03T00:00:00Z"})");
  go_to("2026-03-03T06:01:00Z");
  run_due();
  SubjectInfo info = subject("t");
  EXPECT_EQ(info.cursor_end, at("2026-03-03T06:00:00Z"));
  ASSERT_THAT(info.gaps, SizeIs(1));
  EXPECT_EQ(info.gaps[0].start, at("2026-03-03T00:00:00Z"));
  EXPECT_EQ(info.gaps[0].outcome, "dlq");
  const SubjectList list = value_of(client().subjects(kTenant, "s", {}, "", 10));
  EXPECT_EQ(list.subjects.at(0).gaps.size(), 1U) << "a list shows it too";
  answer = [](JobContext&) { return done(); };
  value_of(client().retry(kTenant, info.gaps[0].job));
  run_due();
  info = subject("t");
  EXPECT_THAT(info.gaps, IsEmpty());
  EXPECT_EQ(info.cursor_end, at("2026-03-03T06:00:00Z"));
}

TEST_P(EngineWindows, AParkedWindowMakesRoomForTheNext) {  // invariant 21: closed = any final state, or dlq
  put(R"({"name":"s","trigger":{"kind":"windows","interval":"1h","max_backfill":1},"job":{"type":"sync"}})");
  answer = [](JobContext&) { return permanent("broken"); };
  put_subject("t", R"({"cursor_end":"2026-03-03T00:00:00Z"})");
  go_to("2026-03-03T04:01:00Z");
  run_due();
  EXPECT_THAT(starts, SizeIs(4));
}

TEST_P(EngineWindows, ANewSubjectBeginsAWindowBeforeNow) {  // the initial cursor is saved when enabled
  go_to("2026-03-03T10:30:20Z");
  put_subject("t");
  EXPECT_EQ(subject("t").cursor_end, at("2026-03-03T09:30:00Z"));
  note_windows();
  run_until("2026-03-03T11:32:00Z");
  EXPECT_THAT(starts, ElementsAre(at("2026-03-03T10:31:00Z"), at("2026-03-03T11:31:00Z")));
}

TEST_P(EngineWindows, JobsCarryTheirWindowAndAReadableKey) {
  put_subject("t", R"({"cursor_end":"2026-03-03T00:00:00Z","mode":"full"})");
  run_until("2026-03-03T01:01:00Z");
  ASSERT_THAT(jobs(), SizeIs(1));
  EXPECT_EQ(jobs()[0].key, "run_window_default_s_t_20260303T000000Z_20260303T010000Z_full");
  EXPECT_EQ(jobs()[0].payload, R"({"window_start":"2026-03-03T00:00:00.000Z","window_end":"2026-03-03T01:00:00.000Z",)"
                               R"("mode":"full","trigger":"scheduled","backfilled":false})");
}

TEST_P(EngineWindows, AnEditOfTheModeRunsNoWindowAgain) {
  put_subject("t", R"({"cursor_end":"2026-03-03T00:00:00Z"})");
  run_until("2026-03-03T02:30:00Z");
  EXPECT_THAT(starts, SizeIs(2));
  put_subject("t", R"({"mode":"full"})");
  put(R"({"name":"s","trigger":{"kind":"windows","interval":"1h","mode":"delta"},"job":{"type":"sync"}})");
  run_due();
  advance(1min);
  EXPECT_THAT(starts, SizeIs(2));
  run_until("2026-03-03T03:01:00Z");
  EXPECT_THAT(starts, SizeIs(3));
}

TEST_P(EngineWindows, AnIntervalEditAppliesFromThePlannedEndOn) {  // invariant 21
  note_windows();
  put_subject("t", R"({"cursor_end":"2026-03-03T00:00:00Z"})");
  run_until("2026-03-03T02:30:00Z");
  put_subject("t", R"({"interval":"2h"})");
  run_until("2026-03-03T06:30:00Z");
  EXPECT_THAT(windows, ElementsAre("00-01", "01-02", "02-04", "04-06"));
}

TEST_P(EngineWindows, ACursorThatIsSetOverOpenWindowsGoesOnWithoutThem) {  // invariant 21
  put(R"({"name":"s","trigger":{"kind":"windows","interval":"1h","max_backfill":2},"job":{"type":"sync"}})");
  answer = [](JobContext&) { return fail("not yet"); };
  put_subject("t", R"({"cursor_end":"2026-03-03T00:00:00Z"})");
  go_to("2026-03-03T04:01:00Z");
  run_due();
  EXPECT_EQ(subject("t").planned_end, at("2026-03-03T02:00:00Z")) << "two are open";
  EXPECT_GT(subject("t").next_at, at("2026-03-03T04:01:00Z")) << "the next attempt of one that is failing";
  put_subject("t", R"({"cursor_end":"2026-03-03T02:00:00Z"})");
  EXPECT_EQ(subject("t").next_at, at("2026-03-03T03:01:00Z"));
  run_due();
  EXPECT_EQ(subject("t").planned_end, at("2026-03-03T04:00:00Z"));
}

TEST_P(EngineWindows, ByHandAWindowRunsWithoutMovingTheCursor) {
  put_subject("t", R"({"cursor_end":"2026-03-03T00:00:00Z"})");
  run_until("2026-03-03T02:30:00Z");
  const auto cursor = subject("t").cursor_end;
  const auto made = value_of(client().trigger(
      kTenant, "s",
      {.subject = "t", .window_start = at("2026-03-01T00:00:00Z"), .window_end = at("2026-03-01T06:00:00Z")}));
  run_due();
  EXPECT_EQ(state(made.id), JobState::done);
  EXPECT_THAT(job(made.id).key, HasSubstr("_20260301T060000Z_manual_"));
  EXPECT_EQ(subject("t").cursor_end, cursor);
  const auto without = client().trigger(kTenant, "s", {.subject = "t"});
  ASSERT_FALSE(without.has_value());
  EXPECT_THAT(without.error().message, HasSubstr("window_start"));
}

TEST_P(EngineWindows, ABackfillRunsARangeOfOneOrOfAll) {
  put_subject("a", R"({"cursor_end":"2026-03-03T00:00:00Z"})");
  put_subject("b", R"({"cursor_end":"2026-03-03T00:00:00Z","interval":"90m"})");
  put_subject("c", R"({"cursor_end":"2026-03-03T00:00:00Z","interval":"2h"})");
  const auto one = value_of(client().backfill(
      kTenant, "s", {.subject = "a", .from = at("2026-03-01T00:00:00Z"), .to = at("2026-03-01T05:00:00Z")}));
  EXPECT_EQ(one.total, 5U);
  run_due();
  EXPECT_EQ(std::ranges::count(ran, "a"), 5);
  const auto all =
      value_of(client().backfill(kTenant, "s", {.from = at("2026-03-01T00:00:00Z"), .to = at("2026-03-01T04:00:00Z")}));
  run_due();
  const BulkInfo info = value_of(client().bulk_status(kTenant, all.id));
  EXPECT_EQ(info.state, "done");
  EXPECT_EQ(info.done, 6U);
  EXPECT_EQ(info.failed, 1U) << "90 minutes do not divide four hours";
  EXPECT_EQ(subject("a").cursor_end, at("2026-03-03T00:00:00Z"));
}

TEST_P(EngineWindows, ACursorIsOnlyRaisedAndWhatItJumpsOverIsMissed) {
  put_subject("t", R"({"cursor_end":"2026-03-03T00:00:00Z"})");
  run_until("2026-03-03T02:30:00Z");
  const auto lower = refused("t", R"({"cursor_end":"2026-03-02T00:00:00Z"})");
  ASSERT_TRUE(lower.has_value());
  EXPECT_EQ(lower->code, ErrorCode::conflict);
  put_subject("t", R"({"cursor_end":"2026-03-03T12:00:00Z"})");
  EXPECT_THAT(outcomes().back(), "t 2026-03-03T02:00 missed x10");
  run_until("2026-03-03T13:01:00Z");
  EXPECT_EQ(subject("t").cursor_end, at("2026-03-03T13:00:00Z"));
}

TEST_P(EngineWindows, WindowsGoOnFromWherePlanningStoodAfterAPause) {  // invariant 32
  note_windows();
  put_subject("t", R"({"cursor_end":"2026-03-03T00:00:00Z"})");
  run_until("2026-03-03T01:30:00Z");
  value_of(client().pause(kTenant, "s"));
  run_until("2026-03-03T03:30:00Z");
  EXPECT_THAT(windows, ElementsAre("00-01"));
  value_of(client().resume(kTenant, "s"));
  run_due();
  EXPECT_THAT(windows, ElementsAre("00-01", "01-02", "02-03"));
}

TEST_P(EngineWindows, OlderThanMaxAgeIsMissed) {
  put(R"({"name":"s","trigger":{"kind":"windows","interval":"1h","max_age":"3h"},"job":{"type":"sync"}})");
  put_subject("t", R"({"cursor_end":"2026-03-03T00:00:00Z"})");
  go_to("2026-03-03T10:30:00Z");
  run_due();
  EXPECT_THAT(outcomes().front(), "t 2026-03-03T00:00 missed x7");
  EXPECT_THAT(starts, SizeIs(3));
  EXPECT_EQ(subject("t").cursor_end, at("2026-03-03T10:00:00Z"));
}

TEST_P(EngineWindows, AnIntervalBelowTheShortestIsRefused) {
  const auto put = client().put_schedule(
      kTenant, R"({"name":"x","trigger":{"kind":"windows","interval":"30s"},"job":{"type":"sync"}})");
  ASSERT_FALSE(put.has_value());
  EXPECT_THAT(put.error().message, HasSubstr("shortest window"));
  EXPECT_THAT(refused("t", R"({"interval":"10s"})")->message, HasSubstr("shortest window"));
}

}  // namespace
}  // namespace carillon::test
