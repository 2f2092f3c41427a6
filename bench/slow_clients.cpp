#include "bench/slow_clients.h"

#include <sys/socket.h>

#include <chrono>

#include "bench/measuring.h"

namespace carillon {

namespace {

constexpr int kTurns = 100;  // of a second: they do not all send at once
constexpr auto kTurn = std::chrono::milliseconds(1000 / kTurns);

}  // namespace

SlowClients::SlowClients(const LoopbackTarget& target, int count)
    : port_(target.port), request_(http_request(target, "POST", "/v1/tenants/default/jobs", bench_payload())) {
  for (int i = 0; i < count; ++i) {
    clients_.push_back({.socket = connect_loopback(port_, Blocks::no)});
    send_byte(clients_.back());
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { go_on(stop); });
}

void SlowClients::go_on(const std::stop_token& stop) {
  auto next = std::chrono::steady_clock::now();
  for (std::size_t turn = 0; !stop.stop_requested(); turn = (turn + 1) % kTurns) {
    for (std::size_t i = turn; i < clients_.size(); i += kTurns) send_byte(clients_[i]);
    next += kTurn;
    std::this_thread::sleep_until(next);
  }
}

void SlowClients::send_byte(Client& client) {
  // Nobody is as slow as that for a whole request: the server's patience ends before.
  const ssize_t sent = send(client.socket.number(), request_.data() + client.sent, 1, MSG_NOSIGNAL);
  if (sent == 1 && ++client.sent < request_.size()) return;
  client = {.socket = connect_loopback(port_, Blocks::no)};
}

}  // namespace carillon
