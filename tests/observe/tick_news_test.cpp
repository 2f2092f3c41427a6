#include "observe/tick_news.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <carillon/event_log.h>
#include "support/results.h"
#include "support/scratch_folder.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::value_of;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Instant kNoon = std::chrono::sys_days(std::chrono::year(2026) / 3 / 2) + 12h;

struct Idle {
  Instant at = kNoon;
  TickStopped tick;
  QueueDepth queue;
  InFlight level{.in_flight = 0, .max_concurrency = 8};
};

// The samples of one tick, in the order in which a node tells them.
std::vector<Event> samples(const Idle& idle) {
  return {{.at = idle.at, .body = idle.queue}, {.at = idle.at, .body = idle.level}, {.at = idle.at, .body = idle.tick}};
}

// The names of what was news among them.
std::vector<std::string> news_of(TickNews& news, const Idle& idle) {
  std::vector<std::string> names;
  for (const Event& event : samples(idle)) {
    if (news.is_news(event)) names.emplace_back(name_of(event));
  }
  return names;
}

TEST(TickNews, AServerThatDoesNothingIsToldOfOnce) {
  TickNews news;
  EXPECT_THAT(news_of(news, {}), ElementsAre("sched.queue.depth", "sched.executor.in_flight", "sched.tick.stop"));
  for (int i = 0; i < 1000; ++i) {
    EXPECT_THAT(news_of(news, {.at = kNoon + i * 1s, .tick = {.duration = i * 1us}}), IsEmpty());
  }
}

TEST(TickNews, EachIsToldWhenItChanges) {
  TickNews news;
  news_of(news, {});
  EXPECT_THAT(news_of(news, {.queue = {.depth = 1}}), ElementsAre("sched.queue.depth"));
  EXPECT_THAT(news_of(news, {.queue = {.depth = 1}}), IsEmpty());
  EXPECT_THAT(news_of(news, {}), ElementsAre("sched.queue.depth"));
  EXPECT_THAT(news_of(news, {.level = {.in_flight = 1, .max_concurrency = 8}}),
              ElementsAre("sched.executor.in_flight"));
  EXPECT_THAT(news_of(news, {.level = {.in_flight = 1, .max_concurrency = 4}}),
              ElementsAre("sched.executor.in_flight"));
  const Idle open{.tick = {.eligible_in_window = 3}, .level = {.in_flight = 1, .max_concurrency = 4}};
  EXPECT_THAT(news_of(news, open), ElementsAre("sched.tick.stop"));
  EXPECT_THAT(news_of(news, open), IsEmpty());
}

TEST(TickNews, ATickThatDidSomethingIsAlwaysTold) {
  for (const TickStopped& tick :
       {TickStopped{.users_scanned = 1}, TickStopped{.enqueued = 1}, TickStopped{.cutoff_finalized = 1}}) {
    TickNews news;
    news_of(news, {});
    EXPECT_THAT(news_of(news, {.tick = tick}), ElementsAre("sched.tick.stop"));
    EXPECT_THAT(news_of(news, {.tick = tick}),
                ElementsAre("sched.queue.depth", "sched.executor.in_flight", "sched.tick.stop"));
  }
}

TEST(TickNews, WhateverElseHappensIsFollowedByOneOfEach) {
  TickNews news;
  news_of(news, {});
  EXPECT_TRUE(news.is_news({.at = kNoon, .body = JobStopped{.tenant = "t", .type = "x", .error_class = {}}}));
  EXPECT_TRUE(news.is_news({.at = kNoon, .body = LeaseLost{}}));
  EXPECT_THAT(news_of(news, {}), ElementsAre("sched.queue.depth", "sched.executor.in_flight", "sched.tick.stop"));
  EXPECT_THAT(news_of(news, {}), IsEmpty());
}

TEST(TickNews, EveryDayHasTheDepthOfItsQueue) {
  TickNews news;
  news_of(news, {});
  EXPECT_THAT(news_of(news, {.at = kNoon + 24h}), ElementsAre("sched.queue.depth"));
}

TEST(EventLog, AFileThatIsBegunAnewBeginsWithWhatIs) {
  const test::ScratchFolder folder;
  EventLog log = value_of(EventLog::open((folder.path() / "events").string()));
  const auto lines = [&] { return std::ranges::count(folder.read("events"), '\n'); };
  for (int i = 0; i < 3; ++i) std::ranges::for_each(samples({}), [&](const Event& event) { log.hear(event); });
  EXPECT_EQ(lines(), 3);
  std::filesystem::rename(folder.path() / "events", folder.path() / "events.1");
  ASSERT_TRUE(log.reopen());
  for (int i = 0; i < 3; ++i) std::ranges::for_each(samples({}), [&](const Event& event) { log.hear(event); });
  EXPECT_EQ(lines(), 3);
}

}  // namespace
}  // namespace carillon
