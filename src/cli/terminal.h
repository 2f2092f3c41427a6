// What a person sees: whether standard output is a terminal, colours, and tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace carillon {

// A table goes to a terminal, JSON into a pipe.
bool stdout_is_terminal();

// Whether standard output is a terminal and NO_COLOR is not set.
bool wants_colour();

// `text` in bold or yellow, where colours are wanted.
std::string bold(std::string_view text);
std::string yellow(std::string_view text);

// Columns padded to their widest cell, two spaces apart. Cells hold plain ASCII; the header is bold.
std::string format_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);

}  // namespace carillon
