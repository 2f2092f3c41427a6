#include "server/http/turns.h"

#include <utility>

namespace carillon::server {

namespace {

constexpr auto kMoment = std::chrono::milliseconds(1);
constexpr int kOfAddress = 4;

int turns_of(const Account& account) { return account.of == AccountOf::address ? kOfAddress : 1; }

}  // namespace

void Turns::add(const std::shared_ptr<Account>& account, std::shared_ptr<Guest> guest) {
  const auto [line, is_new] = lines_.try_emplace(account.get());
  if (is_new) {
    line->second.account = account;
    order_.push_back(&line->second);
  }
  line->second.waiting.push_back(std::move(guest));
  ++waiting_;
  wake();
}

void Turns::run() {
  is_awake_ = false;
  const auto until = clock_() + kMoment;
  for (std::size_t left = waiting_; left > 0; --left) {
    Line& line = *order_.front();
    const std::shared_ptr<Guest> guest = std::move(line.waiting.front());
    line.waiting.pop_front();
    --waiting_;
    guest->take_turn();
    if (line.waiting.empty()) {
      order_.pop_front();
      lines_.erase(line.account.get());
    } else if (++line.served >= turns_of(*line.account)) {
      line.served = 0;
      order_.splice(order_.end(), order_, order_.begin());
    }
    if (clock_() >= until) break;
  }
  if (!order_.empty()) wake();
}

void Turns::wake() {
  if (!std::exchange(is_awake_, true)) wake_();
}

}  // namespace carillon::server
