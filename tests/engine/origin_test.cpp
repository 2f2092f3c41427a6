// Where jobs come from: what a job made beside the plan tells, and that it counts for nothing in it (invariant 1); what
// a run by hand does to a job that is open; a start of one's own.
#include "engine/support/subject_test.h"

namespace carillon::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class EngineOrigin : public SubjectTest {
 protected:
  void SetUp() override {
    handle_noted("work");
    go_to("2026-03-03T00:00:00Z");
  }
  void put_delivery() {
    put(R"({"name":"s","trigger":{"kind":"delivery","due":"08:00"},"job":{"type":"work"},"on_cutoff":{"type":"reset"}})");
  }
  void put_windows() {
    put(R"({"name":"s","trigger":{"kind":"windows","interval":"1h","mode":"full"},
            "job":{"type":"work","payload":{"a":1}}})");
    put_subject("t", R"({"cursor_end":"2026-03-03T00:00:00Z","payload":{"b":2}})");
  }
  EnqueuedJob trigger(const Client::TriggerOptions& options) {
    return value_of(client().trigger(kTenant, "s", options));
  }
  std::vector<std::string> slots(const JobQuery& query) {
    std::vector<std::string> texts;
    for (const JobInfo& one : jobs(query)) {
      const std::string json = to_json(one);
      const std::size_t begin = json.find(R"("slot":)") + 7;
      texts.push_back(json.substr(begin, json.find(',', begin) - begin));
    }
    return texts;
  }
};

OVER_EVERY_STORE(EngineOrigin);

TEST_P(EngineOrigin, AWindowByHandTellsWhichItIs) {
  put_windows();
  const JobId id = trigger({.payload = R"({"b":3,"c":4})",
                            .subject = "t",
                            .window_start = at("2026-03-01T05:00:00Z"),
                            .window_end = at("2026-03-01T06:00:00Z"),
                            .mode = "delta"})
                       .id;
  const JobInfo made = job(id);
  EXPECT_EQ(made.origin, Origin::manual);
  EXPECT_EQ(made.schedule, "s");
  EXPECT_EQ(made.subject, "t");
  EXPECT_EQ(made.slot, at("2026-03-01T05:00:00Z"));
  EXPECT_THAT(made.payload, HasSubstr(R"("mode":"delta")"));
  EXPECT_THAT(made.payload, HasSubstr(R"("a":1)"));
  EXPECT_THAT(made.payload, HasSubstr(R"("b":3)")) << "over the subject's";
  EXPECT_THAT(made.payload, HasSubstr(R"("c":4)"));
  EXPECT_THAT(made.key, HasSubstr("_delta_manual_"));
  EXPECT_THAT(jobs({.schedule = "s", .subject = "t"}), SizeIs(1));
  run_due();
  EXPECT_EQ(state(id), JobState::done);
  EXPECT_EQ(subject("t").cursor_end, at("2026-03-03T00:00:00Z"));
  EXPECT_THAT(outcomes(), IsEmpty());
}

TEST_P(EngineOrigin, ABackfilledWindowOfTheSameSlotTouchesNoOccurrence) {  // invariants 1, 20
  put_windows();
  answer = [](JobContext&) { return fail("later"); };
  go_to("2026-03-03T02:01:00Z");
  run_due();
  ASSERT_THAT(jobs({.schedule = "s"}), SizeIs(2));
  answer = [](JobContext&) { return done(); };
  value_of(client().backfill(kTenant, "s",
                             {.subject = "t", .from = at("2026-03-03T00:00:00Z"), .to = at("2026-03-03T02:00:00Z")}));
  advance(10s);
  std::size_t by_hand = 0;
  for (const JobInfo& one : jobs({.schedule = "s"})) {
    if (one.origin != Origin::manual) {
      EXPECT_EQ(one.state, JobState::queued);
      continue;
    }
    ++by_hand;
    EXPECT_EQ(one.state, JobState::done);
    ASSERT_TRUE(one.slot);
  }
  EXPECT_EQ(by_hand, 2U);
  EXPECT_EQ(subject("t").cursor_end, at("2026-03-03T00:00:00Z")) << "the windows themselves are still open";
  advance(10min);
  EXPECT_EQ(subject("t").cursor_end, at("2026-03-03T02:00:00Z"));
}

TEST_P(EngineOrigin, WhatFollowsACutoffTellsTheDayThatWasMissed) {
  handle("reset", [](JobContext& context) {
    EXPECT_EQ(context.job().slot_kind, SlotKind::day);
    return done();
  });
  put_delivery();
  put_subject("ada");
  answer = [](JobContext&) { return fail("no luck"); };
  run_until("2026-03-03T08:00:30Z");
  const std::vector<JobInfo> resets = jobs({.type = "reset", .schedule = "s", .subject = "ada"});
  ASSERT_THAT(resets, SizeIs(1));
  EXPECT_EQ(resets[0].origin, Origin::dependent);
  EXPECT_EQ(resets[0].state, JobState::done);
  EXPECT_EQ(job(resets[0].parent).state, JobState::cutoff_reached);
  EXPECT_THAT(slots({.type = "reset"}), ElementsAre(R"("2026-03-03")"));
  // Days that pass wholly have no job, and the newest is followed too.
  clock.advance(48h);
  run_due();
  EXPECT_THAT(slots({.type = "reset"}), ElementsAre(R"("2026-03-05")", R"("2026-03-03")"));
  EXPECT_EQ(subject("ada").last_slot, "2026-03-05");
}

TEST_P(EngineOrigin, ARunOfNoDayTellsItsScheduleAndNoSlot) {
  put_delivery();
  put_subject("ada");
  const EnqueuedJob made = trigger({.subject = "ada"});
  EXPECT_FALSE(made.deduplicated);
  run_due();
  EXPECT_EQ(job(made.id).schedule, "s");
  EXPECT_EQ(job(made.id).state, JobState::done);
  EXPECT_THAT(slots({.schedule = "s"}), ElementsAre("null"));
  EXPECT_EQ(subject("ada").status, "") << "it was for no day";
}

TEST_P(EngineOrigin, ARerunTellsOfWhatItRepeats) {
  put_delivery();
  put_subject("ada");
  run_until("2026-03-03T09:00:00Z");
  const JobInfo day = jobs({.type = "work"}).at(0);
  const JobInfo again = job(value_of(client().rerun(kTenant, day.id)).id);
  EXPECT_EQ(again.origin, Origin::manual);
  EXPECT_EQ(again.parent, day.id);
  EXPECT_EQ(again.schedule, "s");
  EXPECT_EQ(again.subject, "ada");
  EXPECT_THAT(slots({.type = "work"}), Each(R"("2026-03-03")"));
  answer = [](JobContext&) { return permanent("broken"); };
  run_due();
  EXPECT_EQ(state(again.id), JobState::dlq);
  EXPECT_EQ(subject("ada").status, "success");
}

TEST_P(EngineOrigin, OnlyTheOccurrenceItselfIsFollowed) {  // invariants 1, 31
  handle_counted("follow");
  put_delivery();
  put(R"({"name":"next","fan_out":true,"trigger":{"kind":"after","schedule":"s"},"job":{"type":"follow"}})");
  put_subject("ada");
  put_subject("ada", "{}", "next");
  run_until("2026-03-03T09:00:00Z");
  EXPECT_EQ(calls("follow"), 1);
  value_of(client().rerun(kTenant, jobs({.type = "work"}).at(0).id));
  trigger({.subject = "ada"});
  run_due();
  EXPECT_THAT(starts, SizeIs(3));
  EXPECT_EQ(calls("follow"), 1);
}

TEST_P(EngineOrigin, ByHandNothingOverlaps) {  // invariant 1
  leave_unhandled = true;
  put(R"({"name":"s","trigger":{"kind":"every","every":"1m"},"overlap":"skip","job":{"type":"slow"}})");
  const JobId by_hand = trigger({}).id;
  advance(1min);
  EXPECT_EQ(state(by_hand), JobState::queued);
  EXPECT_THAT(jobs({.schedule = "s"}), SizeIs(2)) << "the occurrence was not skipped for it";
}

TEST_P(EngineOrigin, APausedScheduleIsRunByHand) {
  put(R"({"name":"s","trigger":{"kind":"every","every":"1m"},"job":{"type":"work"}})");
  value_of(client().pause(kTenant, "s", std::nullopt));
  const JobId id = trigger({}).id;
  run_due();
  EXPECT_EQ(state(id), JobState::done);
}

TEST_P(EngineOrigin, AnOpenDayIsMovedAndItsPayloadMerged) {
  put(R"({"name":"s","trigger":{"kind":"delivery","due":"08:00"},"job":{"type":"work","payload":{"a":1,"b":1}}})");
  put_subject("ada", R"({"payload":{"b":2}})");
  answer = [](JobContext&) { return fail("not yet"); };
  run_until("2026-03-03T07:05:00Z");
  answer = [](JobContext&) { return done(); };
  const EnqueuedJob moved = trigger({.payload = R"({"c":3})", .subject = "ada"});
  EXPECT_TRUE(moved.deduplicated);
  EXPECT_EQ(job(moved.id).payload, R"({"a":1,"b":2,"c":3})");
  run_due();
  EXPECT_EQ(subject("ada").status, "success");
}

TEST_P(EngineOrigin, ASubjectIsPutAndRunInOneCall) {
  put(R"({"name":"s","trigger":{"kind":"adaptive","otherwise":"4h"},"job":{"type":"work"}})");
  const auto put = value_of(client().put_subject(kTenant, "s", "ada", R"({"trigger":true})"));
  ASSERT_TRUE(put.triggered);
  run_due();
  EXPECT_EQ(state(put.triggered), JobState::done);
  EXPECT_EQ(job(put.triggered).subject, "ada");
  EXPECT_FALSE(value_of(client().put_subject(kTenant, "s", "ada", "{}")).triggered);
}

TEST_P(EngineOrigin, ASubjectThatCannotRunIsNotPut) {
  put_windows();
  const auto error = refused("u", R"({"trigger":true})");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::invalid_configuration);
  EXPECT_EQ(error->field, "trigger");
  put(R"({"name":"checks","trigger":{"kind":"adaptive","otherwise":"4h"},"job":{"type":"work"}})");
  EXPECT_EQ(error_of(client().put_subject(kTenant, "checks", "v", R"({"enabled":false,"trigger":true})")).code,
            ErrorCode::conflict);
  EXPECT_EQ(error_of(client().subject(kTenant, "checks", "v")).code, ErrorCode::not_found);
}

TEST_P(EngineOrigin, AStartMayBeALocalTimeOrAnInstant) {
  const auto first = [&](std::string_view start, std::string_view more = "") {
    put(R"({"name":"r","timezone":"Europe/Paris","trigger":{"kind":"rrule","rrule":"FREQ=DAILY;INTERVAL=2","start":)" +
        std::string(start) + "},\"job\":{\"type\":\"work\"}" + std::string(more) + "}");
    return value_of(client().preview(kTenant, "r", 1)).times.at(0).at;
  };
  EXPECT_EQ(first(R"("2026-01-05T09:00:00")"), at("2026-03-04T08:00:00Z"));
  EXPECT_EQ(first(R"("2026-01-06T09:00:00+01:00")"), at("2026-03-03T08:00:00Z"));
  EXPECT_EQ(first(R"("2026-01-06T09:00:00")", R"(,"starts_at":"2026-03-05T09:00:00")"), at("2026-03-05T08:00:00Z"));
  EXPECT_EQ(first(R"("2026-01-06T09:00:00")", R"(,"starts_at":"2026-03-05T08:00:01Z")"), at("2026-03-07T08:00:00Z"));
}

TEST_P(EngineOrigin, ALocalEndIsOneOfTheTenantsZone) {
  value_of(client().put_settings(kTenant, R"({"timezone":"Asia/Tokyo"})"));
  put(R"({"name":"s","trigger":{"kind":"daily","at":"09:00"},"ends_at":"2026-03-04T09:00:00","job":{"type":"work"}})");
  run_until("2026-03-09T00:00:00Z");
  EXPECT_THAT(times(), ElementsAre("00:00")) << "of 4 March; 3 March was at the very creation";
}

TEST_P(EngineOrigin, ASubjectHasItsOwnStart) {
  put(R"({"name":"s","fan_out":true,"trigger":{"kind":"rrule","rrule":"FREQ=DAILY;INTERVAL=2;UNTIL=20300101T000000","start":"2026-03-01T09:00:00"},
          "job":{"type":"work"}})");
  put_subject("even");
  put_subject("odd", R"({"start":"2026-03-02T10:00:00Z"})");
  EXPECT_EQ(subject("even").next_at, at("2026-03-03T09:00:00Z"));
  EXPECT_EQ(subject("odd").next_at, at("2026-03-04T10:00:00Z"));
  EXPECT_EQ(value_of(client().preview(kTenant, "s", 1, "odd")).times.at(0).at, at("2026-03-04T10:00:00Z"));
  run_until("2026-03-06T12:00:00Z");
  EXPECT_THAT(ran, ElementsAre("even", "odd", "even", "odd"));
  value_of(client().patch_subject(kTenant, "s", "odd", R"({"start":null})"));
  EXPECT_EQ(subject("odd").next_at, at("2026-03-07T09:00:00Z"));
  put(R"({"name":"d","fan_out":true,"trigger":{"kind":"daily","at":"09:00"},"job":{"type":"work"}})");
  EXPECT_EQ(error_of(client().put_subject(kTenant, "d", "x", R"({"start":"2026-03-02T10:00:00"})")).field, "start");
  EXPECT_EQ(error_of(client().put_subject(kTenant, "s", "odd", R"({"start":"2031-01-01T10:00:00"})")).code,
            ErrorCode::invalid_configuration);
  EXPECT_EQ(subject("odd").next_at, at("2026-03-07T09:00:00Z")) << "nothing was written";
}

TEST_P(EngineOrigin, APlainScheduleGivesItsJobsASubject) {
  put(R"({"name":"s","subject":"team-7","trigger":{"kind":"every","every":"1h"},"job":{"type":"work"}})");
  const JobId by_hand = trigger({}).id;
  run_until("2026-03-03T01:00:00Z");
  EXPECT_THAT(ran, ElementsAre("team-7", "team-7"));
  EXPECT_EQ(job(by_hand).subject, "team-7");
  EXPECT_THAT(jobs({.schedule = "s", .subject = "team-7"}), SizeIs(2));
  EXPECT_EQ(value_of(client().schedule(kTenant, "s")).last_outcome, "success");
  EXPECT_EQ(
      error_of(
          client().put_schedule(
              kTenant,
              R"({"name":"t","subject":"x","fan_out":true,"trigger":{"kind":"every","every":"1h"},"job":{"type":"work"}})"))
          .field,
      "subject");
}

TEST_P(EngineOrigin, AJobOnOthersIsADependentAndNamesTheOneThatEndedOtherwise) {
  leave_unhandled = true;
  const JobId parent = enqueue({.type = "first"});
  const JobId child = enqueue({.type = "second", .depends_on = {parent}});
  EXPECT_EQ(job(child).origin, Origin::dependent);
  EXPECT_EQ(job(child).parent, parent);
  EXPECT_THAT(job(child).depends_on, ElementsAre(parent));
  value_of(client().cancel(kTenant, parent));
  const JobInfo cancelled = job(child);
  EXPECT_EQ(cancelled.reason, "dependency_not_met");
  EXPECT_EQ(cancelled.last_error_code, "dependency_not_met");
  EXPECT_THAT(cancelled.last_error, HasSubstr(format_job_id(parent)));
  EXPECT_THAT(value_of(client().explain(kTenant, child)).summary, HasSubstr(format_job_id(parent)));
}

TEST_P(EngineOrigin, TheWorkOfAQueuedJobIsChanged) {
  leave_unhandled = true;
  const JobId id = enqueue({.type = "later", .payload = R"({"a":1})"});
  value_of(client().put_limit(kTenant, "smtp", R"({"concurrency":1})"));
  value_of(client().change(kTenant, id, {.payload = R"({"b":2})", .limits = std::vector<std::string>{"smtp"}}));
  EXPECT_EQ(job(id).payload, R"({"b":2})");
  EXPECT_THAT(job(id).limits, ElementsAre("smtp"));
}

}  // namespace
}  // namespace carillon::test
