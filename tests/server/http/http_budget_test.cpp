// Bodies, answers, calls and connections under way: bounded for all and for each, and given back to the last byte.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "server/http/budget.h"
#include "server/http/http_server.h"
#include "server/http/raw_client.h"

namespace carillon::server::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr std::size_t kMib = std::size_t{1} << 20U;

// Every call is on the account that its header names; /vital is taken in always.
std::optional<HttpResponse> name_payer(HttpRequest& head, std::size_t& body_max) {
  body_max = 64 * kMib;
  if (const std::string* const payer = head.header("payer")) head.payer = *payer;
  head.is_vital = head.path == "/echo/vital";
  return std::nullopt;
}

std::string head_of(std::string_view path, std::string_view payer, std::size_t length) {
  return fmt::format("POST {} HTTP/1.1\r\nHost: a\r\nPayer: {}\r\nContent-Length: {}\r\n\r\n", path, payer, length);
}

void expect_nothing_left(const TestServer& test) {
  EXPECT_TRUE(eventually([&] { return test.server->under_way().bytes == 0; })) << test.server->under_way().bytes;
}

TEST(Budget, AnAccountHasHalfAndSmallThingsHaveTheRest) {
  const auto budget = std::make_shared<Budget>(Budget::Limits{.bytes = 8 * kMib, .calls_each = 2});
  const auto a = budget->account("a");
  const auto b = budget->account("b");
  const auto c = budget->account("c");
  EXPECT_EQ(budget->account("a"), a);
  ByteHold of_a(budget, a);
  ByteHold of_b(budget, b);
  EXPECT_EQ(budget->for_bytes(*a, 4 * kMib + 1), Budget::Room::none_for_account);
  ASSERT_EQ(budget->for_bytes(*a, 4 * kMib), Budget::Room::enough);
  of_a.set(4 * kMib);
  EXPECT_EQ(budget->for_bytes(*a, Budget::kSmallBytes + 1), Budget::Room::none_for_account);
  // An eighth is left to small things, an eighth to those without a key.
  ASSERT_EQ(budget->for_bytes(*b, 2 * kMib + 1), Budget::Room::none);
  ASSERT_EQ(budget->for_bytes(*b, 2 * kMib), Budget::Room::enough);
  of_b.set(2 * kMib);
  EXPECT_EQ(budget->for_bytes(*c, kMib), Budget::Room::none);
  EXPECT_EQ(budget->for_bytes(*c, Budget::kSmallBytes), Budget::Room::enough);
  of_a = ByteHold();
  EXPECT_EQ(budget->for_bytes(*c, kMib), Budget::Room::enough);
  EXPECT_EQ(budget->bytes(), 2 * kMib);
  EXPECT_EQ(budget->take_peak(), 6 * kMib);
  EXPECT_EQ(budget->take_peak(), 2 * kMib);
}

TEST(Budget, AKeyHasRoomForAFewSmallThingsWhateverTheOthersHold) {
  const auto budget = std::make_shared<Budget>(Budget::Limits{.bytes = 8 * kMib});
  const auto hog = budget->account("hog");
  ByteHold all(budget, hog);
  all.set(8 * kMib);
  const auto key = budget->account("key");
  std::vector<ByteHold> held;
  for (std::size_t i = 0; i < Budget::kOwnBytes / Budget::kSmallBytes; ++i) {
    EXPECT_EQ(budget->for_bytes(*key, Budget::kSmallBytes), Budget::Room::enough) << i;
    EXPECT_EQ(budget->for_answer(*key, Budget::kSmallBytes), Budget::Room::enough) << i;
    held.emplace_back(budget, key);
    held.back().set(Budget::kSmallBytes);
  }
  EXPECT_EQ(budget->for_bytes(*key, Budget::kUncountedMax + 1), Budget::Room::none);
  EXPECT_EQ(budget->for_answer(*key, Budget::kUncountedMax + 1), Budget::Room::none);
  EXPECT_EQ(budget->for_bytes(*key, Budget::kSmallBytes + 1), Budget::Room::none);
  // What grows is no longer small, and what shrinks is again.
  held.front().set(kMib);
  EXPECT_EQ(key->small_bytes, Budget::kOwnBytes - Budget::kSmallBytes);
  held.front().set(1);
  EXPECT_EQ(key->small_bytes, Budget::kOwnBytes - Budget::kSmallBytes + 1);
  held.clear();
  EXPECT_EQ(key->small_bytes, 0U);
  EXPECT_EQ(key->bytes, 0U);
  // What has grown large is not small because it grows by little.
  EXPECT_EQ(budget->for_bytes(*key, Budget::kSmallBytes + 1, Budget::kSmallBytes), Budget::Room::none);
  EXPECT_EQ(budget->for_bytes(*hog, 8 * kMib + 1, 8 * kMib), Budget::Room::none_for_account);
  // The one that holds all has it as well.
  EXPECT_EQ(budget->for_bytes(*hog, Budget::kSmallBytes), Budget::Room::enough);
}

TEST(Budget, ThoseWithoutAKeyHaveAnEighthTogether) {
  const auto budget = std::make_shared<Budget>(Budget::Limits{.bytes = 16 * kMib});
  std::vector<ByteHold> held;
  for (const char* address : {"1", "2"}) {
    const auto account = budget->account(address, AccountOf::address);
    EXPECT_EQ(budget->for_bytes(*account, kMib + 1), Budget::Room::none_for_account);
    EXPECT_EQ(budget->for_answer(*account, kMib + 1), Budget::Room::none_for_account);
    ASSERT_EQ(budget->for_bytes(*account, kMib), Budget::Room::enough);
    held.emplace_back(budget, account);
    held.back().set(kMib);
  }
  const auto third = budget->account("3", AccountOf::address);
  EXPECT_EQ(budget->for_bytes(*third, Budget::kUncountedMax + 1), Budget::Room::none);
  EXPECT_EQ(budget->for_answer(*third, Budget::kUncountedMax + 1), Budget::Room::none);
  EXPECT_EQ(budget->for_answer(*third, Budget::kUncountedMax), Budget::Room::enough);
  // Keys have as much as without them; and with all that keys may have, there is room for those without.
  const auto key = budget->account("key");
  EXPECT_EQ(budget->for_answer(*key, 12 * kMib), Budget::Room::enough);
  ByteHold of_key(budget, key);
  of_key.set(14 * kMib);
  held.clear();
  EXPECT_EQ(budget->for_bytes(*third, kMib), Budget::Room::enough);
}

TEST(Budget, ManyAnswersAtOnceDoNotAllGetTheSameRoom) {
  const auto budget = std::make_shared<Budget>(Budget::Limits{.bytes = 8 * kMib});
  const auto key = budget->account("key");
  std::atomic<int> given = 0;
  std::atomic<bool> go = false;
  std::vector<ByteHold> held(32);
  std::vector<std::thread> threads;
  for (ByteHold& one : held) {
    one = ByteHold(budget, key);
    threads.emplace_back([&] {
      while (!go) std::this_thread::yield();
      if (one.take_answer(kMib) == Budget::Room::enough) ++given;
    });
  }
  go = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(given, 6);
  EXPECT_EQ(budget->bytes(), 6 * kMib);
}

TEST(Budget, CallsOfAnAccountAreCounted) {
  Budget budget({.calls_each = 2});
  const auto a = budget.account("a");
  CountHold first(a, &Account::calls);
  {
    const CountHold second(a, &Account::calls);
    EXPECT_EQ(budget.for_call(*a), Budget::Room::none_for_account);
    EXPECT_EQ(budget.for_call(*budget.account("b")), Budget::Room::enough);
  }
  EXPECT_EQ(budget.for_call(*a), Budget::Room::enough);
  const CountHold moved = std::move(first);
  EXPECT_EQ(a->calls, 1U);
}

TEST(Budget, AccountsThatNobodyUsesAreForgotten) {
  Budget budget({});
  const auto kept = budget.account("kept");
  const std::weak_ptr<Account> forgotten = budget.account("forgotten");
  for (int i = 0; i < 1000; ++i) budget.account(std::to_string(i));
  EXPECT_TRUE(forgotten.expired());
  EXPECT_EQ(budget.account("kept"), kept);
}

TEST(HttpBudget, ABodyThatFindsNoRoomIsRefusedByItsHead) {
  TestServer test({.budget = {.bytes = 8 * kMib}}, name_payer);
  RawClient first = test.connect();
  constexpr std::size_t kLength = 2 * kMib - 1000;
  first.send(head_of("/echo", "a", kLength) + "x");
  ASSERT_TRUE(eventually([&] { return test.server->under_way().bytes >= 2 * kLength; }));  // it counts twice
  RawClient second = test.connect();
  second.send(head_of("/echo", "a", 100'000));
  const RawResponse own = second.response();
  EXPECT_EQ(own.status, 429);
  EXPECT_THAT(own.body, HasSubstr("too_many_bytes"));
  EXPECT_EQ(own.headers.at("retry-after"), "1");
  RawClient third = test.connect();
  third.send(head_of("/echo", "b", 2 * kMib));
  const RawResponse all = third.response();
  EXPECT_EQ(all.status, 503);
  EXPECT_THAT(all.body, HasSubstr("overloaded"));
  EXPECT_EQ(all.headers.at("retry-after"), "1");
  // Others are served, and so is who watches.
  RawClient fourth = test.connect();
  fourth.send(head_of("/echo", "b", 10'000) + std::string(10'000, 'x'));
  EXPECT_EQ(fourth.response().status, 200);
  fourth.send("GET /echo/vital HTTP/1.1\r\nHost: a\r\nPayer: a\r\n\r\n");
  EXPECT_EQ(fourth.response().status, 200);
  first.send(std::string(kLength - 1, 'x'));
  EXPECT_EQ(first.response().status, 200);
  expect_nothing_left(test);
}

// Who has no key takes no room by saying how much will come.
TEST(HttpBudget, ABodyWithoutAKeyIsCountedAsItComes) {
  TestServer test({.budget = {.bytes = 32 * kMib}}, name_payer);
  std::vector<RawClient> heads;
  for (int i = 0; i < 40; ++i) {
    heads.push_back(test.connect());
    heads.back().send("POST /size/10 HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
  }
  RawClient key = test.connect();
  key.send(head_of("/echo", "a", 3 * kMib) + std::string(3 * kMib, 'x'));
  EXPECT_EQ(key.response().status, 200);
  ASSERT_TRUE(eventually([&] { return test.server->connections() == 41; }));
  EXPECT_TRUE(eventually([&] { return test.server->under_way().bytes == 0; }));
  // One address has a sixteenth: 2 MiB, one such body.
  heads[0].send(std::string(500'000, 'x'));
  ASSERT_TRUE(eventually([&] { return test.server->under_way().bytes >= 1'000'000; }));
  heads[1].send(std::string(600'000, 'x'));
  EXPECT_EQ(heads[1].response().status, 429);
  heads[1].close();
  heads[0].send(std::string(500'000, 'x'));
  EXPECT_EQ(heads[0].response().status, 200);
  // It counts as well if all of it comes at once.
  RawClient parked = test.connect();
  parked.send("POST /park HTTP/1.1\r\nHost: a\r\nContent-Length: 10000\r\n\r\n" + std::string(10'000, 'x'));
  ASSERT_TRUE(test.parked.wait(1));
  EXPECT_EQ(test.server->under_way().bytes, 20'000U);
  parked.reset();
  test.parked.clear();
  heads.clear();
  expect_nothing_left(test);
}

TEST(HttpBudget, ChunksAreCountedAsTheyCome) {
  TestServer test({.budget = {.bytes = 8 * kMib}}, name_payer);
  RawClient client = test.connect();
  client.send("POST /echo HTTP/1.1\r\nHost: a\r\nPayer: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = "40000\r\n" + std::string(0x40000, 'x') + "\r\n";
  std::thread sender([&] {
    for (int i = 0; i < 14 && client.send(chunk); ++i) {
    }
  });
  sender.join();
  EXPECT_EQ(client.response().status, 429);
  EXPECT_LE(test.server->under_way().peak, 8 * kMib);
  expect_nothing_left(test);
}

TEST(HttpBudget, AnAnswerThatFindsNoRoomIsNotGiven) {
  TestServer test({.budget = {.bytes = 8 * kMib}}, name_payer);
  RawClient client = test.connect();
  client.send(get("/size/7000000", "Payer: a\r\n"));
  const RawResponse response = client.response();
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.headers.at("retry-after"), "1");
  client.send(get("/size/3000000", "Payer: a\r\n"));
  EXPECT_EQ(client.response().body.size(), 3'000'000U);
  expect_nothing_left(test);
}

TEST(HttpBudget, AnswersThatNobodyReadsAreCounted) {
  TestServer test({.budget = {.bytes = 64 * kMib}}, name_payer);
  std::vector<RawClient> unread;
  for (int i = 0; i < 6; ++i) {
    unread.push_back(test.connect());
    unread.back().send(get("/size/6000000", "Payer: a\r\n"));
  }
  ASSERT_TRUE(eventually([&] { return test.server->under_way().bytes > 6 * 1'000'000; }));
  EXPECT_LE(test.server->under_way().bytes, 36 * kMib);
  for (RawClient& client : unread) client.reset();
  expect_nothing_left(test);
}

// What would find no room is not worked out.
TEST(HttpBudget, WhoDoesNotReadIsRefusedByTheHeadOnceThereIsNoRoom) {
  TestServer test({}, name_payer);
  std::atomic<int> made = 0;
  test.on_other = [&](HttpRequest, Reply reply) {
    ++made;
    reply->send({.body = std::string(8'000'000, 'x')});
  };
  std::vector<RawClient> unread;
  for (int i = 0; i < 40; ++i) {
    unread.push_back(test.connect());
    unread.back().send(get("/large", "Payer: a\r\n"));
  }
  // The first 25 fill what a key has for answers, 192 MiB.
  RawClient last = test.connect();
  ASSERT_TRUE(eventually([&] {
    last.send(get("/large", "Payer: a\r\n"));
    return last.response().status == 429;
  }));
  const int before = made;
  for (int i = 0; i < 20; ++i) {
    RawClient more = test.connect();
    more.send(get("/large", "Payer: a\r\n"));
    EXPECT_EQ(more.response().status, 429);
  }
  EXPECT_EQ(made, before);
  RawClient other = test.connect();
  other.send(get("/echo", "Payer: b\r\n"));
  EXPECT_EQ(other.response().status, 200);
  for (RawClient& client : unread) client.reset();
  expect_nothing_left(test);
}

TEST(HttpBudget, CallsOfOneKeyUnderWayAreBounded) {
  TestServer test({.budget = {.calls_each = 3}}, name_payer);
  std::vector<RawClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(test.connect());
    clients.back().send(get("/park", "Payer: a\r\n"));
  }
  ASSERT_TRUE(test.parked.wait(3));
  RawClient more = test.connect();
  more.send(get("/echo", "Payer: a\r\n"));
  const RawResponse response = more.response();
  EXPECT_EQ(response.status, 429);
  EXPECT_THAT(response.body, HasSubstr("too_many_calls"));
  EXPECT_EQ(response.headers.at("retry-after"), "1");
  RawClient other = test.connect();
  other.send(get("/echo", "Payer: b\r\n"));
  EXPECT_EQ(other.response().status, 200);
  other.send(get("/echo/vital", "Payer: a\r\n"));
  EXPECT_EQ(other.response().status, 200);
  clients.front().reset();
  EXPECT_TRUE(eventually([&] {
    RawClient next = test.connect();
    next.send(get("/echo", "Payer: a\r\n"));
    return next.response().status == 200;
  }));
}

TEST(HttpBudget, ConnectionsOfOneAddressAreBounded) {
  TestServer test({.connections_max = 10, .connections_each = 2});
  RawClient first = test.connect();
  const RawClient second = test.connect();
  first.send(get("/park"));
  second.send(get("/park"));
  ASSERT_TRUE(test.parked.wait(2));
  RawClient third = test.connect();
  const RawResponse response = third.response();
  EXPECT_EQ(response.status, 503);
  EXPECT_THAT(response.body, HasSubstr("2 connections are open without a key from this address"));
  EXPECT_EQ(response.headers.at("retry-after"), "1");
  first.reset();
  EXPECT_TRUE(eventually([&] {
    RawClient next = test.connect();
    next.send(get("/echo"));
    return next.response().status == 200;
  }));
}

TEST(HttpBudget, ConnectionsOfOneKeyAreBounded) {
  TestServer test({.budget = {.connections_each = 2}}, name_payer);
  std::vector<RawClient> clients;
  for (int i = 0; i < 2; ++i) {
    clients.push_back(test.connect());
    for (int again = 0; again < 2; ++again) {
      clients.back().send(get("/echo", "Payer: a\r\n"));
      EXPECT_EQ(clients.back().response().status, 200);
    }
  }
  RawClient third = test.connect();
  third.send(get("/echo", "Payer: a\r\n"));
  const RawResponse response = third.response();
  EXPECT_EQ(response.status, 429);
  EXPECT_THAT(response.body, HasSubstr("2 connections are open for this key"));
  EXPECT_TRUE(third.is_closed());
  // One that goes on for another key makes room.
  clients.front().send(get("/echo", "Payer: b\r\n"));
  EXPECT_EQ(clients.front().response().status, 200);
  RawClient fourth = test.connect();
  fourth.send(get("/echo", "Payer: a\r\n"));
  EXPECT_EQ(fourth.response().status, 200);
}

TEST(HttpBudget, WhoHasGoneIsKnownToThoseWhoWorkForHim) {
  TestServer test;
  RawClient client = test.connect();
  client.send(get("/park"));
  const Reply reply = test.parked.take();
  EXPECT_EQ(reply->client(), ClientState::there);
  client.end_sending();
  EXPECT_TRUE(eventually([&] { return reply->client() == ClientState::silent; }));
  client.reset();
  RawClient another = test.connect();
  another.send(get("/park"));
  const Reply lost = test.parked.take();
  another.reset();
  EXPECT_TRUE(eventually([&] { return lost->client() == ClientState::gone; }));
}

// Thousands of calls that end in every way there is: the accounts are empty afterwards.
TEST(HttpBudget, AllIsGivenBackHoweverCallsEnd) {
  TestServer test({.budget = {.bytes = 4 * kMib, .calls_each = 50}, .body_time = 30ms, .write_time = 30ms}, name_payer);
  std::atomic<std::size_t> peak = 0;
  const auto client = [&](unsigned seed) {
    std::mt19937 chance(seed);
    const auto any = [&](unsigned below) { return chance() % below; };
    for (int i = 0; i < 400; ++i) {
      RawClient one = test.connect();
      const std::string payer = fmt::format("p{}", any(3));
      const std::size_t size = std::size_t{1} << any(20);
      switch (any(7)) {
        case 0: one.send(head_of("/echo", payer, size)); break;
        case 1: one.send(head_of("/echo", payer, size) + std::string(any(static_cast<unsigned>(size)), 'x')); break;
        case 2:
          one.send(head_of("/echo", payer, size) + std::string(size, 'x'));
          one.response();
          break;
        case 3: one.send(get(fmt::format("/size/{}", size), fmt::format("Payer: {}\r\n", payer))); break;
        case 4:
          one.send(
              fmt::format("POST /echo HTTP/1.1\r\nHost: a\r\nPayer: {}\r\nTransfer-Encoding: chunked\r\n\r\n"
                          "8000\r\n{}\r\n{}",
                          payer, std::string(0x8000, 'x'), any(2) == 0 ? "0\r\n\r\n" : "wrong"));
          one.response();
          break;
        case 5: one.send(get("/park", fmt::format("Payer: {}\r\n", payer))); break;
        default: one.send(get("/drop") + get("/size/100000") + get("/park")); break;
      }
      if (any(2) == 0) one.reset();
      if (any(3) == 0) test.parked.clear();
    }
  };
  std::vector<std::thread> clients;
  for (unsigned i = 0; i < 5; ++i) clients.emplace_back(client, i + 1);
  for (std::thread& thread : clients) thread.join();
  test.parked.clear();
  EXPECT_GT(test.server->under_way().peak, 0U);
  EXPECT_TRUE(eventually([&] { return test.server->connections() == 0; }));
  expect_nothing_left(test);
  // So are the calls: each payer has as many places as at the start.
  for (const char* payer : {"p0", "p1", "p2"}) {
    std::vector<RawClient> parked;
    for (int i = 0; i < 50; ++i) {
      parked.push_back(test.connect());
      parked.back().send(get("/park", fmt::format("Payer: {}\r\n", payer)));
    }
    EXPECT_TRUE(test.parked.wait(50)) << payer;
    test.parked.clear();
    for (RawClient& one : parked) EXPECT_EQ(one.response().status, 500) << payer;
  }
}

}  // namespace
}  // namespace carillon::server::test
