// An engine_worker as a child process.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace carillon::test {

class WorkerProcess {
 public:
  // engine_worker WORDS...
  explicit WorkerProcess(const std::vector<std::string>& words);
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  // Kills it, if it still runs.
  ~WorkerProcess();

  pid_t id() const { return process_; }
  void signal(int number) const;
  // To its standard input.
  void send_byte() const;
  // Its exit code, once it has ended; -1: by a signal. Nothing: it still runs after that time.
  std::optional<int> wait_for_end(std::chrono::milliseconds at_most);
  void kill_now();
  // All that it has written to standard output, until it has closed it.
  std::string read_all() const;

 private:
  pid_t process_ = 0;
  int input_ = -1;
  int output_ = -1;
  std::optional<int> ended_;
};

// How long to wait for something that must happen, on a machine that is busy.
inline constexpr std::chrono::milliseconds kPatience = std::chrono::seconds(60);

// Lets some time pass: what happens in the other process has no other sign.
void pass(std::chrono::milliseconds time);

// Looks again and again. False: not in time.
template <typename Condition>
bool wait_until(Condition condition, std::chrono::milliseconds at_most = kPatience) {
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    pass(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace carillon::test
