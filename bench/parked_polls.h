// Workers that wait for a job with long polls, each on its own connection.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "bench/loopback_http.h"

namespace carillon {

class ParkedPolls {
 public:
  // Connects, asks, and returns when the server knows all of them.
  ParkedPolls(LoopbackTarget target, int count);
  ParkedPolls(const ParkedPolls&) = delete;
  ParkedPolls& operator=(const ParkedPolls&) = delete;
  ~ParkedPolls() = default;

  struct Woken {
    double after_sending = 0;  // milliseconds from the enqueue to the waiting worker's answer
    double after_answer = 0;   // from the answer to the enqueue; 0 if the worker had its answer before
  };
  // Makes one job, which must wake one of them. The one that it wakes does not ask again.
  Woken wake_one();
  // How many have been answered. Waits a little for answers that nobody should have got.
  int answered();

 private:
  using Clock = std::chrono::steady_clock;
  struct Heard {
    std::optional<Clock::time_point> enqueued;  // the answer to the enqueue came
    std::optional<Clock::time_point> leased;
  };
  void add(Descriptor socket);
  // Takes what has come, waiting for it so long.
  void hear(std::chrono::milliseconds most, Heard& heard);

  const LoopbackTarget target_;
  const Descriptor epoll_;
  std::vector<Descriptor> sockets_;  // the first one enqueues
  int answered_ = 0;
};

}  // namespace carillon
