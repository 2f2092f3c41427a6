// Who has a place among the connections, and who leaves his when a newcomer finds none.
//
// A place is on the account of the last call: a key's, or an address's where no call with a key has come. So whoever
// takes very many leaves room himself, before anybody else does:
// - An address has so many without a key. One more takes the place of the first that came of these.
// - When all are taken, those without a key make room if they have more than an eighth; else the key that has most.
// - Only who may be closed without the loss of an answer that is being worked out gives his place up.
// Net thread only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include "server/http/budget.h"

namespace carillon::server {

class Places {
 public:
  struct Limits {
    std::size_t all = 10'000;
    std::size_t of_address = 8'000;  // without a key
  };
  explicit Places(const Limits& limits) : limits_(limits) {}
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;
  ~Places() = default;

  // Somebody who has a place.
  class Guest {
   public:
    Guest() = default;
    Guest(const Guest&) = delete;
    Guest& operator=(const Guest&) = delete;
    virtual ~Guest() = default;
    virtual bool may_be_closed() const = 0;
    // Its place is given back before this returns.
    virtual void close_for_newcomer() = 0;
  };

 private:
  // All who are on one account, in the order in which they came.
  struct Party {
    std::shared_ptr<Account> account;
    std::list<Guest*> guests;
  };
  struct At {
    Party* party = nullptr;
    std::list<Guest*>::iterator guest;
  };

 public:
  // A place, until it is gone. One that was made by itself is none.
  class Place {
   public:
    Place() = default;
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    Place(Place&& other) noexcept : places_(std::exchange(other.places_, nullptr)), at_(other.at_) {}
    Place& operator=(Place&& other) noexcept {
      std::swap(places_, other.places_);
      std::swap(at_, other.at_);
      return *this;
    }
    ~Place() { give_back(); }

    bool is_one() const { return places_ != nullptr; }
    const Account* account() const { return is_one() ? at_.party->account.get() : nullptr; }
    // From now on it is on that account. It counts as one that has just come.
    void move_to(const std::shared_ptr<Account>& account);
    void give_back();

   private:
    friend class Places;
    Place(Places* places, At at) : places_(places), at_(at) {}

    Places* places_ = nullptr;
    At at_;
  };

  // Why there is none.
  enum class Lack : std::uint8_t { nothing, of_address, of_all };
  // Whether somebody from that address can be seated; somebody else may be closed for it.
  Lack make_room(const Account& address);
  // Asks nobody: whether there is room was asked before.
  Place seat(Guest& guest, const std::shared_ptr<Account>& account);

  std::size_t taken() const { return taken_; }
  const Limits& limits() const { return limits_; }

 private:
  using BySize = std::set<std::pair<std::size_t, Party*>>;

  At add(Guest& guest, const std::shared_ptr<Account>& account);
  void remove(const At& at);
  bool close_one_of(Party& party);
  bool close_one_of(AccountOf of);
  BySize& parties_of(AccountOf of) { return by_size_[static_cast<std::size_t>(of)]; }

  const Limits limits_;
  std::unordered_map<const Account*, std::unique_ptr<Party>> parties_;
  std::array<BySize, 2> by_size_;  // of keys, of addresses
  std::size_t taken_ = 0;          // of all
  std::size_t taken_without_key_ = 0;
};

}  // namespace carillon::server
