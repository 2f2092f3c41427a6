// Deliveries at the level of the engine: one outcome a subject and day, whatever happens (S0; invariants 1-3, 22, 23).
#include "engine/support/crashing_node.h"
#include "engine/support/subject_test.h"

namespace carillon::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

class EngineDeliveries : public SubjectTest {
 protected:
  void SetUp() override {
    handle_noted("digest");
    go_to("2026-03-03T00:00:00Z");
    put(R"({"name":"s","trigger":{"kind":"delivery","due":"08:00"},"job":{"type":"digest"}})");
  }
  void fail_always() {
    answer = [](JobContext&) { return fail("no luck"); };
  }
};

OVER_EVERY_STORE(EngineDeliveries);

TEST_P(EngineDeliveries, ASuccessIsTheDaysOnly) {
  put_subject("ada");
  run_until("2026-03-05T12:00:00Z");
  EXPECT_THAT(times(), ElementsAre("07:00", "07:00", "07:00"));
  EXPECT_THAT(outcomes(),
              ElementsAre("ada 2026-03-03T00:00 done", "ada 2026-03-04T00:00 done", "ada 2026-03-05T00:00 done"));
  const SubjectInfo ada = subject("ada");
  EXPECT_EQ(ada.status, "success");
  EXPECT_EQ(ada.last_slot, "2026-03-05");
  EXPECT_EQ(ada.next_at, at("2026-03-06T07:00:00Z"));
}

TEST_P(EngineDeliveries, FailingAtOnceMakesSixAttemptsUntilTheCutoff) {
  fail_always();
  put_subject("ada");
  run_until("2026-03-03T07:59:59Z");
  EXPECT_THAT(times(), ElementsAre("07:00", "07:10", "07:20", "07:30", "07:40", "07:50"));
  EXPECT_THAT(outcomes(), IsEmpty());
  run_until("2026-03-03T08:00:05Z");
  EXPECT_THAT(outcomes(), ElementsAre("ada 2026-03-03T00:00 cutoff_reached"));
  const auto told = heard.of<Finalized>();
  EXPECT_EQ(told[0].due_bucket, 480);
  EXPECT_EQ(told[0].today, "2026-03-03");
  EXPECT_EQ(subject("ada").status, "cutoff_reached");
  run_until("2026-03-04T06:00:00Z");
  EXPECT_THAT(starts, SizeIs(6));
}

TEST_P(EngineDeliveries, AnAttemptThatHangsShiftsTheNextOnes) {
  int attempt = 0;
  answer = [&](JobContext&) {
    if (++attempt == 1) clock.advance(25min);
    return fail("no luck");
  };
  put_subject("ada", R"({"payload":{"timeout":"1h"}})");
  value_of(client().put_schedule(kTenant, R"({"name":"s","trigger":{"kind":"delivery","due":"08:00"},)"
                                          R"("job":{"type":"digest","timeout":"1h"}})"));
  run_until("2026-03-03T08:10:00Z");
  EXPECT_THAT(times(), ElementsAre("07:00", "07:25", "07:35", "07:45", "07:55"));
}

TEST_P(EngineDeliveries, AWindowMayBeginOnTheDayBefore) {
  fail_always();
  put_subject("half", R"({"due":"00:30"})");
  put_subject("zero", R"({"due":"00:00"})");
  run_until("2026-03-04T02:00:00Z");
  // Of the third of March the window of 00:30 was open when the subject was made; that of 00:00 had passed.
  EXPECT_THAT(outcomes(), ElementsAre("half 2026-03-03T00:00 cutoff_reached", "zero 2026-03-04T00:00 cutoff_reached",
                                      "half 2026-03-04T00:00 cutoff_reached"));
  // The first one begins with its subject, at 00:00.
  EXPECT_THAT(times(), ElementsAre("00:00", "00:10", "00:20", "23:00", "23:10", "23:20", "23:30", "23:30", "23:40",
                                   "23:40", "23:50", "23:50", "00:00", "00:10", "00:20"));
}

TEST_P(EngineDeliveries, OnePutInsideItsWindowBeginsThen) {
  fail_always();
  go_to("2026-03-03T07:34:00Z");
  put_subject("ada");
  run_until("2026-03-03T08:10:00Z");
  EXPECT_THAT(times(), ElementsAre("07:34", "07:44", "07:54"));
}

TEST_P(EngineDeliveries, OneEnabledOrResumedInsideItsWindowBeginsThen) {
  fail_always();
  put_subject("ada", R"({"enabled":false})");
  put_subject("bob");
  value_of(client().pause(kTenant, "s", at("2026-03-03T07:34:00Z")));
  run_until("2026-03-03T07:40:00Z");
  EXPECT_THAT(times(), ElementsAre("07:34"));
  put_subject("ada");
  run_until("2026-03-03T08:10:00Z");
  EXPECT_THAT(times(), ElementsAre("07:34", "07:40", "07:44", "07:50", "07:54"));
}

// A planned time is never before the job existed or its gate opened.
TEST_P(EngineDeliveries, OneWhoseGateOpensInsideItsWindowWaitsAfterItsFirstFailure) {
  fail_always();
  put_subject("ada");
  for (const std::string_view who : {kTenant, std::string_view()}) {
    ASSERT_TRUE(client().put_maintenance(who, R"({"until":"2026-03-03T07:34:00Z"})").has_value());
  }
  run_until("2026-03-03T08:10:00Z");
  EXPECT_THAT(times(), ElementsAre("07:34", "07:44", "07:54"));
}

TEST_P(EngineDeliveries, OneThatWaitedForQuietHoursWaitsAfterItsFirstFailure) {
  put(R"({"name":"s","trigger":{"kind":"delivery","due":"08:00"},"job":{"type":"digest","notifies":true}})");
  ASSERT_TRUE(client().put_settings(kTenant, R"({"quiet_hours":{"start":"22:00","end":"07:34"}})").has_value());
  fail_always();
  put_subject("ada");
  run_until("2026-03-03T08:10:00Z");
  EXPECT_THAT(times(), ElementsAre("07:34", "07:44", "07:54"));
}

TEST_P(EngineDeliveries, OneThatBeginsWhenTheProcessIsBackWaitsAfterItsFirstFailure) {
  fail_always();
  put_subject("ada");
  run_until("2026-03-03T06:00:00Z");
  clock.advance(94min);
  if (survives_restart()) restart();
  run_until("2026-03-03T08:10:00Z");
  EXPECT_THAT(times(), ElementsAre("07:34", "07:44", "07:54"));
}

TEST_P(EngineDeliveries, OneMadeAfterItsDueTimeBeginsTomorrow) {
  go_to("2026-03-03T10:00:00Z");
  put_subject("ada");
  EXPECT_EQ(subject("ada").next_at, at("2026-03-04T07:00:00Z"));
  run_until("2026-03-04T09:00:00Z");
  EXPECT_THAT(outcomes(), ElementsAre("ada 2026-03-04T00:00 done"));
}

TEST(EngineDeliveryCrash, AfterACrashItIsEligibleAtOnce) {  // invariant 5
  CrashingNode node(at("2026-03-03T06:00:00Z"));
  value_of(node->client().put_schedule(
      "default",
      R"({"name":"s","trigger":{"kind":"delivery","due":"08:00"},"job":{"type":"digest","timeout":"30m"}})"));
  value_of(node->client().put_subject("default", "s", "ada", "{}"));
  node->pass(1h);
  node.begin_one();
  node->pass(5min);  // the crash at 07:05: its attempt is leased and not settled
  node.crash_until(at("2026-03-03T07:25:00Z"));

  node->finish(node.begin_one(), done());
  const auto closed = node->heard.of<Finalized>();
  ASSERT_THAT(closed, SizeIs(1));
  EXPECT_EQ(closed.front().status, JobState::done);
  const auto attempts = value_of(node->client().job("default", closed.front().job)).attempts;
  ASSERT_THAT(attempts, SizeIs(2));
  EXPECT_EQ(attempts[0].started_at, at("2026-03-03T07:00:00Z"));
  EXPECT_EQ(attempts[0].result, AttemptResult::lease_lost);
  EXPECT_EQ(attempts[1].started_at, at("2026-03-03T07:25:00Z"));
  EXPECT_EQ(attempts[1].result, AttemptResult::ok);
}

TEST_P(EngineDeliveries, ARetryThatFellDueWhileItWasDownIsMadeAtOnce) {  // invariant 5
  if (!survives_restart()) GTEST_SKIP() << "memory does not survive";
  fail_always();
  put_subject("ada");
  run_until("2026-03-03T07:05:00Z");
  clock.advance(20min);
  answer = [](JobContext&) { return done(); };
  restart();
  run_due();
  EXPECT_THAT(times(), ElementsAre("07:00", "07:25"));
  EXPECT_THAT(outcomes(), ElementsAre("ada 2026-03-03T00:00 done"));
}

TEST_P(EngineDeliveries, AClockThatIsSetForwardBetweenTwoTicksClosesDaysInTheirOrder) {  // invariants 3, 11
  fail_always();
  put_subject("ada");
  run_until("2026-03-03T07:30:00Z");
  clock.step(24h + 40min);
  run_due();
  EXPECT_THAT(outcomes(), ElementsAre("ada 2026-03-03T00:00 cutoff_reached", "ada 2026-03-04T00:00 cutoff_reached"));
  EXPECT_EQ(subject("ada").last_slot, "2026-03-04");
}

TEST_P(EngineDeliveries, DownOverACutoffClosesTheOpenDay) {
  fail_always();
  put_subject("ada");
  run_until("2026-03-03T07:30:00Z");
  const std::size_t attempts = starts.size();
  clock.advance(3h);
  run_due();
  EXPECT_THAT(outcomes(), ElementsAre("ada 2026-03-03T00:00 cutoff_reached"));
  EXPECT_THAT(starts, SizeIs(attempts));
}

TEST_P(EngineDeliveries, OfWindowsThatPassedWhollyTheNewestIsToldAndOlderOnesAreMissed) {
  put_subject("ada");
  run_due();
  go_to("2026-03-07T12:00:00Z");
  run_due();
  EXPECT_THAT(starts, IsEmpty());
  EXPECT_THAT(outcomes(), ElementsAre("ada 2026-03-03T00:00 missed x4", "ada 2026-03-07T00:00 cutoff_reached"));
  EXPECT_EQ(subject("ada").next_at, at("2026-03-08T07:00:00Z"));
}

TEST_P(EngineDeliveries, AtTheCutoffTheScheduleSaysWhatFollows) {  // S0: reset the chat context
  handle_counted("reset");
  put(R"({"name":"s","trigger":{"kind":"delivery","due":"08:00"},"job":{"type":"digest","payload":{"top":3}},)"
      R"("on_cutoff":{"type":"reset","payload":{"why":"late"}}})");
  fail_always();
  put_subject("ada", R"({"payload":{"user":"ada"}})");
  run_until("2026-03-03T08:01:00Z");
  EXPECT_EQ(calls("reset"), 1);
  const auto resets = jobs({.type = "reset"});
  ASSERT_THAT(resets, SizeIs(1));
  EXPECT_EQ(resets[0].origin, Origin::dependent);
  EXPECT_EQ(resets[0].subject, "ada");
  EXPECT_EQ(resets[0].payload, R"({"why":"late","user":"ada"})");
  const auto digests = jobs({.type = "digest"});
  ASSERT_THAT(digests, SizeIs(1));
  EXPECT_EQ(resets[0].parent, digests[0].id);
  // And for a day that nobody saw at all.
  go_to("2026-03-05T12:00:00Z");
  run_due();
  EXPECT_EQ(calls("reset"), 2);
}

TEST_P(EngineDeliveries, ASuccessAfterTheCutoffIsAnEventAndNoOutcome) {  // invariant 23
  put(R"({"name":"s","trigger":{"kind":"delivery","due":"08:00"},"job":{"type":"digest","timeout":"3h","lease":"4h"}})");
  answer = [this](JobContext&) {
    clock.advance(61min);
    return done();
  };
  put_subject("ada");
  run_until("2026-03-03T09:00:00Z");
  EXPECT_THAT(outcomes(), ElementsAre("ada 2026-03-03T00:00 cutoff_reached"));
  EXPECT_EQ(heard.count("late_success"), 1U);
}

TEST_P(EngineDeliveries, APermanentFailureWaitsInTheDlqUntilTheCutoff) {
  answer = [](JobContext&) { return permanent("never"); };
  put_subject("ada");
  run_until("2026-03-03T07:30:00Z");
  ASSERT_THAT(jobs(), SizeIs(1));
  EXPECT_EQ(jobs()[0].state, JobState::dlq);
  EXPECT_FALSE(jobs()[0].max_attempts.has_value());
  run_until("2026-03-03T08:00:05Z");
  EXPECT_THAT(outcomes(), ElementsAre("ada 2026-03-03T00:00 cutoff_reached"));
}

TEST_P(EngineDeliveries, AChangeOfDueLeavesAnOpenWindowAlone) {
  fail_always();
  put_subject("ada");
  run_until("2026-03-03T07:15:00Z");
  put_subject("ada", R"({"due":"09:00"})");
  run_until("2026-03-03T12:00:00Z");
  // The day was open with its cutoff at eight; nine holds from the next day on.
  EXPECT_THAT(outcomes(), ElementsAre("ada 2026-03-03T00:00 cutoff_reached"));
  EXPECT_EQ(subject("ada").next_at, at("2026-03-04T08:00:00Z"));
}

TEST_P(EngineDeliveries, ADayThatFallsOutIsSkippedAsRescheduled) {
  put_subject("ada", R"({"due":"12:00"})");
  go_to("2026-03-03T10:00:00Z");
  run_due();
  put_subject("ada", R"({"due":"09:00"})");
  EXPECT_THAT(outcomes(), ElementsAre("ada 2026-03-03T00:00 skipped"));
  run_until("2026-03-04T12:00:00Z");
  EXPECT_THAT(outcomes(), ElementsAre("ada 2026-03-03T00:00 skipped", "ada 2026-03-04T00:00 done"));
}

TEST_P(EngineDeliveries, NoChangeBringsASecondSuccessForADay) {  // S0 I1
  put_subject("ada");
  run_until("2026-03-03T07:30:00Z");
  EXPECT_THAT(starts, SizeIs(1));
  put_subject("ada", R"({"due":"10:00"})");
  put_subject("ada", R"({"due":"11:00","timezone":"Pacific/Auckland"})");
  value_of(client().put_schedule(kTenant, R"({"name":"s","trigger":{"kind":"delivery","due":"12:00"},)"
                                          R"("job":{"type":"digest"}})"));
  put_subject("ada");
  run_until("2026-03-03T23:00:00Z");
  EXPECT_THAT(outcomes(), ElementsAre("ada 2026-03-03T00:00 done"));
}

TEST_P(EngineDeliveries, EachSubjectHasItsZone) {
  put_subject("paris", R"({"timezone":"Europe/Paris"})");
  put_subject("tokyo", R"({"timezone":"Asia/Tokyo"})");
  put_subject("utc");
  run_until("2026-03-04T06:30:00Z");
  EXPECT_THAT(ran, ElementsAre("paris", "utc", "tokyo", "paris"));
  EXPECT_THAT(times(), ElementsAre("06:00", "07:00", "22:00", "06:00"));
}

TEST_P(EngineDeliveries, ByHandInsideOfAWindowTheOpenJobRunsNow) {
  fail_always();
  put_subject("ada");
  run_until("2026-03-03T07:12:00Z");
  EXPECT_THAT(starts, SizeIs(2));
  answer = [](JobContext&) { return done(); };
  const auto made = value_of(client().trigger(kTenant, "s", {.subject = "ada"}));
  run_due();
  EXPECT_THAT(starts, SizeIs(3));
  EXPECT_THAT(outcomes(), ElementsAre("ada 2026-03-03T00:00 done"));
  EXPECT_EQ(state(made.id), JobState::done);
  // Once the day is final it is a job of its own, which touches no day.
  value_of(client().trigger(kTenant, "s", {.subject = "ada"}));
  run_due();
  EXPECT_THAT(starts, SizeIs(4));
  EXPECT_THAT(outcomes(), SizeIs(1));
}

TEST_P(EngineDeliveries, PausedTimeHasNoDays) {  // invariant 32
  put_subject("ada");
  run_due();
  value_of(client().pause(kTenant, "s"));
  run_until("2026-03-05T12:00:00Z");
  value_of(client().resume(kTenant, "s"));
  run_until("2026-03-06T12:00:00Z");
  EXPECT_THAT(outcomes(), ElementsAre("ada 2026-03-06T00:00 done"));
}

TEST_P(EngineDeliveries, AnOpenDayOfAPausedScheduleEndsAtItsCutoff) {  // invariant 32
  fail_always();
  put_subject("ada");
  run_until("2026-03-03T07:15:00Z");
  value_of(client().pause(kTenant, "s"));
  run_until("2026-03-03T09:00:00Z");
  EXPECT_THAT(times(), ElementsAre("07:00", "07:10"));
  EXPECT_THAT(outcomes(), ElementsAre("ada 2026-03-03T00:00 cutoff_reached"));
  EXPECT_EQ(jobs()[0].reason, "paused");
}

TEST_P(EngineDeliveries, ASubjectThatIsDisabledStandsStill) {  // invariant 32
  fail_always();
  put_subject("ada");
  put_subject("bob");
  run_until("2026-03-03T07:15:00Z");
  put_subject("ada", R"({"enabled":false})");
  run_until("2026-03-05T06:00:00Z");
  EXPECT_EQ(std::ranges::count(ran, "ada"), 2);
  answer = [](JobContext&) { return done(); };
  put_subject("ada");
  run_until("2026-03-05T09:00:00Z");
  EXPECT_THAT(outcomes(), ElementsAre("ada 2026-03-03T00:00 cutoff_reached", "bob 2026-03-03T00:00 cutoff_reached",
                                      "bob 2026-03-04T00:00 cutoff_reached", "ada 2026-03-05T00:00 done",
                                      "bob 2026-03-05T00:00 done"));
}

TEST_P(EngineDeliveries, SpreadKeepsToTheWindowAndIsTheSameEveryTime) {
  constexpr std::string_view kSpread =
      R"({"name":"s","trigger":{"kind":"delivery","due":"08:00","spread":true},"job":{"type":"digest","timeout":"5m"}})";
  constexpr int kUsers = 50;
  put(kSpread);
  for (int i = 0; i < kUsers; ++i) put_subject("user-" + std::to_string(i));
  run_until("2026-03-03T07:20:00Z");
  if (survives_restart()) restart();
  run_until("2026-03-04T12:00:00Z");
  std::map<std::string, Instant> first;  // by user and day
  for (std::size_t i = 0; i < starts.size(); ++i) first[ran[i] + format_instant(starts[i]).substr(0, 10)] = starts[i];
  ASSERT_THAT(first, SizeIs(2 * kUsers));
  std::set<Instant> times;
  for (const auto& [user, start] : first) {
    const Instant opens = std::chrono::floor<std::chrono::days>(start) + 7h;
    EXPECT_THAT(start, AllOf(Ge(opens), Le(opens + 45min))) << user << ": one retry still fits";
    times.insert(start);
  }
  EXPECT_GT(times.size(), 80U);

  // Another engine, users in another order and made at another time.
  testing::ManualClock other_clock(at("2026-03-03T05:00:00Z"));
  testing::TestEngine other(other_clock);
  std::map<std::string, Instant> second;
  other.handle("digest", [&](JobContext& context) {
    second[context.job().subject + format_instant(other_clock.now()).substr(0, 10)] = other_clock.now();
    return done();
  });
  value_of(other.client().put_schedule(kTenant, kSpread));
  for (int i = kUsers - 1; i >= 0; --i) {
    value_of(other.client().put_subject(kTenant, "s", "user-" + std::to_string(i), "{}"));
    other.advance(1s);
  }
  other.advance(at("2026-03-04T12:00:00Z") - other_clock.now());
  EXPECT_EQ(second, first);
}

TEST_P(EngineDeliveries, ATickLooksAtWhatIsDueAlone) {  // invariant 7
  for (int i = 0; i < 300; ++i) put_subject("user-" + std::to_string(i), R"({"due":"20:00"})");
  for (int i = 0; i < 3; ++i) put_subject("early-" + std::to_string(i));
  run_until("2026-03-03T07:30:00Z");
  std::uint64_t scanned = 0;
  for (const TickStopped& tick : heard.of<TickStopped>()) scanned += tick.users_scanned;
  EXPECT_EQ(scanned, 3U);
  EXPECT_THAT(starts, SizeIs(3));
}

// "scanned eligible enqueued cutoffs" of the ticks that did something.
std::vector<std::string> what_ticks_did(const Heard& heard) {
  std::vector<std::string> texts;
  for (const TickStopped& tick : heard.of<TickStopped>()) {
    if (tick.users_scanned == 0 && tick.cutoff_finalized == 0) continue;
    texts.push_back(std::to_string(tick.users_scanned) + " " + std::to_string(tick.eligible_in_window) + " " +
                    std::to_string(tick.enqueued) + " " + std::to_string(tick.cutoff_finalized));
  }
  return texts;
}

TEST_P(EngineDeliveries, ATickTellsHowManyItScannedFoundEligibleEnqueuedAndClosed) {  // S0's E1
  answer = [](JobContext& context) { return context.job().subject == "ada" ? done() : fail("no luck"); };
  for (const char* name : {"ada", "bob", "eve"}) put_subject(name);
  put_subject("late", R"({"due":"20:00"})");
  run_until("2026-03-03T07:30:00Z");
  EXPECT_THAT(what_ticks_did(heard), ElementsAre("3 3 3 0"));
  run_until("2026-03-03T08:00:05Z");
  EXPECT_THAT(what_ticks_did(heard), ElementsAre("3 3 3 0", "0 0 0 2")) << "the two that failed reach their cutoff";
}

TEST_P(EngineDeliveries, EveryTickTellsHowManyAreInTheirWindow) {  // S0's E1
  const auto eligible = [&] { return heard.of<TickStopped>().back().eligible_in_window; };
  answer = [](JobContext& context) {
    if (context.job().subject == "ada") return done();
    return context.job().subject == "bob" ? permanent("boom") : fail("no luck");
  };
  for (const char* name : {"ada", "bob", "eve"}) put_subject(name);
  put_subject("late", R"({"due":"08:30"})");
  run_until("2026-03-03T06:59:00Z");
  EXPECT_EQ(eligible(), 0U);
  run_until("2026-03-03T07:05:00Z");
  EXPECT_EQ(eligible(), 2U) << "one is delivered, one is parked until its cutoff, one fails";
  run_until("2026-03-03T07:31:00Z");
  EXPECT_EQ(eligible(), 3U);
  if (survives_restart()) {
    restart();
    run_until("2026-03-03T07:32:00Z");
    EXPECT_EQ(eligible(), 3U) << "those that were open before";
  }
  value_of(client().put_schedule(kTenant, R"({"name":"s","trigger":{"kind":"delivery","due":"08:00"},)"
                                          R"("job":{"type":"digest","priority":2}})"));
  run_until("2026-03-03T07:33:00Z");
  EXPECT_EQ(eligible(), 3U) << "an edit closes none";
  run_until("2026-03-03T08:01:00Z");
  EXPECT_EQ(eligible(), 1U);
  value_of(client().put_schedule(kTenant, R"({"name":"every","trigger":{"kind":"every","every":"1m"},)"
                                          R"("job":{"type":"digest"}})"));
  run_until("2026-03-03T08:31:00Z");
  EXPECT_EQ(eligible(), 0U) << "other kinds have no window";
  run_until("2026-03-04T07:01:00Z");
  EXPECT_EQ(eligible(), 2U);
  ASSERT_TRUE(client().delete_schedule(kTenant, "s"));
  run_until("2026-03-04T07:02:00Z");
  EXPECT_EQ(eligible(), 0U);
}

TEST_P(EngineDeliveries, DaysThatWereOpenWhenItWentDownAreNotInTheirWindow) {
  if (!survives_restart()) GTEST_SKIP() << "memory does not survive";
  fail_always();
  put_subject("ada");
  run_until("2026-03-03T07:05:00Z");
  clock.advance(24h * 9);
  restart();
  run_due();
  put_subject("bob", R"({"due":"07:30"})");
  advance(1min);
  EXPECT_EQ(heard.of<TickStopped>().back().eligible_in_window, 2U) << "today's of both, and none of nine days ago";
}

TEST_P(EngineDeliveries, ATickTellsDaysThatItClosedUnopened) {  // S0's E1
  for (const char* name : {"ada", "bob", "eve"}) put_subject(name);
  put_subject("open", R"({"due":"09:30"})");
  clock.advance(9h);
  run_due();
  EXPECT_THAT(what_ticks_did(heard), ElementsAre("4 1 1 3")) << "three windows have passed, one is open";
}

}  // namespace
}  // namespace carillon::test
