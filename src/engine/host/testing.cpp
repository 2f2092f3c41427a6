#include <carillon/testing.h>

#include "base/check.h"
#include "engine/attempts/execution.h"
#include "engine/calls/node_client.h"
#include "engine/host/engine_host.h"
#include "engine/host/manual_clock.h"
#include "engine/host/open_store.h"

namespace carillon::testing {

namespace {

// More rounds than any test needs at one instant: a handler that always makes more work must not hang its test.
constexpr int kRoundsMax = 1'000'000;

// Runs attempts on the driver's thread, when it is asked to.
class InlineRunner final : public Runner {
 public:
  void start(RunPtr run) override { waiting_.push_back(std::move(run)); }
  // One after the other: each has its slot for as long as it takes.
  std::size_t run_all(const Handlers& handlers, Port& port, FinishedQueue& finished, Slots& slots) {
    std::size_t count = 0;
    for (const RunPtr& run : std::exchange(waiting_, {})) {
      auto slot = slots.take();
      if (!slot) {
        waiting_.push_back(run);
      } else if (run->begin(*std::move(slot))) {
        finished.put(execute(run, handlers, port));
        ++count;
      }
    }
    return count;
  }

 private:
  std::vector<RunPtr> waiting_;
};

}  // namespace

ManualClock::ManualClock(Instant start) : parts_(std::make_unique<Parts>(start)) {}
ManualClock::~ManualClock() = default;
Instant ManualClock::now() const { return parts_->wall(); }
void ManualClock::advance(Duration by) { parts_->advance(by); }
void ManualClock::step(Duration by) { parts_->step(by); }

class TestEngine::Parts {
 public:
  Parts(ManualClock& clock, const Options& options)
      : clock_(clock.parts()),
        store_(open(options.store, clock_)),
        node_(*store_, clock_, node_options(options)),
        client_(node_),
        leave_unhandled_(options.engine ? options.engine->leave_unhandled : options.leave_unhandled) {
    node_.set_runner(runner_);
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() = default;

  NodeClient& client() { return client_; }
  Counters counters() const { return node_.counters(); }
  void handle(std::string type, Handler handler) { handlers_[std::move(type)] = std::move(handler); }
  void on_event(EventListener listener) { node_.add_listener(std::move(listener)); }

  std::size_t run_due() {
    begin();
    std::size_t attempts = 0;
    for (int i = 0; i < kRoundsMax; ++i) {
      const Duration sleep = node_.step();
      const std::size_t ran = runner_.run_all(handlers_, *node_.port(), *node_.finished(), *node_.slots());
      attempts += ran;
      next_ = sleep;
      if (ran == 0 && sleep > Duration::zero()) return attempts;
    }
    return attempts;
  }

  std::size_t advance(Duration by) {
    std::size_t attempts = run_due();
    while (by > Duration::zero()) {
      const Duration step = std::clamp(until_something_is_due(), Duration(1), by);
      clock_.advance(step);
      by -= step;
      if (by == Duration::zero() || (due_ && *due_ <= clock_.wall())) node_.look_now();
      attempts += run_due();
    }
    return attempts;
  }

 private:
  // A settled node has nothing to do until then: ticks between would find nothing.
  Duration until_something_is_due() {
    due_.reset();
    if (!node_.is_settled(next_)) return next_;
    const auto due = node_.next_due(clock_.wall());
    if (!due) return next_;
    due_ = *due;
    Duration until = kDurationMax;
    if (due_) until = clock_.until(*due_);
    if (const auto timer = node_.next_timer()) until = std::min(until, *timer - clock_.boot());
    return until;
  }

  static Node::Options node_options(const Options& options) {
    Node::Options node =
        options.engine ? node_options_of(*options.engine) : Node::Options{.max_concurrency = options.max_concurrency};
    node.threaded = false;
    return node;
  }

  static std::unique_ptr<Store> open(const std::string& url, const StoreClock& clock) {
    auto store = open_store_with(url, clock);
    if (!store) throw std::runtime_error(store.error().message);
    return *std::move(store);
  }

  void begin() {
    if (begun_) return;
    begun_ = true;
    if (leave_unhandled_) {
      node_.serve_only([this](std::string_view /*tenant*/, std::string_view type) { return handlers_.contains(type); });
    }
    node_.open();
  }

  ManualClock::Parts& clock_;
  const std::unique_ptr<Store> store_;
  InlineRunner runner_;
  Handlers handlers_;
  Node node_;
  NodeClient client_;
  const bool leave_unhandled_;
  bool begun_ = false;
  Duration next_{};
  std::optional<Instant> due_;  // what the clock goes on to
};

TestEngine::TestEngine(ManualClock& clock, const Options& options) : parts_(std::make_unique<Parts>(clock, options)) {}
TestEngine::~TestEngine() = default;
void TestEngine::handle(std::string type, Handler handler) { parts_->handle(std::move(type), std::move(handler)); }
void TestEngine::on_event(EventListener listener) { parts_->on_event(std::move(listener)); }
Client& TestEngine::client() { return parts_->client(); }
Counters TestEngine::counters() const { return parts_->counters(); }
std::size_t TestEngine::run_due() { return parts_->run_due(); }
std::size_t TestEngine::advance(Duration by) { return parts_->advance(by); }

}  // namespace carillon::testing
