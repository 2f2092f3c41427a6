// Commands about subjects of a schedule: put, deleted, imported at once or part by part.
#pragma once

#include <carillon/client.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/calls/import_work.h"
#include "engine/commands/actor.h"
#include "engine/planning/planner.h"

namespace carillon {

class Node;

namespace command {

struct PutSubject {
  using Answer = Planner::SubjectChanged;
  std::string tenant;
  std::string schedule;
  std::string subject;
  std::string body;
  std::optional<std::int64_t> if_version;
  bool patches = false;  // else it replaces
  Actor by;
};

struct DeleteSubject {
  using Answer = void;
  std::string tenant;
  std::string schedule;
  std::string subject;
  Actor by;
};

// Its attempts that wait for a slot do not start.
struct TakeBackSubject {
  using Answer = void;
  std::string tenant;
  std::string schedule;
  std::string subject;
};

// What one round can write.
struct ImportSubjects {
  using Answer = ImportedSubjects;
  ImportWork::Name name;
  std::vector<ImportLine> lines;
  Actor by;
};

// More than that: begun, part after part, accepted, and then written step by step, or given up.
struct BeginImport {
  using Answer = void;
  ImportWork::Name name;
};
struct AddImportPart {
  using Answer = void;
  ImportWork::Name name;
  std::vector<ImportLine> lines;
};
struct AcceptImport {
  using Answer = void;
  ImportWork::Name name;
  std::size_t lines = 0;  // in all
  Actor by;
};
struct StepImport {
  using Answer = ImportWork::Stepped;
  ImportWork::Name name;
  bool disables = false;  // one of its lines, or more
};
struct GiveUpImport {
  using Answer = void;
  ImportWork::Name name;
};

bool disables(const std::vector<ImportLine>& lines);

Result<Planner::SubjectChanged> carry_out(const PutSubject& command, Node& node, Round& round);
Result<void> carry_out(const DeleteSubject& command, Node& node, Round& round);
Result<void> carry_out(const TakeBackSubject& command, Node& node, Round& round);
Result<ImportedSubjects> carry_out(const ImportSubjects& command, Node& node, Round& round);
Result<void> carry_out(const BeginImport& command, Node& node, Round& round);
Result<void> carry_out(const AddImportPart& command, Node& node, Round& round);
Result<void> carry_out(const AcceptImport& command, Node& node, Round& round);
Result<ImportWork::Stepped> carry_out(const StepImport& command, Node& node, Round& round);
Result<void> carry_out(const GiveUpImport& command, Node& node, Round& round);

}  // namespace command

}  // namespace carillon
