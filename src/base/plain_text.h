// Bytes from outside made fit for storing and showing.
#pragma once

#include <string>
#include <string_view>

namespace carillon {

// The length of the character that `text` begins with, as UTF-8 allows it; 0: none does.
std::size_t utf8_length(std::string_view text);

// What is not UTF-8 becomes U+FFFD.
std::string valid_utf8(std::string_view text);

// The same, and control characters other than line ends and tabs become a space.
std::string plain_text(std::string_view text);

}  // namespace carillon
