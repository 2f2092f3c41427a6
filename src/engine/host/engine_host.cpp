#include "engine/host/engine_host.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/check.h"

namespace carillon {

namespace {

constexpr Duration kLookWhileDraining = std::chrono::milliseconds(10);

std::uint32_t concurrency_of(const EngineOptions& options) {
  if (options.max_concurrency > 0) return options.max_concurrency;
  return std::max(1U, std::thread::hardware_concurrency());
}

Node::Options host_node_options(const EngineHostOptions& host) {
  Node::Options node = node_options_of(host.engine);
  node.rules.limits_must_exist = host.limits_must_exist;
  return node;
}

}  // namespace

RuleBook::Base rules_of(const EngineOptions& options) {
  return {.pins = options.pins,
          .job = {.timeout = options.job_timeout,
                  .lease = options.lease,
                  .max_attempts = options.max_attempts,
                  .retry = std::nullopt},
          .windows = {.max_backfill = options.max_backfill_windows, .min_window = options.min_window}};
}

Node::Options node_options_of(const EngineOptions& options) {
  Node::Options node{.worker = options.worker,
                     .max_concurrency = concurrency_of(options),
                     .tick = options.tick,
                     .retention = options.retention,
                     .rules = rules_of(options)};
  if (options.batch) node.claims_max = *options.batch;
  return node;
}

class EngineHost::Parts {
 public:
  Parts(Store& store, EngineHostOptions options)
      : options_(std::move(options)),
        clock_(options_.clock ? *options_.clock : system_store_clock()),
        node_(store, clock_, host_node_options(options_)),
        client_(node_),
        pulls_(node_),
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

  Node& node() { return node_; }
  NodeClient& client() { return client_; }
  PullClient& pulls() { return pulls_; }
  Counters counters() const { return node_.counters(); }
  int stopped_fd() const { return stopped_; }

  void handle(std::string type, Handler handler) {
    const std::scoped_lock lock(mutex_);
    handlers_[std::move(type)] = std::move(handler);
    if (environment_) environment_->handlers.set(handlers_);
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
      environment_ = std::make_shared<ExecutionEnvironment>();
      environment_->port = node_.port();
      environment_->finished = node_.finished();
      environment_->slots = node_.slots();
      environment_->handlers.set(handlers_);
      runner_ = make_runner(environment_);
      starting_ = true;
    }
    node_.bell().ring();
  }

  void stop() {
    if (options_.rehearsal != nullptr) options_.rehearsal->close();
    std::unique_lock lock(mutex_);
    if (!runner_) return;
    stopping_ = true;
    node_.bell().ring();
    drained_.wait(lock, [&] { return is_drained_; });
  }

 private:
  std::unique_ptr<Runner> make_runner(std::shared_ptr<ExecutionEnvironment> environment) const {
    const std::uint32_t threads = concurrency_of(options_.engine);
    if (options_.make_runner) return options_.make_runner(std::move(environment), threads);
    if (options_.engine.executor) {
      return std::make_unique<HostRunner>(std::move(environment), threads, options_.engine.executor);
    }
    return std::make_unique<ThreadRunner>(std::move(environment), threads);
  }

  void set_serving() {
    if (options_.serves) {
      node_.serve_only(options_.serves);
    } else if (options_.engine.leave_unhandled) {
      // As they stood at the start: a handler that is added later would be read here while it is written.
      node_.serve_only([handlers = handlers_](std::string_view /*tenant*/, std::string_view type) {
        return handlers.contains(type);
      });
    }
    if (options_.limits_of_type) node_.limit_types(options_.limits_of_type);
    if (options_.tenant_erased) node_.on_tenant_erased(options_.tenant_erased);
    if (options_.job_room.left) node_.ask_for_room(options_.job_room);
    if (options_.waits_outside) node_.share_slots(options_.waits_outside);
  }

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
          set_serving();
          node_.set_runner(*runner_);
          node_.open();
          open = true;
        }
        if (stopping_ && !drain_until) {
          drain_until = clock_.boot() + options_.engine.drain;
          node_.begin_drain();
        }
      }
      Duration sleep = node_.step();
      if (options_.rehearsal != nullptr && open) sleep = options_.rehearsal->after_step(node_, sleep);
      if (drain_until && !is_drained()) {
        if (node_.is_idle()) {
          node_.step();  // what the last handlers asked for
          set_drained();
        } else if (!released && clock_.boot() >= *drain_until) {
          node_.release_all();
          released = true;
          continue;
        } else if (released && clock_.boot() >= *drain_until + options_.engine.drain) {
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

  const EngineHostOptions options_;
  const StoreClock& clock_;
  Node node_;
  NodeClient client_;
  PullClient pulls_;
  const int stopped_;  // readable once everything has been drained

  std::mutex mutex_;
  std::condition_variable drained_;
  Handlers handlers_;
  std::vector<EventListener> listeners_;
  std::shared_ptr<ExecutionEnvironment> environment_;
  std::unique_ptr<Runner> runner_;
  bool starting_ = false;
  bool stopping_ = false;
  bool is_drained_ = false;
  bool ending_ = false;

  std::thread driver_;  // last: it uses all of the above
};

EngineHost::EngineHost(Store& store, EngineHostOptions options)
    : parts_(std::make_unique<Parts>(store, std::move(options))) {}
EngineHost::~EngineHost() = default;

Node& EngineHost::node() { return parts_->node(); }
Commands EngineHost::commands() { return Commands(parts_->node()); }
Queries EngineHost::queries() { return Queries(parts_->node()); }
NodeClient& EngineHost::client() { return parts_->client(); }
NodeClient EngineHost::client_of(std::string actor) { return NodeClient(parts_->node(), std::move(actor)); }
void EngineHost::announce(EventBody body) { parts_->node().announce(std::move(body)); }
void EngineHost::wake() { parts_->node().bell().ring(); }
PullClient& EngineHost::pulls() { return parts_->pulls(); }
Counters EngineHost::counters() const { return parts_->counters(); }
void EngineHost::handle(std::string type, Handler handler) { parts_->handle(std::move(type), std::move(handler)); }
void EngineHost::on_event(EventListener listener) { parts_->on_event(std::move(listener)); }
void EngineHost::start() { parts_->start(); }
void EngineHost::stop() { parts_->stop(); }
int EngineHost::stopped_fd() const { return parts_->stopped_fd(); }

}  // namespace carillon
