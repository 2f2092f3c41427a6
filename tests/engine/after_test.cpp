// Dependents over subjects (S1; invariant 31): the same subject, the slot of the parent, once for each of its
// successes.
#include "engine/support/subject_test.h"

namespace carillon::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class EngineAfter : public SubjectTest {
 protected:
  void SetUp() override {
    handle_noted("work");
    go_to("2026-03-03T00:00:00Z");
    put(R"({"name":"s","trigger":{"kind":"delivery","due":"08:00"},"job":{"type":"work"}})");
    put(R"({"name":"next","fan_out":true,"trigger":{"kind":"after","schedule":"s"},"job":{"type":"follow"}})");
    handle("follow", [this](JobContext& context) {
      const std::string slot = format_instant(*context.job().slot).substr(0, 10);
      followed.push_back(context.job().subject + " " + slot);
      return done();
    });
    for (const std::string_view name : {"ada", "bob"}) {
      put_subject(name);
      put_subject(name, "{}", "next");
    }
  }

 public:
  std::vector<std::string> followed;
};

OVER_EVERY_STORE(EngineAfter);

TEST_P(EngineAfter, EachSubjectFollowsItsOwnWithTheSlotOfItsParent) {
  run_until("2026-03-04T12:00:00Z");
  EXPECT_THAT(followed, UnorderedElementsAre("ada 2026-03-03", "bob 2026-03-03", "ada 2026-03-04", "bob 2026-03-04"));
  for (const JobInfo& child : jobs({.type = "follow"})) {
    const JobInfo parent = job(child.parent);
    EXPECT_EQ(child.origin, Origin::dependent);
    EXPECT_EQ(child.subject, parent.subject);
    EXPECT_EQ(child.slot, parent.slot);
    EXPECT_EQ(parent.schedule, "s");
  }
}

TEST_P(EngineAfter, WhoDoesNotSucceedIsNotFollowed) {
  answer = [](JobContext& context) { return context.job().subject == "bob" ? fail("no luck") : done(); };
  run_until("2026-03-03T12:00:00Z");
  EXPECT_EQ(subject("bob").status, "cutoff_reached");
  EXPECT_THAT(followed, ElementsAre("ada 2026-03-03"));
}

TEST_P(EngineAfter, ARetryThatSucceedsIsFollowedOnce) {
  answer = [](JobContext& context) { return context.attempt() < 3 ? fail("not yet") : done(); };
  run_until("2026-03-03T12:00:00Z");
  EXPECT_THAT(starts, SizeIs(6));
  EXPECT_THAT(followed, UnorderedElementsAre("ada 2026-03-03", "bob 2026-03-03"));
}

TEST_P(EngineAfter, ByHandNothingFollowsUnlessItIsTheOpenDay) {
  value_of(client().trigger(kTenant, "s", {.subject = "ada"}));
  run_due();
  EXPECT_THAT(starts, SizeIs(1));
  EXPECT_THAT(followed, IsEmpty()) << "it touched no day";
  answer = [](JobContext&) { return fail("not yet"); };
  run_until("2026-03-03T07:05:00Z");
  answer = [](JobContext&) { return done(); };
  value_of(client().trigger(kTenant, "s", {.subject = "ada"}));
  run_due();
  EXPECT_THAT(followed, ElementsAre("ada 2026-03-03")) << "the day's own job, run earlier";
}

TEST_P(EngineAfter, ASubjectThatIsDisabledPausedOrUnknownDoesNotFollow) {
  put_subject("ada", R"({"enabled":false})", "next");
  put_subject("eve");
  run_until("2026-03-03T12:00:00Z");
  EXPECT_THAT(starts, SizeIs(3));
  EXPECT_THAT(followed, ElementsAre("bob 2026-03-03"));
  value_of(client().pause(kTenant, "next"));
  run_until("2026-03-04T12:00:00Z");
  EXPECT_THAT(followed, SizeIs(1));
  value_of(client().resume(kTenant, "next"));
  run_until("2026-03-05T12:00:00Z");
  EXPECT_THAT(followed, ElementsAre("bob 2026-03-03", "bob 2026-03-05"))
      << "what passed in the pause is not made up for";
}

TEST_P(EngineAfter, WindowsAndChecksAreFollowedToo) {
  put(R"({"name":"w","trigger":{"kind":"windows","interval":"1h"},"job":{"type":"work"}})");
  put(R"({"name":"after-w","fan_out":true,"trigger":{"kind":"after","schedule":"w"},"job":{"type":"digest"}})");
  std::vector<std::string> windows;
  handle("digest", [&](JobContext& context) {
    windows.push_back(format_instant(*context.job().slot).substr(11, 5));
    return done();
  });
  put_subject("t", R"({"cursor_end":"2026-03-03T00:00:00Z"})", "w");
  put_subject("t", "{}", "after-w");
  run_until("2026-03-03T02:30:00Z");
  EXPECT_THAT(windows, ElementsAre("00:00", "01:00"));
  value_of(client().trigger(
      kTenant, "w",
      {.subject = "t", .window_start = at("2026-03-01T00:00:00Z"), .window_end = at("2026-03-01T01:00:00Z")}));
  run_due();
  EXPECT_THAT(windows, SizeIs(2)) << "a window by hand is followed by nothing";
}

TEST_P(EngineAfter, AChainGoesOnSubjectBySubject) {
  put(R"({"name":"last","fan_out":true,"trigger":{"kind":"after","schedule":"next"},"job":{"type":"end"}})");
  put_subject("bob", "{}", "last");
  std::vector<std::string> ended;
  handle("end", [&](JobContext& context) {
    ended.push_back(context.job().subject);
    return done();
  });
  run_until("2026-03-03T12:00:00Z");
  EXPECT_THAT(followed, SizeIs(2));
  EXPECT_THAT(ended, ElementsAre("bob"));
}

TEST_P(EngineAfter, ACycleIsRefusedAndSoIsAParentOfTheOtherShape) {
  const auto circle = client().put_schedule(
      kTenant, R"({"name":"s","fan_out":true,"trigger":{"kind":"after","schedule":"next"},"job":{"type":"work"}})");
  ASSERT_FALSE(circle.has_value());
  EXPECT_EQ(circle.error().code, ErrorCode::invalid_configuration);
  EXPECT_THAT(circle.error().message, HasSubstr("follow itself"));
  const auto shape = client().put_schedule(
      kTenant, R"({"name":"x","trigger":{"kind":"after","schedule":"s"},"job":{"type":"follow"}})");
  ASSERT_FALSE(shape.has_value());
  EXPECT_THAT(shape.error().message, HasSubstr("fan_out"));
}

TEST_P(EngineAfter, ARestartBetweenTheTwoLosesNothingAndRepeatsNothing) {
  if (!survives_restart()) GTEST_SKIP() << "memory does not survive";
  put(R"({"name":"next","fan_out":true,"trigger":{"kind":"after","schedule":"s"},)"
      R"("job":{"type":"follow","queue":"later"}})");
  value_of(client().put_queue(kTenant, "later", R"({"paused":true})"));
  run_until("2026-03-03T07:10:00Z");
  EXPECT_THAT(jobs({.type = "follow"}), SizeIs(2)) << "made with the completion of their parents";
  restart();
  value_of(client().put_queue(kTenant, "later", R"({"paused":false})"));
  run_until("2026-03-03T12:00:00Z");
  EXPECT_THAT(followed, UnorderedElementsAre("ada 2026-03-03", "bob 2026-03-03"));
}

}  // namespace
}  // namespace carillon::test
