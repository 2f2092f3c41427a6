#include "bench/parked_polls.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <thread>
#include <utility>

#include "base/check.h"
#include "bench/measuring.h"

namespace carillon {

namespace {

constexpr std::size_t kReadBytes = std::size_t{64} * 1024;
constexpr int kEventsMax = 64;
constexpr auto kPatience = std::chrono::seconds(30);
constexpr auto kListen = std::chrono::milliseconds(200);
constexpr std::string_view kWorkers = R"("workers":)";

void send_whole(int socket, const std::string& request) {
  CHECK(send(socket, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size()));
}

int workers_of(LoopbackClient& client) {
  const std::string_view status = client.get("/v1/status");
  const std::size_t at = status.find(kWorkers);
  CHECK(at != std::string_view::npos);
  return std::atoi(status.data() + at + kWorkers.size());  // NOLINT(bugprone-unchecked-string-to-number-conversion)
}

}  // namespace

ParkedPolls::ParkedPolls(LoopbackTarget target, int count)
    : target_(std::move(target)), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  add(connect_loopback(target_.port, Blocks::no));
  LoopbackClient asks(target_);
  const int before = workers_of(asks);
  for (int i = 0; i < count; ++i) {
    add(connect_loopback(target_.port, Blocks::no));
    const std::string wanted = fmt::format(R"({{"worker":"parked-{}","types":["bench.parked"],"wait":"60s"}})", i);
    send_whole(sockets_.back().number(), http_request(target_, "POST", "/v1/tenants/default/leases", wanted));
  }
  const Clock::time_point until = Clock::now() + kPatience;
  while (workers_of(asks) < before + count) {
    CHECK(Clock::now() < until);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void ParkedPolls::add(Descriptor socket) {
  epoll_event wanted{.events = EPOLLIN, .data = {.u64 = sockets_.size()}};
  CHECK(epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, socket.number(), &wanted) == 0);
  sockets_.push_back(std::move(socket));
}

ParkedPolls::Woken ParkedPolls::wake_one() {
  const std::string job = fmt::format(R"({{"type":"bench.parked","payload":{}}})", bench_payload());
  const std::string request = http_request(target_, "POST", "/v1/tenants/default/jobs", job);
  const Clock::time_point sent = Clock::now();
  send_whole(sockets_.front().number(), request);
  Heard heard;
  while (!heard.enqueued || !heard.leased) {
    CHECK(Clock::now() < sent + kPatience);
    hear(std::chrono::duration_cast<std::chrono::milliseconds>(kPatience), heard);
  }
  const auto since = [&](Clock::time_point begin) {
    return std::max(0.0, std::chrono::duration<double, std::milli>(*heard.leased - begin).count());
  };
  return {.after_sending = since(sent), .after_answer = since(*heard.enqueued)};
}

int ParkedPolls::answered() {
  Heard ignored;
  hear(kListen, ignored);
  return answered_;
}

void ParkedPolls::hear(std::chrono::milliseconds most, Heard& heard) {
  std::array<epoll_event, kEventsMax> events{};
  const int count = epoll_wait(epoll_.number(), events.data(), kEventsMax, static_cast<int>(most.count()));
  const Clock::time_point now = Clock::now();
  for (int i = 0; i < count; ++i) {
    const std::size_t index = events.at(static_cast<std::size_t>(i)).data.u64;
    std::array<char, kReadBytes> buffer{};
    const ssize_t got = recv(sockets_[index].number(), buffer.data(), buffer.size(), 0);
    // Answers are small and are sent in one piece.
    const auto answer = first_answer({buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))});
    CHECK(answer.has_value());
    if (index == 0) {
      expect_status(*answer, 201, "POST jobs");
      heard.enqueued = now;
    } else {
      expect_status(*answer, 200, "POST leases");
      CHECK(answer->body.contains("bench.parked"));
      heard.leased = now;
      ++answered_;
    }
  }
}

}  // namespace carillon
