// Subjects of any kind: put, changed, imported, deleted; edits of their schedule that reach them in the background.
#include "engine/support/subject_test.h"

namespace carillon::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class EngineSubjects : public SubjectTest {
 protected:
  void SetUp() override {
    handle_noted("work");
    go_to("2026-03-03T00:00:00Z");
    put(kDelivery);
  }
  static constexpr std::string_view kDelivery =
      R"({"name":"s","trigger":{"kind":"delivery","due":"08:00"},"job":{"type":"work"}})";
  std::string many(int count) {
    std::string lines;
    for (int i = 0; i < count; ++i) lines += R"({"subject":"user-)" + std::to_string(i) + "\"}\n";
    return lines;
  }
};

OVER_EVERY_STORE(EngineSubjects);

TEST_P(EngineSubjects, WallClockKindsFanOutToo) {
  put(R"({"name":"d","fan_out":true,"trigger":{"kind":"daily","at":"09:00"},"job":{"type":"work"}})");
  put_subject("utc", "{}", "d");
  put_subject("cairo", R"({"timezone":"Africa/Cairo","payload":{"a":1}})", "d");
  run_until("2026-03-03T12:00:00Z");
  EXPECT_THAT(ran, ElementsAre("cairo", "utc"));
  EXPECT_THAT(times(), ElementsAre("07:00", "09:00"));
}

TEST_P(EngineSubjects, DependentsFollowTheSameSubject) {  // invariant 31
  put(R"({"name":"next","fan_out":true,"trigger":{"kind":"after","schedule":"s"},"job":{"type":"follow"}})");
  handle("follow", [this](JobContext& context) {
    ran.push_back("after " + context.job().subject);
    return done();
  });
  put_subject("ada");
  put_subject("bob");
  put_subject("ada", "{}", "next");
  run_until("2026-03-03T08:00:00Z");
  EXPECT_THAT(ran, UnorderedElementsAre("ada", "bob", "after ada"));
  const auto wrong = client().put_schedule(
      kTenant, R"({"name":"x","trigger":{"kind":"after","schedule":"s"},"job":{"type":"follow"}})");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_THAT(wrong.error().message, HasSubstr("fan_out"));
}

TEST_P(EngineSubjects, AnImportMakesChangesAndLeavesAlone) {
  put_subject("user-1");
  put_subject("user-2", R"({"due":"10:00"})");
  const auto counts = value_of(client().import_subjects(kTenant, "s", many(5) + "\n  \n"));
  EXPECT_EQ(counts.created, 3U);
  EXPECT_EQ(counts.updated, 1U);
  EXPECT_EQ(counts.unchanged, 1U);
  run_until("2026-03-03T08:00:00Z");
  EXPECT_THAT(starts, SizeIs(5));
}

TEST_P(EngineSubjects, AnImportIsAllOrNothingAndNamesTheLine) {
  const auto refused = client().import_subjects(kTenant, "s", many(3) + "{\"subject\":\"x\",\"due\":\"25:00\"}\n");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().line, 4U);
  const auto kind = client().import_subjects(kTenant, "s", many(2) + "\n{\"subject\":\"x\",\"interval\":\"1h\"}\n");
  ASSERT_FALSE(kind.has_value());
  EXPECT_EQ(kind.error().line, 4U);
  EXPECT_FALSE(client().subject(kTenant, "s", "user-0").has_value());
}

TEST_P(EngineSubjects, TheSameNameTwiceInAnImportTakesTheLast) {
  const auto counts =
      value_of(client().import_subjects(kTenant, "s", "{\"subject\":\"a\"}\n{\"subject\":\"a\",\"due\":\"09:00\"}\n"));
  EXPECT_EQ(counts.created, 1U);
  EXPECT_EQ(counts.updated, 1U);
  EXPECT_EQ(subject("a").next_at, at("2026-03-03T08:00:00Z"));
}

TEST_P(EngineSubjects, AnEditReachesThemInTheBackground) {
  value_of(client().import_subjects(kTenant, "s", many(1203)));
  run_due();
  put(R"({"name":"s","trigger":{"kind":"delivery","due":"10:00"},"job":{"type":"work"}})");
  run_due();
  EXPECT_EQ(subject("user-0").next_at, at("2026-03-03T09:00:00Z"));
  EXPECT_EQ(subject("user-999").next_at, at("2026-03-03T09:00:00Z"));
  run_until("2026-03-03T08:30:00Z");
  EXPECT_THAT(starts, IsEmpty());
  run_until("2026-03-03T10:00:00Z");
  EXPECT_THAT(starts, SizeIs(1203));
  const std::set<std::string> each(ran.begin(), ran.end());
  EXPECT_THAT(each, SizeIs(1203));
}

TEST_P(EngineSubjects, AnEditGoesOnAfterARestart) {
  if (!survives_restart()) GTEST_SKIP() << "memory does not survive";
  value_of(client().import_subjects(kTenant, "s", many(1203)));
  run_due();
  put(R"({"name":"s","trigger":{"kind":"delivery","due":"10:00"},"job":{"type":"work"}})");
  restart();
  run_due();
  EXPECT_EQ(subject("user-999").next_at, at("2026-03-03T09:00:00Z"));
}

TEST_P(EngineSubjects, OneThatIsMadeWhileAnEditIsOnItsWayFollowsTheNewRules) {  // invariant 21
  put(R"({"name":"w","trigger":{"kind":"windows","interval":"1h"},"job":{"type":"work"}})");
  put_subject("old", R"({"cursor_end":"2026-03-02T22:00:00Z"})", "w");
  run_due();
  EXPECT_THAT(starts, SizeIs(1));
  starts.clear();
  put(R"({"name":"w","trigger":{"kind":"windows","interval":"2h","max_backfill":3},"job":{"type":"work"}})");
  value_of(client().put_queue(kTenant, "default", R"({"paused":true})"));
  put_subject("new", R"({"cursor_end":"2026-03-02T12:00:00Z"})", "w");
  value_of(client().import_subjects(kTenant, "w", R"({"subject":"more","cursor_end":"2026-03-02T12:00:00Z"})"));
  run_due();
  for (const std::string name : {"new", "more"}) {
    const auto made = jobs({.subject = name});
    ASSERT_THAT(made, SizeIs(3)) << name;
    EXPECT_EQ(subject(name, "w").planned_end, at("2026-03-02T18:00:00Z")) << name;
  }
}

TEST_P(EngineSubjects, EnablingAScheduleIsAsResumingIt) {  // invariant 32
  put_subject("ada");
  put(R"({"name":"s","enabled":false,"trigger":{"kind":"delivery","due":"08:00"},"job":{"type":"work"}})");
  run_until("2026-03-05T12:00:00Z");
  put(kDelivery);
  run_until("2026-03-06T12:00:00Z");
  EXPECT_THAT(outcomes(), ElementsAre("ada 2026-03-06T00:00 done"));
}

// Found by the simulation: the edit planned the days of the pause.
TEST_P(EngineSubjects, AnEditDuringAPauseBringsBackNoneOfItsTime) {  // invariant 32
  put_subject("ada");
  value_of(client().pause(kTenant, "s"));
  run_until("2026-03-04T12:00:00Z");
  put(R"({"name":"s","trigger":{"kind":"delivery","due":"10:00"},"job":{"type":"work"}})");
  run_until("2026-03-04T13:00:00Z");
  EXPECT_THAT(outcomes(), IsEmpty());
  value_of(client().resume(kTenant, "s"));
  run_until("2026-03-05T12:00:00Z");
  EXPECT_THAT(outcomes(), ElementsAre("ada 2026-03-05T00:00 done"));
}

TEST_P(EngineSubjects, AnEditOfADisabledScheduleMakesNoJobs) {  // invariant 32
  put(R"({"name":"s","enabled":false,"trigger":{"kind":"delivery","due":"08:00"},"job":{"type":"work"}})");
  put_subject("ada");
  run_until("2026-03-03T07:30:00Z");
  put(R"({"name":"s","enabled":false,"trigger":{"kind":"delivery","due":"08:30"},"job":{"type":"work"}})");
  run_until("2026-03-04T12:00:00Z");
  EXPECT_THAT(outcomes(), IsEmpty());
  EXPECT_THAT(starts, IsEmpty());
}

TEST_P(EngineSubjects, WhatWasDueBeforeAPauseIsPlannedHoweverMuchItIs) {  // invariants 3, 32
  value_of(client().import_subjects(kTenant, "s", many(2300)));
  run_due();
  go_to("2026-03-03T07:00:01Z");
  value_of(client().pause(kTenant, "s"));
  run_until("2026-03-03T08:00:10Z");
  EXPECT_THAT(starts, IsEmpty());
  std::uint64_t ended = 0;
  for (const Finalized& one : heard.of<Finalized>()) ended += one.status == JobState::cutoff_reached ? 1U : 0U;
  EXPECT_EQ(ended, 2300U);
}

TEST_P(EngineSubjects, APatchChangesWhatItNames) {
  put_subject("ada", R"({"due":"10:00","timezone":"Europe/Paris"})");
  value_of(client().patch_subject(kTenant, "s", "ada", R"({"due":"11:00"})"));
  EXPECT_EQ(subject("ada").next_at, at("2026-03-03T09:00:00Z"));
  value_of(client().patch_subject(kTenant, "s", "ada", R"({"timezone":null})"));
  EXPECT_EQ(subject("ada").next_at, at("2026-03-03T10:00:00Z"));
  EXPECT_EQ(client().patch_subject(kTenant, "s", "bob", "{}").error().code, ErrorCode::not_found);
}

TEST_P(EngineSubjects, AVersionGuardsAgainstLostEdits) {
  const SubjectInfo before = put_subject("ada");
  value_of(client().put_subject(kTenant, "s", "ada", R"({"due":"10:00"})", before.version));
  const auto late = client().put_subject(kTenant, "s", "ada", R"({"due":"11:00"})", before.version);
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code, ErrorCode::conflict);
}

TEST_P(EngineSubjects, ADeletedOneIsGoneAndWhatHadNotStartedIsCancelled) {
  answer = [](JobContext&) { return fail("later"); };
  put_subject("ada");
  run_until("2026-03-03T07:05:00Z");
  value_of(client().delete_subject(kTenant, "s", "ada"));
  run_until("2026-03-04T12:00:00Z");
  EXPECT_THAT(starts, SizeIs(1));
  EXPECT_EQ(jobs()[0].state, JobState::cancelled);
  // Made anew it does not get the day again.
  answer = [](JobContext&) { return done(); };
  put_subject("ada");
  run_until("2026-03-05T12:00:00Z");
  EXPECT_THAT(outcomes(), ElementsAre("ada 2026-03-03T00:00 cancelled", "ada 2026-03-05T00:00 done"));
}

TEST_P(EngineSubjects, WithoutFanOutThereAreNone) {
  put(R"({"name":"one","trigger":{"kind":"daily","at":"09:00"},"job":{"type":"work"}})");
  EXPECT_EQ(client().put_subject(kTenant, "one", "x", "{}").error().code, ErrorCode::conflict);
  EXPECT_EQ(client().import_subjects(kTenant, "one", many(1)).error().code, ErrorCode::conflict);
  EXPECT_EQ(client().trigger(kTenant, "one", {.subject = "x"}).error().code, ErrorCode::conflict);
  EXPECT_EQ(client().trigger(kTenant, "s", {}).error().field, "subject");
  const auto turned = client().put_schedule(
      kTenant, R"({"name":"one","fan_out":true,"trigger":{"kind":"daily","at":"09:00"},"job":{"type":"work"}})");
  ASSERT_FALSE(turned.has_value());
  EXPECT_EQ(turned.error().field, "fan_out");
}

TEST_P(EngineSubjects, AScheduleWithoutFanOutMayDeliverForItself) {
  put(R"({"name":"one","fan_out":false,"trigger":{"kind":"delivery","due":"06:00"},"job":{"type":"work"}})");
  run_until("2026-03-04T07:00:00Z");
  EXPECT_THAT(times(), ElementsAre("05:00", "05:00"));
}

TEST_P(EngineSubjects, ManyDueAtOnceLeaveRoomForOthers) {
  value_of(client().import_subjects(kTenant, "s", many(4000)));
  put(R"({"name":"other","trigger":{"kind":"daily","at":"07:00"},"job":{"type":"other","priority":1}})");
  std::size_t before_other = 0;
  handle("other", [&](JobContext&) {
    before_other = starts.size();
    return done();
  });
  run_until("2026-03-03T07:30:00Z");
  EXPECT_THAT(starts, SizeIs(4000));
  EXPECT_LT(before_other, 2000U);
}

}  // namespace
}  // namespace carillon::test
