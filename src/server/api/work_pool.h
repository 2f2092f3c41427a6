// A few threads for calls that wait: for a commit, or for a question to the store.
//
// Everybody has a line of his own, and the lines take turns: who sends much waits for himself. When cores are short,
// the threads on which all depend, net and driver, go before these.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace carillon::server {

class WorkPool {
 public:
  struct Options {
    std::size_t threads = 1;
    std::size_t running_each = 1;  // at once, of one line
    std::size_t waiting_max = 1;   // of all lines
    std::size_t waiting_each = 1;
    const char* name = "api";  // of its threads, 15 characters
  };
  explicit WorkPool(const Options& options);
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;
  // What waits is dropped, what runs is waited for.
  ~WorkPool();

  // In the line of `whose`. False: too much waits already, or it ends.
  bool run(std::string_view whose, std::function<void()> work);
  // In the server's own.
  bool run(std::function<void()> work) { return run({}, std::move(work)); }
  void stop();

 private:
  struct Line {
    std::deque<std::function<void()>> waiting;
    std::size_t running = 0;
    bool has_turn = false;
  };
  using Lines = std::map<std::string, Line, std::less<>>;

  void work();
  // It gets its turn if it may run something.
  void line_up(Lines::iterator line);

  const Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Lines lines_;  // those in which something waits or runs
  std::deque<Lines::iterator> turns_;
  std::size_t waiting_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace carillon::server
