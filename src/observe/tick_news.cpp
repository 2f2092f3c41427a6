#include "observe/tick_news.h"

#include <utility>
#include <variant>

#include "core/time/instant.h"

namespace carillon {

namespace {

constexpr std::size_t kDateLength = 10;

// Whether it differs from the last one, whose place it takes.
template <typename T>
bool replaces(std::optional<T>& last, T now) {
  if (last == now) return false;
  last = std::move(now);
  return true;
}

}  // namespace

bool TickNews::is_news(const Event& event) {
  if (const auto* const tick = std::get_if<TickStopped>(&event.body)) {
    const bool did_something = tick->users_scanned > 0 || tick->enqueued > 0 || tick->cutoff_finalized > 0;
    if (did_something) forget();
    return replaces(eligible_, tick->eligible_in_window) || did_something;
  }
  if (const auto* const queue = std::get_if<QueueDepth>(&event.body)) {
    return replaces(depth_, {.depth = queue->depth, .today = format_instant(event.at).substr(0, kDateLength)});
  }
  if (const auto* const level = std::get_if<InFlight>(&event.body)) {
    return replaces(level_, {.in_flight = level->in_flight, .max_concurrency = level->max_concurrency});
  }
  forget();
  return true;
}

void TickNews::forget() {
  eligible_.reset();
  depth_.reset();
  level_.reset();
}

}  // namespace carillon
