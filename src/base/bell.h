// Wakes one sleeper. A ring that comes while nobody sleeps is remembered: the next sleep ends at once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace carillon {

class Bell {
 public:
  void ring() {
    {
      const std::scoped_lock lock(mutex_);
      if (rung_) return;
      rung_ = true;
    }
    sleeper_.notify_one();
  }

  // Until it rings, or for so long. Only one thread sleeps here.
  void sleep(std::chrono::microseconds most) {
    std::unique_lock lock(mutex_);
    sleeper_.wait_for(lock, most, [&] { return rung_; });
    rung_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable sleeper_;
  bool rung_ = false;
};

}  // namespace carillon
