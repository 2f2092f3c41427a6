// What is wrong with one subject is that one's trouble alone; what is left behind comes in its order.
#include "engine/support/subject_test.h"

namespace carillon::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class EngineSubjectTrouble : public SubjectTest {
 protected:
  void SetUp() override {
    handle_noted("work");
    go_to("2026-03-03T00:00:00Z");
  }
  static std::string long_payload() { return R"({"a":")" + std::string(600'000, 'x') + "\"}"; }
  static std::string long_payload_of_subject() { return R"({"payload":{"b":")" + std::string(600'000, 'y') + "\"}}"; }
  std::vector<std::string> reasons(std::string_view name) {
    std::vector<std::string> found;
    const OutcomeItemQuery query{.subject = std::string(name)};
    for (const OutcomeItem& item : value_of(client().outcome_items(kTenant, "s", query, {}, 100)).items) {
      found.push_back(item.outcome + " " + item.reason);
    }
    return found;
  }
};

OVER_EVERY_STORE(EngineSubjectTrouble);

TEST_P(EngineSubjectTrouble, ARuleWithoutATimeInASubjectsZoneHoldsUpNobody) {  // invariants 5, 7
  put(R"({"name":"s","fan_out":true,"trigger":{"kind":"daily","at":"12:00"},"job":{"type":"work"}})");
  put_subject("tokyo", R"({"timezone":"Asia/Tokyo"})");
  put_subject("utc");
  put(R"({"name":"s","fan_out":true,"trigger":{"kind":"daily","at":"12:00"},"job":{"type":"work"},)"
      R"("starts_at":"2026-03-05T10:00:00Z","ends_at":"2026-03-05T13:00:00Z"})");
  run_until("2026-03-06T00:00:00Z");
  EXPECT_THAT(ran, ElementsAre("utc"));
  const SubjectInfo aside = subject("tokyo");
  EXPECT_FALSE(aside.next_at);
  EXPECT_THAT(aside.last_error, HasSubstr("never")) << "and it says why";
  put(R"({"name":"s","fan_out":true,"trigger":{"kind":"daily","at":"12:00"},"job":{"type":"work"}})");
  run_until("2026-03-07T12:00:00Z");
  EXPECT_THAT(ran, Contains("tokyo")) << "an edit that gives it a time brings it back";
}

TEST_P(EngineSubjectTrouble, AnImportWithAZoneInWhichTheRuleHasNoTimeIsRefusedAsAWhole) {
  put(R"({"name":"s","fan_out":true,"trigger":{"kind":"daily","at":"12:00"},"job":{"type":"work"},)"
      R"("starts_at":"2026-03-05T10:00:00Z","ends_at":"2026-03-05T13:00:00Z"})");
  const auto refused = client().import_subjects(kTenant, "s", R"({"subject":"utc"}
{"subject":"tokyo","timezone":"Asia/Tokyo"}
)");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().line, 2U);
  EXPECT_EQ(client().subject(kTenant, "s", "utc").error().code, ErrorCode::not_found);
}

TEST_P(EngineSubjectTrouble, AnOccurrenceThatCanBeNoJobIsMissedAndSaysWhy) {  // invariants 3, 33
  put(R"({"name":"s","trigger":{"kind":"delivery","due":"08:00"},"job":{"type":"work"}})");
  put_subject("ada");
  put_subject("long", long_payload_of_subject());
  put(R"({"name":"s","trigger":{"kind":"delivery","due":"08:00"},"job":{"type":"work","payload":)" + long_payload() +
      "}}");
  run_until("2026-03-03T09:00:00Z");
  EXPECT_THAT(ran, ElementsAre("ada"));
  EXPECT_THAT(reasons("long"), ElementsAre("missed refused"));
  EXPECT_THAT(reasons("ada"), ElementsAre("success "));
}

TEST_P(EngineSubjectTrouble, AWindowThatCanBeNoJobLetsTheCursorPass) {  // invariant 20
  const std::string head = R"({"name":"s","trigger":{"kind":"windows","interval":"60m"},"job":{"type":"work")";
  put(head + "}}");
  put_subject("long", long_payload_of_subject());
  const Instant begun = *subject("long").cursor_end;
  put(head + R"(,"payload":)" + long_payload() + "}}");
  advance(5h);
  EXPECT_GE(*subject("long").cursor_end, begun + 4h);
  EXPECT_THAT(reasons("long"), Contains("missed refused"));
  const auto bulk = value_of(client().backfill(kTenant, "s", {.subject = {}, .from = begun, .to = begun + 2h}));
  advance(1min);
  const BulkInfo after = value_of(client().bulk_status(kTenant, bulk.id));
  EXPECT_EQ(after.failed, 2U) << "and a backfill counts what it could not make, and ends";
  EXPECT_EQ(after.state, "done");
}

TEST_P(EngineSubjectTrouble, CutoffsLeftBehindAreFinalizedInTheirOrder) {  // invariant 3
  put(R"({"name":"s","trigger":{"kind":"delivery","due":"08:00"},"job":{"type":"work"}})");
  std::string lines;
  for (int i = 0; i < 1200; ++i) lines += R"({"subject":"user-)" + std::to_string(i) + "\"}\n";
  value_of(client().import_subjects(kTenant, "s", lines));
  answer = [](JobContext&) { return fail("not today"); };
  run_until("2026-03-03T07:05:00Z");
  go_to("2026-03-05T09:00:00Z");
  run_due();
  Instant last = kInstantMin;
  std::size_t closed = 0;
  for (const Finalized& one : heard.of<Finalized>()) {
    if (one.status != JobState::cutoff_reached) continue;
    ++closed;
    EXPECT_GE(one.slot, last) << one.subject;
    last = std::max(last, one.slot);
  }
  EXPECT_EQ(closed, 2400U) << "the day that was open, and the newest of those that passed";
  for (const char* name : {"user-0", "user-600", "user-1199"}) EXPECT_EQ(subject(name).last_slot, "2026-03-05");
}

TEST_P(EngineSubjectTrouble, APauseRightAfterAnotherBringsNoneOfItsTimeBack) {  // invariant 32
  put(R"({"name":"s","fan_out":true,"trigger":{"kind":"daily","at":"09:00"},"job":{"type":"work"}})");
  put_subject("ada");
  run_until("2026-03-03T08:00:00Z");
  value_of(client().pause(kTenant, "s"));
  go_to("2026-03-03T12:00:00Z");
  value_of(client().resume(kTenant, "s"));
  value_of(client().pause(kTenant, "s"));  // before it was looked at
  run_until("2026-03-03T13:00:00Z");
  value_of(client().resume(kTenant, "s"));
  run_until("2026-03-03T23:00:00Z");
  EXPECT_THAT(ran, IsEmpty());
  EXPECT_THAT(outcomes(), IsEmpty());
  run_until("2026-03-04T09:00:00Z");
  EXPECT_THAT(ran, ElementsAre("ada"));
}

TEST_P(EngineSubjectTrouble, OneThatIsBehindByManyWindowsLeavesRoomForOthers) {  // planning yields between batches
  put(R"({"name":"s","trigger":{"kind":"windows","interval":"1m","max_backfill":1000},"job":{"type":"work"}})");
  for (int i = 0; i < 4; ++i) {
    put_subject("topic-" + std::to_string(i), R"({"cursor_end":"2026-03-01T00:00:00Z"})");
  }
  run_due();
  std::uint64_t most = 0;
  std::uint64_t all = 0;
  for (const TickStopped& tick : heard.of<TickStopped>()) {
    most = std::max<std::uint64_t>(most, tick.enqueued);
    all += tick.enqueued;
  }
  EXPECT_GE(all, 4000U);
  EXPECT_LT(most, 3000U);
}

// ---- Rules that are accepted, and where they begin ------------------------------------------------------------------

TEST_P(EngineSubjectTrouble, ARuleThatHasEndedIsRefusedOfAnyKind) {  // invariant 26
  for (const char* const trigger :
       {R"({"kind":"delivery","due":"08:00"})", R"({"kind":"windows","interval":"1h"})",
        R"({"kind":"adaptive","bands":[],"otherwise":"1h"})", R"({"kind":"daily","at":"08:00"})"}) {
    for (const char* const end : {R"("ends_at":"2020-01-01T00:00:00Z")",
                                  R"("starts_at":"2027-01-01T00:00:00Z","ends_at":"2026-12-01T00:00:00Z")"}) {
      const auto put = client().put_schedule(
          kTenant, std::string(R"({"name":"s","trigger":)") + trigger + R"(,"job":{"type":"work"},)" + end + "}");
      EXPECT_FALSE(put) << trigger << end;
    }
  }
}

TEST_P(EngineSubjectTrouble, ACursorBeginsWhenTheScheduleIsEnabled) {
  const std::string_view tail = R"("trigger":{"kind":"windows","interval":"60m"},"job":{"type":"work"}})";
  put(R"({"name":"s","enabled":false,)" + std::string(tail));
  put_subject("topic");
  EXPECT_FALSE(subject("topic").cursor_end);
  go_to("2026-04-03T00:00:00Z");
  put(R"({"name":"s",)" + std::string(tail));
  run_due();
  EXPECT_EQ(subject("topic").cursor_end, at("2026-04-02T23:00:00Z"));
  run_until("2026-04-03T00:01:00Z");
  EXPECT_THAT(ran, SizeIs(1)) << "not the month before";
}

// ---- Checks ---------------------------------------------------------------------------------------------------------

class EngineCheckTrouble : public EngineSubjectTrouble {
 protected:
  void SetUp() override {
    EngineSubjectTrouble::SetUp();
    put(R"({"name":"s","trigger":{"kind":"adaptive","bands":[{"within":"24h","every":"10m"}],"otherwise":"4h"},)"
        R"("job":{"type":"work","max_attempts":1}})");
    put_subject("t");
  }
};

OVER_EVERY_STORE(EngineCheckTrouble);

TEST_P(EngineCheckTrouble, ACheckThatSaysNothingWasACheckAllTheSame) {
  answer = [](JobContext&) { return fail("down"); };
  advance(5h);
  EXPECT_EQ(subject("t").last_status, "error");
  answer = [](JobContext&) { return done(); };
  advance(5h);
  EXPECT_EQ(subject("t").last_status, "") << "it does not fail any more";
  EXPECT_EQ(subject("t").last_checked_at, starts.back());
}

TEST_P(EngineCheckTrouble, ManualParentsDoNotFireWhatFollows) {  // dependencies
  put(R"({"name":"next","fan_out":true,"trigger":{"kind":"after","schedule":"s"},"job":{"type":"follow"}})");
  put_subject("t", "{}", "next");
  handle_counted("follow");
  const auto made = value_of(client().trigger(kTenant, "s", {.subject = "t"}));
  run_due();
  EXPECT_EQ(state(made.id), JobState::done);
  EXPECT_EQ(calls("follow"), 0);
  advance(9h);
  EXPECT_GT(calls("follow"), 0);
}

TEST_P(EngineCheckTrouble, WithAPayloadOfItsOwnACheckIsStillACheck) {
  const auto made = value_of(client().trigger(kTenant, "s", {.payload = R"({"deep":true})", .subject = "t"}));
  EXPECT_EQ(job(made.id).payload, R"({"deep":true})");
  const auto again = value_of(client().trigger(kTenant, "s", {.payload = R"({"wide":true})", .subject = "t"}));
  EXPECT_EQ(again.id, made.id) << "one check at a time";
  EXPECT_EQ(job(made.id).payload, R"({"deep":true,"wide":true})");
  answer = [](JobContext&) { return done().subject_status("available"); };
  run_due();
  EXPECT_EQ(subject("t").last_status, "available");
}

TEST_P(EngineCheckTrouble, WhatIsDueAlreadyIsDueByWhatWasKnownBefore) {  // invariant 3
  run_until("2026-03-03T04:00:00Z");
  const std::size_t before = starts.size();
  const auto made = value_of(client().trigger(kTenant, "s", {.subject = "t"}));
  answer = [&](JobContext& context) {
    if (context.job().id == made.id) clock.advance(5h);  // meanwhile the next one falls due
    return done().subject_status("pending");
  };
  run_due();
  EXPECT_EQ(state(made.id), JobState::done);
  EXPECT_THAT(starts, SizeIs(before + 2)) << "it is not put off by a whole step";
}

TEST_P(EngineSubjectTrouble, RunByHandAnOpenJobIsInTurnLikeOthersByHand) {  // priority
  put(R"({"name":"s","trigger":{"kind":"delivery","due":"08:00"},"job":{"type":"work","priority":5}})");
  put_subject("ada");
  answer = [](JobContext&) { return fail("not yet"); };
  run_until("2026-03-03T07:05:00Z");
  const auto run = value_of(client().trigger(kTenant, "s", {.subject = "ada"}));
  EXPECT_EQ(job(run.id).priority, 2);
  value_of(client().trigger(kTenant, "s", {.priority = 4, .subject = "ada"}));
  EXPECT_EQ(job(run.id).priority, 4);
  const auto other = value_of(client().trigger(kTenant, "s", {.payload = R"({"a":1})", .subject = "ada"}));
  EXPECT_EQ(other.id, run.id) << "a day has one job";
  EXPECT_EQ(job(run.id).priority, 2);
  EXPECT_EQ(job(run.id).payload, R"({"a":1})");
}

// ---- Followers ------------------------------------------------------------------------------------------------------

TEST(EngineManySchedules, AFollowerIsKnownBeforeItsParentCanBeDone) {  // invariant 31
  const TestFolder folder;
  testing::ManualClock clock(at("2026-03-03T00:00:00Z"));
  const testing::TestEngine::Options options{.store = "sqlite:" + (folder.path() / "jobs.db").string()};
  {
    testing::TestEngine engine(clock, options);
    const auto put = [&](const std::string& definition) {
      value_of(engine.client().put_schedule("default", definition));
    };
    put(R"({"name":"first","trigger":{"kind":"daily","at":"09:00"},"job":{"type":"work"}})");
    for (int i = 0; i < 2500; ++i) {
      put(R"({"name":"other-)" + std::to_string(i) +
          R"(","trigger":{"kind":"daily","at":"23:00"},"job":{"type":"work"}})");
    }
    put(R"({"name":"last","trigger":{"kind":"after","schedule":"first"},"job":{"type":"follow"}})");
  }
  clock.advance(10h);
  testing::TestEngine engine(clock, options);
  int followed = 0;
  engine.handle("work", [](JobContext&) { return done(); });
  engine.handle("follow", [&](JobContext&) {
    ++followed;
    return done();
  });
  engine.run_due();
  EXPECT_EQ(followed, 1) << "though its page is read long after the parent was due";
}

}  // namespace
}  // namespace carillon::test
