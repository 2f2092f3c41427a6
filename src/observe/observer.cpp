#include <carillon/observer.h>
#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "base/clock.h"

namespace carillon {

class Observer::Parts {
 public:
  Parts(Engine& engine, ObserverOptions options)
      : engine_(engine), options_(std::move(options)), watcher_(options_.slo, engine.now()), eval_(options_.slo.eval) {}

  void hear(const Event& event) {
    watcher_.hear(event, boot_now());
    if (options_.log != nullptr) log_event(*options_.log, event);
    if (options_.event_log != nullptr) options_.event_log->hear(event);
  }

  void look() {
    // Two looks at once would count one breach twice, and report turns in any order.
    const std::scoped_lock one_at_a_time(look_mutex_);
    const auto parked = engine_.count(JobState::dlq);
    const SloWatcher::Look look{
        .boot = boot_now(), .now = engine_.now(), .parked = parked ? std::optional(*parked) : std::nullopt};
    for (const SloTurn& turn : watcher_.evaluate(look)) {
      if (options_.log != nullptr) options_.log->write(turn.line());
      if (options_.on_turn) options_.on_turn(turn);
      if (turn.standing.breached) engine_.announce(turn.event());
    }
  }

  void begin() {
    thread_ = std::thread([this] { run(); });
    pthread_setname_np(thread_.native_handle(), "objectives");
  }

  void stop() {
    {
      const std::scoped_lock lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  void set_thresholds(const SloOptions& options) {
    watcher_.set_thresholds(options);
    const std::scoped_lock lock(mutex_);
    eval_ = options.eval;
  }

  std::string json() const { return watcher_.json(); }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, eval_, [this] { return ending_; })) {
      lock.unlock();
      look();
      lock.lock();
    }
  }

  Engine& engine_;
  const ObserverOptions options_;
  SloWatcher watcher_;

  std::mutex look_mutex_;

  std::mutex mutex_;
  std::condition_variable changed_;
  Duration eval_;
  bool ending_ = false;

  std::thread thread_;
};

// The engine keeps its listeners: what they use lives as long as they do.
Observer::Observer(Engine& engine, ObserverOptions options)
    : parts_(std::make_shared<Parts>(engine, std::move(options))) {
  engine.on_event([parts = parts_](const Event& event) { parts->hear(event); });
  parts_->begin();
}

Observer::~Observer() { parts_->stop(); }

void Observer::look_now() { parts_->look(); }
void Observer::set_thresholds(const SloOptions& options) { parts_->set_thresholds(options); }
std::string Observer::slo_json() const { return parts_->json(); }

}  // namespace carillon
