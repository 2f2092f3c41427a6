// A hash that is the same on every machine and in every version: what is derived from it (jitter, spread) must not
// change over a restart or an upgrade.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace carillon {

// Of the parts in order. ("a", "bc") and ("ab", "c") differ: each part's length is hashed with it.
std::uint64_t stable_hash(std::initializer_list<std::string_view> parts);

// Of a text and of a few numbers in order, each under a seed that tells what is hashed. At most four numbers.
std::uint64_t stable_hash(std::uint64_t seed, std::string_view text);
std::uint64_t stable_hash(std::uint64_t seed, std::initializer_list<std::uint64_t> numbers);

// Maps a hash onto 0 … bound inclusive, evenly for any bound far below 2^64.
std::uint64_t scale_hash(std::uint64_t hash, std::uint64_t bound);

}  // namespace carillon
