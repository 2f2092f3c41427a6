// Who is served next on the net thread. Whoever has something to do stands in a line, that of its key or, without one,
// of its address; the lines take turns. So somebody with a thousand busy connections waits for himself, and the others
// for one of his at a time. In an address's line stand all who have not said yet who they are: it has a few at a time.
// Net thread only.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>

#include "server/http/budget.h"

namespace carillon::server {

class Turns {
 public:
  class Guest {
   public:
    Guest() = default;
    Guest(const Guest&) = delete;
    Guest& operator=(const Guest&) = delete;
    virtual ~Guest() = default;
    // May stand in a line again, for the next `run`.
    virtual void take_turn() = 0;
  };

  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  // `wake` asks for a call of `run`: later, behind all that has happened meanwhile.
  explicit Turns(std::function<void()> wake, Clock clock = std::chrono::steady_clock::now)
      : wake_(std::move(wake)), clock_(std::move(clock)) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;
  ~Turns() = default;

  // At the end of the line of `account`.
  void add(const std::shared_ptr<Account>& account, std::shared_ptr<Guest> guest);
  // Gives turns to those who stand in line now, for a moment at most, so that newcomers and news are seen to. Asks for
  // another call if somebody is left.
  void run();

 private:
  struct Line {
    std::shared_ptr<Account> account;
    std::list<std::shared_ptr<Guest>> waiting;
    int served = 0;  // since its turn came
  };

  void wake();

  const std::function<void()> wake_;
  const Clock clock_;
  std::unordered_map<const Account*, Line> lines_;  // those that take turns, and the one that has it
  std::list<Line*> order_;
  std::size_t waiting_ = 0;  // in all lines
  bool is_awake_ = false;
};

}  // namespace carillon::server
