// Responses and their parts.
#include "server/http/response_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "server/http/output_queue.h"

namespace carillon::server::test {
namespace {

using ::testing::HasSubstr;

TEST(ResponseWriter, AHeadSaysWhatFollows) {
  EXPECT_EQ(
      response_head({.status = 201, .body = "{}", .headers = {{.name = "Location", .value = "/a"}}}, {.date = "D"}),
      "HTTP/1.1 201 Created\r\nDate: D\r\nContent-Type: application/json\r\nContent-Length: 2\r\nLocation: "
      "/a\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n\r\n");
  EXPECT_EQ(response_head({.status = 204}, {.close = true, .date = "D"}),
            "HTTP/1.1 204 No Content\r\nDate: D\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n"
            "Connection: close\r\n\r\n");
  EXPECT_THAT(response_head({.status = 299}, {.framing = Framing::chunked}),
              HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_THAT(response_head({}, {.http_1_0 = true}), HasSubstr("Connection: keep-alive\r\n"));
}

TEST(ResponseWriter, WhoSaysHowLongAnAnswerIsGoodIsHeard) {
  const std::string head = response_head({.headers = {{.name = "cache-control", .value = "no-cache"}}}, {});
  EXPECT_THAT(head, HasSubstr("cache-control: no-cache\r\n"));
  EXPECT_THAT(head, ::testing::Not(HasSubstr("no-store")));
}

TEST(ResponseWriter, AValueCannotStartAnotherHeader) {
  const HttpResponse response{.headers = {{.name = "A", .value = "b\r\nSet-Cookie: c\n"}}};
  EXPECT_THAT(response_head(response, {}), HasSubstr("A: b  Set-Cookie: c \r\n"));
}

TEST(ResponseWriter, AnErrorIsJson) {
  const HttpResponse response = error_response(404, "job_not_found", "no job \"a\"");
  EXPECT_EQ(response.body, R"({"error":{"code":"job_not_found","message":"no job \"a\"","details":{}}})");
}

TEST(ResponseWriter, DatesAreWrittenAsHttpHasThem) {
  EXPECT_EQ(http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(http_date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
}

TEST(ResponseWriter, AnEmptyTextIsNoChunk) {
  EXPECT_EQ(chunk_of(""), "");
  EXPECT_EQ(chunk_of(std::string(26, 'a')), "1a\r\n" + std::string(26, 'a') + "\r\n");
}

TEST(OutputQueue, ShortPiecesAreJoinedAndLongOnesAreNot) {
  OutputQueue queue;
  std::array<std::string_view, 4> views;
  queue.add("ab", 1);
  queue.add("cd", 2);
  queue.add(std::string(20'000, 'x'), 4);
  ASSERT_EQ(queue.gather(views), 2U);
  EXPECT_EQ(views[0], "abcd");
  EXPECT_EQ(queue.sent(3), 0U);
  EXPECT_EQ(queue.gather(views), 2U);
  EXPECT_EQ(views[0], "d");
  EXPECT_EQ(queue.sent(2), 3U);
  EXPECT_EQ(queue.sent(19'999), 4U);
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace carillon::server::test
