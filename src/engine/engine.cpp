#include <carillon/engine.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "engine/node_client.h"
#include "engine/thread_runner.h"

namespace carillon {

namespace {

constexpr Duration kLookWhileDraining = std::chrono::milliseconds(10);

std::uint32_t concurrency_of(const EngineOptions& options) {
  if (options.max_concurrency > 0) return options.max_concurrency;
  return std::max(1U, std::thread::hardware_concurrency());
}

Node::Options node_options(const EngineOptions& options) {
  return {.worker = options.worker,
          .max_concurrency = concurrency_of(options),
          .tick = options.tick,
          .retention = options.retention};
}

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
  Parts(Store& store, EngineOptions options)
      : options_(std::move(options)),
        node_(store, system_store_clock(), node_options(options_)),
        client_(node_),
        stopped_(eventfd(0, EFD_CLOEXEC)),
        driver_([this] { drive(); }) {
    pthread_setname_np(driver_.native_handle(), "engine");
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() {
    stop();
    {
      const std::scoped_lock lock(mutex_);
      ending_ = true;
    }
    node_.bell().ring();
    driver_.join();
    close(stopped_);
  }

  NodeClient& client() { return client_; }
  Counters counters() const { return node_.counters(); }
  int stopped_fd() const { return stopped_; }

  void handle(std::string type, Handler handler) {
    const std::scoped_lock lock(mutex_);
    CHECK(!runner_);  // before it runs
    handlers_[std::move(type)] = std::move(handler);
  }

  void on_event(EventListener listener) {
    const std::scoped_lock lock(mutex_);
    CHECK(!runner_);
    listeners_.push_back(std::move(listener));
  }

  void start() {
    {
      const std::scoped_lock lock(mutex_);
      if (runner_ || stopping_) return;
      auto environment = std::make_shared<ExecutionEnvironment>();
      environment->port = node_.port();
      environment->finished = node_.finished();
      environment->handlers = handlers_;
      if (options_.executor) {
        runner_ = std::make_unique<HostRunner>(std::move(environment), concurrency_of(options_), options_.executor);
      } else {
        runner_ = std::make_unique<ThreadRunner>(std::move(environment), concurrency_of(options_));
      }
      starting_ = true;
    }
    node_.bell().ring();
  }

  void stop() {
    std::unique_lock lock(mutex_);
    if (!runner_) return;
    stopping_ = true;
    node_.bell().ring();
    drained_.wait(lock, [&] { return is_drained_; });
  }

  // The second signal: everything is left as it is, for the next start to find.
  void wait_for_end(const EndSignals& signals) {
    std::array<pollfd, 2> fds{
        {{.fd = signals.fd(), .events = POLLIN, .revents = 0}, {.fd = stopped_, .events = POLLIN, .revents = 0}}};
    bool asked = false;
    std::thread stopper;
    while (true) {
      if (poll(fds.data(), fds.size(), -1) < 0) continue;  // by the very signal, which is readable now
      if ((fds[1].revents & POLLIN) != 0) break;
      if (!signals.take()) continue;
      if (asked) _exit(EXIT_FAILURE);
      asked = true;
      stopper = std::thread([this] { stop(); });
    }
    if (stopper.joinable()) stopper.join();
  }

 private:
  void drive() {
    bool open = false;
    std::optional<BootTime> drain_until;
    bool released = false;
    while (true) {
      {
        const std::scoped_lock lock(mutex_);
        if (ending_) return;
        if (starting_ && !open) {
          for (EventListener& listener : listeners_) node_.add_listener(std::move(listener));
          if (options_.leave_unhandled) {
            node_.serve_only([this](std::string_view type) { return handlers_.contains(type); });
          }
          node_.set_runner(*runner_);
          node_.open();
          open = true;
        }
        if (stopping_ && !drain_until) {
          drain_until = system_store_clock().boot() + options_.drain;
          node_.begin_drain();
        }
      }
      Duration sleep = node_.step();
      if (drain_until && !is_drained()) {
        if (node_.is_idle()) {
          node_.step();  // what the last handlers asked for
          set_drained();
        } else if (!released && system_store_clock().boot() >= *drain_until) {
          node_.release_all();
          released = true;
          continue;
        } else if (released && system_store_clock().boot() >= *drain_until + options_.drain) {
          set_drained();  // the store does not take it: leases run out by themselves
        }
        sleep = std::min(sleep, kLookWhileDraining);
      }
      node_.bell().sleep(sleep);
    }
  }

  bool is_drained() {
    const std::scoped_lock lock(mutex_);
    return is_drained_;
  }

  void set_drained() {
    {
      const std::scoped_lock lock(mutex_);
      is_drained_ = true;
    }
    drained_.notify_all();
    eventfd_write(stopped_, 1);
  }

  const EngineOptions options_;
  Node node_;
  NodeClient client_;
  const int stopped_;  // readable once everything has been drained

  std::mutex mutex_;
  std::condition_variable drained_;
  Handlers handlers_;
  std::vector<EventListener> listeners_;
  std::unique_ptr<Runner> runner_;
  bool starting_ = false;
  bool stopping_ = false;
  bool is_drained_ = false;
  bool ending_ = false;

  std::thread driver_;  // last: it uses all of the above
};

Engine::Engine(Store& store, Options options) : parts_(std::make_unique<Parts>(store, std::move(options))) {}
Engine::~Engine() = default;

void Engine::handle(std::string type, Handler handler) { parts_->handle(std::move(type), std::move(handler)); }
void Engine::on_event(EventListener listener) { parts_->on_event(std::move(listener)); }
Client& Engine::client() { return parts_->client(); }
Counters Engine::counters() const { return parts_->counters(); }
void Engine::run_in_background() { parts_->start(); }
void Engine::stop() { parts_->stop(); }

void Engine::run() {
  const EndSignals signals;
  parts_->start();
  parts_->wait_for_end(signals);
}

}  // namespace carillon
