// Random numbers that are the same on every machine for one seed; the standard's distributions do not promise that.
#pragma once

#include <cstdint>
#include <random>

namespace carillon {

class SeededRandom {
 public:
  explicit SeededRandom(std::uint64_t seed) : engine_(seed) {}

  // 0 … bound - 1, evenly for any bound far below 2^64.
  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
  bool coin() { return below(2) == 1; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace carillon
