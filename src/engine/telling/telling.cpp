#include "engine/telling/telling.h"

#include <utility>

namespace carillon {

namespace {

constexpr std::size_t kAnnouncedMax = 1000;

}  // namespace

void Telling::tell(Round& round) {
  {
    const std::scoped_lock lock(counters_mutex_);
    add(counters_, std::exchange(round.counts, {}));
  }
  std::vector<EventBody> events = std::exchange(round.events, {});
  {
    const std::scoped_lock lock(announced_mutex_);
    for (EventBody& body : announced_) events.push_back(std::move(body));
    announced_.clear();
  }
  for (EventBody& body : events) {
    const Event event{.at = round.now, .body = std::move(body)};
    for (const EventListener& listener : listeners_) {
      try {
        listener(event);
      } catch (...) {  // NOLINT(bugprone-empty-catch): who listens must not stop what he listens to
      }
    }
  }
}

void Telling::announce(EventBody body) {
  {
    const std::scoped_lock lock(announced_mutex_);
    if (announced_.size() >= kAnnouncedMax) return;
    announced_.push_back(std::move(body));
  }
  bell_.ring();
}

Counters Telling::counters() const {
  const std::scoped_lock lock(counters_mutex_);
  return counters_;
}

}  // namespace carillon
