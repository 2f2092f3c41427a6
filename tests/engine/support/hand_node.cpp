#include "engine/support/hand_node.h"

#include "store/memory/memory_store.h"
#include "store/sqlite/sqlite_store.h"
#include "store/transactional_store.h"

namespace carillon::test {

namespace {

constexpr int kRoundsMax = 1000;

std::unique_ptr<Backend> backend_of(const std::filesystem::path& sqlite, const StoreClock& clock) {
  if (sqlite.empty()) return make_memory_backend(clock);
  return value_of(open_sqlite_backend({.path = sqlite, .upkeep_thread = false}, clock));
}

}  // namespace

HandNode::HandNode(const Options& options)
    : clock(options.start),
      store_(make_store(open_backend(options), clock.parts())),
      node_(*store_, clock.parts(),
            {.max_concurrency = options.max_concurrency,
             .claims_max = options.claims_max,
             .threaded = false,
             .rules = options.rules}),
      client_(node_) {
  node_.set_runner(runner);
  node_.add_listener(heard.listener());
  node_.open();
}

std::unique_ptr<Backend> HandNode::open_backend(const Options& options) {
  auto backend = make_faulty(backend_of(options.sqlite, clock.parts()), commits_);
  backend_ = backend.get();
  return backend;
}

void HandNode::tamper(const std::function<void(Transaction&)>& write) {
  write(backend_->begin());
  ASSERT_TRUE(backend_->commit().has_value());
}

void HandNode::settle_down() {
  for (int i = 0; i < kRoundsMax; ++i) {
    if (node_.step() > Duration::zero()) return;
  }
  ADD_FAILURE() << "the node finds no rest in " << kRoundsMax << " rounds";
}

void HandNode::pass(Duration by) {
  while (by > Duration::zero()) {
    const Duration step = std::clamp(node_.step(), Duration(1), by);
    clock.advance(step);
    by -= step;
  }
  settle_down();
}

RunPtr HandNode::take() {
  settle_down();
  if (runner.waiting.empty()) return nullptr;
  RunPtr run = std::move(runner.waiting.front());
  runner.waiting.pop_front();
  return run;
}

bool HandNode::has_begun(const RunPtr& run) {
  auto slot = node_.slots()->take();
  return slot && run->begin(*std::move(slot));
}

bool HandNode::begin(const RunPtr& run) {
  if (!has_begun(run)) return false;
  run->started_at = clock.now();
  run->started_boot = clock.parts().boot();
  return true;
}

void HandNode::finish(const RunPtr& run, Outcome outcome) {
  node_.finished()->put({.run = run, .outcome = std::move(outcome)});
  settle_down();
}

Finished::How HandNode::execute_next() {
  const RunPtr run = take();
  EXPECT_TRUE(run && has_begun(run));
  Finished finished = execute(run, handlers, *node_.port());
  const Finished::How how = finished.how;
  node_.finished()->put(std::move(finished));
  settle_down();
  return how;
}

std::size_t HandNode::run_due() {
  std::size_t count = 0;
  while (const RunPtr run = take()) {
    if (!has_begun(run)) continue;
    node_.finished()->put(execute(run, handlers, *node_.port()));
    ++count;
  }
  return count;
}

}  // namespace carillon::test
