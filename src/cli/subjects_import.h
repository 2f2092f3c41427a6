// Many subjects at once: `carillon subjects import` and `export`. Both stream, so that a file may have any length.
#pragma once

#include <string>

#include "cli/outcome.h"
#include "cli/session.h"

namespace carillon {

inline constexpr int kImportLinesMax = 100'000;

struct SubjectsImport {
  std::string schedule;
  std::string file;        // or - for standard input
  int chunk_lines = 5000;  // per call, all or none
};

// A line that is refused ends it: what came before its chunk is imported, and the error says so.
CliResult<Printout> import_subjects(Session& session, const SubjectsImport& request);

struct SubjectsExport {
  std::string schedule;
  bool without_cursors = false;  // a cursor that has gone on refuses an older one
};

// Prints as it reads, page by page.
CliResult<Printout> export_subjects(Session& session, const SubjectsExport& request);

}  // namespace carillon
