// The real engine: its own thread, handlers on threads of its own or of a host, and its end.
//
// Nothing here waits for a time: a tick of an hour makes sure that nothing needs one.
#include <carillon/engine.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <thread>

#include "engine/support/engine_test.h"
#include "support/signal.h"

namespace carillon::test {
namespace {

// The most that were inside at the same time.
class Sampler {
 public:
  void enter() {
    const int inside = ++inside_;
    int most = most_;
    while (inside > most && !most_.compare_exchange_weak(most, inside)) {
    }
  }
  void leave() { --inside_; }
  int most() const { return most_; }

 private:
  std::atomic<int> inside_ = 0;
  std::atomic<int> most_ = 0;
};

class EngineThreads : public ::testing::TestWithParam<std::string> {
 protected:
  Engine& start(EngineOptions options) {
    if (options.tick == Duration(1s)) options.tick = 1h;
    engine.emplace(*store, std::move(options));
    for (auto& [type, handler] : handlers) engine->handle(type, handler);
    engine->on_event(heard.listener());
    engine->run_in_background();
    return *engine;
  }
  JobId enqueue(const JobRequest& request) { return value_of(engine->client().enqueue(request)).id; }
  JobInfo job(JobId id) { return value_of(engine->client().job("default", id)); }
  // Sampled by the handlers themselves; done when `ended` was raised so often.
  Handler sampled() {
    return [this](JobContext&) {
      sampler.enter();
      for (int i = 0; i < 50; ++i) std::this_thread::yield();
      sampler.leave();
      ended.raise();
      return done();
    };
  }

 public:
  TestFolder folder;
  StorePtr store = value_of(
      open_store(GetParam() == "memory" ? std::string("memory:") : "sqlite:" + (folder.path() / "jobs.db").string()));
  Heard heard;
  std::map<std::string, Handler> handlers;
  Signal begun;
  Signal may_end;
  Signal ended;
  Sampler sampler;
  std::optional<Engine> engine;
};

TEST_P(EngineThreads, AllJobsRunOnceAndNoMoreAtOnceThanThereAreThreads) {  // invariant 6
  handlers["work"] = sampled();
  start({.max_concurrency = 4});
  for (int i = 0; i < 300; ++i) enqueue({.type = "work"});
  ASSERT_TRUE(ended.wait(300));
  engine->stop();
  EXPECT_LE(sampler.most(), 4);
  EXPECT_EQ(engine->counters().succeeded, 300U);
  EXPECT_EQ(engine->counters().picked, 300U);
}

TEST_P(EngineThreads, OneThreadGoesFromJobToJobWithoutWaiting) {
  handlers["work"] = sampled();
  start({.max_concurrency = 1});
  for (int i = 0; i < 50; ++i) enqueue({.type = "work"});
  ASSERT_TRUE(ended.wait(50));
  EXPECT_EQ(sampler.most(), 1);
}

TEST_P(EngineThreads, ALimitsConcurrencyIsNeverExceeded) {  // invariant 6
  handlers["work"] = sampled();
  start({.max_concurrency = 8});
  ASSERT_TRUE(engine->client().put_limit("default", "api", R"({"concurrency":3})").has_value());
  for (int i = 0; i < 200; ++i) enqueue({.type = "work", .limits = {"api"}});
  ASSERT_TRUE(ended.wait(200));
  EXPECT_LE(sampler.most(), 3);
}

TEST_P(EngineThreads, CapsOfTenantQueueAndAllNodesAreNeverExceeded) {  // invariant 6
  Sampler all;
  std::map<std::string, Sampler> of;
  of["capped/default"];
  of["free/slow"];
  of["free/default"];
  handlers["work"] = [&](JobContext& context) {
    Sampler& own = of.at(context.job().tenant + "/" + context.job().queue);
    all.enter();
    own.enter();
    for (int i = 0; i < 50; ++i) std::this_thread::yield();
    own.leave();
    all.leave();
    ended.raise();
    return done();
  };
  start({.max_concurrency = 8});
  ASSERT_TRUE(engine->client().put_settings("capped", R"({"max_concurrency":2})").has_value());
  ASSERT_TRUE(engine->client().put_queue("free", "slow", R"({"max_concurrency":1})").has_value());
  ASSERT_TRUE(engine->client().put_config(R"({"max_concurrent_jobs":5})").has_value());
  for (int i = 0; i < 60; ++i) {
    enqueue({.type = "work", .tenant = "capped"});
    enqueue({.type = "work", .tenant = "free", .queue = "slow"});
    enqueue({.type = "work", .tenant = "free"});
  }
  ASSERT_TRUE(ended.wait(180));
  EXPECT_LE(all.most(), 5);
  EXPECT_LE(of["capped/default"].most(), 2);
  EXPECT_LE(of["free/slow"].most(), 1);
}

TEST_P(EngineThreads, ARateIsNeverExceeded) {  // invariant 6
  handlers["work"] = sampled();
  start({.max_concurrency = 8});
  ASSERT_TRUE(engine->client().put_limit("default", "api", R"({"rate":100,"per":"1s","burst":5})").has_value());
  const auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < 35; ++i) enqueue({.type = "work", .limits = {"api"}});
  ASSERT_TRUE(ended.wait(35));
  // Thirty more than the burst, at a hundred a second. Lateness only makes it longer.
  EXPECT_GE(std::chrono::steady_clock::now() - before, 295ms);
}

TEST_P(EngineThreads, AHandlerMayUseTheClient) {
  handlers["first"] = [&](JobContext&) {
    EXPECT_TRUE(engine->client().enqueue({.type = "second"}).has_value());
    return done();
  };
  handlers["second"] = sampled();
  start({.max_concurrency = 2});
  for (int i = 0; i < 20; ++i) enqueue({.type = "first"});
  ASSERT_TRUE(ended.wait(20));
}

TEST_P(EngineThreads, ManyThreadsMayCallAtOnce) {  // invariant 4
  handlers["work"] = sampled();
  start({.max_concurrency = 4});
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([this] {
      for (int j = 0; j < 50; ++j) EXPECT_TRUE(engine->client().enqueue({.type = "work"}).has_value());
    });
  }
  for (std::thread& caller : callers) caller.join();
  ASSERT_TRUE(ended.wait(200));
  engine->stop();
  EXPECT_EQ(engine->counters().succeeded, 200U);
}

TEST_P(EngineThreads, AnEffectIsGuardedFromAHandlersThread) {  // invariant 18
  std::atomic<int> effects = 0;
  handlers["work"] = [&](JobContext& context) {
    context.once("charge", [&] { ++effects; });
    ended.raise();
    return done();
  };
  start({.max_concurrency = 1});
  for (int i = 0; i < 4; ++i) enqueue({.type = "work"});
  ASSERT_TRUE(ended.wait(4));
  engine->stop();
  EXPECT_EQ(effects, 1);
}

// ---- The client without the engine running
// ----------------------------------------------------------------------------

TEST_P(EngineThreads, TheClientWorksBeforeItRunsAndAfterItStopped) {
  handlers["work"] = sampled();
  engine.emplace(*store, EngineOptions{.max_concurrency = 2, .tick = 1h});
  engine->handle("work", handlers["work"]);
  const JobId before = enqueue({.type = "work"});
  EXPECT_EQ(job(before).state, JobState::queued);
  engine->run_in_background();
  ASSERT_TRUE(ended.wait());
  engine->stop();
  EXPECT_EQ(job(before).state, JobState::done);
  const JobId after = enqueue({.type = "work"});
  EXPECT_EQ(job(after).state, JobState::queued);
}

TEST_P(EngineThreads, LeftUnhandledAlsoWhatCameBeforeItRan) {
  handlers["work"] = sampled();
  engine.emplace(*store, EngineOptions{.max_concurrency = 2, .tick = 1h, .leave_unhandled = true});
  engine->handle("work", handlers["work"]);
  const JobId unknown = enqueue({.type = "unknown"});
  engine->run_in_background();
  enqueue({.type = "work"});
  ASSERT_TRUE(ended.wait());
  engine->stop();
  EXPECT_EQ(job(unknown).state, JobState::queued);
  EXPECT_EQ(job(unknown).token, 0);
}

// ---- The end
// ----------------------------------------------------------------------------------------------------------

TEST_P(EngineThreads, StopLetsARunningAttemptFinish) {
  handlers["work"] = [&](JobContext&) {
    begun.raise();
    may_end.wait();
    return done();
  };
  start({.max_concurrency = 1});
  const JobId id = enqueue({.type = "work"});
  const JobId next = enqueue({.type = "work"});
  ASSERT_TRUE(begun.wait());
  std::thread stopper([&] { engine->stop(); });
  may_end.raise();
  stopper.join();
  EXPECT_EQ(job(id).state, JobState::done);
  // The next one had its turn, or none at all.
  EXPECT_EQ(job(next).attempt, job(next).state == JobState::done ? 1U : 0U);
  EXPECT_NE(job(next).state, JobState::processing);
}

TEST_P(EngineThreads, AHandlerThatDoesNotReturnInTimeIsReleasedNotFailed) {
  std::atomic<bool> asked = false;
  handlers["work"] = [&](JobContext& context) {
    begun.raise();
    may_end.wait();
    asked = context.cancelled();
    ended.raise();
    return done();
  };
  start({.max_concurrency = 1, .drain = 10ms});
  const JobId id = enqueue({.type = "work"});
  ASSERT_TRUE(begun.wait());
  engine->stop();
  EXPECT_EQ(job(id).state, JobState::queued);
  EXPECT_EQ(job(id).attempt, 0U);
  EXPECT_EQ(engine->counters().failed, 0U);
  may_end.raise();
  ASSERT_TRUE(ended.wait());
  EXPECT_TRUE(asked);
  EXPECT_EQ(job(id).state, JobState::queued);
}

TEST_P(EngineThreads, StopMayBeCalledTwiceAndFromTwoThreads) {
  handlers["work"] = sampled();
  start({.max_concurrency = 2});
  enqueue({.type = "work"});
  ASSERT_TRUE(ended.wait());
  std::thread other([&] { engine->stop(); });
  engine->stop();
  other.join();
  engine->stop();
  EXPECT_EQ(engine->counters().succeeded, 1U);
}

TEST_P(EngineThreads, StopWithoutARunIsNothing) {
  engine.emplace(*store, EngineOptions{});
  engine->stop();
  engine->stop();
  EXPECT_TRUE(engine->client().enqueue({.type = "work"}).has_value());
}

TEST_P(EngineThreads, TheDestructorDoesNotWaitForAHandlerThatIsStuck) {
  auto blocked = std::make_shared<Signal>();
  auto left = std::make_shared<Signal>();
  handlers["work"] = [this, blocked, left](JobContext& context) {
    begun.raise();
    blocked->wait();
    // The engine is gone: it is asked in vain, not from beyond.
    EXPECT_TRUE(context.cancelled());
    EXPECT_THROW(context.once("charge", [] { ADD_FAILURE() << "an effect after the end"; }), std::exception);
    left->raise();
    return done();
  };
  start({.max_concurrency = 2, .drain = 1ms});
  const JobId id = enqueue({.type = "work"});
  ASSERT_TRUE(begun.wait());
  engine.reset();
  blocked->raise();
  ASSERT_TRUE(left->wait());

  // And its job goes on with the next engine.
  handlers["work"] = sampled();
  start({.max_concurrency = 1});
  ASSERT_TRUE(ended.wait());
  engine->stop();
  EXPECT_EQ(job(id).state, JobState::done);
  EXPECT_EQ(job(id).attempt, 1U);
}

// ---- A host's own threads
// ---------------------------------------------------------------------------------------------

// A host with a queue and more threads than the engine may use.
class Host {
 public:
  explicit Host(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host() {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
    }
    added_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  void post(std::function<void()> call) {
    {
      const std::scoped_lock lock(mutex_);
      calls_.push_back(std::move(call));
    }
    added_.notify_one();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      added_.wait(lock, [&] { return stopping_ || !calls_.empty(); });
      if (calls_.empty()) return;
      const std::function<void()> call = std::move(calls_.front());
      calls_.pop_front();
      lock.unlock();
      call();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable added_;
  std::deque<std::function<void()>> calls_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

TEST_P(EngineThreads, OnAHostsThreadsNoMoreRunAtOnceThanAllowed) {  // invariant 6
  Host host(8);
  handlers["work"] = sampled();
  start({.max_concurrency = 3, .executor = [&](std::function<void()> call) { host.post(std::move(call)); }});
  for (int i = 0; i < 200; ++i) enqueue({.type = "work"});
  ASSERT_TRUE(ended.wait(200));
  engine->stop();
  EXPECT_LE(sampler.most(), 3);
  EXPECT_EQ(engine->counters().succeeded, 200U);
  engine.reset();
}

TEST_P(EngineThreads, AHostThatNeverComesToItsQueueGetsNothingStartedAndTheEngineEnds) {
  std::vector<std::function<void()>> forgotten;
  std::mutex mutex;
  Signal posted;
  handlers["work"] = sampled();
  start({.max_concurrency = 1, .drain = 1h, .executor = [&](std::function<void()> call) {
           const std::scoped_lock lock(mutex);
           forgotten.push_back(std::move(call));
           posted.raise();
         }});
  const JobId id = enqueue({.type = "work"});
  ASSERT_TRUE(posted.wait());
  engine->stop();
  EXPECT_EQ(job(id).state, JobState::queued);
  EXPECT_EQ(job(id).attempt, 0U);
  engine.reset();
  for (const auto& call : forgotten) call();  // too late, and harmless
  EXPECT_EQ(sampler.most(), 0);
}

INSTANTIATE_TEST_SUITE_P(Stores, EngineThreads, ::testing::Values("memory", "sqlite"),
                         [](const ::testing::TestParamInfo<std::string>& param_info) { return param_info.param; });

}  // namespace
}  // namespace carillon::test
