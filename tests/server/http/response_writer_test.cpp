// Responses and their parts, and gzip.
#include "server/http/response_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <array>

#include "server/http/gzip.h"
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

HttpRequest accepting(std::string value) {
  return {.headers = {{.name = "accept-encoding", .value = std::move(value)}}};
}

TEST(Gzip, IsAcceptedByThoseWhoSaySo) {
  for (const char* const value : {"gzip", "deflate, GZIP", "br;q=1.0, gzip;q=0.5", "*", "identity;q=0, *;q=0.1"}) {
    EXPECT_TRUE(accepts_gzip(accepting(value))) << value;
  }
  for (const char* const value : {"", "br", "gzip;q=0", "gzip;q=0.000, *", "*;q=0", "xgzip", "gzip2", ",;,"}) {
    EXPECT_FALSE(accepts_gzip(accepting(value))) << value;
  }
  EXPECT_FALSE(accepts_gzip({}));
}

TEST(Gzip, GivesBackWhatWasCompressed) {
  for (const std::string& content : {std::string(), std::string("a"), std::string(300'000, 'x')}) {
    const std::string compressed = gzip(content);
    std::string restored(content.size() + 1, '\0');
    z_stream stream{};
    ASSERT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
    std::string input = compressed;
    stream.next_in = reinterpret_cast<Bytef*>(input.data());
    stream.avail_in = static_cast<uInt>(input.size());
    stream.next_out = reinterpret_cast<Bytef*>(restored.data());
    stream.avail_out = static_cast<uInt>(restored.size());
    EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
    restored.resize(stream.total_out);
    inflateEnd(&stream);
    EXPECT_EQ(restored, content);
  }
}

}  // namespace
}  // namespace carillon::server::test
