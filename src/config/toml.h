// A TOML text as a flat list of what it sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace carillon::config {

// A value as it was given: by a file with its type, on the command line and in the environment as a plain text.
struct GivenValue {
  enum class Kind : std::uint8_t { plain, text, integer, number, boolean, list, other };
  Kind kind = Kind::plain;
  std::string text;               // of a list: nothing
  std::vector<GivenValue> items;  // of a list
};

struct TomlEntry {
  std::vector<std::string> path;  // {"handlers", "mail.send", "kind"}
  GivenValue value;
  std::size_t line = 0;
};

inline constexpr std::size_t kConfigBytesMax = std::size_t{1} << 20;

// In the order of the lines. An empty table is an entry of kind other. The error names line and column, not the file.
Result<std::vector<TomlEntry>> read_toml(std::string_view text);

}  // namespace carillon::config
