// Answers that come later: parked, streamed, dropped, given when nobody is there any more.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "server/http/http_server.h"
#include "server/http/raw_client.h"

namespace carillon::server::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(HttpReply, AReplyThatIsDroppedIsAnError) {
  TestServer test;
  RawClient client = test.connect();
  client.send(get("/drop") + get("/echo") + get("/park"));
  const RawResponse response = client.response();
  EXPECT_EQ(response.status, 500);
  EXPECT_THAT(response.body, HasSubstr("internal_error"));
  EXPECT_EQ(client.response().status, 200);
  test.parked.take().reset();
  EXPECT_EQ(client.response().status, 500);
}

TEST(HttpReply, OnlyTheFirstAnswerCounts) {
  TestServer test;
  RawClient client = test.connect();
  client.send(get("/park") + get("/echo"));
  const Reply reply = test.parked.take();
  reply->send({.body = "one"});
  reply->send({.body = "two"});
  EXPECT_FALSE(reply->stream({})->write("three"));
  EXPECT_EQ(client.response().body, "one");
  EXPECT_EQ(client.response().body, "GET [echo] ");
}

TEST(HttpReply, AnAnswerOfValuesIsMadeOnceAndNotByWhoGivesIt) {
  TestServer test;
  RawClient client = test.connect();
  client.send(get("/park") + get("/echo"));
  const Reply reply = test.parked.take();
  std::atomic<int> made = 0;
  std::atomic<std::thread::id> maker;
  reply->send_made(
      [&] {
        ++made;
        maker = std::this_thread::get_id();
        return HttpResponse{.body = "made"};
      },
      10);
  reply->send({.body = "late"});
  EXPECT_EQ(client.response().body, "made");
  EXPECT_EQ(client.response().body, "GET [echo] ");
  EXPECT_EQ(made, 1);
  EXPECT_NE(maker.load(), std::this_thread::get_id());
}

TEST(HttpReply, AnAnswerIsMadeAlsoIfNobodyWaitsAnyMore) {
  TestServer test;
  RawClient client = test.connect();
  client.send(get("/park"));
  const Reply reply = test.parked.take();
  client.reset();
  EXPECT_TRUE(eventually([&] { return test.server->connections() == 0; }));
  Signal made;
  reply->send_made(
      [&] {
        made.raise();
        return HttpResponse{};
      },
      10);
  EXPECT_TRUE(made.wait());
}

class GoneClients : public ::testing::TestWithParam<const char*> {
 protected:
  static void leave(RawClient& client) {
    if (GetParam() == std::string("closes")) client.close();
    if (GetParam() == std::string("resets")) client.reset();
    if (GetParam() == std::string("ends")) client.end_sending();
  }
};

TEST_P(GoneClients, AreNoticedWhileTheReplyIsParked) {
  TestServer test;
  RawClient client = test.connect();
  client.send(get("/park"));
  const Reply reply = test.parked.take();
  Signal gone;
  reply->on_gone([&] { gone.raise(); });
  leave(client);
  EXPECT_TRUE(gone.wait());
  Signal late;
  reply->on_gone([&] { late.raise(); });
  EXPECT_TRUE(late.wait());
  reply->send({});
  EXPECT_TRUE(eventually([&] { return test.server->connections() == 0; }));
  EXPECT_EQ(gone.count(), 1);
}

TEST_P(GoneClients, AreNoticedWhenTheyHadAskedToClose) {
  TestServer test;
  RawClient client = test.connect();
  client.send(get("/park", "Connection: close\r\n"));
  const Reply reply = test.parked.take();
  Signal gone;
  reply->on_gone([&] { gone.raise(); });
  leave(client);
  EXPECT_TRUE(gone.wait());
}

TEST_P(GoneClients, AreNoticedByAStream) {
  TestServer test;
  RawClient client = test.connect();
  client.send(get("/park"));
  const Reply reply = test.parked.take();
  const std::shared_ptr<Stream> stream = reply->stream({});
  Signal gone;
  reply->on_gone([&] { gone.raise(); });
  EXPECT_TRUE(stream->write("a"));
  EXPECT_EQ(client.response_to_head().status, 200);
  leave(client);
  EXPECT_TRUE(gone.wait());
  EXPECT_TRUE(eventually([&] { return !stream->write("b"); }));
  EXPECT_TRUE(eventually([&] { return test.server->connections() == 0; }));
}

INSTANTIATE_TEST_SUITE_P(AClientThat, GoneClients, ::testing::Values("closes", "resets", "ends"),
                         [](const auto& how) { return std::string(how.param); });

TEST(HttpReply, NobodyIsGoneOnceItIsAnswered) {
  TestServer test;
  Signal gone;
  {
    RawClient client = test.connect();
    client.send(get("/park"));
    const Reply reply = test.parked.take();
    reply->on_gone([&] { gone.raise(); });
    reply->send({});
    EXPECT_EQ(client.response().status, 200);
  }
  EXPECT_TRUE(eventually([&] { return test.server->connections() == 0; }));
  test.server->stop(0ms);
  EXPECT_EQ(gone.count(), 0);
}

TEST(HttpReply, WhatIsToldThatAClientIsGoneMayHoldItsReply) {
  TestServer test;
  RawClient client = test.connect();
  client.send(get("/park") + get("/park"));
  for (int i = 0; i < 2; ++i) {
    const Reply reply = test.parked.take();
    reply->on_gone([reply] { reply->send({}); });
  }
  client.close();
  EXPECT_TRUE(eventually([&] { return test.server->connections() == 0; }));
}

TEST(HttpReply, AStreamIsSentAsItIsWritten) {
  TestServer test;
  RawClient client = test.connect();
  client.send(get("/park") + get("/echo"));
  const std::shared_ptr<Stream> stream = test.parked.take()->stream({.type = "text/event-stream"});
  const RawResponse head = client.response_to_head();
  EXPECT_EQ(head.headers.at("transfer-encoding"), "chunked");
  EXPECT_EQ(head.headers.at("content-type"), "text/event-stream");
  EXPECT_TRUE(stream->write("one"));
  EXPECT_EQ(client.bytes(8), "3\r\none\r\n");
  EXPECT_TRUE(stream->write(""));
  EXPECT_TRUE(stream->write("four"));
  EXPECT_EQ(client.bytes(9), "4\r\nfour\r\n");
  stream->end();
  EXPECT_FALSE(stream->write("more"));
  EXPECT_EQ(client.bytes(5), "0\r\n\r\n");
  EXPECT_EQ(client.response().body, "GET [echo] ");
}

TEST(HttpReply, AStreamBehindAnotherAnswerWaits) {
  TestServer test;
  RawClient client = test.connect();
  client.send(get("/park") + get("/park"));
  const Reply first = test.parked.take();
  {
    const std::shared_ptr<Stream> stream = test.parked.take()->stream({});
    EXPECT_TRUE(stream->write("a"));
    EXPECT_TRUE(stream->write("b"));
  }
  first->send({.body = "first"});
  EXPECT_EQ(client.response().body, "first");
  EXPECT_EQ(client.response().body, "ab");
}

TEST(HttpReply, AStreamToAnOldClientLastsUntilItsEnd) {
  TestServer test;
  RawClient client = test.connect();
  client.send("GET /park HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  const std::shared_ptr<Stream> stream = test.parked.take()->stream({});
  EXPECT_TRUE(stream->write("text"));
  const RawResponse head = client.response_to_head();
  EXPECT_EQ(head.headers.at("connection"), "close");
  EXPECT_FALSE(head.headers.contains("transfer-encoding"));
  stream->end();
  EXPECT_EQ(client.rest(), "text");
}

TEST(HttpReply, TheHeadOfAStreamCanBeAskedForAlone) {
  TestServer test;
  RawClient client = test.connect();
  client.send("HEAD /park HTTP/1.1\r\nHost: a\r\n\r\n" + get("/echo"));
  const std::shared_ptr<Stream> stream = test.parked.take()->stream({});
  stream->write("text");
  EXPECT_EQ(client.response_to_head().status, 200);
  EXPECT_EQ(client.response().body, "GET [echo] ");
}

TEST(HttpReply, AStreamThatIsNotReadEnds) {
  TestServer test({.unsent_max = 1'000'000});
  RawClient client = test.connect();
  client.send(get("/park"));
  const std::shared_ptr<Stream> stream = test.parked.take()->stream({});
  const std::string text(10'000, 'x');
  std::size_t written = 0;
  while (written < 1'000'000'000 && stream->write(text)) written += text.size();
  EXPECT_LT(written, 1'000'000'000U);
  EXPECT_FALSE(stream->write("a"));
  EXPECT_TRUE(eventually([&] { return test.server->connections() == 0; }));
}

TEST(HttpReply, RepliesMayBeGivenFromManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kClients = 8;
  constexpr int kRequests = 50;
  TestServer test;
  std::vector<RawClient> clients;
  std::string requests;
  for (int i = 0; i < kRequests; ++i) requests += get("/park");
  for (int i = 0; i < kClients; ++i) clients.push_back(test.connect());
  for (const RawClient& client : clients) client.send(requests);
  std::atomic<int> left = kClients * kRequests;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int number = left--; number > 0; number = left--) {
        const Reply reply = test.parked.take();
        reply->on_gone([] {});
        if (number % 3 == 0) {
          const std::shared_ptr<Stream> stream = reply->stream({});
          stream->write("part");
        } else if (number % 3 == 1) {
          reply->send({.body = "whole"});
        }
      }
    });
  }
  for (RawClient& client : clients) {
    for (int i = 0; i < kRequests; ++i) EXPECT_NE(client.response().status, 0);
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(HttpReply, RepliesAndStreamsOutliveTheServer) {
  std::vector<Reply> replies;
  std::vector<std::shared_ptr<Stream>> streams;
  std::atomic<int> gone = 0;
  {
    TestServer test;
    std::vector<RawClient> clients;
    for (int i = 0; i < 8; ++i) {
      clients.push_back(test.connect());
      clients.back().send(get("/park") + get("/park"));
      replies.push_back(test.parked.take());
      replies.back()->on_gone([&] { ++gone; });
      streams.push_back(test.parked.take()->stream({}));
    }
    std::vector<std::thread> threads;
    // They write while the server goes.
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        while (streams[static_cast<std::size_t>(i)]->write("text")) std::this_thread::yield();
      });
    }
    test.server->stop(0ms);
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(gone, 8);
  for (const Reply& reply : replies) {
    reply->on_gone([&] { ++gone; });
    reply->send({});
  }
  for (const auto& stream : streams) {
    EXPECT_FALSE(stream->write("text"));
    stream->end();
  }
  EXPECT_EQ(gone, 8);
}

// ---- Stopping ----------------------------------------------------------------------------------------------------

TEST(HttpStop, IdleConnectionsAreClosedAndNewOnesRefused) {
  TestServer test;
  RawClient idle = test.connect();
  idle.send(get("/echo"));
  EXPECT_EQ(idle.response().status, 200);
  test.server->stop(1h);
  EXPECT_TRUE(idle.is_closed());
  EXPECT_EQ(test.server->connections(), 0U);
  RawClient late = test.connect();
  EXPECT_FALSE(late.send(get("/echo")) && late.response().status != 0);
  test.server->stop(1h);
}

TEST(HttpStop, AnswersThatAreDueAreGiven) {
  TestServer test;
  RawClient client = test.connect();
  RawClient half = test.connect();
  client.send(get("/park") + get("/park"));
  half.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(half.line(), "HTTP/1.1 100 Continue");
  half.line();
  const Reply first = test.parked.take();
  const Reply second = test.parked.take();
  RawClient idle = test.connect();
  ASSERT_TRUE(eventually([&] { return test.server->connections() == 3; }));
  std::thread stopping([&] { test.server->stop(1h); });
  EXPECT_TRUE(idle.is_closed());  // it has begun
  half.send("body");
  EXPECT_EQ(half.response().headers.at("connection"), "close");
  first->send({.body = "first"});
  second->send({.body = "second"});
  EXPECT_FALSE(client.response().headers.contains("connection"));
  const RawResponse last = client.response();
  EXPECT_EQ(last.body, "second");
  EXPECT_EQ(last.headers.at("connection"), "close");
  EXPECT_TRUE(client.is_closed());
  stopping.join();
}

TEST(HttpStop, AnswersThatDoNotComeInTimeAreGivenUp) {
  TestServer test;
  RawClient client = test.connect();
  client.send(get("/park"));
  const Reply reply = test.parked.take();
  Signal gone;
  reply->on_gone([&] { gone.raise(); });
  test.server->stop(10ms);
  EXPECT_EQ(gone.count(), 1);
  EXPECT_TRUE(client.is_closed());
  reply->send({});
}

TEST(HttpStop, StreamsEnd) {
  TestServer test;
  RawClient client = test.connect();
  client.send(get("/park"));
  const Reply reply = test.parked.take();
  const std::shared_ptr<Stream> stream = reply->stream({});
  Signal gone;
  reply->on_gone([&] { gone.raise(); });
  stream->write("text");
  EXPECT_EQ(client.response_to_head().status, 200);
  EXPECT_EQ(client.line(), "4");
  test.server->stop(1h);
  EXPECT_EQ(client.rest(), "text\r\n0\r\n\r\n");
  EXPECT_FALSE(stream->write("more"));
  EXPECT_EQ(gone.count(), 1);
}

}  // namespace
}  // namespace carillon::server::test
