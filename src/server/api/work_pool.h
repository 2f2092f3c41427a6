// A few threads for calls that wait: for a commit, or for a question to the store.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace carillon::server {

class WorkPool {
 public:
  WorkPool(std::size_t threads, std::size_t waiting_max);
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;
  // What waits is dropped, what runs is waited for.
  ~WorkPool();

  // False: too much waits already, or it ends.
  bool run(std::function<void()> work);
  void stop();

 private:
  void work();

  const std::size_t waiting_max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace carillon::server
