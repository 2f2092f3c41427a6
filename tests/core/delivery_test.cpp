// The worked examples of deliveries, and the rules around them.
#include "core/kinds/delivery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/jobs/attempt.h"
#include "core/planned_subject.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::date;
using test::PlannedSubject;
using test::text_of;
using test::utc;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kNone;

PlannedSubject delivery(std::string_view due, std::string_view more_of_trigger = "", std::string_view more = "",
                        std::string_view zone = "UTC") {
  return test::subject_of(R"({"name": "greet", "trigger": {"kind": "delivery", "due": ")" + std::string(due) + "\"" +
                              std::string(more_of_trigger) + R"(}, "job": {"type": "greet"})" + std::string(more) + "}",
                          zone);
}

std::string day_of(const NewJob& job) { return format_date(day_of_slot(job.occurrence->slot)); }

// "2026-01-02 missed misfire x1", or "2026-01-02..2026-01-05 missed misfire x4".
std::vector<std::string> closed_in(const SubjectPlan& plan) {
  std::vector<std::string> lines;
  for (const ClosedOccurrences& closed : plan.closed) {
    std::string days = format_date(day_of_slot(closed.first));
    if (closed.until) days += ".." + format_date(day_of_slot(*closed.until));
    lines.push_back(days + " " + std::string(to_string(closed.outcome)) + " " + closed.reason + " x" +
                    std::to_string(closed.count));
  }
  return lines;
}

// When attempts begin, if each that begins at `run_at` fails after `takes(number)`.
template <typename Takes>
std::vector<std::string> attempts_of(const NewJob& job, Takes takes) {
  std::vector<std::string> begins;
  AttemptFacts facts{.job = "j", .attempts = 0, .max_attempts = job.options.max_attempts, .retry = *job.options.retry};
  facts.deadline = job.deadline;
  Instant run_at = *job.run_at;
  while (run_at < *job.deadline && begins.size() < 100) {
    begins.push_back(text_of(run_at).substr(11, 5));
    ++facts.attempts;
    facts.planned_at = run_at;
    const Verdict verdict = after_attempt(facts, {.result = AttemptResult::error}, run_at + takes(facts.attempts));
    if (verdict.state != JobState::queued) break;
    run_at = verdict.run_at;
  }
  return begins;
}

TEST(Delivery, DueAtEightWithAllAttemptsFailingIsTriedSixTimesUntilTheCutoff) {
  PlannedSubject ada = delivery("08:00");
  ada.make(utc("2026-01-01T10:00:00Z"));
  const SubjectPlan plan = ada.plan(utc("2026-01-02T07:00:00Z"));
  ASSERT_EQ(plan.jobs.size(), 1U);
  const NewJob& job = plan.jobs.front();
  EXPECT_EQ(job.run_at, utc("2026-01-02T07:00:00Z"));
  EXPECT_EQ(job.deadline, utc("2026-01-02T08:00:00Z"));
  EXPECT_EQ(job.options.retry, RetryPolicy(RetryFixed{.delay = 10min}));
  EXPECT_EQ(job.options.max_attempts, std::nullopt);
  EXPECT_EQ(job.options.origin, Origin::scheduled);
  EXPECT_EQ(job.occurrence->subject, "ada");
  EXPECT_TRUE(check_new_job(job).has_value());
  EXPECT_THAT(attempts_of(job, [](auto) { return 0s; }),
              ElementsAre("07:00", "07:10", "07:20", "07:30", "07:40", "07:50"));
}

TEST(Delivery, AFirstAttemptThatHangsUntil0725IsFollowedAtOnceAndThenEveryTenMinutes) {
  PlannedSubject ada = delivery("08:00");
  ada.make(utc("2026-01-01T10:00:00Z"));
  const SubjectPlan plan = ada.plan(utc("2026-01-02T07:00:00Z"));
  EXPECT_THAT(attempts_of(plan.jobs.at(0), [](auto number) { return number == 1 ? 25min : 0min; }),
              ElementsAre("07:00", "07:25", "07:35", "07:45", "07:55"));
}

TEST(Delivery, OnePutInsideItsWindowBeginsThenAndWaitsTheRetryDelay) {
  PlannedSubject ada = delivery("08:00");
  ada.make(utc("2026-01-02T07:34:00Z"));
  EXPECT_EQ(ada.next_at, utc("2026-01-02T07:34:00Z"));
  const SubjectPlan plan = ada.plan(utc("2026-01-02T07:34:00Z"));
  EXPECT_THAT(attempts_of(plan.jobs.at(0), [](auto) { return 0s; }), ElementsAre("07:34", "07:44", "07:54"));
  EXPECT_EQ(ada.next_at, utc("2026-01-03T07:00:00Z")) << "the next day has its whole window";
  EXPECT_EQ(ada.plan(utc("2026-01-03T07:00:00Z")).jobs.at(0).run_at, utc("2026-01-03T07:00:00Z"));
}

TEST(Delivery, APlannerThatIsLateMovesNoPlannedTime) {
  PlannedSubject ada = delivery("08:00");
  ada.make(utc("2026-01-02T07:34:00Z"));
  EXPECT_EQ(ada.plan(utc("2026-01-02T07:41:00Z")).jobs.at(0).run_at, utc("2026-01-02T07:34:00Z"));
}

TEST(Delivery, SpreadBeginsNotBeforeTheSubjectDoes) {
  for (int i = 0; i < 100; ++i) {
    PlannedSubject early = delivery("08:00", R"(, "spread": true)");
    early.name = "user-" + std::to_string(i);
    PlannedSubject late = early;
    early.make(utc("2026-01-01T10:00:00Z"));
    late.make(utc("2026-01-02T07:34:00Z"));
    const Instant usual = *early.plan(utc("2026-01-02T07:00:00Z")).jobs.at(0).run_at;
    EXPECT_EQ(late.plan(utc("2026-01-02T07:34:00Z")).jobs.at(0).run_at, std::max(usual, utc("2026-01-02T07:34:00Z")));
  }
}

TEST(Delivery, TheDayIsThatOfTheCutoffAlsoIfTheWindowOpensOnTheEveningBefore) {
  for (const auto& [due, start, cutoff] : {std::tuple{"00:30", "2026-01-01T23:30:00Z", "2026-01-02T00:30:00Z"},
                                           std::tuple{"00:00", "2026-01-01T23:00:00Z", "2026-01-02T00:00:00Z"}}) {
    PlannedSubject ada = delivery(due);
    ada.make(utc("2026-01-01T10:00:00Z"));
    EXPECT_EQ(ada.next_at, utc(start));
    const SubjectPlan plan = ada.plan(utc(start));
    ASSERT_EQ(plan.jobs.size(), 1U);
    EXPECT_EQ(day_of(plan.jobs[0]), "2026-01-02");
    EXPECT_EQ(plan.jobs[0].run_at, utc(start));
    EXPECT_EQ(plan.jobs[0].deadline, utc(cutoff));
    EXPECT_EQ(plan.next_at, utc(start) + 24h);
  }
}

TEST(Delivery, ARestartInAnOpenWindowPlansItAtOnce) {
  PlannedSubject ada = delivery("08:00");
  ada.make(utc("2026-01-01T10:00:00Z"));
  const SubjectPlan plan = ada.plan(utc("2026-01-02T07:25:00Z"));
  ASSERT_EQ(plan.jobs.size(), 1U);
  EXPECT_EQ(plan.jobs[0].run_at, utc("2026-01-02T07:00:00Z")) << "eligible at once";
  EXPECT_THAT(closed_in(plan), IsEmpty());
}

TEST(Delivery, ASubjectCreatedAtTenWithDueEightBeginsTomorrow) {
  PlannedSubject ada = delivery("08:00");
  ada.make(utc("2026-01-01T10:00:00Z"));
  EXPECT_EQ(ada.next_at, utc("2026-01-02T07:00:00Z"));
  EXPECT_THAT(closed_in(ada.plan(utc("2026-01-01T10:00:00Z"))), IsEmpty()) << "today was never due";
}

TEST(Delivery, OneCreatedInsideItsWindowBeginsAtOnceAndOneCreatedAtTheCutoffTomorrow) {
  PlannedSubject inside = delivery("08:00");
  inside.make(utc("2026-01-01T07:59:59Z"));
  EXPECT_EQ(inside.next_at, utc("2026-01-01T07:59:59Z"));
  EXPECT_EQ(day_of(inside.plan(utc("2026-01-01T07:59:59Z")).jobs.at(0)), "2026-01-01");

  PlannedSubject at_cutoff = delivery("08:00");
  at_cutoff.make(utc("2026-01-01T08:00:00Z"));
  EXPECT_EQ(at_cutoff.next_at, utc("2026-01-02T07:00:00Z"));
}

TEST(Delivery, OfWindowsThatPassedWhollyTheNewestReachedItsCutoffAndOlderOnesAreOneMissedRange) {
  PlannedSubject ada = delivery("08:00", "", R"(, "on_cutoff": {"type": "reset", "payload": {"a": 1}})");
  ada.overrides.payload = R"({"chat": 17})";
  ada.make(utc("2026-01-01T10:00:00Z"));
  const SubjectPlan plan = ada.plan(utc("2026-01-06T07:30:00Z"));
  EXPECT_THAT(closed_in(plan),
              ElementsAre("2026-01-02..2026-01-04 missed misfire x3", "2026-01-05 cutoff_reached deadline x1"));
  ASSERT_EQ(plan.jobs.size(), 1U) << "the open window is planned all the same";
  EXPECT_EQ(day_of(plan.jobs[0]), "2026-01-06");
  ASSERT_EQ(plan.follow_ups.size(), 1U);
  EXPECT_EQ(plan.follow_ups[0].type, "reset");
  EXPECT_EQ(plan.follow_ups[0].subject, "ada");
  EXPECT_EQ(plan.follow_ups[0].options.origin, Origin::dependent);
  EXPECT_EQ(plan.follow_ups[0].payload, R"({"a":1,"chat":17})");
  EXPECT_FALSE(plan.follow_ups[0].occurrence);
  EXPECT_EQ(plan.next_at, utc("2026-01-07T07:00:00Z"));
}

TEST(Delivery, OneWindowThatPassedIsNoRange) {
  PlannedSubject ada = delivery("08:00");
  ada.make(utc("2026-01-01T10:00:00Z"));
  const SubjectPlan plan = ada.plan(utc("2026-01-02T08:00:00Z"));
  EXPECT_THAT(closed_in(plan), ElementsAre("2026-01-02 cutoff_reached deadline x1"));
  EXPECT_THAT(plan.jobs, IsEmpty());
  EXPECT_THAT(plan.follow_ups, IsEmpty()) << "it has no on_cutoff";
}

TEST(Delivery, TheLocalMinuteIsDayAndDueTimeWhateverTheZone) {
  PlannedSubject ada = delivery("08:00", kNone, kNone, "Asia/Tokyo");
  ada.make(utc("2026-01-01T10:00:00Z"));
  const SubjectPlan plan = ada.plan(utc("2026-01-01T22:00:00Z"));
  EXPECT_EQ(day_of(plan.jobs.at(0)), "2026-01-02");
  EXPECT_EQ(plan.jobs[0].deadline, utc("2026-01-01T23:00:00Z"));
  EXPECT_EQ(plan.jobs[0].occurrence->local_minute, 20455 * 1440 + 480);
}

TEST(Delivery, ADayThatDoesNotExistHasNone) {
  for (const std::string_view gap : {"shift", "skip", "next_valid"}) {
    PlannedSubject ada = delivery("08:00", kNone, R"(, "dst": {"gap": ")" + std::string(gap) + "\"}", "Pacific/Apia");
    ada.make(utc("2011-12-29T00:00:00Z"));
    std::vector<std::string> days;
    for (int i = 0; i < 3; ++i) days.push_back(day_of(ada.plan(*ada.next_at).jobs.at(0)));
    EXPECT_THAT(days, ElementsAre("2011-12-29", "2011-12-31", "2012-01-01")) << gap;
  }
}

TEST(Delivery, ADueTimeInAGapFollowsThePolicy) {
  const auto cutoff = [](std::string_view gap) {
    PlannedSubject ada = delivery("01:30", kNone, R"(, "dst": {"gap": ")" + std::string(gap) + "\"}", "Europe/London");
    ada.make(utc("2026-03-28T12:00:00Z"));
    const SubjectPlan plan = ada.plan(*ada.next_at);
    return day_of(plan.jobs.at(0)) + " " + text_of(*plan.jobs[0].deadline);
  };
  EXPECT_EQ(cutoff("shift"), "2026-03-29 2026-03-29T01:30:00Z");
  EXPECT_EQ(cutoff("next_valid"), "2026-03-29 2026-03-29T01:00:00Z");
  EXPECT_EQ(cutoff("skip"), "2026-03-30 2026-03-30T00:30:00Z");
}

TEST(Delivery, ADueTimeThatComesTwiceIsOneDelivery) {
  const auto cutoff = [](std::string_view overlap) {
    PlannedSubject ada =
        delivery("01:30", kNone, R"(, "dst": {"overlap": ")" + std::string(overlap) + "\"}", "Europe/London");
    ada.make(utc("2026-10-24T12:00:00Z"));
    std::vector<std::string> cutoffs;
    for (int i = 0; i < 2; ++i) cutoffs.push_back(text_of(*ada.plan(*ada.next_at).jobs.at(0).deadline));
    return cutoffs;
  };
  EXPECT_THAT(cutoff("first"), ElementsAre("2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"));
  EXPECT_THAT(cutoff("second"), ElementsAre("2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"));
}

TEST(Delivery, SpreadLeavesRoomForOneRetry) {
  PlannedSubject ada = delivery("08:00", R"(, "spread": true)");
  Instant earliest = kInstantMax;
  Instant latest = kInstantMin;
  for (int i = 0; i < 500; ++i) {
    PlannedSubject other = ada;
    other.name = "user-" + std::to_string(i);
    other.make(utc("2026-01-01T10:00:00Z"));
    const NewJob job = other.plan(utc("2026-01-02T07:00:00Z")).jobs.at(0);
    EXPECT_EQ(other.next_at, utc("2026-01-03T07:00:00Z"));
    earliest = std::min(earliest, *job.run_at);
    latest = std::max(latest, *job.run_at);
  }
  // 60m - 10m - 5m
  EXPECT_GE(earliest, utc("2026-01-02T07:00:00Z"));
  EXPECT_LE(latest, utc("2026-01-02T07:45:00Z"));
  EXPECT_LT(earliest, utc("2026-01-02T07:02:00Z"));
  EXPECT_GT(latest, utc("2026-01-02T07:43:00Z"));
}

TEST(Delivery, SpreadIsClampedAtNothing) {
  PlannedSubject ada = delivery("08:00", R"(, "spread": true, "window": "10m")");
  ada.make(utc("2026-01-01T10:00:00Z"));
  EXPECT_EQ(ada.plan(utc("2026-01-02T07:50:00Z")).jobs.at(0).run_at, utc("2026-01-02T07:50:00Z"));
}

TEST(Delivery, AnOpenWindowKeepsItsCutoffAndAChangeAppliesFromTheFirstLaterDayThatIsAhead) {
  PlannedSubject ada = delivery("08:00");
  ada.make(utc("2026-01-01T10:00:00Z"));
  ada.plan(utc("2026-01-02T07:00:00Z"));
  ada.overrides.due = test::value_of(parse_time_of_day("09:00"));
  const SubjectPlan edited = ada.edit(utc("2026-01-02T07:30:00Z"));
  EXPECT_THAT(closed_in(edited), IsEmpty());
  EXPECT_THAT(edited.changes, IsEmpty()) << "the open job is left alone";
  EXPECT_EQ(ada.next_at, utc("2026-01-03T08:00:00Z")) << "no second job for the 2nd";
}

TEST(Delivery, ADayThatFallsOutIsSkippedAsRescheduled) {
  PlannedSubject ada = delivery("20:00");
  ada.make(utc("2026-01-01T21:00:00Z"));
  ada.overrides.due = test::value_of(parse_time_of_day("09:00"));
  const SubjectPlan edited = ada.edit(utc("2026-01-02T10:00:00Z"));
  EXPECT_THAT(closed_in(edited), ElementsAre("2026-01-02 skipped rescheduled x1"));
  EXPECT_EQ(ada.next_at, utc("2026-01-03T08:00:00Z"));
  // Back again: the day has its outcome, and keeps it.
  ada.overrides.due.reset();
  EXPECT_THAT(closed_in(ada.edit(utc("2026-01-02T11:00:00Z"))), IsEmpty());
  EXPECT_EQ(ada.next_at, utc("2026-01-03T19:00:00Z"));
}

TEST(Delivery, AChangeThatMovesTheNextWindowOverNowOpensItAtOnce) {
  PlannedSubject ada = delivery("20:00");
  ada.make(utc("2026-01-01T21:00:00Z"));
  ada.overrides.due = test::value_of(parse_time_of_day("10:30"));
  ada.edit(utc("2026-01-02T10:00:00Z"));
  const SubjectPlan plan = ada.plan(utc("2026-01-02T10:00:00Z"));
  ASSERT_EQ(plan.jobs.size(), 1U);
  EXPECT_EQ(plan.jobs[0].deadline, utc("2026-01-02T10:30:00Z"));
  EXPECT_EQ(plan.jobs[0].run_at, utc("2026-01-02T10:00:00Z")) << "it begins with the change";
}

TEST(Delivery, AChangeOfZoneNeverGivesADayTwice) {
  PlannedSubject ada = delivery("08:00", kNone, kNone, "Pacific/Pago_Pago");
  ada.make(utc("2026-01-01T10:00:00Z"));
  EXPECT_EQ(day_of(ada.plan(utc("2026-01-01T18:00:00Z")).jobs.at(0)), "2026-01-01");
  ada.zone = test::zone("Pacific/Kiritimati");
  EXPECT_THAT(closed_in(ada.edit(utc("2026-01-01T18:30:00Z"))), ElementsAre("2026-01-02 skipped rescheduled x1"));
  // 25 hours further east the due time of the 2nd has just passed.
  EXPECT_EQ(ada.next_at, utc("2026-01-02T17:00:00Z"));
  EXPECT_EQ(day_of(ada.plan(*ada.next_at).jobs.at(0)), "2026-01-03");
}

TEST(Delivery, TimeInAPauseHasNoOccurrences) {  // invariant 32
  PlannedSubject ada = delivery("08:00");
  ada.make(utc("2026-01-01T10:00:00Z"));
  const SubjectPlan resumed = ada.resume(utc("2026-01-10T07:30:00Z"));
  EXPECT_THAT(closed_in(resumed), IsEmpty());
  const SubjectPlan plan = ada.plan(utc("2026-01-10T07:30:00Z"));
  EXPECT_THAT(closed_in(plan), IsEmpty());
  EXPECT_EQ(day_of(plan.jobs.at(0)), "2026-01-10") << "its cutoff is ahead";
}

TEST(Delivery, AnEditOfOneThatWasPausedLeavesNoRowsForThePause) {
  PlannedSubject ada = delivery("08:00");
  ada.make(utc("2026-01-01T10:00:00Z"));
  EXPECT_THAT(closed_in(ada.edit(utc("2026-02-01T10:00:00Z"))), IsEmpty());
  EXPECT_EQ(ada.next_at, utc("2026-02-02T07:00:00Z"));
}

TEST(Delivery, ASubjectThatIsNotEnabledHasNoTime) {
  PlannedSubject ada = delivery("08:00");
  ada.make(utc("2026-01-01T10:00:00Z"));
  ada.overrides.enabled = false;
  ada.edit(utc("2026-01-01T11:00:00Z"));
  EXPECT_EQ(ada.next_at, std::nullopt);
  const SubjectPlan plan = ada.plan(utc("2026-01-05T11:00:00Z"));
  EXPECT_THAT(plan.jobs, IsEmpty());
  EXPECT_THAT(plan.closed, IsEmpty());
  EXPECT_EQ(ada.next_at, std::nullopt);
}

TEST(Delivery, ExcludedDatesAndTheEndsOfTheScheduleHaveNone) {
  PlannedSubject ada = delivery("08:00", kNone,
                                R"(, "exclude_dates": ["2026-01-03"], "starts_at": "2026-01-02T07:30:00Z",
                                   "ends_at": "2026-01-05T08:00:00Z")");
  ada.make(utc("2025-12-01T10:00:00Z"));
  std::vector<std::string> found;
  while (ada.next_at && found.size() < 10) {
    const SubjectPlan plan = ada.plan(*ada.next_at);
    found.push_back(day_of(plan.jobs.at(0)) + " " + text_of(*plan.jobs[0].run_at).substr(11, 5));
  }
  EXPECT_THAT(found, ElementsAre("2026-01-02 07:30", "2026-01-04 07:00", "2026-01-05 07:00"));
}

TEST(Delivery, OverridesOfTheSubjectGoIntoItsJob) {
  PlannedSubject ada = delivery("08:00");
  ada.overrides.priority = 1;
  ada.overrides.limits = std::vector<std::string>{"smtp"};
  ada.overrides.payload = R"({"name": "Ada"})";
  ada.make(utc("2026-01-01T10:00:00Z"));
  const NewJob job = ada.plan(utc("2026-01-02T07:00:00Z")).jobs.at(0);
  EXPECT_EQ(job.priority, 1);
  EXPECT_THAT(job.options.limits, ElementsAre("smtp"));
  EXPECT_EQ(job.payload, R"({"name": "Ada"})");
}

TEST(Delivery, ALongAbsenceIsCountedAsAtLeastSoMany) {
  PlannedSubject ada = delivery("08:00");
  ada.make(utc("2026-01-01T10:00:00Z"));
  const SubjectPlan plan = ada.plan(utc("2226-01-01T07:00:00Z"));
  ASSERT_EQ(plan.closed.size(), 2U);
  EXPECT_EQ(plan.closed[0].count, 4000);
  EXPECT_EQ(format_date(day_of_slot(*plan.closed[0].until)), "2225-12-30");
}

}  // namespace
}  // namespace carillon
