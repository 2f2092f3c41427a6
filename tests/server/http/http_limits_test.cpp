// What one client, or very many, cannot do to the others.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <thread>
#include <vector>

#include "server/http/http_server.h"
#include "server/http/raw_client.h"

namespace carillon::server::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// Both ends of so many connections; false if the system does not allow it.
bool allow_connections(std::size_t count) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t wanted = 2 * count + 200;
  if (limit.rlim_cur >= wanted) return true;
  if (limit.rlim_max < wanted) return false;
  limit.rlim_cur = wanted;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

TEST(HttpLimits, AHeadMustComeInTime) {
  TestServer test({.head_time = 20ms});
  RawClient client = test.connect();
  client.send(get("/echo") + "GET /ec");
  EXPECT_EQ(client.response().status, 200);
  const RawResponse response = client.response();
  EXPECT_EQ(response.status, 408);
  EXPECT_THAT(response.body, HasSubstr("request_timeout"));
  EXPECT_TRUE(client.is_closed());
}

TEST(HttpLimits, AHeadThatComesByteByByteMustComeInTimeAsWell) {
  TestServer test({.head_time = 20ms});
  RawClient client = test.connect();
  client.send("GET /echo HTTP/1.1\r\nX: ");
  // Until the server has had enough of it: it closes, or sends an answer and then resets.
  while (test.server->connections() > 0 && client.send("x")) std::this_thread::yield();
  SUCCEED();
}

TEST(HttpLimits, ABodyMustComeInTime) {
  TestServer test({.head_time = 1h, .body_time = 20ms});
  RawClient client = test.connect();
  client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbod");
  EXPECT_EQ(client.response().status, 408);
  EXPECT_TRUE(client.is_closed());
}

TEST(HttpLimits, AnIdleConnectionIsClosedWithoutAWord) {
  TestServer test({.idle_time = 20ms});
  EXPECT_TRUE(test.connect().is_closed());
  RawClient client = test.connect();
  client.send(get("/echo"));
  EXPECT_EQ(client.response().status, 200);
  EXPECT_TRUE(client.is_closed());
}

TEST(HttpLimits, AParkedReplyHasAllTheTimeItNeeds) {
  TestServer test({.head_time = 10ms, .body_time = 10ms, .idle_time = 10ms, .write_time = 10ms});
  RawClient client = test.connect();
  client.send(get("/park"));
  const Reply reply = test.parked.take();
  // Others were closed meanwhile for being idle as long.
  EXPECT_TRUE(test.connect().is_closed());
  EXPECT_TRUE(test.connect().is_closed());
  reply->send({.body = "late"});
  EXPECT_EQ(client.response().body, "late");
}

TEST(HttpLimits, AClientThatDoesNotReadIsClosed) {
  // So large a budget that the answer is not refused: it is more than the buffers of the system take.
  TestServer test({.budget = {.bytes = 4'000'000'000}, .write_time = 50ms});
  const RawClient client = test.connect();
  client.send(get("/size/60000000"));
  ASSERT_TRUE(eventually([&] { return test.server->under_way().peak > 1'000'000; }));
  EXPECT_TRUE(eventually([&] { return test.server->connections() == 0; }));
}

TEST(HttpLimits, AClientThatReadsNothingIsNotReadEither) {
  // Each answer is too large for the buffers of the system, so at most one more is made than the bound allows.
  TestServer test({.unsent_max = 10'000'000});
  std::atomic<int> made = 0;
  test.on_other = [&](HttpRequest, Reply reply) {
    ++made;
    reply->send({.body = std::string(8'000'000, 'x')});
  };
  RawClient client = test.connect();
  std::string requests;
  for (int i = 0; i < 20; ++i) requests += get("/large");
  client.send(requests);
  RawClient other = test.connect();
  other.send(get("/echo"));
  EXPECT_EQ(other.response().status, 200);
  EXPECT_LE(made, 4);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(client.response().body.size(), 8'000'000U);
}

TEST(HttpLimits, ConnectionsAboveTheLimitAreToldSo) {
  TestServer test({.connections_max = 2});
  RawClient first = test.connect();
  RawClient second = test.connect();
  // Who is being served keeps his place.
  first.send(get("/park"));
  second.send(get("/park"));
  ASSERT_TRUE(test.parked.wait(2));
  for (int i = 0; i < 100; ++i) {
    RawClient third = test.connect();
    third.send(get("/echo"));
    const RawResponse response = third.response();
    EXPECT_EQ(response.status, 503);
    EXPECT_THAT(response.body, HasSubstr("too_many_connections"));
    EXPECT_TRUE(third.is_closed());
  }
  first.reset();
  EXPECT_TRUE(eventually([&] {
    RawClient next = test.connect();
    next.send(get("/echo"));
    return next.response().status == 200;
  }));
}

// Who sends many calls at once does not have them all handed out before anybody else is heard.
TEST(HttpLimits, CallsOfOneConnectionTakeTurnsWithThoseOfOthers) {
  TestServer test({.pipelined_max = 100});
  Signal begun;
  Signal sent;
  std::vector<std::string> order;  // the net thread's, until all are answered
  test.on_other = [&](const HttpRequest& request, const Reply& reply) {
    if (order.empty()) {
      begun.raise();
      sent.wait();
    }
    order.push_back(request.path);
    reply->send({});
  };
  RawClient other = test.connect();
  other.send(get("/echo"));
  EXPECT_EQ(other.response().status, 200);
  RawClient many = test.connect();
  std::string calls;
  for (int i = 0; i < 100; ++i) calls += get("/many");
  many.send(calls);
  ASSERT_TRUE(begun.wait());
  other.send(get("/other"));
  sent.raise();
  EXPECT_EQ(other.response().status, 200);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(many.response().status, 200);
  const auto place = std::ranges::find(order, "/other") - order.begin();
  EXPECT_LT(place, 20);
  EXPECT_EQ(order.size(), 101U);
}

// The server would else spend its time on what it does not want to know.
TEST(HttpLimits, WhatRefusedClientsSendIsReadAtAPace) {
  TestServer test({.body_max = 10});
  constexpr std::size_t kBytes = std::size_t{2} << 20U;
  const std::string body(kBytes, 'x');
  const auto began = std::chrono::steady_clock::now();
  std::vector<std::thread> senders;
  for (int i = 0; i < 6; ++i) {
    senders.emplace_back([&] {
      RawClient client = test.connect();
      client.send(fmt::format("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", kBytes));
      client.send(body);
      EXPECT_EQ(client.response().status, 413);
    });
  }
  for (std::thread& sender : senders) sender.join();
  EXPECT_TRUE(eventually([&] { return test.server->connections() == 0; }));
  // 12 MiB at 64 MiB a second.
  EXPECT_GE(std::chrono::steady_clock::now() - began, 120ms);
}

// The sanitizer needs a free file itself, to see whether memory can be read.
#if !defined(__SANITIZE_ADDRESS__)
TEST(HttpLimits, AServerWithoutFreeFilesServesAgainWhenThereAreSome) {
  TestServer test;
  // The client's own socket takes the last one.
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  std::vector<int> taken;
  rlimit few = before;
  const auto open =
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  few.rlim_cur = static_cast<rlim_t>(open) + 20;
  setrlimit(RLIMIT_NOFILE, &few);
  for (int file = dup(0); file >= 0; file = dup(0)) taken.push_back(file);
  ASSERT_FALSE(taken.empty());
  close(taken.back());
  taken.pop_back();
  RawClient client = test.connect();
  client.send(get("/echo"));
  for (const int file : taken) close(file);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(client.response().status, 200);
}
#endif

TEST(HttpLimits, SlowClientsDoNotHoldUpOthers) {
  constexpr std::size_t kSlow = 2000;
  if (!allow_connections(kSlow)) GTEST_SKIP() << "not enough files may be open";
  TestServer test({.head_time = 1h, .body_time = 1h});
  std::vector<RawClient> slow;
  for (std::size_t i = 0; i < kSlow; ++i) {
    slow.push_back(test.connect());
    slow.back().send(i % 2 == 0 ? "GET /echo HT" : "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab");
  }
  ASSERT_TRUE(eventually([&] { return test.server->connections() == kSlow; }));
  RawClient client = test.connect();
  for (int i = 0; i < 100; ++i) {
    client.send(get("/echo"));
    ASSERT_EQ(client.response().status, 200);
  }
  EXPECT_EQ(test.server->connections(), kSlow + 1);
  slow[0].send("TP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(slow[0].response().status, 200);
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST(HttpLimits, AParkedReplyTakesLittleMemory) {
  constexpr std::size_t kParked = 5000;
  if (!allow_connections(kParked)) GTEST_SKIP() << "not enough files may be open";
  TestServer test;
  std::vector<RawClient> clients;
  clients.reserve(kParked);
  const std::size_t before = mallinfo2().uordblks;
  for (std::size_t i = 0; i < kParked; ++i) {
    clients.push_back(test.connect());
    clients.back().send(get("/park", "User-Agent: worker/1.0\r\nAuthorization: Bearer 0123456789abcdef\r\n"));
  }
  ASSERT_TRUE(test.parked.wait(kParked));
  const std::size_t each = (mallinfo2().uordblks - before) / kParked;
  RecordProperty("bytes", static_cast<int>(each));
  EXPECT_LE(each, 12U * 1024);
  for (std::size_t i = 0; i < kParked; ++i) test.parked.take()->send({});
  for (RawClient& client : clients) ASSERT_EQ(client.response().status, 200);
}
#endif

}  // namespace
}  // namespace carillon::server::test
