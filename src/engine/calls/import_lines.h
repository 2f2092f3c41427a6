// The lines of an import of subjects, and where one stands that is under way.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "core/schedules/subject.h"
#include "store/rows.h"

namespace carillon {

inline constexpr std::string_view kImportKind = "import";           // name: the schedule
inline constexpr std::string_view kImportPartKind = "import.part";  // name: the schedule and the part's number

struct ImportLine {
  SubjectText text;
  std::size_t line = 1;
};

// Of a text with a subject a line. An error says in `line` which one it is about.
Result<std::vector<ImportLine>> parse_import(std::string_view text);

DocumentKey import_key(std::string_view tenant, std::string_view schedule);

}  // namespace carillon
