// Requests over real connections: how they are framed, in which order they are answered, which are refused.
#include "server/http/http_server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "server/http/raw_client.h"
#include "support/results.h"

namespace carillon::server::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST(HttpServer, AConnectionServesOneRequestAfterTheOther) {
  TestServer test;
  RawClient client = test.connect();
  for (int i = 0; i < 3; ++i) {
    client.send(post(fmt::format("/echo/{}?a=b", i), "body"));
    const RawResponse response = client.response();
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, fmt::format("POST [echo] [{}] a=b body", i));
    EXPECT_EQ(response.headers.at("content-type"), "text/plain");
    EXPECT_THAT(response.headers.at("date"), MatchesRegex("..., .. ... .... ..:..:.. GMT"));
    EXPECT_FALSE(response.headers.contains("connection"));
  }
  EXPECT_EQ(test.server->connections(), 1U);
}

TEST(HttpServer, AConnectionIsClosedWhenTheClientAsksForIt) {
  TestServer test;
  RawClient client = test.connect();
  client.send(get("/echo", "Connection: close\r\n") + get("/echo"));
  EXPECT_EQ(client.response().headers.at("connection"), "close");
  EXPECT_TRUE(client.is_closed());
}

TEST(HttpServer, OldClientsAreClosedUnlessTheyAskForMore) {
  TestServer test;
  RawClient client = test.connect();
  client.send("GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(client.response().headers.at("connection"), "keep-alive");
  client.send("GET /echo HTTP/1.0\r\n\r\n");
  EXPECT_EQ(client.response().headers.at("connection"), "close");
  EXPECT_TRUE(client.is_closed());
}

TEST(HttpServer, ARequestForTheHeadGetsNoBody) {
  TestServer test;
  RawClient client = test.connect();
  client.send("HEAD /size/5 HTTP/1.1\r\nHost: a\r\n\r\n" + get("/echo"));
  EXPECT_EQ(client.response_to_head().headers.at("content-length"), "5");
  EXPECT_EQ(client.response().body, "GET [echo] ");
}

TEST(HttpServer, AClientThatWaitsIsToldToGoOn) {
  TestServer test;
  RawClient client = test.connect();
  client.send("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  EXPECT_EQ(client.line(), "HTTP/1.1 100 Continue");
  EXPECT_EQ(client.line(), "");
  client.send("body");
  EXPECT_EQ(client.response().body, "POST [echo] body");
  client.send("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nbody");
  EXPECT_EQ(client.response().status, 200);
}

TEST(HttpServer, AWordToGoOnWaitsForTheAnswersBeforeIt) {
  TestServer test;
  RawClient client = test.connect();
  client.send(get("/park") + "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  test.parked.take()->send({.body = "first"});
  EXPECT_EQ(client.response().body, "first");
  EXPECT_EQ(client.line(), "HTTP/1.1 100 Continue");
}

TEST(HttpServer, ABodyMayComeInChunksAndInPieces) {
  TestServer test;
  RawClient client = test.connect();
  for (const char c : std::string_view("PUT /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                                       "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n")) {
    client.send({&c, 1});
  }
  EXPECT_EQ(client.response().body, "PUT [echo] abc");
}

TEST(HttpServer, AnswersComeInTheOrderOfTheRequests) {
  TestServer test;
  RawClient client = test.connect();
  client.send(get("/park") + get("/echo/a") + get("/park") + get("/echo/b"));
  const Reply first = test.parked.take();
  const Reply third = test.parked.take();
  third->send({.body = "third"});
  first->send({.body = "first"});
  EXPECT_EQ(client.response().body, "first");
  EXPECT_EQ(client.response().body, "GET [echo] [a] ");
  EXPECT_EQ(client.response().body, "third");
  EXPECT_EQ(client.response().body, "GET [echo] [b] ");
}

TEST(HttpServer, RequestsAreReadOnlyAsFarAsAllowed) {
  TestServer test({.pipelined_max = 4});
  RawClient client = test.connect();
  std::string requests;
  for (int i = 0; i < 10; ++i) requests += get("/park");
  client.send(requests);
  ASSERT_TRUE(test.parked.wait(4));
  for (int i = 0; i < 10; ++i) {
    // The next one is read only when an answer has made room for it.
    EXPECT_FALSE(test.parked.wait(5, 0ms));
    test.parked.take()->send({.body = std::to_string(i)});
    EXPECT_EQ(client.response().body, std::to_string(i));
  }
}

TEST(HttpServer, ManyRequestsAtOnceAreAllAnswered) {
  TestServer test;
  RawClient client = test.connect();
  std::string requests;
  for (int i = 0; i < 5000; ++i) requests += get(fmt::format("/echo/{}", i));
  std::thread sender([&] { client.send(requests); });
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(client.response().body, fmt::format("GET [echo] [{}] ", i));
  sender.join();
}

TEST(HttpServer, LargeAnswersArriveWhole) {
  // Who has no key gets a sixteenth of it.
  TestServer test({.budget = {.bytes = std::size_t{512} << 20U}});
  RawClient client = test.connect();
  client.send(get("/size/20000000") + get("/size/1"));
  EXPECT_EQ(client.response().body.size(), 20'000'000U);
  EXPECT_EQ(client.response().body, "x");
}

TEST(HttpServer, BadRequestsGetAReasonAndTheConnectionIsClosed) {
  TestServer test({.head_max = 1000, .body_max = 1000});
  struct Case {
    std::string request;
    int status;
    const char* code;
  };
  const std::vector<Case> cases = {
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc", 400,
       "invalid_request"},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400, "invalid_request"},
      {"GET /%g HTTP/1.1\r\nHost: a\r\n\r\n", 400, "invalid_request"},
      {"GET / HTTP/1.1\r\n\r\n", 400, "invalid_request"},
      {"GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505, "version_not_supported"},
      {"FETCH / HTTP/1.1\r\nHost: a\r\n\r\n", 501, "method_not_supported"},
      {"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n", 400, "invalid_request"},
      {"GET /" + std::string(2000, 'x'), 431, "head_too_large"},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n", 413, "body_too_large"},
      {std::string("\x16\x03\x01\x02\x00", 5), 400, "invalid_request"},
  };
  for (const auto& [request, status, code] : cases) {
    RawClient client = test.connect();
    client.send(get("/echo") + request + get("/echo"));
    EXPECT_EQ(client.response().body, "GET [echo] ");
    const RawResponse response = client.response();
    EXPECT_EQ(response.status, status) << request;
    EXPECT_EQ(response.headers.at("connection"), "close");
    EXPECT_THAT(response.body, ::testing::StartsWith(fmt::format(R"({{"error":{{"code":"{}","message":")", code)));
    EXPECT_TRUE(client.is_closed());
  }
}

TEST(HttpServer, ARefusalReachesAClientThatIsStillSending) {
  TestServer test;
  RawClient client = test.connect();
  client.send(fmt::format("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", 3'000'000));
  client.send(std::string(3'000'000, 'x'));
  EXPECT_EQ(client.response().status, 413);
  EXPECT_TRUE(client.is_closed());
}

TEST(HttpServer, AHeadCanBeRefusedBeforeItsBodyIsRead) {
  TestServer test({.body_max = 10}, [](const HttpRequest& head, std::size_t& body_max) -> std::optional<HttpResponse> {
    EXPECT_EQ(head.peer, "127.0.0.1");
    if (head.header("authorization") == nullptr) return HttpResponse{.status = 401, .body = "{}"};
    if (head.path == "/echo/large") body_max = 1000;
    return std::nullopt;
  });
  RawClient client = test.connect();
  client.send(get("/echo"));
  EXPECT_EQ(client.response().status, 401);
  const auto posted = [](std::string_view path, int size) {
    return fmt::format(
        "POST {} HTTP/1.1\r\nHost: a\r\nAuthorization: b\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n", path,
        size);
  };
  client.send(posted("/echo/large", 1000));
  EXPECT_EQ(client.line(), "HTTP/1.1 100 Continue");
  EXPECT_EQ(client.line(), "");
  client.send(std::string(1000, 'x'));
  EXPECT_EQ(client.response().status, 200);
  client.send(posted("/echo", 1000));
  EXPECT_EQ(client.response().status, 413);
  EXPECT_TRUE(client.is_closed());

  RawClient stranger = test.connect();
  stranger.send("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  const RawResponse response = stranger.response();
  EXPECT_EQ(response.status, 401);
  EXPECT_EQ(response.headers.at("connection"), "close");
  EXPECT_TRUE(stranger.is_closed());
}

TEST(HttpServer, AClientThatHasSaidAllIsStillAnswered) {
  TestServer test;
  RawClient client = test.connect();
  client.send(get("/echo/a") + get("/park") + get("/echo/b") + "GET /half");
  client.end_sending();
  EXPECT_EQ(client.response().body, "GET [echo] [a] ");
  test.parked.take()->send({.body = "parked"});
  EXPECT_EQ(client.response().body, "parked");
  EXPECT_EQ(client.response().body, "GET [echo] [b] ");
  EXPECT_TRUE(client.is_closed());
}

TEST(HttpServer, AnAddressThatCannotBeListenedOnIsNamed) {
  HttpServer nowhere({.address = "nowhere", .port = 0}, [](HttpRequest, Reply) {});
  EXPECT_THAT(carillon::test::error_of(nowhere.start()).message, HasSubstr("cannot listen on \"nowhere\""));
  TestServer test;
  HttpServer second({.port = test.server->port()}, [](HttpRequest, Reply) {});
  const Error error = carillon::test::error_of(second.start());
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_THAT(error.message, HasSubstr(fmt::format("\"127.0.0.1\" port {}: ", test.server->port())));
}

TEST(HttpServer, APortCanBeTakenAgainAtOnce) {
  std::uint16_t port = 0;
  {
    TestServer test;
    port = test.server->port();
    RawClient client = test.connect();
    client.send(get("/echo"));
    EXPECT_EQ(client.response().status, 200);
    test.server->stop(0ms);
  }
  HttpServer again({.port = port}, [](HttpRequest, Reply) {});
  EXPECT_TRUE(again.start().has_value());
}

}  // namespace
}  // namespace carillon::server::test
