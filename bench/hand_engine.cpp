#include "bench/hand_engine.h"

#include <chrono>

#include "bench/measuring.h"
#include "store/sqlite/sqlite_store.h"

namespace carillon {

namespace {

std::unique_ptr<Store> open_or_give_up(const std::string& path, const StoreClock& clock) {
  auto store = open_sqlite({.path = path}, clock);
  must(store);
  return *std::move(store);
}

}  // namespace

HandEngine::HandEngine(const std::string& path, Instant start)
    : clock_(start),
      store_(open_or_give_up(path, clock_)),
      node_(*store_, clock_, {.threaded = false}),
      client_(node_) {
  // It is never opened: nothing is claimed, so nobody has to run it.
  node_.add_listener([this](const Event& event) {
    if (const auto* const tick = std::get_if<TickStopped>(&event.body)) last_ = *tick;
  });
}

void HandEngine::settle_down() {
  node_.look_now();
  while (node_.step() <= Duration::zero()) {
  }
}

HandEngine::Tick HandEngine::tick() {
  last_ = {};
  node_.look_now();
  const double seconds = seconds_of([&] { node_.step(); });
  return {.plan_ms = std::chrono::duration<double, std::milli>(last_.duration).count(),
          .round_ms = 1e3 * seconds,
          .looked_at = last_.users_scanned};
}

}  // namespace carillon
