#include "bench/raw_answer.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <unordered_map>
#include <utility>

#include "base/check.h"

namespace carillon {

namespace {

constexpr std::size_t kReadBytes = std::size_t{64} * 1024;
constexpr int kEventsMax = 256;
constexpr int kBacklog = 1024;

}  // namespace

RawAnswer::RawAnswer(std::size_t body_bytes)
    : answer_(fmt::format("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                          body_bytes, std::string(body_bytes, 'x'))),
      listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      end_(eventfd(0, EFD_CLOEXEC)) {
  CHECK(listener_.number() >= 0 && epoll_.number() >= 0 && end_.number() >= 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the system's own way to pass an address
  auto* const as_system = reinterpret_cast<sockaddr*>(&address);
  CHECK(bind(listener_.number(), as_system, size) == 0 && listen(listener_.number(), kBacklog) == 0);
  CHECK(getsockname(listener_.number(), as_system, &size) == 0);
  port_ = ntohs(address.sin_port);
  for (const int fd : {listener_.number(), end_.number()}) {
    epoll_event wanted{.events = EPOLLIN, .data = {.fd = fd}};
    CHECK(epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, fd, &wanted) == 0);
  }
  thread_ = std::thread([this] { answer_all(); });
}

RawAnswer::~RawAnswer() {
  eventfd_write(end_.number(), 1);
  thread_.join();
}

void RawAnswer::answer_all() {
  std::unordered_map<int, Descriptor> clients;
  std::array<epoll_event, kEventsMax> events{};
  std::array<char, kReadBytes> buffer{};
  for (;;) {
    const int count = epoll_wait(epoll_.number(), events.data(), kEventsMax, -1);
    for (int i = 0; i < count; ++i) {
      const int fd = events.at(static_cast<std::size_t>(i)).data.fd;
      if (fd == end_.number()) return;
      if (fd == listener_.number()) {
        Descriptor client(accept4(fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (client.number() < 0) continue;
        const int on = 1;
        setsockopt(client.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        epoll_event wanted{.events = EPOLLIN, .data = {.fd = client.number()}};
        CHECK(epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, client.number(), &wanted) == 0);
        clients.emplace(client.number(), std::move(client));
        continue;
      }
      // A request is small and comes in one piece, as it was sent.
      const ssize_t got = recv(fd, buffer.data(), buffer.size(), 0);
      if (got <= 0 || send(fd, answer_.data(), answer_.size(), MSG_NOSIGNAL) < 0) clients.erase(fd);
    }
  }
}

}  // namespace carillon
