#include "server/api/timers.h"

#include <pthread.h>

#include <utility>

namespace carillon::server {

Timers::Timers() : thread_([this] { run(); }) { pthread_setname_np(thread_.native_handle(), "timers"); }

Timers::~Timers() { stop(); }

std::uint64_t Timers::after(Clock::duration delay, std::function<void()> work) {
  std::uint64_t number = 0;
  {
    const std::scoped_lock lock(mutex_);
    number = ++last_;
    const Clock::time_point at = Clock::now() + delay;
    waiting_.emplace(Key(at, number), std::move(work));
    times_.emplace(number, at);
  }
  changed_.notify_one();
  return number;
}

bool Timers::cancel(std::uint64_t number) {
  const std::scoped_lock lock(mutex_);
  const auto found = times_.find(number);
  if (found == times_.end()) return false;
  waiting_.erase(Key(found->second, number));
  times_.erase(found);
  return true;
}

void Timers::stop() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Timers::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (waiting_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto first = waiting_.begin();
    const Clock::time_point at = first->first.first;
    if (Clock::now() < at) {
      changed_.wait_until(lock, at);
      continue;
    }
    const std::function<void()> work = std::move(first->second);
    times_.erase(first->first.second);
    waiting_.erase(first);
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace carillon::server
