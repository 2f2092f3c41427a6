#include <carillon/event_log.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/safe_file.h"
#include "observe/tick_news.h"

namespace carillon {

namespace {

constexpr unsigned kMode = 0640;

Result<int> open_log(const std::string& path) {
  auto fd = open_to_append(path, kMode);
  if (!fd) return std::unexpected(with_context("the event log", std::move(fd).error()));
  return fd;
}

}  // namespace

Result<EventLog> EventLog::open(const std::string& path) {
  TRY_ASSIGN(const int fd, open_log(path));
  return EventLog(fd, path);
}

EventLog::EventLog(int fd, std::string path) : fd_(fd), path_(std::move(path)), news_(std::make_unique<TickNews>()) {}

EventLog::EventLog(EventLog&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      news_(std::move(other.news_)),
      lost_(other.lost_.load()) {}

EventLog::~EventLog() {
  if (fd_ >= 0) close(fd_);
}

Result<void> EventLog::reopen() {
  TRY_ASSIGN(const int fd, open_log(path_));
  // In one step: each line is written whole, to the one or to the other.
  const bool replaced = dup3(fd, fd_, O_CLOEXEC) >= 0;
  const int error = errno;
  close(fd);
  if (replaced) {
    is_fresh_ = true;
    return {};
  }
  return failed(ErrorCode::unavailable, fmt::format("cannot write the event log {}: {}", carillon::quoted(path_),
                                                    std::generic_category().message(error)));
}

void EventLog::hear(const Event& event) {
  // What is in another file is not known in this one.
  if (is_fresh_.exchange(false)) news_->forget();
  if (!news_->is_news(event)) return;
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
