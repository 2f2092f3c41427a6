// Something to do later, once or again and again, on one thread of its own. What it does must be quick.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace carillon::server {

class Timers {
 public:
  using Clock = std::chrono::steady_clock;

  Timers();
  Timers(const Timers&) = delete;
  Timers& operator=(const Timers&) = delete;
  ~Timers();

  std::uint64_t after(Clock::duration delay, std::function<void()> work);
  // True: it will not be done.
  bool cancel(std::uint64_t number);
  void stop();

 private:
  using Key = std::pair<Clock::time_point, std::uint64_t>;
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, std::function<void()>> waiting_;
  std::map<std::uint64_t, Clock::time_point> times_;
  std::uint64_t last_ = 0;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace carillon::server
