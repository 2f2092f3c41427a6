// Keep-alive connections that send the same request again and again, each as soon as it has its answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/loopback_http.h"

namespace carillon {

class ClosedLoop {
 public:
  struct Load {
    std::uint16_t port = 0;
    int connections = 64;
    std::string request;
    int status = 200;  // that every answer must have
  };
  struct Found {
    double rate = 0;                // answers per second
    std::vector<double> latencies;  // microseconds
  };

  explicit ClosedLoop(Load load);
  ClosedLoop(const ClosedLoop&) = delete;
  ClosedLoop& operator=(const ClosedLoop&) = delete;
  ~ClosedLoop() = default;

  // One thread, the caller's. Ends with no request under way.
  Found run(std::chrono::milliseconds length);

 private:
  struct Connection {
    Descriptor socket;
    std::string received;
    std::chrono::steady_clock::time_point sent_at;
  };
  void send(Connection& connection) const;
  // Whether its answer is there.
  bool receive(Connection& connection) const;

  const Load load_;
  const Descriptor epoll_;
  std::vector<Connection> connections_;
};

}  // namespace carillon
