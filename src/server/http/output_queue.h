// Bytes on their way to a client: short pieces are joined, long ones are moved in as they are.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <string_view>

namespace carillon::server {

class OutputQueue {
 public:
  // `counted` is given back by `sent` when all of `bytes` is gone.
  void add(std::string bytes, std::size_t counted = 0);

  bool empty() const { return pieces_.empty(); }
  // All that is not gone.
  std::size_t bytes() const { return bytes_; }
  // What stands first, as many pieces as fit into `views`. Returns how many do.
  std::size_t gather(std::span<std::string_view> views) const;
  // `bytes` of what stands first are gone. Returns what they counted.
  std::size_t sent(std::size_t bytes);

 private:
  struct Piece {
    std::string bytes;
    std::size_t counted = 0;
  };
  std::deque<Piece> pieces_;
  std::size_t front_sent_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace carillon::server
