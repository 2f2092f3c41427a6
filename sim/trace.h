// A running hash over every decision that can be seen from outside: the same seed gives the same hash.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "core/time/instant.h"

namespace carillon::sim {

class Trace {
 public:
  explicit Trace(bool verbose) : verbose_(verbose) {}

  void add(std::uint64_t value) { hash_ = (hash_ ^ value) * 0x100000001B3ULL + (hash_ >> 29U); }
  void add(std::string_view text) {
    for (const char c : text) add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
  }
  void add(Instant at) { add(static_cast<std::uint64_t>(at.time_since_epoch().count())); }
  std::uint64_t hash() const { return hash_; }

  bool verbose() const { return verbose_; }
  template <typename... Args>
  void say(Instant now, fmt::format_string<Args...> format, Args&&... args) {
    if (verbose_) fmt::print("{} {}\n", format_instant(now), fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  bool verbose_;
  std::uint64_t hash_ = 0xCBF29CE484222325ULL;
};

}  // namespace carillon::sim
