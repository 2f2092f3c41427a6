// Calls from other threads, on their way into the node's next round.
#pragma once

#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "base/bell.h"
#include "base/error.h"
#include "engine/commands/call.h"
#include "engine/round/round.h"

namespace carillon {

class Inbox {
 public:
  explicit Inbox(Bell& bell) : bell_(bell) {}
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;
  ~Inbox() = default;

  void put(Call call) {
    bool first = false;
    {
      std::unique_lock lock(mutex_);
      if (closed_) {
        lock.unlock();
        call.finish(failed(ErrorCode::unavailable, "the engine has ended"));
        return;
      }
      first = waiting_.empty();
      waiting_.push_back(std::move(call));
    }
    if (first) bell_.ring();
  }
  std::vector<Call> take(std::size_t most) {
    const std::scoped_lock lock(mutex_);
    std::vector<Call> calls;
    while (!waiting_.empty() && calls.size() < most) {
      calls.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    return calls;
  }
  // Who waits, and who comes later, is told that there is nobody to answer.
  void close() {
    std::deque<Call> refused;
    {
      const std::scoped_lock lock(mutex_);
      closed_ = true;
      refused.swap(waiting_);
    }
    for (const Call& call : refused) call.finish(failed(ErrorCode::unavailable, "the engine has ended"));
  }
  bool empty() const {
    const std::scoped_lock lock(mutex_);
    return waiting_.empty();
  }

 private:
  Bell& bell_;
  mutable std::mutex mutex_;
  std::deque<Call> waiting_;
  bool closed_ = false;
};

}  // namespace carillon
