#include "server/http/raw_client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <thread>
#include <utility>

#include "base/check.h"

namespace carillon::server::test {

namespace {

constexpr auto kPatience = std::chrono::seconds(60);

std::size_t to_number(std::string_view text, int base) {
  std::size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, base);
  return number;
}

std::string echo(const HttpRequest& request) {
  std::string text(to_string(request.method));
  for (const std::string& segment : request.segments) text += fmt::format(" [{}]", segment);
  for (const QueryItem& item : request.query) text += fmt::format(" {}={}", item.name, item.value);
  return text + " " + request.body;
}

}  // namespace

RawClient::RawClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  CHECK(socket_ >= 0);
  const timeval patience{.tv_sec = kPatience.count()};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) close();
}

RawClient::RawClient(RawClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), buffer_(std::move(other.buffer_)) {}

RawClient::~RawClient() { close(); }

bool RawClient::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool RawClient::receive() {
  std::array<char, 65536> part;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by recv
  const ssize_t size = ::recv(socket_, part.data(), part.size(), 0);
  if (size <= 0) return false;
  buffer_.append(part.data(), static_cast<std::size_t>(size));
  return true;
}

std::string RawClient::line() {
  while (true) {
    if (const std::size_t end = buffer_.find("\r\n"); end != std::string::npos) {
      std::string text = buffer_.substr(0, end);
      buffer_.erase(0, end + 2);
      return text;
    }
    if (!receive()) return {};
  }
}

std::string RawClient::bytes(std::size_t count) {
  while (buffer_.size() < count && receive()) {
  }
  std::string text = buffer_.substr(0, count);
  buffer_.erase(0, text.size());
  return text;
}

std::string RawClient::rest() {
  while (receive()) {
  }
  return std::exchange(buffer_, {});
}

RawResponse RawClient::head() {
  RawResponse response;
  const std::string status = line();
  if (!status.starts_with("HTTP/1.1 ") || status.size() < 12) return response;
  response.status = static_cast<int>(to_number(std::string_view(status).substr(9, 3), 10));
  response.head = status + "\r\n";
  for (std::string text = line(); !text.empty(); text = line()) {
    response.head += text + "\r\n";
    const std::size_t colon = std::min(text.find(':'), text.size());
    std::string name = text.substr(0, colon);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    response.headers[name] = text.substr(std::min(colon + 2, text.size()));
  }
  return response;
}

RawResponse RawClient::response_to_head() { return head(); }

RawResponse RawClient::response() {
  RawResponse response = head();
  if (response.headers.contains("content-length")) {
    response.body = bytes(to_number(response.headers["content-length"], 10));
  } else if (response.headers["transfer-encoding"] == "chunked") {
    while (const std::size_t size = to_number(line(), 16)) {
      response.body += bytes(size);
      line();
    }
    line();
  }
  return response;
}

void RawClient::end_sending() const { ::shutdown(socket_, SHUT_WR); }

void RawClient::close() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

void RawClient::reset() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

std::string get(std::string_view path, std::string_view more_headers) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: a\r\n{}\r\n", path, more_headers);
}

std::string post(std::string_view path, std::string_view body) {
  return fmt::format("POST {} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{}", path, body.size(), body);
}

void Parked::add(HttpRequest /*request*/, Reply reply) {
  {
    const std::scoped_lock lock(mutex_);
    replies_.push_back(std::move(reply));
  }
  added_.notify_all();
}

Reply Parked::take() {
  std::unique_lock lock(mutex_);
  if (!added_.wait_for(lock, kPatience, [&] { return !replies_.empty(); })) return nullptr;
  Reply reply = std::move(replies_.front());
  replies_.pop_front();
  return reply;
}

bool Parked::wait(std::size_t count, std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return added_.wait_for(lock, patience, [&] { return replies_.size() >= count; });
}

void Parked::clear() {
  std::deque<Reply> replies;
  const std::scoped_lock lock(mutex_);
  replies_.swap(replies);
}

TestServer::TestServer(HttpOptions options, HttpServer::OnHead on_head) {
  options.port = 0;
  const auto dispatch = [this](HttpRequest request, Reply reply) {
    const std::string what = request.segments.empty() ? "" : request.segments[0];
    if (what == "echo") return reply->send({.type = "text/plain", .body = echo(request)});
    if (what == "size")
      return reply->send({.type = "text/plain", .body = std::string(to_number(request.segments[1], 10), 'x')});
    if (what == "park") return parked.add(std::move(request), std::move(reply));
    if (what == "drop") return;
    if (on_other) return on_other(std::move(request), std::move(reply));
    reply->send({.status = 404, .body = "{}"});
  };
  server = std::make_unique<HttpServer>(std::move(options), dispatch, std::move(on_head));
  const Result<void> started = server->start();
  if (!started) ADD_FAILURE() << started.error().message;
}

bool eventually(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace carillon::server::test
