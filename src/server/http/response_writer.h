// Responses as they go over the wire.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/http/budget.h"
#include "server/http/message.h"

namespace carillon::server {

// {"error": {"code": …, "message": …}}
HttpResponse error_response(int status, std::string_view code, std::string_view message,
                            std::string_view details = "{}");

// The same for what can be tried again soon: 429 or 503.
HttpResponse busy_response(int status, std::string_view code, std::string_view message);
// For a call that the budget has no room for.
HttpResponse refused_for_room(Budget::Room room);
// For a call that finds the line of those who wait full.
HttpResponse too_many_wait();

// "Not Found"; for a number that has no name "Status".
std::string_view reason_phrase(int status);

enum class Framing : std::uint8_t {
  length,     // Content-Length
  chunked,    // a stream
  until_end,  // a stream to a client that knows no chunks: it lasts until the connection is closed
};

struct HeadOptions {
  Framing framing = Framing::length;
  bool http_1_0 = false;
  bool close = false;
  std::string_view date;  // as http_date writes it
};

// The status line and headers with the empty line behind them. Control characters in a value become spaces.
std::string response_head(const HttpResponse& response, const HeadOptions& options);

// Whether a response of that status has a body.
bool has_body(int status);

// `text` as a chunk; an empty one would end the stream and gives nothing.
std::string chunk_of(std::string_view text);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";
inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// The time now as the Date header has it, formatted once a second. For one thread.
class DateCache {
 public:
  std::string_view now();

 private:
  std::int64_t second_ = -1;
  std::string text_;
};

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::string http_date(std::int64_t unix_seconds);

}  // namespace carillon::server
