// S4's helper over a client: its arguments, its defaults.
#include <carillon/scheduler.h>

#include "engine/support/hand_node.h"

namespace carillon::test {
namespace {

class SchedulerTest : public ::testing::Test {
 protected:
  SchedulerTest() { node.settle_down(); }

 public:
  HandNode node;
  Scheduler scheduler{node.client()};
};

TEST_F(SchedulerTest, OnceTakesATimeInAnyForm) {
  const Instant when = at("2026-03-03T09:00:00Z");
  for (const AnyTime& run_at : {AnyTime(when), AnyTime("2026-03-03T09:00:00Z"), AnyTime(std::int64_t{1772528400000})}) {
    const JobId id = value_of(
        scheduler.schedule_once({.guild_id = "default", .type = "reminder.send", .payload = "{}", .run_at = run_at}));
    EXPECT_EQ(node.job(id).run_at, when);
    EXPECT_EQ(node.job(id).priority, 3);
  }
  const JobId keyed = value_of(scheduler.schedule_once(
      {.guild_id = "default", .type = "r", .payload = "1", .run_at = when, .idempotency_key = "k"}));
  EXPECT_EQ(value_of(scheduler.schedule_once(
                {.guild_id = "default", .type = "r", .payload = "1", .run_at = when, .idempotency_key = "k"})),
            keyed);
}

TEST_F(SchedulerTest, WhatOnceNeedsIsSaid) {
  EXPECT_EQ(error_of(scheduler.schedule_once({.type = "r", .run_at = node.clock.now()})).field, "guild_id");
  EXPECT_EQ(error_of(scheduler.schedule_once({.guild_id = "default", .type = "r"})).field, "run_at");
  EXPECT_EQ(error_of(scheduler.schedule_once({.guild_id = "default", .type = "r", .run_at = "soon"})).field, "run_at");
}

TEST_F(SchedulerTest, RecurringIsAScheduleThatTheSameCallFindsAgain) {
  const Scheduler::Recurring asked{.guild_id = "default",
                                   .type = "mentor.checkin.ping",
                                   .payload = R"({"pair":3})",
                                   .rrule = "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO;BYHOUR=18;BYMINUTE=0;BYSECOND=0",
                                   .tz = "Europe/London"};
  const ScheduleInfo made = value_of(scheduler.schedule_recurring(asked));
  EXPECT_EQ(made.next_at, at("2026-03-02T18:00:00Z"));
  node.pass(3 * 24h);
  const ScheduleInfo again = value_of(scheduler.schedule_recurring(asked));
  EXPECT_EQ(again.name, made.name);
  EXPECT_EQ(again.revision, made.revision);
  Scheduler::Recurring other = asked;
  other.payload = R"({"pair":4})";
  EXPECT_NE(value_of(scheduler.schedule_recurring(other)).name, made.name) << "two pairs are two schedules";
}

TEST_F(SchedulerTest, StartFromIsTheFirstTimeAndThePhase) {
  const ScheduleInfo made = value_of(scheduler.schedule_recurring({.guild_id = "default",
                                                                   .type = "digest.send",
                                                                   .rrule = "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO",
                                                                   .tz = "Europe/London",
                                                                   .start_from = "2026-03-09T09:30:00Z"}));
  EXPECT_EQ(made.next_at, at("2026-03-09T09:30:00Z"));
}

TEST_F(SchedulerTest, WhatRecurringNeedsIsSaid) {
  EXPECT_EQ(error_of(scheduler.schedule_recurring({.guild_id = "default", .type = "t", .rrule = "FREQ=DAILY"})).field,
            "tz");
  EXPECT_EQ(error_of(scheduler.schedule_recurring({.guild_id = "default", .type = "t", .tz = "UTC"})).field, "rrule");
  EXPECT_EQ(error_of(scheduler.schedule_recurring({.type = "t", .rrule = "FREQ=DAILY", .tz = "UTC"})).field,
            "guild_id");
}

}  // namespace
}  // namespace carillon::test
