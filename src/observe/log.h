// The log: lines on standard error, written by a thread of its own.
//
//   Log log({.level = LogLevel::info});
//   if (log.wants(LogLevel::debug)) log.write(...);
//
// Whoever writes a line waits for nobody: lines stand in a queue of bounded length, and where the reader of standard
// error is slower than that they are dropped and counted. The log tells how many as soon as it can.
#pragma once

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "observe/log_line.h"

namespace carillon {

class Log {
 public:
  struct Options {
    LogLevel level = LogLevel::info;
    LogFormat format = LogFormat::automatic;
    int fd = STDERR_FILENO;
    std::size_t waiting_max = 10'000;
    std::chrono::milliseconds stop_time = std::chrono::seconds(2);  // for what waits, at the end
  };
  explicit Log(Options options);
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  // Stops, if that was not done.
  ~Log();

  // Any thread.
  bool wants(LogLevel level) const { return level >= level_.load(std::memory_order_relaxed); }
  void set_level(LogLevel level) { level_ = level; }
  bool is_json() const { return json_; }
  // One that is not wanted is ignored.
  void write(const LogLine& line);
  std::uint64_t dropped() const { return dropped_all_; }

  // What waits is written, for `stop_time` at most. May be called twice; lines after it are dropped.
  void stop();

 private:
  void put(const LogLine& line);
  void run();
  // Nothing is written in part: false if that is not possible.
  bool write_out(const std::string& text);
  bool wait_until_it_takes() const;

  const Options options_;
  const bool json_;
  std::atomic<LogLevel> level_;
  std::atomic<std::uint64_t> dropped_all_ = 0;
  std::atomic<std::chrono::steady_clock::time_point> give_up_at_ = std::chrono::steady_clock::time_point::max();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> waiting_;
  std::uint64_t dropped_ = 0;  // that were not told yet
  bool ending_ = false;

  std::mutex stop_mutex_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace carillon
