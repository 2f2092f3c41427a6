#include "server/http/places.h"

#include <algorithm>
#include <iterator>

#include "base/hole.h"

namespace carillon::server {

namespace {

// Of one account, when a place is needed: so many are looked at for one that may be closed.
constexpr std::size_t kLookedAt = 64;

}  // namespace

void Places::Place::move_to(const std::shared_ptr<Account>& account) {
  if (!is_one() || account.get() == at_.party->account.get()) return;
  Guest& guest = **at_.guest;
  places_->remove(at_);
  at_ = places_->add(guest, account);
}

void Places::Place::give_back() {
  if (Places* const places = std::exchange(places_, nullptr)) places->remove(at_);
}

Places::Lack Places::make_room(const Account& address) {
  const bool may_close = !reopened(Hole::crowd_keeps_places);
  if (const auto found = parties_.find(&address);
      found != parties_.end() && found->second->guests.size() >= limits_.of_address) {
    return may_close && close_one_of(*found->second) ? Lack::nothing : Lack::of_address;
  }
  if (taken_ < limits_.all) return Lack::nothing;
  if (!may_close) return Lack::of_all;
  const bool few_without_key = taken_without_key_ <= limits_.all / 8;
  const AccountOf first = few_without_key ? AccountOf::key : AccountOf::address;
  const AccountOf then = few_without_key ? AccountOf::address : AccountOf::key;
  return close_one_of(first) || close_one_of(then) ? Lack::nothing : Lack::of_all;
}

Places::Place Places::seat(Guest& guest, const std::shared_ptr<Account>& account) {
  return {this, add(guest, account)};
}

Places::At Places::add(Guest& guest, const std::shared_ptr<Account>& account) {
  std::unique_ptr<Party>& party = parties_[account.get()];
  if (!party) party = std::make_unique<Party>(Party{.account = account, .guests = {}});
  BySize& by_size = parties_of(account->of);
  by_size.erase({party->guests.size(), party.get()});
  party->guests.push_back(&guest);
  by_size.emplace(party->guests.size(), party.get());
  ++taken_;
  if (account->of == AccountOf::address) ++taken_without_key_;
  return {.party = party.get(), .guest = std::prev(party->guests.end())};
}

void Places::remove(const At& at) {
  Party& party = *at.party;
  BySize& by_size = parties_of(party.account->of);
  by_size.erase({party.guests.size(), &party});
  party.guests.erase(at.guest);
  --taken_;
  if (party.account->of == AccountOf::address) --taken_without_key_;
  if (!party.guests.empty()) {
    by_size.emplace(party.guests.size(), &party);
  } else {
    parties_.erase(party.account.get());
  }
}

bool Places::close_one_of(AccountOf of) {
  const BySize& by_size = parties_of(of);
  return !by_size.empty() && close_one_of(*by_size.rbegin()->second);
}

// Who cannot be closed now is looked at again when all others were.
bool Places::close_one_of(Party& party) {
  for (std::size_t i = std::min(kLookedAt, party.guests.size()); i > 0; --i) {
    Guest& guest = *party.guests.front();
    if (guest.may_be_closed()) {
      guest.close_for_newcomer();
      return true;
    }
    party.guests.splice(party.guests.end(), party.guests, party.guests.begin());
  }
  return false;
}

}  // namespace carillon::server
