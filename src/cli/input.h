// What a person hands to a command: files, standard input, JSON, times.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "cli/outcome.h"

namespace carillon {

inline constexpr std::size_t kInputBytesMax = std::size_t{32} << 20;

// At most 32 MiB.
Result<std::string> read_file(const std::string& path);

// `@FILE`, `-` for standard input, or the text itself.
Result<std::string> read_argument(const std::string& argument);

// The same, and it must be JSON. `what` names it in the error.
CliResult<std::string> read_json_argument(std::string_view what, const std::string& argument);

// A time as the API takes it: an instant, or a local time in UTC. Nothing stays nothing.
CliResult<std::optional<std::string>> read_time(std::string_view what, const std::optional<std::string>& text);

// `text` as JSON: a number, true, false, null, an object or list stay what they are, all else is a string.
std::string json_or_string(const std::string& text);

}  // namespace carillon
