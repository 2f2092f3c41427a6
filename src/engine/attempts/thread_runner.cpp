#include "engine/attempts/thread_runner.h"

#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace carillon {

namespace {

void run_one(const ExecutionEnvironment& environment, const RunPtr& run, Slots::Slot slot) {
  if (!run->begin(std::move(slot))) return;  // its node has taken it back
  environment.finished->put(execute(run, *environment.handlers.get(), *environment.port));
}

}  // namespace

struct ThreadRunner::Pool {
  std::shared_ptr<const ExecutionEnvironment> environment;
  std::size_t number = 0;  // among those who take slots

  std::mutex mutex;
  std::condition_variable added;
  std::deque<RunPtr> waiting;
  std::deque<Slots::Slot> offered;
  bool stopping = false;
  std::size_t idle = 0;              // asleep and not woken yet
  std::vector<std::thread> threads;  // only the owner looks
  std::vector<bool> busy;

  void work(std::size_t index) {
    std::unique_lock lock(mutex);
    while (!stopping) {
      auto slot = take_slot();
      if (!slot || waiting.empty()) {
        // Whoever gives a slot back calls others: not under this lock.
        if (slot) {
          lock.unlock();
          slot.reset();
          lock.lock();
          continue;
        }
        ++idle;
        added.wait(lock);
        continue;
      }
      const RunPtr run = std::move(waiting.front());
      waiting.pop_front();
      busy[index] = true;
      lock.unlock();
      run_one(*environment, run, *std::move(slot));
      slot.reset();
      lock.lock();
      busy[index] = false;
    }
  }

  std::optional<Slots::Slot> take_slot() {
    if (!offered.empty()) {
      std::optional<Slots::Slot> slot(std::move(offered.front()));
      offered.pop_front();
      return slot;
    }
    if (waiting.empty()) return std::nullopt;
    return environment->slots->take(number);
  }

  bool offer(Slots::Slot slot) {
    const std::scoped_lock lock(mutex);
    if (waiting.size() <= offered.size() || stopping) return false;  // it goes back when this has returned
    offered.push_back(std::move(slot));
    if (take_idle()) added.notify_one();
    return waiting.size() > offered.size();
  }

  // Whoever wakes a thread takes it off the count: many starts in a row wake each thread once.
  bool take_idle() {
    if (idle == 0) return false;
    --idle;
    return true;
  }
};

ThreadRunner::ThreadRunner(std::shared_ptr<const ExecutionEnvironment> environment, std::uint32_t threads)
    : pool_(std::make_shared<Pool>()) {
  pool_->environment = std::move(environment);
  pool_->number = pool_->environment->slots->join([weak = std::weak_ptr(pool_)](Slots::Slot slot) {
    const auto pool = weak.lock();
    return pool && pool->offer(std::move(slot));
  });
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
    wake = pool_->take_idle();
  }
  if (wake) pool_->added.notify_one();
}

struct HostRunner::Pool {
  std::shared_ptr<const ExecutionEnvironment> environment;
  std::size_t number = 0;  // among those who take slots
  std::uint32_t most = 1;
  Executor executor;

  std::mutex mutex;
  std::deque<RunPtr> waiting;
  std::deque<Slots::Slot> offered;
  std::uint32_t running = 0;  // calls of the executor that wait or run

  // One call of the executor is one attempt, so that a host's loop comes to its other work in between.
  static void work(const std::shared_ptr<Pool>& pool) {
    std::unique_lock lock(pool->mutex);
    auto slot = pool->take_slot();
    if (!slot || pool->waiting.empty()) {
      --pool->running;
      lock.unlock();  // whoever gives a slot back calls others
      return;
    }
    const RunPtr run = std::move(pool->waiting.front());
    pool->waiting.pop_front();
    lock.unlock();
    run_one(*pool->environment, run, *std::move(slot));
    lock.lock();
    if (pool->waiting.empty()) {
      --pool->running;
      return;
    }
    lock.unlock();
    pool->executor([pool] { work(pool); });
  }

  std::optional<Slots::Slot> take_slot() {
    if (!offered.empty()) {
      std::optional<Slots::Slot> slot(std::move(offered.front()));
      offered.pop_front();
      return slot;
    }
    if (waiting.empty()) return std::nullopt;
    return environment->slots->take(number);
  }

  static bool offer(const std::shared_ptr<Pool>& pool, Slots::Slot slot) {
    bool would_take_another = false;
    bool calls = false;
    {
      const std::scoped_lock lock(pool->mutex);
      if (pool->waiting.size() <= pool->offered.size()) return false;  // it goes back when this has returned
      pool->offered.push_back(std::move(slot));
      would_take_another = pool->waiting.size() > pool->offered.size();
      // If as many calls as there may be are with the host, one of those that have not begun takes it.
      calls = pool->running < pool->most;
      if (calls) ++pool->running;
    }
    if (calls) pool->executor([pool] { work(pool); });
    return would_take_another;
  }
};

HostRunner::HostRunner(std::shared_ptr<const ExecutionEnvironment> environment, std::uint32_t most, Executor executor)
    : pool_(std::make_shared<Pool>()) {
  pool_->environment = std::move(environment);
  pool_->number = pool_->environment->slots->join([weak = std::weak_ptr(pool_)](Slots::Slot slot) {
    const auto pool = weak.lock();
    return pool && Pool::offer(pool, std::move(slot));
  });
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
