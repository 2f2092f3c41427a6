#include "engine/thread_runner.h"

#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace carillon {

namespace {

void run_one(const ExecutionEnvironment& environment, const RunPtr& run) {
  if (!run->begin()) return;  // its node has taken it back
  environment.finished->put(execute(run, *environment.handlers.get(), *environment.port));
}

}  // namespace

struct ThreadRunner::Pool {
  std::shared_ptr<const ExecutionEnvironment> environment;

  std::mutex mutex;
  std::condition_variable added;
  std::deque<RunPtr> waiting;
  bool stopping = false;
  std::size_t idle = 0;              // asleep and not woken yet
  std::vector<std::thread> threads;  // only the owner looks
  std::vector<bool> busy;

  void work(std::size_t index) {
    std::unique_lock lock(mutex);
    while (true) {
      while (waiting.empty() && !stopping) {
        ++idle;
        added.wait(lock);
      }
      if (stopping) return;
      const RunPtr run = std::move(waiting.front());
      waiting.pop_front();
      busy[index] = true;
      lock.unlock();
      run_one(*environment, run);
      lock.lock();
      busy[index] = false;
    }
  }
};

ThreadRunner::ThreadRunner(std::shared_ptr<const ExecutionEnvironment> environment, std::uint32_t threads)
    : pool_(std::make_shared<Pool>()) {
  pool_->environment = std::move(environment);
  pool_->busy.resize(threads);
  for (std::size_t i = 0; i < threads; ++i) {
    // The thread keeps the pool: it may outlive the runner.
    pool_->threads.emplace_back([pool = pool_, i] { pool->work(i); });
    pthread_setname_np(pool_->threads.back().native_handle(), "executor");
  }
}

ThreadRunner::~ThreadRunner() {
  std::vector<bool> busy;
  {
    const std::scoped_lock lock(pool_->mutex);
    pool_->stopping = true;
    busy = pool_->busy;
  }
  pool_->added.notify_all();
  for (std::size_t i = 0; i < pool_->threads.size(); ++i) {
    if (busy[i]) {
      pool_->threads[i].detach();
    } else {
      pool_->threads[i].join();
    }
  }
}

void ThreadRunner::start(RunPtr run) {
  bool wake = false;
  {
    const std::scoped_lock lock(pool_->mutex);
    pool_->waiting.push_back(std::move(run));
    // Whoever wakes a thread takes it off the count: many starts in a row wake each thread once.
    wake = pool_->idle > 0;
    if (wake) --pool_->idle;
  }
  if (wake) pool_->added.notify_one();
}

struct HostRunner::Pool {
  std::shared_ptr<const ExecutionEnvironment> environment;
  std::uint32_t most = 1;
  Executor executor;

  std::mutex mutex;
  std::deque<RunPtr> waiting;
  std::uint32_t running = 0;

  // One call of the executor is one attempt, so that a host's loop comes to its other work in between.
  static void work(const std::shared_ptr<Pool>& pool) {
    RunPtr run;
    {
      const std::scoped_lock lock(pool->mutex);
      if (pool->waiting.empty()) {
        --pool->running;
        return;
      }
      run = std::move(pool->waiting.front());
      pool->waiting.pop_front();
    }
    run_one(*pool->environment, run);
    {
      const std::scoped_lock lock(pool->mutex);
      if (pool->waiting.empty()) {
        --pool->running;
        return;
      }
    }
    pool->executor([pool] { work(pool); });
  }
};

HostRunner::HostRunner(std::shared_ptr<const ExecutionEnvironment> environment, std::uint32_t most, Executor executor)
    : pool_(std::make_shared<Pool>()) {
  pool_->environment = std::move(environment);
  pool_->most = most;
  pool_->executor = std::move(executor);
}

HostRunner::~HostRunner() {
  const std::scoped_lock lock(pool_->mutex);
  pool_->waiting.clear();
}

void HostRunner::start(RunPtr run) {
  {
    const std::scoped_lock lock(pool_->mutex);
    pool_->waiting.push_back(std::move(run));
    if (pool_->running >= pool_->most) return;
    ++pool_->running;
  }
  pool_->executor([pool = pool_] { Pool::work(pool); });
}

}  // namespace carillon
