#include "server/handlers/support/http_target.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace carillon::test {

namespace {

constexpr int kLookMs = 20;

// Whether there is something to read, or it was closed.
bool is_readable(int fd) {
  pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&one, 1, kLookMs) > 0;
}

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool is_whole(const std::string& request) {
  const std::size_t end = request.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  const std::string length = header_of(request, "Content-Length");
  return request.size() >= end + 4 + (length.empty() ? 0 : std::stoul(length));
}

}  // namespace

HttpTarget::HttpTarget(Answer answer, const std::string& address, std::uint16_t port) : answer_(std::move(answer)) {
  const bool is_v6 = address.find(':') != std::string::npos;
  fd_ = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_storage bound{};
  socklen_t size = 0;
  if (is_v6) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(bound);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr);
    size = sizeof v6;
  } else {
    auto& v4 = reinterpret_cast<sockaddr_in&>(bound);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    inet_pton(AF_INET, address.c_str(), &v4.sin_addr);
    size = sizeof v4;
  }
  if (bind(fd_, reinterpret_cast<sockaddr*>(&bound), size) != 0 || listen(fd_, 128) != 0) {
    close(fd_);
    throw std::runtime_error("cannot listen on " + address);
  }
  getsockname(fd_, reinterpret_cast<sockaddr*>(&bound), &size);
  port_ =
      ntohs(is_v6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port : reinterpret_cast<sockaddr_in&>(bound).sin_port);
  accepting_ = std::thread([this] { accept_all(); });
}

HttpTarget::~HttpTarget() {
  stopping_ = true;
  accepting_.join();
  for (std::thread& thread : serving_) thread.join();
  close(fd_);
}

std::string HttpTarget::url(std::string_view path) const { return fmt::format("http://127.0.0.1:{}{}", port_, path); }

std::vector<std::string> HttpTarget::requests() const {
  const std::scoped_lock lock(mutex_);
  return requests_;
}

bool HttpTarget::wait_for_requests(std::size_t count) {
  std::unique_lock lock(mutex_);
  return heard_.wait_for(lock, std::chrono::seconds(60), [&] { return requests_.size() >= count; });
}

void HttpTarget::accept_all() {
  while (!stopping_) {
    if (!is_readable(fd_)) continue;
    const int connection = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    ++connections_;
    serving_.emplace_back([this, connection] { serve(connection); });
  }
}

void HttpTarget::serve(int fd) {
  std::string request;
  bool open = true;
  while (!stopping_ && open) {
    if (!is_readable(fd)) continue;
    std::array<char, 16384> buffer{};
    const ssize_t got = recv(fd, buffer.data(), buffer.size(), 0);
    if (got <= 0) break;
    request.append(buffer.data(), static_cast<std::size_t>(got));
    if (!is_whole(request)) continue;
    const Reply reply = answer_(request);
    {
      const std::scoped_lock lock(mutex_);
      requests_.push_back(std::move(request));
    }
    heard_.notify_all();
    request.clear();
    open = send_all(fd, reply.bytes) && !reply.close;
    while (open && !stopping_ && (reply.hold || reply.drip)) {
      if (is_readable(fd)) open = false;
      if (open && reply.drip) open = send_all(fd, "x");
    }
  }
  close(fd);
}

std::string http_answer(int status, std::string_view body, std::string_view headers) {
  return fmt::format("HTTP/1.1 {} Word\r\nContent-Length: {}\r\n{}\r\n{}", status, body.size(), headers, body);
}

std::string header_of(const std::string& request, std::string_view name) {
  const std::size_t end = request.find("\r\n\r\n");
  std::size_t at = request.find("\r\n");
  while (at != std::string::npos && at < end) {
    at += 2;
    const std::string line = request.substr(at, request.find("\r\n", at) - at);
    const std::size_t colon = line.find(':');
    if (colon == name.size() && strncasecmp(line.c_str(), name.data(), colon) == 0) {
      return line.substr(line.find_first_not_of(' ', colon + 1));
    }
    at = request.find("\r\n", at);
  }
  return {};
}

std::string body_of(const std::string& request) {
  const std::size_t end = request.find("\r\n\r\n");
  return end == std::string::npos ? std::string() : request.substr(end + 4);
}

}  // namespace carillon::test
