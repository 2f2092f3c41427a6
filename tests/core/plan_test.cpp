#include "core/schedules/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/times.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::utc;
using test::value_of;

constexpr Instant kMidnight = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);

Schedule hourly(std::string_view more = "") {
  return value_of(parse_schedule(R"({"name": "hourly", "trigger": {"kind": "cron", "cron": "0 * * * *"},
      "job": {"type": "t", "queue": "q", "payload": {"a": 1}, "tags": ["x"]})" +
                                 std::string(more) + "}"));
}

Timetable times_of(const Schedule& schedule) { return value_of(timetable_of(schedule, Zone::utc(), kMidnight)); }

JobId no_id() {
  ADD_FAILURE() << "no job of this plan waits for another one";
  return {};
}

SubjectPlan plan_at(const Schedule& schedule, Instant next_at, Instant now, std::optional<Instant> position = {}) {
  const Timetable timetable = times_of(schedule);
  return plan_subject({.tenant = "acme",
                       .schedule = schedule,
                       .timetable = &timetable,
                       .subject = "",
                       .next_at = next_at,
                       .position = position,
                       .now = now,
                       .open = {},
                       .new_job_id = no_id});
}

TEST(Plan, ADueOccurrenceBecomesAJobOfTheTemplate) {
  const SubjectPlan plan = plan_at(hourly(), kMidnight + 5h, kMidnight + 5h);
  ASSERT_EQ(plan.jobs.size(), 1U);
  const NewJob& job = plan.jobs.front();
  EXPECT_EQ(job.tenant, "acme");
  EXPECT_EQ(job.type, "t");
  EXPECT_EQ(job.queue, "q");
  EXPECT_EQ(job.payload, R"({"a": 1})");
  EXPECT_EQ(job.priority, kPriorityDefault);
  EXPECT_EQ(job.run_at, kMidnight + 5h);
  EXPECT_EQ(job.options.origin, Origin::scheduled);
  EXPECT_THAT(job.options.tags, testing::ElementsAre("x"));
  EXPECT_EQ(job.occurrence, (OccurrenceKey{.schedule = "hourly",
                                           .subject = "",
                                           .slot = kMidnight + 5h,
                                           .until = {},
                                           .local_minute = 20454 * 1440 + 300}));
  EXPECT_FALSE(job.id);
  EXPECT_TRUE(job.depends_on.empty());
  EXPECT_TRUE(check_new_job(job).has_value());
  EXPECT_EQ(plan.position, kMidnight + 5h);
  EXPECT_EQ(plan.next_at, kMidnight + 6h);
  EXPECT_TRUE(plan.closed.empty());
}

TEST(Plan, NothingIsDueBeforeItsTime) {
  const SubjectPlan plan = plan_at(hourly(), kMidnight + 5h, kMidnight + 5h - 1us, kMidnight + 4h);
  EXPECT_TRUE(plan.jobs.empty());
  EXPECT_EQ(plan.position, kMidnight + 4h);
  EXPECT_EQ(plan.next_at, kMidnight + 5h);
}

TEST(Plan, WhatIsLateAndDoesNotRunIsOneMissedRange) {  // invariants 3, 33
  const SubjectPlan plan = plan_at(hourly(), kMidnight + 1h, kMidnight + 8h + 30min);
  ASSERT_EQ(plan.jobs.size(), 1U);
  EXPECT_EQ(plan.jobs.front().occurrence->slot, kMidnight + 8h);
  ASSERT_EQ(plan.closed.size(), 1U);
  const ClosedOccurrences& closed = plan.closed.front();
  EXPECT_EQ(closed.first, kMidnight + 1h);
  EXPECT_EQ(closed.until, kMidnight + 7h);
  EXPECT_EQ(closed.count, 7);
  EXPECT_EQ(closed.outcome, JobState::missed);
  EXPECT_EQ(closed.reason, "misfire");
}

TEST(Plan, ASingleMissedOccurrenceIsNoRange) {
  const SubjectPlan plan = plan_at(hourly(R"(, "misfire": {"policy": "skip"})"), kMidnight + 5h, kMidnight + 5h + 2min);
  EXPECT_TRUE(plan.jobs.empty());
  ASSERT_EQ(plan.closed.size(), 1U);
  EXPECT_FALSE(plan.closed.front().until.has_value());
  EXPECT_EQ(plan.closed.front().count, 1);
  EXPECT_EQ(plan.position, kMidnight + 5h) << "a missed occurrence is handled too";
}

TEST(Plan, BackfilledJobsStandBehindUnlessTheTemplateHasAPriority) {
  const auto priorities = [](std::string_view more) {
    const Schedule schedule = value_of(parse_schedule(
        R"({"name": "n", "misfire": {"policy": "all", "max": 2}, "trigger": {"kind": "cron", "cron": "0 * * * *"},
            "job": {"type": "t")" +
        std::string(more) + "}}"));
    std::vector<int> found;
    for (const NewJob& job : plan_at(schedule, kMidnight + 1h, kMidnight + 5h).jobs) found.push_back(job.priority);
    return found;
  };
  EXPECT_THAT(priorities(""), testing::ElementsAre(4, 4, 3));
  EXPECT_THAT(priorities(R"(, "priority": 1)"), testing::ElementsAre(1, 1, 1));
  EXPECT_THAT(priorities(R"(, "priority": 5)"), testing::ElementsAre(5, 5, 5));
}

TEST(Plan, WhatLiesAtOrBelowThePositionIsNeverPlannedAgain) {  // invariant 1
  const SubjectPlan plan = plan_at(hourly(), kMidnight + 2h, kMidnight + 5h, kMidnight + 5h);
  EXPECT_TRUE(plan.jobs.empty());
  EXPECT_TRUE(plan.closed.empty());
  EXPECT_EQ(plan.position, kMidnight + 5h);
  EXPECT_EQ(plan.next_at, kMidnight + 6h);
}

TEST(Plan, AClockThatStepsBackRepeatsNothing) {
  const SubjectPlan plan = plan_at(hourly(), kMidnight + 6h, kMidnight + 2h, kMidnight + 5h);
  EXPECT_TRUE(plan.jobs.empty());
  EXPECT_EQ(plan.position, kMidnight + 5h);
  EXPECT_EQ(plan.next_at, kMidnight + 6h);
}

TEST(Plan, AfterTheLastOccurrenceThereIsNoNextTime) {
  const SubjectPlan plan =
      plan_at(hourly(R"(, "ends_at": "2026-01-01T05:30:00Z")"), kMidnight + 5h, kMidnight + 5h + 1s);
  EXPECT_EQ(plan.jobs.size(), 1U);
  EXPECT_FALSE(plan.next_at.has_value());
  EXPECT_EQ(plan.position, kMidnight + 5h);
}

TEST(Plan, MoreThanFitsIsPlannedInSeveralRounds) {
  const Schedule schedule =
      value_of(parse_schedule(R"({"name": "n", "trigger": {"kind": "every", "every": "1s"}, "misfire": {"grace": "1h"},
          "job": {"type": "t"}})"));
  const Instant now = kMidnight + 50min;
  std::optional<Instant> next = kMidnight + 1s;
  std::optional<Instant> position;
  std::size_t planned = 0;
  int rounds = 0;
  while (next && *next <= now) {
    ASSERT_LT(++rounds, 10);
    const SubjectPlan plan = plan_at(schedule, *next, now, position);
    EXPECT_LE(plan.jobs.size(), kDueSlotsMax);
    planned += plan.jobs.size();
    EXPECT_EQ(plan.next_at, *plan.position + 1s);
    next = plan.next_at;
    position = plan.position;
  }
  EXPECT_EQ(planned, 3000U);
  EXPECT_EQ(rounds, 3);
}

TEST(Plan, JitterMovesTheRunAndNotTheOccurrence) {
  const Schedule schedule = hourly(R"(, "jitter": "10m")");
  const NewJob job = plan_at(schedule, kMidnight + 5h, kMidnight + 5h).jobs.front();
  EXPECT_EQ(job.occurrence->slot, kMidnight + 5h);
  EXPECT_GE(*job.run_at, kMidnight + 5h);
  EXPECT_LE(*job.run_at, kMidnight + 5h + 10min);
  EXPECT_EQ(plan_at(schedule, kMidnight + 5h, kMidnight + 5h + 1s).jobs.front().run_at, job.run_at) << "the same again";
}

TEST(PlanAfter, ADependentTakesItsParentsSlot) {  // invariant 31
  const Schedule schedule = value_of(parse_schedule(
      R"({"name": "report", "trigger": {"kind": "after", "schedule": "hourly"}, "job": {"type": "r"}})"));
  const NewJob job = plan_after("acme", schedule, "s", kMidnight + 5h, JobId{77});
  EXPECT_EQ(job.tenant, "acme");
  EXPECT_EQ(job.type, "r");
  EXPECT_EQ(job.options.origin, Origin::dependent);
  EXPECT_EQ(job.options.parent, JobId{77});
  EXPECT_EQ(job.occurrence, (OccurrenceKey{.schedule = "report", .subject = "s", .slot = kMidnight + 5h}));
  EXPECT_FALSE(job.run_at.has_value());
  EXPECT_EQ(job.priority, kPriorityDefault);
}

TEST(ManualJob, BelongsToNoOccurrence) {
  const NewJob job = manual_job("acme", hourly(), "s", std::nullopt, std::nullopt);
  EXPECT_EQ(job.options.origin, Origin::manual);
  EXPECT_EQ(job.priority, 2);
  EXPECT_EQ(job.subject, "s");
  EXPECT_FALSE(job.occurrence.has_value());
  EXPECT_EQ(job.payload, R"({"a": 1})");

  const NewJob told = manual_job("acme", hourly(), "", "[1]", 5);
  EXPECT_EQ(told.priority, 5);
  EXPECT_EQ(told.payload, "[1]");
  EXPECT_EQ(manual_job("acme", hourly(), "", R"({"b": 2})", {}).payload, R"({"a":1,"b":2})");
  EXPECT_EQ(told.options.beside, (BesideOccurrence{.schedule = hourly().name, .slot = {}}));
}

TEST(ManualJob, IsNeverBehindWhatThePlanWouldMake) {
  const auto priority = [](std::string_view planned, std::optional<int> told) {
    const Schedule schedule = value_of(parse_schedule(R"({"name": "n", "trigger": {"kind": "every", "every": "1h"},
        "job": {"type": "t", "priority": )" + std::string(planned) +
                                                      "}}"));
    return manual_job("acme", schedule, "", std::nullopt, told).priority;
  };
  EXPECT_EQ(priority("1", std::nullopt), 1);
  EXPECT_EQ(priority("2", std::nullopt), 2);
  EXPECT_EQ(priority("5", std::nullopt), 2);
  EXPECT_EQ(priority("1", 4), 4) << "somebody says so";
}

TEST(FirstTime, LiesAfterNowAndAfterThePosition) {  // invariant 32
  const Timetable timetable = times_of(hourly());
  EXPECT_EQ(first_time(timetable, kMidnight + 90min, std::nullopt), kMidnight + 2h);
  EXPECT_EQ(first_time(timetable, kMidnight + 2h, std::nullopt), kMidnight + 3h) << "strictly";
  EXPECT_EQ(first_time(timetable, kMidnight + 90min, kMidnight), kMidnight + 2h) << "a pause leaves no burst";
  EXPECT_EQ(first_time(timetable, kMidnight, kMidnight + 7h), kMidnight + 8h) << "nothing comes twice";
  EXPECT_EQ(first_time(test::timetable("once:2026-01-01T00:00:00Z"), kMidnight, std::nullopt), std::nullopt);
}

}  // namespace
}  // namespace carillon
