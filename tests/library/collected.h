// What a library tells, kept for a test to look at: lines of a log, events by their names.
#pragma once

#include <carillon/json.h>
#include <carillon/log.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace carillon::test {

// A sink for a log. Lines come on the log's own thread.
class Lines {
 public:
  LogOptions options(LogLevel level = LogLevel::debug) {
    return {.level = level, .sink = [this](const LogLine& line) { take(line); }};
  }
  void take(const LogLine& line) {
    {
      const std::scoped_lock lock(mutex_);
      lines_.push_back(line);
    }
    changed_.notify_all();
  }
  std::vector<LogLine> all() const {
    const std::scoped_lock lock(mutex_);
    return lines_;
  }
  std::vector<LogLine> saying(std::string_view message) const {
    std::vector<LogLine> out;
    for (const LogLine& line : all()) {
      if (line.message().contains(message)) out.push_back(line);
    }
    return out;
  }
  // Waits for a line with these words; false: none came in ten seconds.
  bool wait_for(std::string_view message) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), [&] {
      return std::ranges::any_of(lines_, [&](const LogLine& line) { return line.message().contains(message); });
    });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<LogLine> lines_;
};

// The line as an object, for its fields.
inline JsonValue fields_of(const LogLine& line) { return JsonValue::parse(line.json(Instant())).value(); }

inline Instant at(std::string_view text) { return parse_instant(text).value(); }

}  // namespace carillon::test
