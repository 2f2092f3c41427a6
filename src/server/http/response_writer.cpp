#include "server/http/response_writer.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <iterator>

#include "base/json_writer.h"

namespace carillon::server {

namespace {

// A header's value must not be able to start another header.
void append_value(std::string& out, std::string_view value) {
  for (const char c : value) {
    const bool control = (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
    out.push_back(control ? ' ' : c);
  }
}

void append_header(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ");
  append_value(out, value);
  out.append("\r\n");
}

}  // namespace

HttpResponse error_response(int status, std::string_view code, std::string_view message, std::string_view details) {
  JsonObject error;
  error.text("code", code).text("message", message).raw("details", details);
  JsonObject body;
  body.raw("error", error.str());
  return {.status = status, .body = body.str()};
}

HttpResponse busy_response(int status, std::string_view code, std::string_view message) {
  HttpResponse response = error_response(status, code, message);
  response.headers.push_back({.name = "retry-after", .value = "1"});
  return response;
}

HttpResponse refused_for_room(Budget::Room room) {
  if (room == Budget::Room::none_for_account) {
    return busy_response(429, "too_many_bytes", "too many bodies and answers of this caller are under way; try again");
  }
  return busy_response(503, "overloaded", "too many bodies and answers are under way; try again");
}

HttpResponse too_many_wait() { return busy_response(503, "overloaded", "too many calls wait; try again"); }

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 422: return "Unprocessable Content";
    case 428: return "Precondition Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    case 507: return "Insufficient Storage";
    default: return "Status";
  }
}

bool has_body(int status) { return status >= 200 && status != 204 && status != 304; }

std::string response_head(const HttpResponse& response, const HeadOptions& options) {
  std::string out;
  out.reserve(320);
  fmt::format_to(std::back_inserter(out), "HTTP/1.1 {} {}\r\nDate: {}\r\n", response.status,
                 reason_phrase(response.status), options.date);
  if (has_body(response.status)) {
    if (!response.type.empty()) append_header(out, "Content-Type", response.type);
    switch (options.framing) {
      case Framing::length:
        fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n", response.body.size());
        break;
      case Framing::chunked: out.append("Transfer-Encoding: chunked\r\n"); break;
      case Framing::until_end: break;
    }
  }
  for (const HttpHeader& header : response.headers) append_header(out, header.name, header.value);
  // What is said is what it says it is, and is kept by nobody unless it says for how long.
  out.append("X-Content-Type-Options: nosniff\r\n");
  if (find_header(response.headers, "cache-control") == nullptr) out.append("Cache-Control: no-store\r\n");
  if (options.close) {
    out.append("Connection: close\r\n");
  } else if (options.http_1_0) {
    out.append("Connection: keep-alive\r\n");
  }
  out.append("\r\n");
  return out;
}

std::string chunk_of(std::string_view text) {
  if (text.empty()) return {};
  return fmt::format("{:x}\r\n{}\r\n", text.size(), text);
}

std::string_view DateCache::now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t second = std::chrono::duration_cast<std::chrono::seconds>(since).count();
  if (second != second_) {
    second_ = second;
    text_ = http_date(second);
  }
  return text_;
}

std::string http_date(std::int64_t unix_seconds) {
  static constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                               "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::chrono::sys_seconds at{std::chrono::seconds(unix_seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(at - day);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays[std::chrono::weekday(day).c_encoding()],
                     static_cast<unsigned>(date.day()), kMonths[static_cast<unsigned>(date.month()) - 1],
                     static_cast<int>(date.year()), time.hours().count(), time.minutes().count(),
                     time.seconds().count());
}

}  // namespace carillon::server
