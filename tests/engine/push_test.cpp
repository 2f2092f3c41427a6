// Pushes from outside about a subject's check: what is pushed is looked at, once, whatever is under way.
#include "engine/support/hand_node.h"

namespace carillon::test {
namespace {

using ::testing::HasSubstr;

class Pushes : public ::testing::Test {
 protected:
  Pushes() {
    value_of(node.client().put_schedule(
        "default",
        R"({"name":"watch","trigger":{"kind":"adaptive","bands":[{"within":"24h","every":"10m"}],"otherwise":"4h"},)"
        R"("job":{"type":"check","payload":{"url":"u"},"retry":{"kind":"fixed","delay":"3m"}}})"));
    value_of(node.client().put_subject("default", "watch", "ada", "{}"));
    node.settle_down();
  }
  Result<EnqueuedJob> push(const std::string& id, const std::string& body, std::optional<Instant> expected_at = {}) {
    const Planner::Push said{.key = "hook:h:" + id,
                             .said = body,
                             .created_by = "hook:h",
                             .meta = R"({"hook":{"webhook_id":")" + id + R"("}})",
                             .payload = R"({"push":)" + body + "}",
                             .expected_at = expected_at};
    Node& engine = node.node();
    auto made = engine.call<EnqueuedJob>(
        [&](Round& round) { return engine.planner().trigger(round, "default", "watch", {.subject = "ada"}, said); });
    node.settle_down();
    return made;
  }
  RunPtr running() {
    RunPtr run = node.take();
    CHECK(run != nullptr && node.begin(run));
    return run;
  }
  std::size_t checks() { return value_of(node.client().jobs({.type = "check"}, {}, 10)).jobs.size(); }

 public:
  HandNode node;
};

TEST_F(Pushes, AreInThePayloadAndInTheMetaOfTheCheck) {
  value_of(node.client().put_settings("default", R"({"paused":true})"));  // nothing begins
  const EnqueuedJob made = value_of(push("m1", R"({"who":"ada"})"));
  EXPECT_EQ(made.state, JobState::queued);
  EXPECT_EQ(node.job(made.id).payload, R"({"url":"u","push":{"who":"ada"}})");
  EXPECT_THAT(node.job(made.id).meta, HasSubstr("\"webhook_id\":\"m1\""));
  // It has not begun: the next push is looked at by the same check.
  const EnqueuedJob next = value_of(push("m2", "2"));
  EXPECT_EQ(next.id, made.id);
  EXPECT_EQ(node.job(made.id).payload, R"({"url":"u","push":2})");
  EXPECT_THAT(node.job(made.id).meta, HasSubstr("\"webhook_id\":\"m2\""));
  EXPECT_EQ(checks(), 1U);
}

TEST_F(Pushes, DuringARunningCheckAreOneMoreCheckBehindIt) {
  const JobId first = value_of(push("m1", "1")).id;
  const RunPtr run = running();
  const Instant expected_at = node.clock.now() + 2h;
  const EnqueuedJob second = value_of(push("m2", "2", expected_at));
  EXPECT_NE(second.id, first);
  EXPECT_EQ(second.state, JobState::waiting);
  EXPECT_EQ(node.take(), nullptr) << "one check at a time";
  EXPECT_EQ(value_of(node.client().subject("default", "watch", "ada")).expected_at, expected_at);
  EXPECT_EQ(node.job(first).payload, R"({"url":"u","push":1})");

  // The same again is the same; others before it begins are looked at by the one that waits.
  EXPECT_TRUE(value_of(push("m2", "2", expected_at)).deduplicated);
  EXPECT_EQ(value_of(push("m3", "3")).id, second.id);
  EXPECT_EQ(value_of(push("m3", "3")).id, second.id);
  EXPECT_EQ(checks(), 2U);

  node.finish(run, done());
  const RunPtr next = running();
  EXPECT_EQ(next->job.id, second.id);
  EXPECT_EQ(node.job(second.id).payload, R"({"url":"u","push":3})");
  node.finish(next, done());
  EXPECT_EQ(node.job(second.id).state, JobState::done);
  for (const char* id : {"m1", "m2", "m3"}) {
    EXPECT_TRUE(value_of(push(id, std::string(1, id[1]))).deduplicated) << id;
  }
  EXPECT_EQ(checks(), 2U);
  EXPECT_FALSE(value_of(node.client().subject("default", "watch", "ada")).open_job);
}

TEST_F(Pushes, ACheckThatFailsMakesWayForTheOneThatWaits) {
  const JobId first = value_of(push("m1", "1")).id;
  const RunPtr run = running();
  const JobId second = value_of(push("m2", "2")).id;
  node.finish(run, fail("HTTP 503"));
  EXPECT_EQ(node.job(first).state, JobState::skipped);
  EXPECT_EQ(node.job(first).reason, "superseded");
  const RunPtr next = running();
  EXPECT_EQ(next->job.id, second);
}

TEST_F(Pushes, ACheckThatIsParkedHoldsUpNobody) {
  const JobId first = value_of(push("m1", "1")).id;
  const RunPtr run = running();
  const JobId second = value_of(push("m2", "2")).id;
  node.finish(run, permanent("no such page"));
  EXPECT_EQ(node.job(first).state, JobState::dlq);
  EXPECT_EQ(running()->job.id, second);
}

TEST_F(Pushes, AStoreThatAnswersLateOrNotLosesAndRepeatsNothing) {  // invariants 4, 17
  value_of(push("m1", "1"));
  const RunPtr run = running();
  node.commits().next(CommitFault::unavailable);
  EXPECT_FALSE(push("m2", "2").has_value());
  EXPECT_EQ(checks(), 1U) << "refused, so not there";
  node.commits().next(CommitFault::answer_lost);
  EXPECT_FALSE(push("m2", "2").has_value());
  const EnqueuedJob again = value_of(push("m2", "2"));
  EXPECT_TRUE(again.deduplicated) << "it was written, though nobody was told";
  EXPECT_EQ(checks(), 2U);
  node.finish(run, done());
  EXPECT_EQ(running()->job.id, again.id);
}

}  // namespace
}  // namespace carillon::test
