// The words of a failed attempt, as a log may have them: short, and nothing of what the job was given.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace carillon {

inline constexpr std::size_t kToldErrorBytesMax = 500;

// Words of the payload that stand in the error are taken out, and what is too long is cut. Of a payload that is not
// known (""), or too long to be looked through, the error is not told at all: the job has it.
std::string told_error(std::string_view error, std::string_view payload);

}  // namespace carillon
