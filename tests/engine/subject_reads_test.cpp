// What people see of subjects: lists page by page, states, outcomes, previews and explanations.
#include "engine/support/engine_test.h"

namespace carillon::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kDigest = R"({"name": "digest", "trigger": {"kind": "delivery", "due": "08:00"},
  "job": {"type": "work", "payload": {"top": 10}}})";
constexpr std::string_view kSync =
    R"({"name": "sync", "trigger": {"kind": "windows", "interval": "1h", "max_backfill": 2},
  "job": {"type": "work", "retry": {"kind": "fixed", "delay": "10m"}}})";
constexpr std::string_view kWatch = R"({"name": "watch", "trigger": {"kind": "adaptive",
  "bands": [{"within": "24h", "every": "10m"}], "otherwise": "4h"}, "job": {"type": "work"}})";

class EngineShowsSubjects : public EngineTest {
 protected:
  void put(std::string_view definition) { value_of(client().put_schedule(kTenant, definition)); }
  SubjectInfo put(std::string_view schedule, std::string_view subject, std::string_view body = "{}") {
    return value_of(client().put_subject(kTenant, schedule, subject, body)).info;
  }
  SubjectInfo subject(std::string_view schedule, std::string_view name) {
    return value_of(client().subject(kTenant, schedule, name));
  }
  Explanation explain(std::string_view schedule, std::string_view name) {
    return value_of(client().explain_schedule(kTenant, schedule, name));
  }
  std::vector<std::string> listed(const SubjectQuery& query) {
    std::vector<std::string> names;
    std::string cursor;
    for (int page = 0; page < 100; ++page) {
      const SubjectList list = value_of(client().subjects(kTenant, "digest", query, cursor, 2));
      for (const SubjectInfo& info : list.subjects) names.push_back(info.subject);
      cursor = list.next_cursor;
      if (cursor.empty()) return names;
    }
    ADD_FAILURE() << "the pages do not end";
    return names;
  }
};

TEST_P(EngineShowsSubjects, PageByPageByNameOrTime) {
  put(kDigest);
  put("digest", "b", R"({"due": "13:00"})");
  put("digest", "a", R"({"due": "14:00"})");
  put("digest", "c", R"({"due": "15:00", "enabled": false})");
  put("digest", "ab", R"({"due": "16:00"})");
  EXPECT_THAT(listed({}), ElementsAre("a", "ab", "b", "c"));
  EXPECT_THAT(listed({.prefix = "a"}), ElementsAre("a", "ab"));
  EXPECT_THAT(listed({.enabled = false}), ElementsAre("c"));
  EXPECT_THAT(listed({.due_until = kInstantMax}), ElementsAre("b", "a", "ab"));
  EXPECT_THAT(listed({.status = ""}), SizeIs(4));
  EXPECT_EQ(error_of(client().subjects(kTenant, "digest", {}, "t:5:a", 2)).field, "cursor");
  EXPECT_EQ(error_of(client().subjects(kTenant, "digest", {.due_until = kInstantMax}, "n:a", 2)).field, "cursor");
}

TEST_P(EngineShowsSubjects, ADeliveryThroughItsDay) {
  handle_counted("work");
  put(kDigest);
  put("digest", "ada");
  EXPECT_EQ(subject("digest", "ada").next_at, at("2026-03-03T07:00:00Z"));
  EXPECT_EQ(explain("digest", "ada").summary,
            "next: day 2026-03-03, from 2026-03-03T07:00:00.000Z until its cutoff at 2026-03-03T08:00:00.000Z");
  advance(24h);
  const SubjectInfo ada = subject("digest", "ada");
  EXPECT_EQ(ada.status, "success");
  EXPECT_EQ(ada.last_slot, "2026-03-03");
  EXPECT_FALSE(ada.open_job);
  const auto minutes = value_of(client().outcomes_of_day(kTenant, "digest", "2026-03-03"));
  ASSERT_THAT(minutes, SizeIs(1));
  EXPECT_EQ(minutes[0].minute, 480);
  EXPECT_EQ(minutes[0].outcome, "success");
  const OutcomeList items = value_of(client().outcome_items(kTenant, "digest", {}, "", 10));
  ASSERT_THAT(items.items, SizeIs(1));
  EXPECT_EQ(items.items[0].slot, "2026-03-03");
  EXPECT_EQ(error_of(client().outcomes_of_day(kTenant, "digest", "3 March")).field, "date");
  EXPECT_EQ(error_of(client().outcome_items(kTenant, "digest", {}, "zz", 10)).field, "cursor");
}

TEST_P(EngineShowsSubjects, AnOpenDayWithItsAttempts) {
  handle("work", [](JobContext&) { return fail("no answer", "req"); });
  put(kDigest);
  put("digest", "ada", R"({"due": "12:30"})");
  run_due();
  const SubjectInfo ada = subject("digest", "ada");
  EXPECT_TRUE(ada.open_job);
  EXPECT_EQ(ada.attempts, 1U) << "it began inside of its window, and waits for its retry";
  EXPECT_EQ(ada.next_at, at("2026-03-02T12:10:00Z"));
  const Explanation explained = explain("digest", "ada");
  EXPECT_THAT(explained.summary, HasSubstr("day 2026-03-02 is open: waiting: the next attempt is at"));
  EXPECT_EQ(explained.next_at, at("2026-03-02T12:10:00Z"));
}

TEST_P(EngineShowsSubjects, WhatKeepsASubjectFromRunning) {
  put(kDigest);
  put("digest", "off", R"({"enabled": false})");
  put("digest", "on");
  EXPECT_THAT(explain("digest", "off").summary, HasSubstr("disabled"));
  EXPECT_EQ(explain("digest", "off").steps.back().why, "disabled");
  EXPECT_THAT(explain("digest", "").summary, HasSubstr("2 subjects, the next is \"on\" at"));
  value_of(client().pause(kTenant, "digest"));
  EXPECT_EQ(explain("digest", "on").summary, "its schedule is paused until it is resumed");
  EXPECT_EQ(explain("digest", "on").steps.back().why, "paused");
  EXPECT_EQ(subject("digest", "on").next_at, std::nullopt);
  const ScheduleInfo resumed = value_of(client().resume(kTenant, "digest"));
  EXPECT_EQ(resumed.paused_until, std::nullopt);
  EXPECT_EQ(resumed.next_at, at("2026-03-03T07:00:00Z"));
}

TEST_P(EngineShowsSubjects, AsManyWindowsAreOpenAsMayBe) {
  handle("work", [](JobContext&) { return fail("no answer", "req"); });
  put(kSync);
  put("sync", "news", R"({"cursor_end": "2026-03-02T06:00:00Z"})");
  run_due();
  const SubjectInfo news = subject("sync", "news");
  EXPECT_EQ(news.cursor_end, at("2026-03-02T06:00:00Z"));
  EXPECT_EQ(news.planned_end, at("2026-03-02T08:00:00Z"));
  const Explanation explained = explain("sync", "news");
  EXPECT_THAT(explained.summary, HasSubstr("2 windows are open, as many as may be"));
  EXPECT_EQ(explained.steps.back().why, "max_backfill");
}

TEST_P(EngineShowsSubjects, ACheckAndItsCadence) {
  put(kWatch);
  put("watch", "acme", R"({"expected_at": "2026-03-02T20:00:00Z"})");
  EXPECT_EQ(subject("watch", "acme").cadence_state, "1d");
  EXPECT_THAT(explain("watch", "acme").summary, HasSubstr("(cadence 1d)"));
  EXPECT_THAT(value_of(client().preview(kTenant, "watch", 3, "acme")).times, SizeIs(3));
}

TEST_P(EngineShowsSubjects, PreviewsSayWhatTheyAreOf) {
  put(kDigest);
  put("digest", "ada", R"({"timezone": "Europe/Paris"})");
  const auto days = value_of(client().preview(kTenant, "digest", 2, "ada")).times;
  ASSERT_THAT(days, SizeIs(2));
  EXPECT_EQ(days[0].day, "2026-03-03");
  EXPECT_EQ(days[0].at, at("2026-03-03T06:00:00Z"));
  EXPECT_EQ(days[0].cutoff, at("2026-03-03T07:00:00Z"));
  EXPECT_EQ(value_of(client().preview(kTenant, "digest", 1)).times[0].cutoff, at("2026-03-03T08:00:00Z"));
  put(kSync);
  const auto windows = value_of(client().preview(kTenant, "sync", 1)).times;
  ASSERT_THAT(windows, SizeIs(1));
  EXPECT_EQ(windows[0].window_end, *windows[0].window_start + 1h);
}

TEST_P(EngineShowsSubjects, WithoutFanOutTheScheduleHasTheState) {
  put(R"({"name": "plain", "trigger": {"kind": "every", "every": "1h"}, "job": {"type": "work"}})");
  const ScheduleInfo plain = value_of(client().schedule(kTenant, "plain"));
  ASSERT_TRUE(plain.state.has_value());
  EXPECT_EQ(plain.state->next_at, plain.next_at);
  EXPECT_FALSE(plain.fan_out);
  EXPECT_EQ(error_of(client().subjects(kTenant, "plain", {}, "", 10)).code, ErrorCode::conflict);
  EXPECT_EQ(error_of(client().subject(kTenant, "plain", "x")).code, ErrorCode::conflict);
  EXPECT_EQ(error_of(client().explain_schedule(kTenant, "plain", "x")).code, ErrorCode::conflict);
  EXPECT_EQ(error_of(client().preview(kTenant, "plain", 1, "x")).code, ErrorCode::conflict);
  put(kDigest);
  EXPECT_EQ(error_of(client().subject(kTenant, "digest", "x")).code, ErrorCode::not_found);
  EXPECT_EQ(error_of(client().subject(kTenant, "none", "x")).code, ErrorCode::not_found);
  const ScheduleInfo digest = value_of(client().schedule(kTenant, "digest"));
  EXPECT_TRUE(digest.fan_out);
  EXPECT_FALSE(digest.state.has_value());
}

OVER_EVERY_STORE(EngineShowsSubjects);

}  // namespace
}  // namespace carillon::test
