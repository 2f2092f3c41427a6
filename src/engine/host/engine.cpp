#include <carillon/engine.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/check.h"
#include "core/settings/settings.h"
#include "engine/host/engine_host.h"

namespace carillon {

namespace {

// Where a signal is noted while an engine runs until one comes; else -1.
std::atomic<int> end_signal_fd = -1;

void note_end_signal(int /*signal*/) {
  const int saved = errno;
  eventfd_write(end_signal_fd, 1);
  errno = saved;
}

// The signals that end a program, made readable. They are caught and not blocked: threads that were there before, the
// store's, ours and a host's own, would still be ended by them.
class EndSignals {
 public:
  EndSignals() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE)) {
    CHECK(fd_ >= 0);
    CHECK(end_signal_fd.exchange(fd_) < 0);  // one engine of a process runs until a signal
    struct sigaction action{};
    action.sa_handler = note_end_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, &term_before_);
    sigaction(SIGINT, &action, &interrupt_before_);
  }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  ~EndSignals() {
    sigaction(SIGTERM, &term_before_, nullptr);
    sigaction(SIGINT, &interrupt_before_, nullptr);
    end_signal_fd = -1;
    close(fd_);
  }

  int fd() const { return fd_; }
  // One of those that came.
  bool take() const {
    eventfd_t one = 0;
    return eventfd_read(fd_, &one) == 0;
  }

 private:
  const int fd_;
  struct sigaction term_before_{};
  struct sigaction interrupt_before_{};
};

}  // namespace

class Engine::Parts {
 public:
  Parts(Store& store, EngineOptions options) : host_(store, {.engine = std::move(options)}) {}
  EngineHost& host() { return host_; }

  // The second signal: everything is left as it is, for the next start to find.
  void wait_for_end(const EndSignals& signals) {
    std::array<pollfd, 2> fds{{{.fd = signals.fd(), .events = POLLIN, .revents = 0},
                               {.fd = host_.stopped_fd(), .events = POLLIN, .revents = 0}}};
    bool asked = false;
    std::thread stopper;
    while (true) {
      if (poll(fds.data(), fds.size(), -1) < 0) continue;  // by the very signal, which is readable now
      if ((fds[1].revents & POLLIN) != 0) break;
      if (!signals.take()) continue;
      if (asked) _exit(EXIT_FAILURE);
      asked = true;
      stopper = std::thread([this] { host_.stop(); });
    }
    if (stopper.joinable()) stopper.join();
  }

 private:
  EngineHost host_;
};

Engine::Engine(Store& store, Options options) : parts_(std::make_unique<Parts>(store, std::move(options))) {}
Engine::~Engine() = default;

void Engine::handle(std::string type, Handler handler) { parts_->host().handle(std::move(type), std::move(handler)); }
void Engine::on_event(EventListener listener) { parts_->host().on_event(std::move(listener)); }
Client& Engine::client() { return parts_->host().client(); }
Counters Engine::counters() const { return parts_->host().counters(); }
std::string Engine::config() const { return write_engine_config(parts_->host().node().config()); }
Result<std::uint64_t> Engine::count(JobState state) const {
  TRY_ASSIGN(const std::int64_t count, parts_->host().node().store().reader().count_of(state));
  return static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0));
}
Instant Engine::now() const { return parts_->host().node().store().jobs().now(); }
void Engine::announce(EventBody event) { parts_->host().node().announce(std::move(event)); }
void Engine::run_in_background() { parts_->host().start(); }
void Engine::stop() { parts_->host().stop(); }

void Engine::run() {
  const EndSignals signals;
  parts_->host().start();
  parts_->wait_for_end(signals);
}

}  // namespace carillon
