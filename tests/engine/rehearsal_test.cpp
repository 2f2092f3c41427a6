// A wall clock that is moved from one due time to the next, under the real engine with its threads.
#include <future>

#include "engine/host/engine_host.h"
#include "engine/host/open_store.h"
#include "engine/support/engine_test.h"

namespace carillon::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

const Instant kStart = at("2026-03-28T23:00:00Z");  // the night in which clocks in Europe go forward

class Rehearsing : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    host.on_event(heard.listener());
    host.handle("work", [this](JobContext& context) {
      const std::scoped_lock lock(mutex);
      ran.push_back(context.job().id);
      times.push_back(clock.wall());
      return done();
    });
    host.handle("fails", [](JobContext&) { return fail("no"); });
  }

  Result<Instant> move(const Rehearsal::Move& move) {
    std::promise<Result<Instant>> promise;
    rehearsal.move(move, [&](const Result<Instant>& now) { promise.set_value(now); });
    host.node().bell().ring();
    return promise.get_future().get();
  }
  std::vector<Duration> lateness() const {
    std::vector<Duration> all;
    for (const JobPicked& picked : heard.of<JobPicked>()) all.push_back(picked.lateness);
    return all;
  }
  JobInfo job(JobId id) { return value_of(host.client().job("default", id)); }

  TestFolder folder;
  RehearsalClock clock{kStart, 0};
  Rehearsal rehearsal{clock};
  std::unique_ptr<Store> store = value_of(
      open_store_with(GetParam() == "memory" ? "memory:" : "sqlite:" + (folder.path() / "jobs.db").string(), clock));
  Heard heard;
  std::mutex mutex;
  std::vector<JobId> ran;
  std::vector<Instant> times;
  EngineHost host{
      *store, {.engine = {.max_concurrency = 4, .leave_unhandled = true}, .clock = &clock, .rehearsal = &rehearsal}};
};

OVER_EVERY_STORE(Rehearsing);

TEST_P(Rehearsing, AWeekOfASchedulePassesAtItsOwnTimes) {
  ASSERT_TRUE(host.client().schedule_recurring(
      {.name = "standup", .type = "work", .daily = "08:00", .timezone = "Europe/London"}));
  host.start();

  EXPECT_EQ(value_of(move({.to = Duration(std::chrono::days(7))})), kStart + std::chrono::days(7));

  EXPECT_THAT(times, ElementsAre(at("2026-03-29T07:00:00Z"), at("2026-03-30T07:00:00Z"), at("2026-03-31T07:00:00Z"),
                                 at("2026-04-01T07:00:00Z"), at("2026-04-02T07:00:00Z"), at("2026-04-03T07:00:00Z"),
                                 at("2026-04-04T07:00:00Z")));
}

TEST_P(Rehearsing, FarOffJobsRetriesAndDeadlinesHaveTheirOwnStops) {
  const auto enqueue = [&](const JobRequest& request) { return value_of(host.client().enqueue(request)).id; };
  const JobId far = enqueue({.type = "work", .run_at = kStart + std::chrono::days(40)});
  const JobId soon = enqueue({.type = "work", .run_at = kStart + 3s});
  const JobId failing = enqueue({.type = "fails", .retry = RetryFixed{.delay = 1h}, .max_attempts = 3});
  const JobId unserved = enqueue({.type = "foreign", .deadline = kStart + 90min});
  host.start();

  ASSERT_TRUE(move({.to = kStart + 2h}));
  EXPECT_EQ(job(unserved).state, JobState::cutoff_reached);
  EXPECT_EQ(job(unserved).finished_at, kStart + 90min);
  ASSERT_TRUE(move({.to = kStart + std::chrono::days(41)}));

  EXPECT_THAT(ran, ElementsAre(soon, far));
  EXPECT_THAT(times, ElementsAre(kStart + 3s, kStart + std::chrono::days(40)));
  EXPECT_THAT(lateness(), SizeIs(5));
  EXPECT_THAT(lateness(), Each(Duration::zero()));
  EXPECT_EQ(job(failing).state, JobState::dlq);
  EXPECT_EQ(job(failing).finished_at, std::nullopt);
}

TEST_P(Rehearsing, ARateLetsJobsGoAsItsTimePasses) {
  ASSERT_TRUE(host.client().put_limit("default", "slow", R"({"rate": 1, "per": "1h", "burst": 1})"));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(host.client().enqueue({.type = "work", .limits = {"slow"}}));
  }
  host.start();

  ASSERT_TRUE(move({.to = Duration(5h)}));

  EXPECT_THAT(times, ElementsAre(kStart, kStart + 1h, kStart + 2h));
}

TEST_P(Rehearsing, AJumpIsOneStepAfterWhichMisfiresAreJudged) {
  ASSERT_TRUE(host.client().schedule_recurring({.name = "hourly", .type = "work", .every = 1h}));
  host.start();

  ASSERT_TRUE(move({.to = Duration(std::chrono::days(1)), .jump = true}));

  EXPECT_THAT(times, ElementsAre(kStart + std::chrono::days(1)));  // misfire: latest
}

TEST_P(Rehearsing, ItWaitsForHandlersOfItsOwnAndNotForWorkersOutside) {
  std::promise<void> gate;
  host.handle("slow", [&](JobContext&) {
    gate.get_future().wait();
    return done();
  });
  const JobId slow = value_of(host.client().enqueue({.type = "slow"})).id;
  const JobId outside = value_of(host.client().enqueue({.type = "foreign"})).id;
  host.start();
  std::promise<Result<Instant>> moved;
  rehearsal.move({.to = Duration(1h)}, [&](const Result<Instant>& now) { moved.set_value(now); });
  host.node().bell().ring();
  auto future = moved.get_future();

  EXPECT_EQ(future.wait_for(50ms), std::future_status::timeout);
  EXPECT_EQ(clock.wall(), kStart);
  gate.set_value();

  EXPECT_EQ(value_of(future.get()), kStart + 1h);
  EXPECT_EQ(job(slow).state, JobState::done);
  EXPECT_EQ(job(slow).finished_at, kStart);
  EXPECT_EQ(job(outside).state, JobState::queued);
}

TEST_P(Rehearsing, ItOnlyGoesForwardAndOneMoveAfterTheOther) {
  host.start();
  std::vector<std::future<Result<Instant>>> answers;
  for (int i = 0; i < 3; ++i) {
    auto promise = std::make_shared<std::promise<Result<Instant>>>();
    answers.push_back(promise->get_future());
    rehearsal.move({.to = Duration(1h)}, [promise](const Result<Instant>& now) { promise->set_value(now); });
  }
  host.node().bell().ring();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(value_of(answers[static_cast<std::size_t>(i)].get()), kStart + (i + 1) * 1h);

  EXPECT_EQ(move({.to = kStart}).error().code, ErrorCode::conflict);
  EXPECT_EQ(value_of(move({.to = kStart + 3h})), kStart + 3h);
}

TEST_P(Rehearsing, WhoWaitsAtTheEndIsRefused) {
  host.handle("never", [](JobContext& context) {
    while (!context.cancelled()) std::this_thread::sleep_for(1ms);
    return fail("stopped");
  });
  ASSERT_TRUE(host.client().enqueue({.type = "never"}));
  host.start();
  std::promise<Result<Instant>> moved;
  rehearsal.move({.to = Duration(1h)}, [&](const Result<Instant>& now) { moved.set_value(now); });
  host.node().bell().ring();
  rehearsal.close();

  EXPECT_EQ(moved.get_future().get().error().code, ErrorCode::unavailable);
  EXPECT_EQ(move({.to = Duration(1h)}).error().code, ErrorCode::unavailable);
}

TEST(RehearsalClock, RunsAtItsSpeedUnlessItIsHeld) {
  RehearsalClock clock(kStart, 1000);
  const BootTime before = clock.boot();
  const Instant first = clock.wall();
  std::this_thread::sleep_for(20ms);
  const Instant second = clock.wall();
  EXPECT_GE(second - first, 19s);
  EXPECT_LE(second - kStart, 1000 * (clock.boot() - before) + 1000 * 50ms);
  EXPECT_EQ(clock.real_time(1000s), 1s + 1us);

  clock.hold();
  const Instant held = clock.wall();
  std::this_thread::sleep_for(2ms);
  EXPECT_EQ(clock.wall(), held);
  EXPECT_GE(clock.real_time(1s), 24h);
  clock.move_to(held - 1h);
  EXPECT_EQ(clock.wall(), held);
  clock.move_to(held + 1h);
  EXPECT_EQ(clock.wall(), held + 1h);
  clock.run();
  EXPECT_GE(clock.wall(), held + 1h);
}

TEST_P(Rehearsing, AMonthIsPrunedLikeARealOne) {
  const JobId first = value_of(host.client().enqueue({.type = "work", .idempotency_key = "k"})).id;
  value_of(host.client().schedule_recurring({.name = "hourly", .type = "work", .cron = "0 * * * *"}));
  host.start();
  value_of(move({.to = std::chrono::days(6)}));
  EXPECT_EQ(job(first).state, JobState::done);
  value_of(move({.to = std::chrono::days(24)}));
  EXPECT_FALSE(host.client().job("default", first)) << "seven days are over";
  const JobList left = value_of(host.client().jobs({}, {}, 1000));
  EXPECT_THAT(left.jobs, SizeIs(7 * 24));
  for (const JobInfo& one : left.jobs) EXPECT_GT(*one.finished_at, clock.wall() - std::chrono::days(7));
  EXPECT_THAT(value_of(host.client().outcome_items("default", "hourly", {}, "", 1000)).items, SizeIs(7 * 24));
  EXPECT_FALSE(value_of(host.client().enqueue({.type = "work", .idempotency_key = "k"})).deduplicated);
}

}  // namespace
}  // namespace carillon::test
