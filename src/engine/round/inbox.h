// Calls from other threads, on their way into the node's next round.
#pragma once

#include <utility>
#include <vector>

#include "base/bell.h"
#include "base/error.h"
#include "base/mailbox.h"
#include "engine/commands/call.h"
#include "engine/round/round.h"

namespace carillon {

class Inbox {
 public:
  explicit Inbox(Bell& bell) : calls_([&bell] { bell.ring(); }) {}

  void put(Call call) {
    if (const auto refused = calls_.offer(std::move(call))) refuse(*refused);
  }
  std::vector<Call> take(std::size_t most) { return calls_.take(most); }
  // Who waits, and who comes later, is told that there is nobody to answer.
  void close() {
    for (const Call& call : calls_.close()) refuse(call);
  }
  bool empty() const { return calls_.empty(); }

 private:
  static void refuse(const Call& call) { call.finish(failed(ErrorCode::unavailable, "the engine has ended")); }

  Mailbox<Call> calls_;
};

}  // namespace carillon
