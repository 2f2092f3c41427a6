#include "observe/log.h"

#include <poll.h>
#include <pthread.h>

#include <cerrno>
#include <utility>

#include "base/clock.h"

namespace carillon {

namespace {

using Steady = std::chrono::steady_clock;

constexpr int kLookMs = 100;  // how soon the end is seen by one that waits for its reader

bool is_json_for(LogFormat format, int fd) {
  return format == LogFormat::json || (format == LogFormat::automatic && isatty(fd) != 1);
}

}  // namespace

Log::Log(Options options)
    : options_(options),
      json_(is_json_for(options.format, options.fd)),
      level_(options.level),
      thread_([this] { run(); }) {
  pthread_setname_np(thread_.native_handle(), "log");
}

Log::~Log() { stop(); }

void Log::write(const LogLine& line) {
  if (wants(line.level())) put(line);
}

void Log::put(const LogLine& line) {
  std::string text = json_ ? line.json(system_now()) : line.plain(system_now());
  {
    const std::scoped_lock lock(mutex_);
    if (ending_ || waiting_.size() >= options_.waiting_max) {
      ++dropped_;
      ++dropped_all_;
      return;
    }
    waiting_.push_back(std::move(text));
  }
  changed_.notify_one();
}

void Log::stop() {
  const std::scoped_lock one_at_a_time(stop_mutex_);
  if (!thread_.joinable()) return;
  give_up_at_ = Steady::now() + options_.stop_time;
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Log::run() {
  for (;;) {
    std::deque<std::string> lines;
    std::uint64_t dropped = 0;
    bool last = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
      lines = std::exchange(waiting_, {});
      dropped = std::exchange(dropped_, 0);
      last = ending_;
    }
    for (const std::string& line : lines) {
      if (!write_out(line)) ++dropped_all_;
    }
    // After those that were there before it: they came first.
    if (dropped > 0) {
      LogLine told(LogLevel::warn, "log lines were dropped: standard error is read too slowly");
      told.number("dropped", static_cast<std::int64_t>(dropped));
      write_out(json_ ? told.json(system_now()) : told.plain(system_now()));
    }
    if (last) return;
  }
}

bool Log::wait_until_it_takes() const {
  pollfd writable{.fd = options_.fd, .events = POLLOUT, .revents = 0};
  for (;;) {
    const bool gives_up = Steady::now() >= give_up_at_.load();
    const int ready = poll(&writable, 1, gives_up ? 0 : kLookMs);
    if (ready > 0) return (writable.revents & POLLOUT) != 0;
    if (gives_up || (ready < 0 && errno != EINTR)) return false;
  }
}

bool Log::write_out(const std::string& text) {
  // A pipe that takes anything takes a line of this length whole, so that this neither waits nor tears it.
  if (!wait_until_it_takes()) return false;
  std::string_view left = text;
  while (!left.empty()) {
    const ssize_t written = ::write(options_.fd, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace carillon
