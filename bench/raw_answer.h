// The raw limit of an answer on loopback: a loop that reads whatever comes and sends the same bytes back, unread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#include "bench/loopback_http.h"

namespace carillon {

class RawAnswer {
 public:
  // Answers with a body of so many bytes.
  explicit RawAnswer(std::size_t body_bytes);
  RawAnswer(const RawAnswer&) = delete;
  RawAnswer& operator=(const RawAnswer&) = delete;
  ~RawAnswer();

  std::uint16_t port() const { return port_; }

 private:
  void answer_all();

  const std::string answer_;
  Descriptor listener_;
  Descriptor epoll_;
  Descriptor end_;  // readable: it is over
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace carillon
