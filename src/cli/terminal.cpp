#include "cli/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace carillon {

namespace {

std::string coloured(std::string_view code, std::string_view text) {
  return wants_colour() ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
}

}  // namespace

bool wants_colour() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read at the start, before there is a second thread.
  const char* no_color = std::getenv("NO_COLOR");
  return stdout_is_terminal() && (no_color == nullptr || *no_color == '\0');
}

bool stdout_is_terminal() { return isatty(STDOUT_FILENO) == 1; }

std::string bold(std::string_view text) { return coloured("1", text); }

std::string yellow(std::string_view text) { return coloured("33", text); }

std::string format_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < header.size(); ++column) {
    std::size_t width = header[column].size();
    for (const auto& row : rows) width = std::max(width, row[column].size());
    widths.push_back(width);
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string out;
    for (std::size_t column = 0; column < cells.size(); ++column) {
      out += fmt::format("{:<{}}", cells[column], widths[column] + 2);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out;
  };
  std::string out = bold(line(header)) + "\n";
  for (const auto& row : rows) out += line(row) + "\n";
  return out;
}

}  // namespace carillon
