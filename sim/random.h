// The one source of chance: all that happens in a simulation follows from its seed, the same on every machine.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>

#include "core/time/duration.h"

namespace carillon::sim {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  // SplitMix64: small, fast, and good enough to draw a world from.
  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
  }
  // 0 … bound - 1.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  int between(int low, int high) { return low + static_cast<int>(below(static_cast<std::uint64_t>(high - low) + 1)); }
  bool percent(int chance) { return below(100) < static_cast<std::uint64_t>(chance); }
  bool permille(int chance) { return below(1000) < static_cast<std::uint64_t>(chance); }
  // In whole milliseconds, as durations are stored.
  Duration between(Duration low, Duration high) {
    const auto width = std::chrono::floor<std::chrono::milliseconds>(high - low).count();
    return low + std::chrono::milliseconds(below(static_cast<std::uint64_t>(width) + 1));
  }
  // Around `mean`, from nothing to twice as long.
  Duration around(Duration mean) { return between(Duration(std::chrono::milliseconds(1)), 2 * mean); }
  template <typename Range>
  const auto& pick(const Range& from) {
    return from[below(from.size())];
  }
  // An independent stream: draws from it do not move this one.
  Random fork() { return Random(next()); }

 private:
  std::uint64_t state_;
};

}  // namespace carillon::sim
