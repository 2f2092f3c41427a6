// What many threads hand to one: it takes all that has come, in order, when it comes to it.
//
//   Mailbox<Finished> box([bell] { bell->ring(); });
//   box.put(finished);                             // any thread; the first into an empty box wakes the taker
//   for (Finished& one : box.take()) settle(one);  // the one thread
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace carillon {

template <typename T>
class Mailbox {
 public:
  using Wake = std::function<void()>;

  // `wake` is called when something has come into an empty box, under its lock: it must be quick. It may be empty, and
  // is not called once the box is closed. More than `most` at once are not taken in.
  explicit Mailbox(Wake wake = {}, std::size_t most = SIZE_MAX) : most_(most), wake_(std::move(wake)) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  ~Mailbox() = default;

  // Gives the item back if the box is closed or full.
  [[nodiscard]] std::optional<T> offer(T item) {
    const std::scoped_lock lock(mutex_);
    if (closed_ || waiting_.size() >= most_) return item;
    waiting_.push_back(std::move(item));
    // Who takes, takes all that waits: only the first has to wake it.
    if (waiting_.size() == 1 && wake_) wake_();
    return std::nullopt;
  }
  // Into a box that is closed or full it goes for nothing. False: so it went.
  bool put(T item) { return !offer(std::move(item)); }

  std::vector<T> take(std::size_t most = SIZE_MAX) {
    const std::scoped_lock lock(mutex_);
    return take_some(most);
  }
  // What was left. Nothing is taken in from now on.
  std::vector<T> close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    return take_some(SIZE_MAX);
  }

  bool empty() const {
    const std::scoped_lock lock(mutex_);
    return waiting_.empty();
  }

 private:
  std::vector<T> take_some(std::size_t most) {
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(most, waiting_.size()));
    std::vector<T> taken(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
    return taken;
  }

  const std::size_t most_;
  const Wake wake_;
  mutable std::mutex mutex_;  // guards the rest
  std::deque<T> waiting_;
  bool closed_ = false;
};

}  // namespace carillon
