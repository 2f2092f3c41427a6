// Digits at fixed places of a text: for instants and ids, which answers are full of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace carillon {

// All of `place`, with leading zeros. What does not fit is cut off in front.
inline void put_decimal(std::span<char> place, std::uint64_t value) {
  for (std::size_t i = place.size(); i > 0; --i) {
    place[i - 1] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
}

inline void put_hex(std::span<char> place, std::uint64_t value) {
  for (std::size_t i = place.size(); i > 0; --i) {
    place[i - 1] = "0123456789abcdef"[value & 0xFU];
    value >>= 4U;
  }
}

}  // namespace carillon
