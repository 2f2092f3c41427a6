#include "bench/loopback_http.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "bench/measuring.h"

namespace carillon {

namespace {

constexpr std::size_t kReadBytes = std::size_t{256} * 1024;
constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::string_view kLength = "\r\nContent-Length: ";

[[noreturn]] void system_failed(std::string_view what) {
  give_up({.code = ErrorCode::unavailable,
           .message = fmt::format("cannot {}: {}", what, std::generic_category().message(errno))});
}

}  // namespace

std::string http_request(const LoopbackTarget& target, std::string_view method, std::string_view path,
                         std::string_view body) {
  std::string request = fmt::format("{} {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n", method,
                                    path, target.port, target.key);
  if (!body.empty()) request += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", body.size());
  return request.append("\r\n").append(body);
}

std::optional<HttpAnswer> first_answer(std::string_view bytes) {
  const std::size_t head_end = bytes.find(kHeadEnd);
  if (head_end == std::string_view::npos) return std::nullopt;
  const std::string_view head = bytes.substr(0, head_end);
  constexpr std::size_t kStatusAt = 9;  // after "HTTP/1.1 "
  HttpAnswer answer;
  CHECK(head.size() > kStatusAt + 3);
  std::from_chars(head.data() + kStatusAt, head.data() + kStatusAt + 3, answer.status);
  std::size_t length = 0;
  if (const std::size_t at = head.find(kLength); at != std::string_view::npos) {
    std::from_chars(head.data() + at + kLength.size(), head.data() + head.size(), length);
  }
  answer.size = head_end + kHeadEnd.size() + length;
  if (bytes.size() < answer.size) return std::nullopt;
  answer.body = bytes.substr(answer.size - length, length);
  return answer;
}

void expect_status(const HttpAnswer& answer, int status, std::string_view asked) {
  if (answer.status == status) return;
  const std::string_view line = asked.substr(0, asked.find('\r'));
  give_up({.code = ErrorCode::unavailable,
           .message = fmt::format("{} was answered {} and not {}: {}", line, answer.status, status, answer.body)});
}

Descriptor::Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

Descriptor connect_loopback(std::uint16_t port, Blocks blocks) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.number() < 0) system_failed("open a socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the system's own way to pass an address
  if (connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    system_failed("connect to the server");
  }
  const int on = 1;
  setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // NOLINTNEXTLINE(*-vararg): fcntl is what it is
  if (blocks == Blocks::no) CHECK(fcntl(socket.number(), F_SETFL, O_NONBLOCK) == 0);
  return socket;
}

LoopbackClient::LoopbackClient(LoopbackTarget target)
    : target_(std::move(target)), socket_(connect_loopback(target_.port, Blocks::yes)) {}

std::string_view LoopbackClient::post(std::string_view path, std::string_view body, int status) {
  return ask(http_request(target_, "POST", path, body), status);
}

std::string_view LoopbackClient::get(std::string_view path) { return ask(http_request(target_, "GET", path, ""), 200); }

std::string_view LoopbackClient::ask(std::string_view request, int status) {
  for (std::size_t sent = 0; sent < request.size();) {
    const ssize_t some = send(socket_.number(), request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (some < 0) system_failed("send a request");
    sent += static_cast<std::size_t>(some);
  }
  received_.clear();
  for (;;) {
    const std::size_t have = received_.size();
    received_.resize(have + kReadBytes);
    const ssize_t got = recv(socket_.number(), received_.data() + have, kReadBytes, 0);
    if (got <= 0) system_failed("receive an answer");
    received_.resize(have + static_cast<std::size_t>(got));
    if (const auto answer = first_answer(received_)) {
      expect_status(*answer, status, request);
      return answer->body;
    }
  }
}

}  // namespace carillon
