#include "bench/closed_loop.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "bench/measuring.h"

namespace carillon {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kReadBytes = std::size_t{16} * 1024;
constexpr int kEventsMax = 256;

}  // namespace

ClosedLoop::ClosedLoop(Load load) : load_(std::move(load)), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  CHECK(epoll_.number() >= 0);
  for (int i = 0; i < load_.connections; ++i) {
    Connection& made = connections_.emplace_back();
    made.socket = connect_loopback(load_.port, Blocks::no);
    epoll_event wanted{.events = EPOLLIN, .data = {.u32 = static_cast<std::uint32_t>(i)}};
    CHECK(epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, made.socket.number(), &wanted) == 0);
  }
}

ClosedLoop::Found ClosedLoop::run(std::chrono::milliseconds length) {
  Found found;
  const Clock::time_point begin = Clock::now();
  const Clock::time_point end = begin + length;
  for (Connection& connection : connections_) send(connection);
  std::size_t under_way = connections_.size();
  std::array<epoll_event, kEventsMax> events{};
  while (under_way > 0) {
    const int count = epoll_wait(epoll_.number(), events.data(), kEventsMax, -1);
    for (int i = 0; i < count; ++i) {
      Connection& connection = connections_[events.at(static_cast<std::size_t>(i)).data.u32];
      if (!receive(connection)) continue;
      const Clock::time_point now = Clock::now();
      found.latencies.push_back(std::chrono::duration<double, std::micro>(now - connection.sent_at).count());
      if (now < end) {
        send(connection);
      } else {
        --under_way;
      }
    }
  }
  const double passed = std::chrono::duration<double>(Clock::now() - begin).count();
  found.rate = static_cast<double>(found.latencies.size()) / passed;
  return found;
}

void ClosedLoop::send(Connection& connection) const {
  connection.sent_at = Clock::now();
  const ssize_t sent = ::send(connection.socket.number(), load_.request.data(), load_.request.size(), MSG_NOSIGNAL);
  // It is small, and nothing else is on its way.
  CHECK(sent == static_cast<ssize_t>(load_.request.size()));
}

bool ClosedLoop::receive(Connection& connection) const {
  std::array<char, kReadBytes> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by the next call
  const ssize_t got = recv(connection.socket.number(), buffer.data(), buffer.size(), 0);
  if (got < 0 && errno == EAGAIN) return false;
  if (got <= 0) give_up({.code = ErrorCode::unavailable, .message = "the server has closed a connection under load"});
  std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
  if (!connection.received.empty()) bytes = connection.received.append(bytes);
  const auto answer = first_answer(bytes);
  if (!answer) {
    if (connection.received.empty()) connection.received = bytes;
    return false;
  }
  expect_status(*answer, load_.status, load_.request);
  connection.received.clear();
  return true;
}

}  // namespace carillon
