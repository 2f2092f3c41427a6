// What all calls under way may take together, and each of those who make them: bytes of bodies and answers, and calls
// whose answer is not sent.
//
// Asked on the net thread, before something is taken in; given back by whoever lets go of it, on any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace carillon::server {

enum class AccountOf : std::uint8_t { key, address };

// Of one key, or of one address that calls without a key.
struct Account {
  AccountOf of = AccountOf::key;
  std::atomic<std::size_t> bytes = 0;
  std::atomic<std::size_t> small_bytes = 0;  // of these, in pieces of kSmallBytes at most
  std::atomic<std::size_t> calls = 0;
  std::atomic<std::size_t> connections = 0;  // whose last call was on it
};

class Budget {
 public:
  // Less is not counted and never refused: there are no more of these than connections and calls.
  static constexpr std::size_t kUncountedMax = std::size_t{4} * 1024;
  // Up to this a body or an answer is small: large ones leave a part of the budget to small ones. Bodies count twice.
  static constexpr std::size_t kSmallBytes = std::size_t{128} * 1024;
  // So many bytes of small ones every key has, whatever the others hold: what stands above the budget is bounded by the
  // number of keys.
  static constexpr std::size_t kOwnBytes = 4 * kSmallBytes;

  // All who call without a key have an eighth of the bytes together, each address half of that. The rest is the keys':
  // one has half of all for its bodies, and large ones leave an eighth of all to small ones.
  struct Limits {
    std::size_t bytes = std::size_t{256} * 1024 * 1024;  // of all
    std::size_t calls_each = 8'000;
    std::size_t connections_each = 8'000;
  };
  explicit Budget(const Limits& limits) : limits_(limits) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;
  ~Budget() = default;

  // Why nothing more is taken in.
  enum class Room : std::uint8_t { enough, none_for_account, none };
  // A body of `bytes`, of which `held` are taken already.
  Room for_bytes(const Account& account, std::size_t bytes, std::size_t held = 0) const;
  // For what was worked out already a key has three quarters: bodies alone cannot take an answer its room.
  Room for_answer(const Account& account, std::size_t bytes) const;
  Room for_call(const Account& account) const;
  // Whoever has not read what he was told is told no more, once there is no room for a large answer: to work it out
  // would be for nothing.
  Room for_next_answer(const Account& account) const;
  Room for_connection(const Account& account) const;
  const Limits& limits() const { return limits_; }

  // Net thread only. The same name gives the same account for as long as somebody holds it.
  std::shared_ptr<Account> account(std::string_view name, AccountOf of = AccountOf::key);

  std::size_t bytes() const { return bytes_; }
  // The most that there was since this was asked before, about.
  std::size_t take_peak() { return peak_.exchange(bytes_); }

 private:
  friend class ByteHold;
  struct Hash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard library's name
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  void forget_unused();
  std::size_t open_max() const { return limits_.bytes / 8; }
  Room for_open(const Account& account, std::size_t bytes) const;
  // Whether that is more than `most`, with all that is left to those without a key.
  bool is_beyond(std::size_t bytes, std::size_t most) const { return bytes_ + open_max() + bytes > most + open_bytes_; }

  const Limits limits_;
  std::atomic<std::size_t> bytes_ = 0;
  std::atomic<std::size_t> open_bytes_ = 0;  // of these, of those without a key
  std::atomic<std::size_t> peak_ = 0;
  std::mutex answers_;  // held from asking to taking
  std::unordered_map<std::string, std::shared_ptr<Account>, Hash, std::equal_to<>> accounts_;
  std::size_t look_at_ = 64;  // accounts: so many are there when those that nobody uses are looked for
};

// Bytes that are taken, until it is gone.
class ByteHold {
 public:
  ByteHold() = default;
  ByteHold(std::shared_ptr<Budget> budget, std::shared_ptr<Account> account)
      : budget_(std::move(budget)), account_(std::move(account)) {}
  ByteHold(const ByteHold&) = delete;
  ByteHold& operator=(const ByteHold&) = delete;
  ByteHold(ByteHold&& other) noexcept
      : budget_(std::move(other.budget_)),
        account_(std::move(other.account_)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  ByteHold& operator=(ByteHold&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(account_, other.account_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~ByteHold() { set(0); }

  // It asks nobody: whether there is room was asked before.
  void set(std::size_t bytes) noexcept;
  // Asks for an answer's room and takes it in one step, so that many who ask at once do not all get the same.
  Budget::Room take_answer(std::size_t bytes);
  std::size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<Budget> budget_;
  std::shared_ptr<Account> account_;
  std::size_t bytes_ = 0;
};

// One more of an account's calls or connections, until it is gone.
class CountHold {
 public:
  using Count = std::atomic<std::size_t> Account::*;

  CountHold() = default;
  CountHold(std::shared_ptr<Account> account, Count count) : account_(std::move(account)), count_(count) {
    ++((*account_).*count_);
  }
  CountHold(const CountHold&) = delete;
  CountHold& operator=(const CountHold&) = delete;
  CountHold(CountHold&& other) noexcept : account_(std::move(other.account_)), count_(other.count_) {}
  CountHold& operator=(CountHold&& other) noexcept {
    std::swap(account_, other.account_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~CountHold() {
    if (account_) --((*account_).*count_);
  }

 private:
  std::shared_ptr<Account> account_;
  Count count_ = nullptr;
};

}  // namespace carillon::server
