// From bytes to requests, whole or in pieces, and what is refused.
#include "server/http/request_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace carillon::server::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::size_t kHeadMax = 1024;
constexpr std::size_t kBodyMax = 100;

// All that comes of `input`, given in pieces of `piece` bytes: a line for each request, and one for a refusal.
std::vector<std::string> read_all(std::string_view input, std::size_t piece = std::string_view::npos) {
  RequestReader reader(kHeadMax);
  std::vector<std::string> results;
  while (!input.empty()) {
    reader.append(input.substr(0, piece));
    input.remove_prefix(std::min(piece, input.size()));
    for (auto step = reader.next(); step != RequestReader::Step::need_more; step = reader.next()) {
      if (step == RequestReader::Step::head) reader.allow_body(kBodyMax);
      if (step == RequestReader::Step::refused) {
        results.push_back(fmt::format("{} {}", reader.refusal().status, reader.refusal().code));
        EXPECT_FALSE(reader.refusal().message.empty());
        return results;
      }
      if (step == RequestReader::Step::request) {
        const bool keep_alive = reader.keep_alive();
        const HttpRequest request = reader.take();
        results.push_back(fmt::format("{} {} {}{}", to_string(request.method), request.path, request.body,
                                      keep_alive ? "" : " close"));
      }
    }
  }
  return results;
}

// The same, whichever way it is cut.
std::vector<std::string> read_any(std::string_view input) {
  const std::vector<std::string> whole = read_all(input);
  for (const std::size_t piece : {1U, 2U, 3U, 7U, 50U}) EXPECT_EQ(read_all(input, piece), whole) << input;
  return whole;
}

TEST(RequestReader, RequestsFollowEachOther) {
  EXPECT_THAT(read_any("GET /a HTTP/1.1\r\nHost: h\r\n\r\nPOST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nxyz"
                       "\r\nDELETE /c HTTP/1.1\r\nhost:\r\nConnection: close\r\n\r\n"),
              ElementsAre("GET /a ", "POST /b xyz", "DELETE /c  close"));
  EXPECT_THAT(read_any("GET /a HTTP/1.0\r\n\r\nGET /a HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"),
              ElementsAre("GET /a  close", "GET /a "));
}

TEST(RequestReader, ABodyMayComeInChunks) {
  EXPECT_THAT(
      read_any("PUT /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n"
               "3\r\nabc\r\n0002;name=value\r\nde\r\n0\r\nTrailer: x\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n"),
      ElementsAre("PUT /a abcde", "GET /b "));
}

TEST(RequestReader, HeadersAreKeptInOrderWithNamesInLowerCase) {
  RequestReader reader(kHeadMax);
  reader.append("GET /?q=1 HTTP/1.1\r\nHost: h\r\nX-A:  b c\t\r\nx-a: \xff\r\nEmpty:\r\n\r\n");
  ASSERT_EQ(reader.next(), RequestReader::Step::head);
  ASSERT_EQ(reader.next(), RequestReader::Step::request);
  const HttpRequest request = reader.take();
  ASSERT_EQ(request.headers.size(), 4U);
  EXPECT_EQ(*request.header("x-a"), "b c");
  EXPECT_EQ(request.headers[2].value, "\xff");
  EXPECT_EQ(*request.header("empty"), "");
  EXPECT_EQ(request.header("other"), nullptr);
  EXPECT_EQ(request.query[0].value, "1");
}

TEST(RequestReader, TheHeadIsSeenBeforeTheBody) {
  RequestReader reader(kHeadMax);
  EXPECT_EQ(reader.phase(), RequestReader::Phase::between);
  reader.append("POST /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 200\r\n\r\n");
  ASSERT_EQ(reader.next(), RequestReader::Step::head);
  EXPECT_EQ(reader.phase(), RequestReader::Phase::body);
  EXPECT_TRUE(reader.expects_continue() && reader.has_body());
  reader.allow_body(200);
  EXPECT_EQ(reader.next(), RequestReader::Step::need_more);
  reader.append(std::string(200, 'x'));
  EXPECT_EQ(reader.next(), RequestReader::Step::request);
  EXPECT_EQ(reader.phase(), RequestReader::Phase::between);
}

TEST(RequestReader, WhatTwoProgramsCouldReadInTwoWaysIsRefused) {
  struct Case {
    const char* head;
    const char* refusal;
  };
  // Each stands between "POST / HTTP/1.1\r\nHost: h\r\n" and an empty line with a body.
  const std::vector<Case> cases = {
      {"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "400"},
      {"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "400"},
      {"Content-Length: 3\r\nContent-Length: 4\r\n", "400"},
      {"Content-Length: 3\r\nContent-Length: 3\r\n", "400"},
      {"Content-Length: 3, 3\r\n", "400"},
      {"Content-Length: 3,4\r\n", "400"},
      {"Content-Length: +3\r\n", "400"},
      {"Content-Length: -3\r\n", "400"},
      {"Content-Length: 0x3\r\n", "400"},
      {"Content-Length: 3 3\r\n", "400"},
      {"Content-Length: 3.0\r\n", "400"},
      {"Content-Length:\r\n", "400"},
      {"Content-Length: \"3\"\r\n", "400"},
      {"Content-Length: 99999999999999999999999\r\n", "400"},
      {"Content-Length : 3\r\n", "400"},
      {" Content-Length: 3\r\n", "400"},
      {"\tContent-Length: 3\r\n", "400"},
      {"Content-Length\r\n", "400"},
      {": 3\r\n", "400"},
      {"Content-Length: 3\nX: y\r\n", "400"},
      {"Content-Length: 3\rX: y\r\n", "400"},
      {"X: a\r\n b\r\n", "400"},
      {"X: a\r\n\tTransfer-Encoding: chunked\r\n", "400"},
      {"X: a\x01\r\n", "400"},
      {"X: a\x7f\r\n", "400"},
      {"X\x0b: a\r\n", "400"},
      {"X(: a\r\n", "400"},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "400"},
      {"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n", "501"},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "400"},
      {"Transfer-Encoding: chunked, identity\r\n", "501"},
      {"Transfer-Encoding: gzip, chunked\r\n", "501"},
      {"Transfer-Encoding: xchunked\r\n", "501"},
      {"Transfer-Encoding: chunked;q=1\r\n", "501"},
      {"Transfer-Encoding: \"chunked\"\r\n", "501"},
      {"Transfer-Encoding: chunked,\r\n", "501"},
      {"Transfer-Encoding:\r\n", "501"},
      {"Transfer-Encoding : chunked\r\n", "400"},
      {"Transfer-Encoding\t: chunked\r\n", "400"},
      {"Transfer-Encoding: \x0b"
       "chunked\r\n",
       "400"},
      {"Host: other\r\n", "400"},
      {"Host: h\r\n", "400"},
      {"Expect: 200-ok\r\n", "417"},
  };
  for (const auto& [head, refusal] : cases) {
    const auto results = read_any(fmt::format("POST / HTTP/1.1\r\nHost: h\r\n{}\r\n0\r\n\r\n", head));
    ASSERT_EQ(results.size(), 1U) << head;
    EXPECT_THAT(results[0], ::testing::StartsWith(refusal)) << head;
  }
}

TEST(RequestReader, BadRequestLinesAreRefused) {
  struct Case {
    const char* line;
    const char* refusal;
  };
  const std::vector<Case> cases = {
      {"GET / HTTP/2.0", "505 version_not_supported"},
      {"GET / HTTP/1.2", "505 version_not_supported"},
      {"GET / HTTP/0.9", "505 version_not_supported"},
      {"PRI * HTTP/2.0", "505 version_not_supported"},
      {"GET / HTTP/1.10", "400 invalid_request"},
      {"GET / http/1.1", "400 invalid_request"},
      {"GET / HTTP/1.1 ", "400 invalid_request"},
      {"GET /  HTTP/1.1", "400 invalid_request"},
      {"GET  / HTTP/1.1", "400 invalid_request"},
      {"GET /a b HTTP/1.1", "400 invalid_request"},
      {"GET /", "400 invalid_request"},
      {"GET", "400 invalid_request"},
      {" GET / HTTP/1.1", "400 invalid_request"},
      {"GET\t/ HTTP/1.1", "400 invalid_request"},
      {"G(T / HTTP/1.1", "400 invalid_request"},
      {"get / HTTP/1.1", "501 method_not_supported"},
      {"TRACE / HTTP/1.1", "501 method_not_supported"},
      {"CONNECT a:80 HTTP/1.1", "501 method_not_supported"},
      {"BREW / HTTP/1.1", "501 method_not_supported"},
      {"GET a HTTP/1.1", "400 invalid_request"},
      {"GET * HTTP/1.1", "400 invalid_request"},
      {"GET /%zz HTTP/1.1", "400 invalid_request"},
      {"GET /%00 HTTP/1.1", "400 invalid_request"},
      {"GET /a#b HTTP/1.1", "400 invalid_request"},
      {"GET /\x80 HTTP/1.1", "400 invalid_request"},
      {"GET /\x01 HTTP/1.1", "400 invalid_request"},
      {"\x16\x03\x01", "400 invalid_request"},
      {"\r\n\r\n\r\nGET / HTTP/1.1", "400 invalid_request"},
  };
  for (const auto& [line, refusal] : cases) {
    EXPECT_THAT(read_any(fmt::format("{}\r\nHost: h\r\n\r\n", line)), ElementsAre(refusal)) << line;
  }
  EXPECT_THAT(read_any("GET / HTTP/1.1\r\n\r\n"), ElementsAre("400 invalid_request"));
  EXPECT_THAT(read_any("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), ElementsAre("400 invalid_request"));
  EXPECT_THAT(read_any("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), ElementsAre("400 invalid_request"));
  EXPECT_THAT(read_any("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), ElementsAre("400 invalid_request"));
}

TEST(RequestReader, BadChunksAreRefused) {
  for (const char* const body :
       {"x\r\nabc\r\n", "\r\nabc", "-1\r\n", "+1\r\na\r\n", "0x1\r\na\r\n", " 1\r\na\r\n", "1 \r\naa\r\n0\r\n\r\n",
        "3\r\nabcd\r\n", "3\r\nabcX\n", "3\nabc\r\n", "3\rabc", "fffffffffffffffff\r\n", "1;\x01\r\na\r\n",
        "0\r\nbad\r\n\r\n", "0\r\n a: b\r\n\r\n", "0\r\n: b\r\n\r\n", "0;a\n", "0\r\n\rX"}) {
    const auto results =
        read_any(fmt::format("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n{}", body));
    EXPECT_THAT(results, ElementsAre("400 invalid_request")) << body;
  }
}

TEST(RequestReader, SizesHaveBounds) {
  const std::string start = "GET / HTTP/1.1\r\nHost: h\r\nX: ";
  const std::string fits = start + std::string(kHeadMax - start.size() - 4, 'x') + "\r\n\r\n";
  ASSERT_EQ(fits.size(), kHeadMax);
  EXPECT_THAT(read_any(fits), ElementsAre("GET / "));
  EXPECT_THAT(read_any(start + std::string(kHeadMax - start.size() - 3, 'x') + "\r\n\r\n"),
              ElementsAre("431 head_too_large"));
  EXPECT_THAT(read_any("GET /" + std::string(5000, 'x')), ElementsAre("431 head_too_large"));

  std::string many = "GET / HTTP/1.1\r\nHost: h\r\n";
  for (int i = 0; i < 100; ++i) many += "a:\r\n";
  EXPECT_THAT(read_any(many + "\r\n"), ElementsAre("431 head_too_large"));

  const std::string posted = "POST / HTTP/1.1\r\nHost: h\r\n";
  EXPECT_THAT(read_any(posted + "Content-Length: 101\r\n\r\n"), ElementsAre("413 body_too_large"));
  EXPECT_THAT(read_any(posted + "Content-Length: 18446744073709551615\r\n\r\n"), ElementsAre("413 body_too_large"));
  EXPECT_THAT(read_any(posted + "Transfer-Encoding: chunked\r\n\r\n3c\r\n" + std::string(60, 'x') + "\r\n29\r\n"),
              ElementsAre("413 body_too_large"));
  EXPECT_THAT(read_any(posted + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"),
              ElementsAre("413 body_too_large"));
  EXPECT_THAT(read_all(posted + "Transfer-Encoding: chunked\r\n\r\n1;" + std::string(40'000, 'x'), 1000),
              ElementsAre("400 invalid_request"));
}

TEST(RequestReader, ARefusalSaysWhatIsAllowed) {
  RequestReader reader(kHeadMax);
  reader.append("TRACE / HTTP/1.1\r\n\r\n");
  ASSERT_EQ(reader.next(), RequestReader::Step::refused);
  EXPECT_THAT(reader.refusal().message, HasSubstr("\"TRACE\": expected GET, HEAD"));
  EXPECT_EQ(reader.next(), RequestReader::Step::refused);
}

}  // namespace
}  // namespace carillon::server::test
