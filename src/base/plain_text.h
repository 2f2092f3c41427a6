// Bytes from outside made fit for storing and showing.
#pragma once

#include <string>
#include <string_view>

namespace carillon {

// What is not UTF-8 becomes U+FFFD.
std::string valid_utf8(std::string_view text);

// The same, and control characters other than line ends and tabs become a space.
std::string plain_text(std::string_view text);

}  // namespace carillon
