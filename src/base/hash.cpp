#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>

namespace carillon {

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

std::uint64_t scale_hash(std::uint64_t hash, std::uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((Wide{hash} * (Wide{bound} + 1)) >> 64);
}

}  // namespace carillon
