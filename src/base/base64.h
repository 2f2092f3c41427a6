// Base64 as RFC 4648 has it, with padding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace carillon {

std::string base64(std::string_view bytes);

// Strict: a multiple of four characters, padding only at the end. Nothing for anything else, also for an empty text.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace carillon
