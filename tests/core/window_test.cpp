// The worked examples of windows, and the rules around them.
#include "core/kinds/windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/planned_subject.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::error_of;
using test::PlannedSubject;
using test::text_of;
using test::utc;
using test::value_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Instant kMidnight = utc("2026-01-01T00:00:00Z");

PlannedSubject windows(std::string_view more_of_trigger = "", std::string_view more = "") {
  return test::subject_of(R"({"name": "digest", "trigger": {"kind": "windows", "interval": "60m")" +
                          std::string(more_of_trigger) + R"(}, "job": {"type": "digest", "payload": {"top": 10}})" +
                          std::string(more) + "}");
}

PlannedSubject from_midnight(std::string_view more_of_trigger = "", std::string_view more = "") {
  PlannedSubject news = windows(more_of_trigger, more);
  news.name = "news";
  news.anchor(SubjectChange::What::made, kMidnight, kMidnight);
  return news;
}

// The hours at which the windows of the plan end.
std::vector<std::string> ends_of(const SubjectPlan& plan) {
  std::vector<std::string> ends;
  for (const NewJob& job : plan.jobs) ends.push_back(text_of(*job.occurrence->until).substr(11, 5));
  return ends;
}

std::vector<std::string> closed_in(const SubjectPlan& plan) {
  std::vector<std::string> lines;
  for (const ClosedOccurrences& closed : plan.closed) {
    lines.push_back(text_of(closed.first).substr(11, 5) + ".." + text_of(closed.until.value()).substr(11, 5) + " " +
                    std::string(to_string(closed.outcome)) + " " + closed.reason + " x" + std::to_string(closed.count));
  }
  return lines;
}

TEST(Windows, AtFiveAndHalfAMinuteFourHaveEndedAndTheFifthIsWithinTheLag) {
  PlannedSubject news = from_midnight();
  EXPECT_THAT(ends_of(news.plan(utc("2026-01-01T05:00:30Z"))), ElementsAre("01:00", "02:00", "03:00", "04:00"));
  EXPECT_EQ(news.next_at, utc("2026-01-01T05:01:00Z"));
  EXPECT_THAT(ends_of(news.plan(utc("2026-01-01T05:01:00Z"))), ElementsAre("05:00"));
}

TEST(Windows, AtTwentySixOpenAndAsEachClosesTheNextOpens) {
  PlannedSubject news = from_midnight();
  const Instant now = utc("2026-01-01T20:00:00Z");
  EXPECT_THAT(ends_of(news.plan(now)), ElementsAre("01:00", "02:00", "03:00", "04:00", "05:00", "06:00"));
  EXPECT_EQ(news.next_at, std::nullopt) << "what closes one gives the next its time";
  news.open_windows = 6;
  EXPECT_THAT(news.plan(now).jobs, IsEmpty());
  news.open_windows = 5;
  EXPECT_THAT(ends_of(news.plan(now)), ElementsAre("07:00"));
  news.open_windows = 4;
  EXPECT_THAT(ends_of(news.plan(now)), ElementsAre("08:00", "09:00"));
}

TEST(Windows, EachBecomesOneJobWithItsWindowInThePayload) {
  PlannedSubject news = from_midnight(R"(, "mode": "full")");
  const SubjectPlan plan = news.plan(utc("2026-01-01T01:01:00Z"));
  ASSERT_EQ(plan.jobs.size(), 1U);
  const NewJob& job = plan.jobs[0];
  EXPECT_EQ(job.payload,
            R"({"top":10,"window_start":"2026-01-01T00:00:00.000Z","window_end":"2026-01-01T01:00:00.000Z",)"
            R"("mode":"full","trigger":"scheduled","backfilled":false})");
  EXPECT_EQ(job.options.key, "run_window_acme_digest_news_20260101T000000Z_20260101T010000Z_full");
  EXPECT_EQ(job.options.origin, Origin::scheduled);
  EXPECT_EQ(job.occurrence->slot, kMidnight);
  EXPECT_EQ(job.occurrence->until, utc("2026-01-01T01:00:00Z"));
  EXPECT_EQ(job.run_at, utc("2026-01-01T01:01:00Z"));
  EXPECT_EQ(job.priority, kPriorityDefault);
  EXPECT_TRUE(check_new_job(job).has_value());
}

TEST(Windows, OneThatIsPlannedLateIsBackfilledAndStandsBehindOthers) {
  PlannedSubject news = from_midnight();
  EXPECT_THAT(news.plan(utc("2026-01-01T01:02:00Z")).jobs.at(0).payload, HasSubstr(R"("backfilled":false)"))
      << "within the grace of a minute";
  const NewJob late = news.plan(utc("2026-01-01T02:02:01Z")).jobs.at(0);
  EXPECT_THAT(late.payload, HasSubstr(R"("backfilled":true)"));
  EXPECT_EQ(late.priority, kPriorityBackfilled);

  PlannedSubject patient = from_midnight("", R"(, "misfire": {"grace": "1h"})");
  EXPECT_THAT(patient.plan(utc("2026-01-01T01:59:00Z")).jobs.at(0).payload, HasSubstr(R"("backfilled":false)"));
}

TEST(Windows, RepeatingATickIsHarmless) {
  PlannedSubject news = from_midnight();
  const Instant now = utc("2026-01-01T03:30:00Z");
  const PlannedSubject before = news;
  const SubjectPlan first = news.plan(now);
  PlannedSubject twin = before;
  const SubjectPlan same = twin.plan(now);
  ASSERT_EQ(first.jobs.size(), same.jobs.size());
  EXPECT_EQ(first.jobs[0].options.key, same.jobs[0].options.key);
  EXPECT_THAT(news.plan(now).jobs, IsEmpty());
}

TEST(Windows, EnablingWithoutACursorSavesAWindowBeforeTheMinute) {
  PlannedSubject news = windows();
  news.overrides.enabled = false;
  news.make(utc("2026-01-01T10:20:45Z"));
  EXPECT_EQ(news.cursor, std::nullopt);
  EXPECT_EQ(news.next_at, std::nullopt);
  news.overrides.enabled = true;
  news.resume(utc("2026-01-01T12:34:56Z"));
  EXPECT_EQ(news.cursor, utc("2026-01-01T11:34:00Z"));
  EXPECT_EQ(planned_end_of(news.position), utc("2026-01-01T11:34:00Z"));
  EXPECT_EQ(news.next_at, utc("2026-01-01T12:35:00Z"));
}

TEST(Windows, OneThatIsNotEnabledHasNone) {
  PlannedSubject news = from_midnight();
  news.overrides.enabled = false;
  news.edit(kMidnight + 1h);
  EXPECT_EQ(news.next_at, std::nullopt);
  EXPECT_THAT(news.plan(kMidnight + 9h).jobs, IsEmpty());
  news.overrides.enabled = true;
  news.resume(kMidnight + 3h + 1min);
  EXPECT_THAT(ends_of(news.plan(kMidnight + 3h + 1min)), ElementsAre("01:00", "02:00", "03:00"))
      << "it goes on from planned_end";
}

TEST(Windows, OlderOnesThanMaxAgeAreOneMissedRange) {
  PlannedSubject news = from_midnight(R"(, "max_age": "3h")");
  const SubjectPlan plan = news.plan(utc("2026-01-01T10:30:00Z"));
  EXPECT_THAT(closed_in(plan), ElementsAre("00:00..07:00 missed max_age x7"));
  EXPECT_THAT(ends_of(plan), ElementsAre("08:00", "09:00", "10:00"));
  // Exactly as old as allowed still runs.
  PlannedSubject edge = from_midnight(R"(, "max_age": "3h")");
  EXPECT_THAT(closed_in(edge.plan(utc("2026-01-01T04:00:00Z"))), IsEmpty());
}

TEST(Windows, AnEditOfTheIntervalAppliesFromPlannedEnd) {
  PlannedSubject news = from_midnight();
  news.plan(utc("2026-01-01T02:01:00Z"));
  news.open_windows = 2;
  news.overrides.interval = 30min;
  const SubjectPlan edited = news.edit(utc("2026-01-01T02:10:00Z"));
  EXPECT_THAT(edited.jobs, IsEmpty());
  EXPECT_THAT(edited.changes, IsEmpty());
  EXPECT_EQ(news.next_at, utc("2026-01-01T02:31:00Z"));
  const NewJob job = news.plan(utc("2026-01-01T02:31:00Z")).jobs.at(0);
  EXPECT_EQ(job.occurrence->slot, utc("2026-01-01T02:00:00Z"));
  EXPECT_EQ(job.occurrence->until, utc("2026-01-01T02:30:00Z"));
}

TEST(Windows, AnEditOfTheModeNeverRunsAWindowAgain) {
  PlannedSubject news = from_midnight();
  news.plan(utc("2026-01-01T02:01:00Z"));
  news.overrides.mode = "brief";
  EXPECT_THAT(news.edit(utc("2026-01-01T02:10:00Z")).jobs, IsEmpty());
  EXPECT_THAT(news.plan(utc("2026-01-01T02:10:00Z")).jobs, IsEmpty());
  const NewJob next = news.plan(utc("2026-01-01T03:01:00Z")).jobs.at(0);
  EXPECT_THAT(next.options.key, testing::EndsWith("_brief"));
  EXPECT_EQ(next.occurrence->slot, utc("2026-01-01T02:00:00Z"));
}

TEST(Windows, RaisingTheCursorClosesWhatItJumpsOverAsOneMissedRange) {  // invariant 20
  PlannedSubject news = from_midnight();
  news.plan(utc("2026-01-01T01:01:00Z"));
  ASSERT_TRUE(check_cursor(news.facts(utc("2026-01-01T01:30:00Z")), utc("2026-01-01T04:20:00Z")));
  const SubjectPlan set =
      news.anchor(SubjectChange::What::edited, utc("2026-01-01T01:30:00Z"), utc("2026-01-01T04:20:00Z"));
  EXPECT_THAT(closed_in(set), ElementsAre("01:00..04:20 missed cursor_set x4"));
  EXPECT_EQ(news.cursor, utc("2026-01-01T04:20:00Z"));
  EXPECT_EQ(news.next_at, utc("2026-01-01T05:21:00Z"));
}

TEST(Windows, TheCursorNeverFallsAndIsNotSetIntoWindowsThatHaveJobs) {
  PlannedSubject news = from_midnight();
  news.plan(utc("2026-01-01T03:01:00Z"));
  const PlanFacts facts = news.facts(utc("2026-01-01T03:30:00Z"));
  EXPECT_TRUE(check_cursor(facts, kMidnight)) << "saying the same again is no change";
  EXPECT_EQ(error_of(check_cursor(facts, kMidnight - 1h)).code, ErrorCode::conflict);
  EXPECT_THAT(error_of(check_cursor(facts, kMidnight - 1h)).message, HasSubstr("may only be raised"));
  EXPECT_EQ(error_of(check_cursor(facts, kMidnight + 1h)).code, ErrorCode::conflict);
  EXPECT_TRUE(check_cursor(facts, kMidnight + 3h)) << "over all of them";
  news.anchor(SubjectChange::What::edited, utc("2026-01-01T03:30:00Z"), kMidnight);
  EXPECT_EQ(planned_end_of(news.position), kMidnight + 3h) << "nothing is planned again";
}

TEST(Windows, AManualRunHasItsOwnKeyAndNoOccurrence) {
  PlannedSubject news = from_midnight(R"(, "mode": "full")");
  const PlanFacts facts = news.facts(kMidnight + 9h);
  const Window window{.start = kMidnight + 10min, .end = kMidnight + 20min};
  const NewJob job = value_of(manual_window(facts, window, JobId{77}, std::nullopt, std::nullopt));
  EXPECT_EQ(job.options.key,
            "run_window_acme_digest_news_20260101T001000Z_20260101T002000Z_full_manual_" + format_job_id(JobId{77}));
  EXPECT_EQ(job.id, JobId{77});
  EXPECT_EQ(job.options.origin, Origin::manual);
  EXPECT_EQ(job.priority, kPriorityManual);
  EXPECT_EQ(job.subject, "news");
  EXPECT_FALSE(job.occurrence);
  EXPECT_THAT(job.payload, HasSubstr(R"("trigger":"manual","backfilled":false)"));
  EXPECT_THAT(value_of(manual_window(facts, window, JobId{78}, R"({"a": [1, 2]})", 5)).payload,
              testing::StartsWith(R"({"top":10,"a":[1, 2],"window_start":)"))
      << "merged over the template's";
  EXPECT_EQ(job.options.beside, (BesideOccurrence{.schedule = "digest", .slot = window.start}));
  EXPECT_EQ(error_of(manual_window(facts, {.start = kMidnight, .end = kMidnight}, JobId{1}, {}, {})).code,
            ErrorCode::invalid_request);
  EXPECT_EQ(error_of(manual_window(facts, window, JobId{1}, "[1]", {})).code, ErrorCode::invalid_request);
}

TEST(Windows, ABackfillIsAListOfWholeWindowsThatAreOver) {
  PlannedSubject news = from_midnight();
  const PlanFacts facts = news.facts(kMidnight + 9h);
  EXPECT_EQ(value_of(backfill_windows(facts, {.start = kMidnight - 2h, .end = kMidnight + 1h})).size(), 3U);
  EXPECT_EQ(value_of(backfill_windows(facts, {.start = kMidnight - 2h, .end = kMidnight + 1h})).back(),
            (Window{.start = kMidnight, .end = kMidnight + 1h}));
  EXPECT_THAT(error_of(backfill_windows(facts, {.start = kMidnight, .end = kMidnight + 90min})).message,
              HasSubstr("no whole number of windows of 1h"));
  EXPECT_THAT(error_of(backfill_windows(facts, {.start = kMidnight, .end = kMidnight + 10h})).message,
              HasSubstr("not over yet"));
  EXPECT_THAT(error_of(backfill_windows(facts, {.start = kMidnight - 24h * 3650, .end = kMidnight})).message,
              HasSubstr("at most 10000"));
  EXPECT_EQ(error_of(backfill_windows(facts, {.start = kMidnight, .end = kMidnight})).code, ErrorCode::invalid_request);
  const PlannedSubject other =
      test::subject_of(R"({"name": "d", "trigger": {"kind": "delivery", "due": "08:00"}, "job": {"type": "t"}})");
  EXPECT_THAT(error_of(backfill_windows(other.facts(kMidnight), {.start = kMidnight - 1h, .end = kMidnight})).message,
              HasSubstr("has no windows"));
}

TEST(Windows, TheScheduleEndsWithTheLastWholeWindow) {
  PlannedSubject news = from_midnight("", R"(, "ends_at": "2026-01-01T02:30:00Z")");
  EXPECT_THAT(ends_of(news.plan(kMidnight + 9h)), ElementsAre("01:00", "02:00"));
  EXPECT_EQ(news.next_at, std::nullopt);
}

TEST(Windows, ASubjectThatComesBackGoesOnBehindItsPosition) {  // invariant 1
  PlannedSubject news = windows();
  news.position = utc("2026-01-01T11:59:30Z");  // of an earlier life
  news.make(utc("2026-01-01T12:10:20Z"));
  EXPECT_EQ(news.cursor, utc("2026-01-01T12:00:00Z"));
  EXPECT_EQ(news.next_at, utc("2026-01-01T13:01:00Z"));
}

TEST(Windows, JitterMovesWhenAJobRunsAndNeverTheWindow) {
  PlannedSubject news = from_midnight("", R"(, "jitter": "30m")");
  const NewJob job = news.plan(kMidnight + 1h + 1min).jobs.at(0);
  EXPECT_EQ(job.occurrence->slot, kMidnight);
  EXPECT_GE(*job.run_at, kMidnight + 1h + 1min);
  EXPECT_LE(*job.run_at, kMidnight + 1h + 31min);
}

}  // namespace
}  // namespace carillon
