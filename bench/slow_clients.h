// Clients that send a request one byte per second, and come again when they are sent away.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "bench/loopback_http.h"

namespace carillon {

class SlowClients {
 public:
  // Returns when all are connected and have begun.
  SlowClients(const LoopbackTarget& target, int count);
  SlowClients(const SlowClients&) = delete;
  SlowClients& operator=(const SlowClients&) = delete;
  ~SlowClients() = default;

 private:
  struct Client {
    Descriptor socket;
    std::size_t sent = 0;
  };
  void go_on(const std::stop_token& stop);
  void send_byte(Client& client);

  const std::uint16_t port_;
  const std::string request_;
  std::vector<Client> clients_;
  std::jthread thread_;  // last: it uses the above
};

}  // namespace carillon
