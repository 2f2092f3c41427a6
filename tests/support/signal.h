// Something that happens any number of times, on any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace carillon::test {

class Signal {
 public:
  // Whoever waited may end this at once: so it is told under the lock.
  void raise() {
    const std::scoped_lock lock(mutex_);
    ++count_;
    raised_.notify_all();
  }
  // Whether it happened so often; gives up long after anything that works would have done it.
  bool wait(int count = 1) {
    std::unique_lock lock(mutex_);
    return raised_.wait_for(lock, std::chrono::seconds(60), [&] { return count_ >= count; });
  }
  int count() {
    const std::scoped_lock lock(mutex_);
    return count_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable raised_;
  int count_ = 0;
};

}  // namespace carillon::test
