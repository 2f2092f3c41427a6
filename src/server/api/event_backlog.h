// What was told last, in order, for streams that are not all equally far: bounded in bytes, the oldest goes first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

namespace carillon::server {

class EventBacklog {
 public:
  explicit EventBacklog(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  EventBacklog(const EventBacklog&) = delete;
  EventBacklog& operator=(const EventBacklog&) = delete;
  ~EventBacklog() = default;

  struct Told {
    std::string text;
    std::string tenant;   // of whom it tells; "": of the engine itself
    bool to_all = false;  // whoever listens is told
  };
  void add(Told told);
  // Everybody has been told what stands before that place.
  void forget_before(std::uint64_t place);

  // Places in it: of the oldest that is there, and of the one that comes next.
  std::uint64_t first() const { return first_; }
  std::uint64_t end() const { return first_ + told_.size(); }

  struct Bounds {
    std::size_t bytes = 0;    // of text, unless the first one alone is longer
    std::size_t entries = 0;  // that are looked at
  };
  struct Piece {
    std::string text;
    std::uint64_t from = 0;
    std::uint64_t to = 0;  // where the next one begins
  };
  using MaySee = std::function<bool(std::string_view tenant)>;
  // What somebody may see from there on. `from` is not before `first`.
  Piece read(std::uint64_t from, const Bounds& bounds, const MaySee& may_see) const;

 private:
  void forget_first();

  const std::size_t bytes_max_;
  std::deque<Told> told_;
  std::uint64_t first_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace carillon::server
