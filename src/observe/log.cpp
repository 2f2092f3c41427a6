#include <carillon/log.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
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

class Log::Parts {
 public:
  explicit Parts(Options options)
      : options_(std::move(options)),
        json_(is_json_for(options_.format, options_.fd)),
        level_(options_.level),
        thread_([this] { run(); }) {
    pthread_setname_np(thread_.native_handle(), "log");
  }

  bool wants(LogLevel level) const { return level >= level_.load(std::memory_order_relaxed); }
  void set_level(LogLevel level) { level_ = level; }
  bool is_json() const { return json_; }
  std::uint64_t dropped() const { return dropped_all_; }

  void put(const LogLine& line) {
    Waiting one = options_.sink ? Waiting(line) : Waiting(text_of(line));
    {
      const std::scoped_lock lock(mutex_);
      if (ending_ || waiting_.size() >= options_.waiting_max) {
        ++dropped_;
        ++dropped_all_;
        return;
      }
      waiting_.push_back(std::move(one));
    }
    changed_.notify_one();
  }

  void stop() {
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

 private:
  // Written when it was put, with its time; for a sink it stays what it is.
  using Waiting = std::variant<std::string, LogLine>;

  std::string text_of(const LogLine& line) const { return json_ ? line.json(system_now()) : line.plain(system_now()); }

  void run() {
    for (;;) {
      std::deque<Waiting> lines;
      std::uint64_t dropped = 0;
      bool last = false;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
        lines = std::exchange(waiting_, {});
        dropped = std::exchange(dropped_, 0);
        last = ending_;
      }
      for (const Waiting& line : lines) {
        if (!give(line)) ++dropped_all_;
      }
      // After those that were there before it: they came first.
      if (dropped > 0) {
        LogLine told(LogLevel::warn, "log lines were dropped: they are read too slowly");
        told.number("dropped", static_cast<std::int64_t>(dropped));
        give(options_.sink ? Waiting(told) : Waiting(text_of(told)));
      }
      if (last) return;
    }
  }

  bool give(const Waiting& line) const {
    if (const auto* const text = std::get_if<std::string>(&line)) return write_out(*text);
    // At the end a sink that is slow has as long as a reader would.
    if (Steady::now() >= give_up_at_.load()) return false;
    try {
      options_.sink(std::get<LogLine>(line));
    } catch (...) {
      return false;
    }
    return true;
  }

  bool wait_until_it_takes() const {
    pollfd writable{.fd = options_.fd, .events = POLLOUT, .revents = 0};
    for (;;) {
      const bool gives_up = Steady::now() >= give_up_at_.load();
      const int ready = poll(&writable, 1, gives_up ? 0 : kLookMs);
      if (ready > 0) return (writable.revents & POLLOUT) != 0;
      if (gives_up || (ready < 0 && errno != EINTR)) return false;
    }
  }

  // Nothing is written in part: false if that is not possible.
  bool write_out(const std::string& text) const {
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

  const Options options_;
  const bool json_;
  std::atomic<LogLevel> level_;
  std::atomic<std::uint64_t> dropped_all_ = 0;
  std::atomic<Steady::time_point> give_up_at_ = Steady::time_point::max();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  std::uint64_t dropped_ = 0;  // that were not reported yet
  bool ending_ = false;

  std::mutex stop_mutex_;
  std::thread thread_;  // last: it uses all of the above
};

Log::Log(Options options) : parts_(std::make_unique<Parts>(std::move(options))) {}
Log::~Log() { stop(); }

bool Log::wants(LogLevel level) const { return parts_->wants(level); }
void Log::set_level(LogLevel level) { parts_->set_level(level); }
bool Log::is_json() const { return parts_->is_json(); }
std::uint64_t Log::dropped() const { return parts_->dropped(); }
void Log::stop() { parts_->stop(); }

void Log::write(const LogLine& line) {
  if (wants(line.level())) parts_->put(line);
}

}  // namespace carillon
