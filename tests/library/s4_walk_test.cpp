// S4's guild scheduler on the library: a worker with a registry of handlers, and the helper's two calls; 18.4 to 18.16.
// Workers outside, that lease over HTTP, are walked in s4_walk_test.py.
#include <carillon/carillon.h>
#include <carillon/scheduler.h>
#include <carillon/settings.h>
#include <carillon/testing.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "library/collected.h"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

class S4Walk : public ::testing::Test {
 protected:
  S4Walk() {
    // 18.10: the registry.
    for (const char* type : {"reminder.send", "digest.send", "mentor.checkin.ping", "comms.send"}) {
      engine.handle(type, [this](JobContext& context) {
        ran.push_back(context.job());
        times.push_back(clock.now());
        return handler(context);
      });
    }
  }
  JobInfo job(JobId id, std::string_view guild = "g1") { return client.job(guild, id).value(); }
  JobId remind(std::string_view key, AnyTime run_at, bool notifies = false) {
    return scheduler
        .schedule_once({.guild_id = "g1",
                        .type = "reminder.send",
                        .payload = R"({"eventId":7})",
                        .run_at = std::move(run_at),
                        .idempotency_key = std::string(key),
                        .notifies = notifies})
        .value();
  }
  // A Discord that is told everything twice hears it once.
  Outcome send(JobContext& context) {
    context.once("reminder:7:" + format_job_id(context.job().id), [this] { ++sent; });
    return done();
  }

  // 18.9: the worker's environment.
  const EngineSettings settings =
      load_settings({.environment = std::map<std::string, std::string>{{"WORKER_POLL_MS", "1000"},
                                                                       {"WORKER_BATCH", "10"},
                                                                       {"WORKER_LEASE_MS", "60000"},
                                                                       {"WORKER_MAX_ATTEMPTS", "5"}}})
          .value();
  carillon::testing::ManualClock clock{at("2026-03-02T12:00:00Z")};  // a Monday
  carillon::testing::TestEngine engine{clock, {.engine = settings.engine}};
  Client& client = engine.client();
  Scheduler scheduler{client};
  std::vector<RunningJob> ran;
  std::vector<Instant> times;
  int sent = 0;
  std::function<Outcome(JobContext&)> handler = [this](JobContext& context) { return send(context); };
};

TEST_F(S4Walk, OnceInAnyFormOfTime) {  // 18.8 scheduleOnce; 18.3 the job
  const JobId id = remind("reminder:7:a", "2026-03-02T13:00:00Z");
  remind("reminder:7:b", std::int64_t{1772456400000});  // the same as a number
  remind("reminder:7:c", clock.now() + 1h);
  EXPECT_EQ(job(id).priority, 3) << "default 3";
  EXPECT_EQ(job(id).state, JobState::queued);
  EXPECT_EQ(job(id).attempt, 0U) << "starts at 0";
  engine.advance(1h + 30s);
  EXPECT_THAT(times, ElementsAre(at("2026-03-02T13:00:00Z"), at("2026-03-02T13:00:00Z"), at("2026-03-02T13:00:00Z")));
  EXPECT_EQ(job(id).state, JobState::done);
  EXPECT_FALSE(scheduler.schedule_once({.type = "reminder.send", .run_at = clock.now()})) << "validate: guild scoping";
}

TEST_F(S4Walk, AnEffectHappensOnceHoweverOftenItsJobIsTried) {  // 18.6; leases (18.4) are walked in s4_walk_test.py
  handler = [this](JobContext& context) {
    EXPECT_EQ(job(context.job().id).state, JobState::processing);
    EXPECT_EQ(job(context.job().id).lease_until, clock.now() + 60s) << "now + LEASE_MS";
    EXPECT_EQ(job(context.job().id).worker, "engine") << "workerId";
    const Outcome said = send(context);
    return context.attempt() == 1 ? fail("the answer was lost") : said;
  };
  const JobId id = remind("k", clock.now());
  engine.advance(5min);
  EXPECT_THAT(job(id).attempts, SizeIs(2));
  EXPECT_EQ(job(id).state, JobState::done);
  EXPECT_EQ(sent, 1) << "when retrying, check idempotency first";
}

TEST_F(S4Walk, BackoffAndTheDeadLetters) {  // 18.4 backoff policy, 18.9 failOrRetry
  handler = [](JobContext&) { return fail("Discord answered 500"); };
  const JobId id = remind("k", clock.now());
  engine.advance(3h);
  ASSERT_THAT(times, SizeIs(5)) << "maxAttempts 5";
  const std::array<Duration, 4> table{1min, 5min, 15min, 60min};
  for (std::size_t i = 0; i < table.size(); ++i) {
    EXPECT_THAT(times[i + 1] - times[i], AllOf(Ge(table[i] * 9 / 10), Le(table[i] * 11 / 10 + 1s))) << "with jitter";
  }
  EXPECT_EQ(job(id).state, JobState::dlq);
  EXPECT_EQ(job(id).last_error, "Discord answered 500") << "lastError";
  EXPECT_EQ(engine.counters().dlq, 1U) << "jobs.dlq";
  handler = [this](JobContext& context) { return send(context); };
  client.retry("g1", id).value();
  engine.run_due();
  EXPECT_EQ(job(id).state, JobState::done);
}

TEST_F(S4Walk, ATypeWithoutAHandlerFails) {  // 18.9 "No handler for type="
  const JobId id = scheduler.schedule_once({.guild_id = "g1", .type = "nobody", .run_at = clock.now()}).value();
  engine.run_due();
  EXPECT_EQ(job(id).attempts.at(0).error_class, "no_handler");
}

TEST_F(S4Walk, TheMentorsCheckInEverySecondMondayAtSixLocalTime) {  // 18.16, 18.5, 18.15 "DST pitfalls"
  const Scheduler::Recurring ping{.guild_id = "g1",
                                  .type = "mentor.checkin.ping",
                                  .payload = R"({"pairId":3})",
                                  .rrule = "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO;BYHOUR=18;BYMINUTE=0;BYSECOND=0",
                                  .tz = "Europe/London"};
  const ScheduleInfo made = scheduler.schedule_recurring(ping).value();
  EXPECT_EQ(made.next_at, at("2026-03-02T18:00:00Z"));
  EXPECT_EQ(scheduler.schedule_recurring(ping).value().name, made.name) << "runAtBucket: asked twice, made once";
  handler = [this](JobContext& context) { return times.size() == 2 ? permanent("the pair is gone") : send(context); };
  engine.advance(6 * 7 * 24h);
  EXPECT_THAT(times, ElementsAre(at("2026-03-02T18:00:00Z"), at("2026-03-16T18:00:00Z"), at("2026-03-30T17:00:00Z")))
      << "over the clock change, and over one that ended in the DLQ";
  EXPECT_EQ(ran[0].payload, R"({"pairId":3})");
}

TEST_F(S4Walk, StartFrom) {  // 18.8 scheduleRecurring
  const ScheduleInfo made = scheduler
                                .schedule_recurring({.guild_id = "g1",
                                                     .type = "digest.send",
                                                     .rrule = "FREQ=WEEKLY;BYDAY=MO;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
                                                     .tz = "Europe/London",
                                                     .start_from = "2026-04-01T00:00:00Z"})
                                .value();
  EXPECT_EQ(made.next_at, at("2026-04-06T08:00:00Z")) << "first occurrence >= startFrom";
}

TEST_F(S4Walk, TheSameKeyIsTheSameJob) {  // 18.6, 18.15 "Duplicate sends"
  const JobId id = remind("reminder:7", clock.now());
  EXPECT_EQ(remind("reminder:7", clock.now()), id);
  engine.run_due();
  EXPECT_EQ(remind("reminder:7", clock.now()), id) << "also when it is done";
  engine.run_due();
  EXPECT_EQ(sent, 1);
}

TEST_F(S4Walk, MaintenanceDefers) {  // 18.7
  client.put_maintenance("g1", R"({"until":"2026-03-02T14:00:00Z"})").value();
  const JobId id = remind("k", clock.now());
  scheduler.schedule_once({.guild_id = "g2", .type = "reminder.send", .run_at = clock.now()}).value();
  engine.advance(1h);
  EXPECT_THAT(ran, SizeIs(1)) << "the other guild is not in maintenance";
  EXPECT_EQ(job(id).deferred_until, at("2026-03-02T14:00:00Z")) << "nextAllowedWindow";
  EXPECT_EQ(job(id).defer_reason, "maintenance");
  engine.advance(1h + 10s);
  EXPECT_EQ(job(id).state, JobState::done);
  EXPECT_EQ(job(id).attempt, 1U) << "no attempt was used up by waiting";
  EXPECT_EQ(engine.counters().deferred, 1U) << "jobs.deferred";
}

TEST_F(S4Walk, QuietHoursDeferWhatNotifies) {  // 18.7, 18.13 "quiet-hours deferral"
  client.put_settings("g1", R"({"timezone":"Europe/London","quiet_hours":{"start":"22:00","end":"07:00"}})").value();
  const JobId loud = remind("loud", "2026-03-02T23:00:00Z", true);
  const JobId silent = remind("silent", "2026-03-02T23:00:00Z");
  scheduler
      .schedule_recurring({.guild_id = "g1",
                           .type = "digest.send",
                           .rrule = "FREQ=DAILY;BYHOUR=6;BYMINUTE=0;BYSECOND=0",
                           .tz = "Europe/London",
                           .notifies = true})
      .value();
  engine.advance(18h + 59min);  // 06:59 of the next day
  EXPECT_EQ(job(silent).state, JobState::done);
  EXPECT_EQ(job(loud).deferred_until, at("2026-03-03T07:00:00Z")) << "deferredUntil for observability";
  EXPECT_THAT(ran, SizeIs(1));
  engine.advance(2min);
  EXPECT_THAT(ran, SizeIs(3)) << "both of them, when the quiet is over";
}

TEST_F(S4Walk, AGateThatClosesMeanwhileIsSeenBeforeTheEffect) {  // 18.7 "side-effect last"
  handler = [this](JobContext& context) {
    if (context.attempt() == 1 && ran.size() == 1)
      client.put_maintenance("g1", R"({"until":"2026-03-02T12:30:00Z"})").value();
    if (const auto gate = context.check_gates()) return defer(gate->until.value(), gate->reason);
    return send(context);
  };
  const JobId id = remind("k", clock.now());
  engine.advance(29min);
  EXPECT_EQ(sent, 0);
  engine.advance(2min);
  EXPECT_EQ(sent, 1);
  EXPECT_EQ(job(id).attempt, 1U);
}

TEST_F(S4Walk, AGuildSeesNothingOfAnother) {  // 18.12 guild isolation
  const JobId id = remind("k", in(1h).delay + clock.now());
  const auto foreign = client.job("g2", id);
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code, ErrorCode::not_found);
  EXPECT_FALSE(client.cancel("g2", id));
  EXPECT_THAT(client.jobs({.tenant = "g2"}, {}, 10).value().jobs, IsEmpty());
  const JobId same = scheduler
                         .schedule_once({.guild_id = "g2",
                                         .type = "reminder.send",
                                         .payload = "{}",
                                         .run_at = clock.now(),
                                         .idempotency_key = "k"})
                         .value();
  EXPECT_NE(same, id) << "a key is a guild's own";
}

TEST_F(S4Walk, CountersAndWhyAJobWaits) {  // 18.11
  remind("a", clock.now());
  const JobId later = remind("b", clock.now() + 1h);
  engine.run_due();
  EXPECT_EQ(engine.counters().picked, 1U);
  EXPECT_EQ(engine.counters().succeeded, 1U);
  EXPECT_EQ(engine.counters().failed, 0U);
  EXPECT_THAT(client.explain("g1", later).value().summary, HasSubstr("2026-03-02T13:00"));
}

}  // namespace
}  // namespace carillon::test
