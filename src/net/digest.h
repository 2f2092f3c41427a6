// Secrets: made from the system's randomness, stored as hashes, compared in constant time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace carillon {

// 64 hexadecimal digits.
std::string sha256_hex(std::string_view bytes);
// So many random bytes, in base64url without padding.
std::string random_text(std::size_t bytes);
// Takes as long whether they differ early or late.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace carillon
