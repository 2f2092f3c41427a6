// Places among the connections: who has many leaves room for who has few.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "server/http/http_server.h"
#include "server/http/places.h"
#include "server/http/raw_client.h"

namespace carillon::server::test {
namespace {

std::shared_ptr<Account> account_of(AccountOf of) {
  auto made = std::make_shared<Account>();
  made->of = of;
  return made;
}

class FakeGuest final : public Places::Guest {
 public:
  bool may_be_closed() const override { return !is_busy; }
  void close_for_newcomer() override { place.give_back(); }
  bool is_there() const { return place.is_one(); }

  bool is_busy = false;
  Places::Place place;
};

// Guests of one server, who come one after the other.
struct Hall {
  explicit Hall(const Places::Limits& limits) : places(limits) {}

  FakeGuest& seat(const std::shared_ptr<Account>& account) {
    FakeGuest& guest = guests.emplace_back();
    guest.place = places.seat(guest, account);
    return guest;
  }
  void fill(const std::shared_ptr<Account>& account, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) seat(account);
  }
  std::size_t there(const std::shared_ptr<Account>& account) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(guests, [&](const FakeGuest& one) { return one.place.account() == account.get(); }));
  }

  Places places;
  std::deque<FakeGuest> guests;
};

TEST(Places, OneTooManyFromAnAddressTakesThePlaceOfTheFirst) {
  Hall hall({.all = 10, .of_address = 3});
  const auto address = account_of(AccountOf::address);
  const auto other = account_of(AccountOf::address);
  FakeGuest& others = hall.seat(other);
  FakeGuest& first = hall.seat(address);
  FakeGuest& second = hall.seat(address);
  hall.seat(address);
  EXPECT_EQ(hall.places.make_room(*other), Places::Lack::nothing);
  EXPECT_TRUE(first.is_there());
  EXPECT_EQ(hall.places.make_room(*address), Places::Lack::nothing);
  EXPECT_FALSE(first.is_there());
  EXPECT_TRUE(second.is_there());
  EXPECT_TRUE(others.is_there());
  EXPECT_EQ(hall.places.taken(), 3U);
}

TEST(Places, WhoComesWithAKeyIsNoLongerOfTheAddress) {
  Hall hall({.all = 10, .of_address = 2});
  const auto address = account_of(AccountOf::address);
  const auto key = account_of(AccountOf::key);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(hall.places.make_room(*address), Places::Lack::nothing);
    hall.seat(address).place.move_to(key);
  }
  EXPECT_EQ(hall.there(key), 5U);
  EXPECT_EQ(hall.places.taken(), 5U);
}

TEST(Places, WhenAllAreTakenTheKeyThatHasMostMakesRoom) {
  Hall hall({.all = 100, .of_address = 80});
  const auto hog = account_of(AccountOf::key);
  const auto small = account_of(AccountOf::key);
  const auto address = account_of(AccountOf::address);
  FakeGuest& one = hall.seat(small);
  hall.fill(hog, 99);
  for (int i = 0; i < 12; ++i) {
    ASSERT_EQ(hall.places.make_room(*address), Places::Lack::nothing);
    hall.seat(address);
  }
  EXPECT_EQ(hall.there(hog), 87U);
  // More than an eighth without a key: these make room themselves.
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(hall.places.make_room(*address), Places::Lack::nothing);
    hall.seat(address);
  }
  EXPECT_EQ(hall.there(address), 13U);
  EXPECT_EQ(hall.there(hog), 86U);
  EXPECT_TRUE(one.is_there());
  EXPECT_EQ(hall.places.taken(), 100U);
}

TEST(Places, TheAddressThatHasMostMakesRoomFirst) {
  Hall hall({.all = 20, .of_address = 20});
  const auto crowd = account_of(AccountOf::address);
  const auto key = account_of(AccountOf::key);
  const auto newcomer = account_of(AccountOf::address);
  FakeGuest& quiet = hall.seat(newcomer);
  hall.fill(key, 3);
  hall.fill(crowd, 16);
  ASSERT_EQ(hall.places.make_room(*newcomer), Places::Lack::nothing);
  EXPECT_EQ(hall.there(crowd), 15U);
  EXPECT_EQ(hall.there(key), 3U);
  EXPECT_TRUE(quiet.is_there());
}

TEST(Places, WhoIsServedKeepsHisPlace) {
  Hall hall({.all = 4, .of_address = 4});
  const auto key = account_of(AccountOf::key);
  const auto address = account_of(AccountOf::address);
  hall.fill(key, 2);
  hall.fill(address, 2);
  for (FakeGuest& guest : hall.guests) guest.is_busy = true;
  EXPECT_EQ(hall.places.make_room(*address), Places::Lack::of_all);
  EXPECT_EQ(hall.places.taken(), 4U);
  // Whichever of them is done first makes room.
  hall.guests[1].is_busy = false;
  EXPECT_EQ(hall.places.make_room(*address), Places::Lack::nothing);
  EXPECT_FALSE(hall.guests[1].is_there());
  hall.fill(address, 2);
  for (FakeGuest& guest : hall.guests) guest.is_busy = true;
  EXPECT_EQ(hall.places.make_room(*address), Places::Lack::of_address);
}

TEST(Places, WhateverComesAndGoesTheyAreCounted) {
  Hall hall({.all = 50, .of_address = 20});
  std::mt19937 chance(7);
  std::vector<std::shared_ptr<Account>> accounts;
  for (int i = 0; i < 6; ++i) accounts.push_back(account_of(i < 3 ? AccountOf::key : AccountOf::address));
  const auto any = [&](std::size_t below) { return chance() % below; };
  for (int i = 0; i < 20'000; ++i) {
    const auto& address = accounts[3 + any(3)];
    FakeGuest* const guest = hall.guests.empty() ? nullptr : &hall.guests[any(hall.guests.size())];
    switch (any(4)) {
      case 0:
        if (hall.guests.size() < 500 && hall.places.make_room(*address) == Places::Lack::nothing) hall.seat(address);
        break;
      case 1:
        if (guest != nullptr) guest->place.move_to(accounts[any(6)]);
        break;
      case 2:
        if (guest != nullptr && any(4) == 0) guest->place.give_back();
        break;
      default:
        if (guest != nullptr) guest->is_busy = any(2) == 0;
        // Whoever has gone comes again.
        if (guest != nullptr && !guest->is_there() && hall.places.make_room(*address) == Places::Lack::nothing) {
          guest->place = hall.places.seat(*guest, address);
        }
    }
    const auto there = static_cast<std::size_t>(std::ranges::count_if(hall.guests, &FakeGuest::is_there));
    ASSERT_EQ(hall.places.taken(), there);
    ASSERT_LE(there, 50U);
  }
}

// ---- Over sockets --------------------------------------------------------------------------------------------------

std::optional<HttpResponse> by_header(HttpRequest& head, std::size_t& /*body_max*/) {
  if (const std::string* const payer = head.header("payer")) head.payer = *payer;
  return std::nullopt;
}

std::string get_as(std::string_view path, std::string_view payer) {
  return get(path, fmt::format("Payer: {}\r\n", payer));
}

// /wait is parked, as calls are that can be asked again.
struct Waiting {
  explicit Waiting(TestServer& test) {
    test.on_other = [this](HttpRequest, Reply reply) {
      reply->on_gone([this] { ++gone; });
      parked.add({}, std::move(reply));
    };
  }
  Parked parked;
  std::atomic<int> gone = 0;
};

TEST(HttpPlaces, WhoSaysNothingMakesRoomForWhoSaysSomething) {
  TestServer test({.connections_max = 8, .connections_each = 8}, by_header);
  std::vector<RawClient> silent;
  for (int i = 0; i < 8; ++i) silent.push_back(test.connect());
  silent.front().send("GET /echo HT");
  RawClient known = test.connect();
  known.send(get_as("/echo", "a"));
  EXPECT_EQ(known.response().status, 200);
  for (int i = 0; i < 50; ++i) {
    RawClient next = test.connect();
    next.send(get("/echo"));
    ASSERT_EQ(next.response().status, 200) << i;
  }
  EXPECT_TRUE(silent.front().is_closed());
  known.send(get_as("/echo", "a"));
  EXPECT_EQ(known.response().status, 200);
}

TEST(HttpPlaces, CallsThatWaitMakeRoomForOneOfAnotherKey) {
  TestServer test({.connections_max = 8, .connections_each = 8}, by_header);
  Waiting waiting(test);
  std::vector<RawClient> polls;
  for (int i = 0; i < 8; ++i) {
    polls.push_back(test.connect());
    polls.back().send(get_as("/wait", "hog"));
    ASSERT_TRUE(waiting.parked.wait(static_cast<std::size_t>(i) + 1));
  }
  RawClient known = test.connect();
  known.send(get_as("/echo", "a"));
  EXPECT_EQ(known.response().status, 200);
  EXPECT_EQ(waiting.gone, 1);
  EXPECT_TRUE(polls.front().is_closed());
  EXPECT_EQ(test.server->connections(), 8U);
}

TEST(HttpPlaces, AnswersThatNobodyReadsMakeRoomAfterAWhile) {
  TestServer test({.connections_max = 2, .connections_each = 2}, by_header);
  std::vector<RawClient> unread;
  for (int i = 0; i < 2; ++i) {
    unread.push_back(test.connect());
    unread.back().send(get_as("/size/20000000", "hog"));
    EXPECT_EQ(unread.back().line(), "HTTP/1.1 200 OK");
  }
  EXPECT_TRUE(eventually([&] {
    RawClient next = test.connect();
    next.send(get_as("/echo", "a"));
    return next.response().status == 200;
  }));
}

}  // namespace
}  // namespace carillon::server::test
