#include "engine/calls/import_lines.h"

#include <algorithm>

namespace carillon {

Result<std::vector<ImportLine>> parse_import(std::string_view text) {
  std::vector<ImportLine> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    auto parsed = parse_subject_line(line);
    if (!parsed) {
      Error error = std::move(parsed).error();
      error.line = number;
      return std::unexpected(std::move(error));
    }
    lines.push_back({.text = *std::move(parsed), .line = number});
  }
  return lines;
}

DocumentKey import_key(std::string_view tenant, std::string_view schedule) {
  return {.tenant = std::string(tenant), .kind = std::string(kImportKind), .name = std::string(schedule)};
}

}  // namespace carillon
