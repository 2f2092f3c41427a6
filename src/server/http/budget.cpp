#include "server/http/budget.h"

#include <algorithm>

namespace carillon::server {

Budget::Room Budget::for_bytes(const Account& account, std::size_t bytes) const {
  const bool is_small = bytes <= kSmallBytes;
  const std::size_t most = is_small ? limits_.bytes : limits_.bytes - limits_.bytes / 8;
  if (account.bytes + bytes > limits_.bytes / 2) return Room::none_for_account;
  return bytes_ + bytes > most ? Room::none : Room::enough;
}

Budget::Room Budget::for_answer(const Account& account, std::size_t bytes) const {
  if (bytes <= kSmallBytes) return Room::enough;
  if (account.bytes + bytes > limits_.bytes / 4 * 3) return Room::none_for_account;
  return bytes_ + bytes > limits_.bytes ? Room::none : Room::enough;
}

Budget::Room Budget::for_call(const Account& account) const {
  return account.calls >= limits_.calls_each ? Room::none_for_account : Room::enough;
}

Budget::Room Budget::for_connection(const Account& account) const {
  return account.connections >= limits_.connections_each ? Room::none_for_account : Room::enough;
}

std::shared_ptr<Account> Budget::account(std::string_view name) {
  if (const auto found = accounts_.find(name); found != accounts_.end()) return found->second;
  if (accounts_.size() >= look_at_) forget_unused();
  return accounts_.emplace(name, std::make_shared<Account>()).first->second;
}

void Budget::forget_unused() {
  std::erase_if(accounts_, [](const auto& one) { return one.second.use_count() == 1; });
  look_at_ = std::max<std::size_t>(64, 2 * accounts_.size());
}

void ByteHold::set(std::size_t bytes) noexcept {
  if (!budget_ || bytes == bytes_) return;
  if (bytes > bytes_) {
    const std::size_t all = budget_->bytes_ += bytes - bytes_;
    account_->bytes += bytes - bytes_;
    if (all > budget_->peak_) budget_->peak_ = all;
  } else {
    budget_->bytes_ -= bytes_ - bytes;
    account_->bytes -= bytes_ - bytes;
  }
  bytes_ = bytes;
}

}  // namespace carillon::server
