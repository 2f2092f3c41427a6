// What a JSON text says, as a number: two texts that say the same have the same, however they are written.
#pragma once

#include <cstdint>
#include <string_view>

namespace carillon {

// Of a text that is JSON (check_json). The order of members, white space and escapes do not count; numbers count by
// their text, so that 1 and 1.0 differ, and nothing is rounded. The same on every machine and in every version: it is
// stored. One pass, without a tree, and without memory but for strings that have escapes.
//
// Of a text that is no JSON it is some number; that takes no longer.
std::uint64_t json_hash(std::string_view text);

}  // namespace carillon
