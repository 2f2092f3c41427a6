#include "server/http/budget.h"

#include <algorithm>
#include <utility>

namespace carillon::server {

Budget::Room Budget::for_bytes(const Account& account, std::size_t bytes, std::size_t held) const {
  const std::size_t more = bytes - held;
  if (account.of == AccountOf::address) return for_open(account, more);
  const bool is_small = bytes <= kSmallBytes;
  if (is_small && account.small_bytes + more <= kOwnBytes) return Room::enough;
  if (account.bytes + more > limits_.bytes / 2) return Room::none_for_account;
  return is_beyond(more, is_small ? limits_.bytes : limits_.bytes - limits_.bytes / 8) ? Room::none : Room::enough;
}

Budget::Room Budget::for_answer(const Account& account, std::size_t bytes) const {
  if (bytes <= kUncountedMax) return Room::enough;
  if (account.of == AccountOf::address) return for_open(account, bytes);
  if (bytes <= kSmallBytes && account.small_bytes + bytes <= kOwnBytes) return Room::enough;
  if (account.bytes + bytes > limits_.bytes / 4 * 3) return Room::none_for_account;
  return is_beyond(bytes, limits_.bytes) ? Room::none : Room::enough;
}

Budget::Room Budget::for_next_answer(const Account& account) const {
  const std::size_t large = limits_.bytes / 32;
  return account.bytes < large ? Room::enough : for_answer(account, large);
}

Budget::Room Budget::for_open(const Account& account, std::size_t bytes) const {
  if (account.bytes + bytes > open_max() / 2) return Room::none_for_account;
  return open_bytes_ + bytes > open_max() ? Room::none : Room::enough;
}

Budget::Room Budget::for_call(const Account& account) const {
  return account.calls >= limits_.calls_each ? Room::none_for_account : Room::enough;
}

Budget::Room Budget::for_connection(const Account& account) const {
  return account.connections >= limits_.connections_each ? Room::none_for_account : Room::enough;
}

std::shared_ptr<Account> Budget::account(std::string_view name, AccountOf of) {
  if (const auto found = accounts_.find(name); found != accounts_.end()) return found->second;
  if (accounts_.size() >= look_at_) forget_unused();
  auto made = std::make_shared<Account>();
  made->of = of;
  return accounts_.emplace(name, std::move(made)).first->second;
}

void Budget::forget_unused() {
  std::erase_if(accounts_, [](const auto& one) { return one.second.use_count() == 1; });
  look_at_ = std::max<std::size_t>(64, 2 * accounts_.size());
}

void ByteHold::set(std::size_t bytes) noexcept {
  if (!budget_ || bytes == bytes_) return;
  const auto small = [](std::size_t size) { return size <= Budget::kSmallBytes ? size : 0; };
  // Unsigned, so that less is more by a number that goes round.
  const std::size_t more = bytes - bytes_;
  account_->bytes += more;
  account_->small_bytes += small(bytes) - small(bytes_);
  const std::size_t all = budget_->bytes_ += more;
  if (account_->of == AccountOf::address) budget_->open_bytes_ += more;
  if (bytes > bytes_ && all > budget_->peak_) budget_->peak_ = all;
  bytes_ = bytes;
}

Budget::Room ByteHold::take_answer(std::size_t bytes) {
  if (!budget_ || bytes <= Budget::kUncountedMax) return Budget::Room::enough;
  const std::scoped_lock lock(budget_->answers_);
  const Budget::Room room = budget_->for_answer(*account_, bytes);
  if (room == Budget::Room::enough) set(bytes);
  return room;
}

}  // namespace carillon::server
