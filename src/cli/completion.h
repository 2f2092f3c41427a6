// Shell completion, worked out from the same tree of commands that parses the line.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

// NOLINTNEXTLINE(readability-identifier-naming): the library's own name.
namespace CLI {
class App;
}

namespace carillon {

// Values that an option can take, by its long name.
using ValueHints = std::map<std::string, std::vector<std::string>, std::less<>>;

// What may take the place of the last of `words` (the words after the program's name, the last one unfinished).
std::vector<std::string> complete(const CLI::App& app, const ValueHints& hints, const std::vector<std::string>& words);

// The hidden command by which the script asks: `carillon __complete WORD…`.
inline constexpr std::string_view kCompleteCommand = "__complete";

// A script for bash; `eval "$(carillon completion bash)"` turns it on.
std::string_view bash_completion_script();

}  // namespace carillon
