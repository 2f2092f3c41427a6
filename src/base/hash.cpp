#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>

#include "base/check.h"

namespace carillon {

namespace {

constexpr std::size_t kNumbersMax = 4;
constexpr std::size_t kNumberBytes = 8;

}  // namespace

std::uint64_t stable_hash(std::initializer_list<std::string_view> parts) {
  XXH64_state_t state;
  XXH64_reset(&state, 0);
  for (const std::string_view part : parts) {
    std::array<unsigned char, 8> length{};
    for (std::size_t i = 0; i < length.size(); ++i) length[i] = static_cast<unsigned char>(part.size() >> (8 * i));
    XXH64_update(&state, length.data(), length.size());
    if (!part.empty()) XXH64_update(&state, part.data(), part.size());
  }
  return XXH64_digest(&state);
}

std::uint64_t stable_hash(std::uint64_t seed, std::string_view text) { return XXH64(text.data(), text.size(), seed); }

std::uint64_t stable_hash(std::uint64_t seed, std::initializer_list<std::uint64_t> numbers) {
  CHECK(numbers.size() <= kNumbersMax);
  // The lowest byte first, whatever the machine.
  std::array<unsigned char, kNumbersMax * kNumberBytes> bytes{};
  std::size_t size = 0;
  for (const std::uint64_t number : numbers) {
    for (std::size_t i = 0; i < kNumberBytes; ++i) bytes[size++] = static_cast<unsigned char>(number >> (8 * i));
  }
  return XXH64(bytes.data(), size, seed);
}

std::uint64_t scale_hash(std::uint64_t hash, std::uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((Wide{hash} * (Wide{bound} + 1)) >> 64);
}

}  // namespace carillon
