#include "observe/event_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

namespace carillon {

namespace {

constexpr int kMode = 0640;

}  // namespace

Result<EventLog> EventLog::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, kMode);  // NOLINT(*-vararg)
  if (fd < 0) {
    return failed(ErrorCode::unavailable, fmt::format("cannot write the event log {}: {}", quoted(path),
                                                      std::generic_category().message(errno)));
  }
  return EventLog(fd);
}

EventLog::EventLog(EventLog&& other) noexcept : fd_(std::exchange(other.fd_, -1)), lost_(other.lost_.load()) {}

EventLog::~EventLog() {
  if (fd_ >= 0) close(fd_);
}

void EventLog::hear(const Event& event) {
  const std::string line = to_json_line(event) + "\n";
  std::string_view left = line;
  while (!left.empty()) {
    const ssize_t written = write(fd_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      ++lost_;
      return;
    }
    left.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace carillon
