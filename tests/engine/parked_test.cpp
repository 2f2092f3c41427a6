// What is parked is seen: a schedule and its subjects show their misfortunes at once, wherever one looks.
#include "engine/support/subject_test.h"

namespace carillon::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

class EngineParked : public SubjectTest {
 protected:
  void SetUp() override {
    handle_noted("work");
    go_to("2026-03-03T00:00:00Z");
    answer = [](JobContext&) { return permanent("boom"); };
  }
  ScheduleInfo schedule() { return value_of(client().schedule(kTenant, "s")); }
  static std::string results(const ScheduleInfo& shown) {
    return shown.last_outcome + " " + std::to_string(shown.error_count) + " " + shown.last_error;
  }
  static std::string results(const SubjectInfo& shown) {
    return shown.status + " " + std::to_string(shown.error_count) + " " + shown.last_error;
  }
  Explanation explain(std::string_view subject = "") {
    return value_of(client().explain_schedule(kTenant, "s", subject));
  }
  JobId parked() { return jobs({.states = {JobState::dlq}}).at(0).id; }
};

OVER_EVERY_STORE(EngineParked);

TEST_P(EngineParked, AScheduleWhoseJobsAllParkLooksAsBadAsItIs) {
  put(R"({"name":"s","trigger":{"kind":"every","every":"1h"},"job":{"type":"work"}})");
  run_until("2026-03-03T01:00:00Z");
  EXPECT_EQ(results(schedule()), "dlq 1 boom");
  run_until("2026-03-03T03:00:00Z");
  EXPECT_EQ(results(schedule()), "dlq 3 boom");
  EXPECT_EQ(results(*schedule().state), "dlq 3 boom");
  EXPECT_EQ(results(value_of(client().schedules(kTenant, "", 10)).at(0)), "dlq 3 boom") << "in the list too";
  EXPECT_THAT(explain().summary, HasSubstr("3 in a row went wrong, the last one is parked: boom"));
  EXPECT_EQ(schedule().next_at, at("2026-03-03T04:00:00Z"));

  answer = [](JobContext&) { return done(); };
  run_until("2026-03-03T04:00:00Z");
  EXPECT_EQ(results(schedule()), "success 0 ");
  EXPECT_THAT(explain().summary, Not(HasSubstr("wrong")));
}

TEST_P(EngineParked, SoDoesOneWithSubjects) {
  put(R"({"name":"s","fan_out":true,"trigger":{"kind":"daily","at":"12:00"},"job":{"type":"work"}})");
  put_subject("ada");
  put_subject("bob");
  run_until("2026-03-03T12:00:00Z");
  EXPECT_EQ(results(schedule()), "dlq 2 boom");
  EXPECT_EQ(results(subject("ada")), "dlq 1 boom");
  const Explanation whole = explain();
  EXPECT_THAT(whole.summary, HasSubstr("2 in a row went wrong, the last one is parked: boom"));
  EXPECT_THAT(whole.steps, Contains(Field(&ExplainStep::why, "dlq")));
  const Explanation one = explain("ada");
  EXPECT_THAT(one.summary, HasSubstr("1 in a row went wrong, the last one is parked: boom"));
  EXPECT_EQ(one.next_at, at("2026-03-04T12:00:00Z")) << "the next one does not wait for an operator";
  std::vector<std::string> found;
  for (const SubjectInfo& info : value_of(client().subjects(kTenant, "s", {.status = "dlq"}, {}, 10)).subjects) {
    found.push_back(info.subject);
  }
  EXPECT_THAT(found, ElementsAre("ada", "bob"));
}

TEST_P(EngineParked, ADayThatIsParkedIsNotOver) {  // S0: the last date is written when a day is final
  put(R"({"name":"s","trigger":{"kind":"delivery","due":"08:00"},"job":{"type":"work"}})");
  put_subject("ada");
  answer = [](JobContext&) { return done(); };
  run_until("2026-03-03T09:00:00Z");
  const std::optional<Instant> ran_at = subject("ada").last_run_at;
  EXPECT_EQ(ran_at, at("2026-03-03T07:00:00Z"));
  answer = [](JobContext&) { return permanent("boom"); };
  run_until("2026-03-04T07:30:00Z");
  EXPECT_EQ(results(subject("ada")), "dlq 1 boom");
  EXPECT_EQ(subject("ada").last_slot, "2026-03-03");
  run_until("2026-03-04T08:00:05Z");
  EXPECT_EQ(results(subject("ada")), "cutoff_reached 1 boom") << "one day, one misfortune";
  EXPECT_EQ(subject("ada").last_slot, "2026-03-04");
  EXPECT_EQ(subject("ada").last_run_at, ran_at) << "of the last success";
  EXPECT_EQ(results(schedule()), "cutoff_reached 1 boom");
}

TEST_P(EngineParked, WhatAnOperatorMakesOfItIsShown) {
  put(R"({"name":"s","trigger":{"kind":"every","every":"1h"},"job":{"type":"work"}})");
  run_until("2026-03-03T01:00:00Z");
  value_of(client().retry(kTenant, parked()));
  run_due();
  EXPECT_EQ(results(schedule()), "dlq 2 boom") << "it was tried again, and is parked again";
  value_of(client().discard(kTenant, parked()));
  EXPECT_EQ(results(schedule()), "cancelled 2 boom") << "that is told already";
  run_until("2026-03-03T02:00:00Z");
  answer = [](JobContext&) { return done(); };
  value_of(client().retry(kTenant, parked()));
  run_due();
  EXPECT_EQ(results(schedule()), "success 0 ");
}

TEST_P(EngineParked, ASubjectThatIsFailingShowsItsNextAttempt) {
  put(R"({"name":"s","trigger":{"kind":"delivery","due":"08:00"},"job":{"type":"work"}})");
  put_subject("ada");
  answer = [](JobContext&) { return fail("no luck"); };
  EXPECT_EQ(subject("ada").next_at, at("2026-03-03T07:00:00Z"));
  run_until("2026-03-03T07:00:00Z");
  EXPECT_EQ(subject("ada").next_at, at("2026-03-03T07:10:00Z"));
  EXPECT_EQ(explain("ada").next_at, at("2026-03-03T07:10:00Z"));
  EXPECT_EQ(schedule().next_at, at("2026-03-04T07:00:00Z")) << "the next occurrence";
  run_until("2026-03-03T07:55:00Z");
  EXPECT_EQ(subject("ada").next_at, at("2026-03-04T07:00:00Z")) << "none fits before the cutoff";
  EXPECT_EQ(subject("ada").attempts, 6U);
  run_until("2026-03-03T08:01:00Z");
  EXPECT_EQ(subject("ada").next_at, at("2026-03-04T07:00:00Z"));
}

TEST_P(EngineParked, ItIsKnownAfterARestart) {
  if (!survives_restart()) GTEST_SKIP() << "memory does not survive";
  put(R"({"name":"s","fan_out":true,"trigger":{"kind":"daily","at":"12:00"},"job":{"type":"work"}})");
  put_subject("ada");
  run_until("2026-03-03T12:00:00Z");
  restart();
  EXPECT_EQ(results(schedule()), "dlq 1 boom");
  EXPECT_EQ(results(subject("ada")), "dlq 1 boom");
}

}  // namespace
}  // namespace carillon::test
