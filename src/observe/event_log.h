// The event log: each event as one line of JSON, in the order in which they happened.
//
// A line is handed to the system before the next event is heard. A disk that does not take it costs lines, counted, and
// never jobs.
#pragma once

#include <carillon/events.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "base/error.h"

namespace carillon {

class EventLog {
 public:
  static Result<EventLog> open(const std::string& path);
  EventLog(EventLog&& other) noexcept;
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;
  EventLog& operator=(EventLog&&) = delete;
  ~EventLog();

  // On the engine's thread.
  void hear(const Event& event);
  std::uint64_t lost() const { return lost_; }

 private:
  explicit EventLog(int fd) : fd_(fd) {}

  int fd_;
  std::atomic<std::uint64_t> lost_ = 0;
};

}  // namespace carillon
