// Which samples of a tick are news.
//
// What the tick did, the depth of the queue and the attempts in flight come once per tick, also from a server that does
// nothing: listeners measure by them. A file of them that is read later needs each only when it differs from the last
// one of its kind, or when anything else has happened since.
//
//   if (news.is_news(event)) write(event);
//
// Pure; each event in the order in which it happened.
#pragma once

#include <carillon/events.h>

#include <cstdint>
#include <optional>
#include <string>

namespace carillon {

class TickNews {
 public:
  bool is_news(const Event& event);
  // The next one of each kind is news.
  void forget();

 private:
  struct Depth {
    std::uint64_t depth = 0;
    std::string today;
    friend bool operator==(const Depth&, const Depth&) = default;
  };
  struct Level {
    std::uint32_t in_flight = 0;
    std::uint32_t max_concurrency = 0;
    friend bool operator==(const Level&, const Level&) = default;
  };

  // Of each kind what was reported last; nothing if the next one is to be reported, whatever it says.
  std::optional<std::uint64_t> eligible_;
  std::optional<Depth> depth_;
  std::optional<Level> level_;
};

}  // namespace carillon
