// The event log: each event as one line of JSON, in the order in which they happened. Of the samples that come with
// every tick only those that say something: a server that does nothing writes nothing.
//
// A line is handed to the system before the next event is heard. A disk that does not take it costs lines, counted, and
// never jobs.
#pragma once

#include <carillon/error.h>
#include <carillon/events.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace carillon {

class TickNews;

class EventLog {
 public:
  // A link is not followed. Errors: invalid_configuration, unavailable.
  static Result<EventLog> open(const std::string& path);
  EventLog(EventLog&& other) noexcept;
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;
  EventLog& operator=(EventLog&&) = delete;
  ~EventLog();

  // On the engine's thread.
  void hear(const Event& event);
  // Lines go to the file that has its name now, so that the one before can be moved away. Any thread; if it fails,
  // lines go where they went.
  Result<void> reopen();
  std::uint64_t lost() const { return lost_; }

 private:
  EventLog(int fd, std::string path);

  int fd_;
  std::string path_;
  std::unique_ptr<TickNews> news_;  // of the engine's thread
  std::atomic<bool> is_fresh_ = false;
  std::atomic<std::uint64_t> lost_ = 0;
};

}  // namespace carillon
