// Events between the engine's thread, which puts them in, and the one that tells them, which takes them out. Nobody
// waits: where it is full, nothing goes in.
#pragma once

#include <carillon/events.h>

#include <atomic>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace carillon::server {

class EventRing {
 public:
  explicit EventRing(std::size_t size) : slots_(size) {}
  EventRing(const EventRing&) = delete;
  EventRing& operator=(const EventRing&) = delete;
  ~EventRing() = default;

  // One thread only. False: it is full.
  bool push(const Event& event) {
    const std::size_t end = end_.load(std::memory_order_relaxed);
    if (end - begin_.load(std::memory_order_acquire) == slots_.size()) return false;
    slots_[end % slots_.size()] = event;
    end_.store(end + 1);
    return true;
  }

  // One other thread only. Nothing: it is empty.
  std::optional<Event> pop() {
    const std::size_t begin = begin_.load(std::memory_order_relaxed);
    if (begin == end_.load(std::memory_order_acquire)) return std::nullopt;
    std::optional<Event> event(std::move(slots_[begin % slots_.size()]));
    begin_.store(begin + 1, std::memory_order_release);
    return event;
  }
  bool empty() const { return begin_.load() == end_.load(); }

 private:
  std::vector<Event> slots_;
  std::atomic<std::size_t> begin_ = 0;
  std::atomic<std::size_t> end_ = 0;
};

}  // namespace carillon::server
