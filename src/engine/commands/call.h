// What waits to enter a round: a command, or a piece of the engine's own work, with its completion.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/error.h"

namespace carillon {

struct Round;

class Call {
 public:
  class Body {
   public:
    Body() = default;
    Body(const Body&) = delete;
    Body& operator=(const Body&) = delete;
    virtual ~Body() = default;
    // Inside of the transaction.
    virtual void run(Round& round) = 0;
    // After it, once, with how the commit went.
    virtual void finish(const Result<void>& committed) = 0;
  };

  explicit Call(std::unique_ptr<Body> body) : body_(std::move(body)) {}

  void run(Round& round) const { body_->run(round); }
  void finish(const Result<void>& committed) const { body_->finish(committed); }

 private:
  std::unique_ptr<Body> body_;
};

// Stays the answer if the round broke off before it came to this.
inline std::unexpected<Error> not_reached() {
  return failed(ErrorCode::unavailable, "the store failed before this could be done: try again");
}

// The engine's own work.
template <typename Answer>
class ClosureCall final : public Call::Body {
 public:
  ClosureCall(std::function<Result<Answer>(Round&)> operation, std::function<void(Result<Answer>)> done)
      : operation_(std::move(operation)), done_(std::move(done)) {}

  void run(Round& round) override { answer_ = operation_(round); }
  void finish(const Result<void>& committed) override {
    done_(committed ? std::move(answer_) : Result<Answer>(std::unexpected(committed.error())));
  }

 private:
  std::function<Result<Answer>(Round&)> operation_;
  std::function<void(Result<Answer>)> done_;
  Result<Answer> answer_ = not_reached();
};

}  // namespace carillon
