// `carillon subjects`, one at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/outcome.h"
#include "cli/session.h"

namespace carillon {

struct SubjectName {
  std::string schedule;
  std::string subject;
};

struct SubjectsListRequest {
  std::string schedule;
  std::optional<std::string> prefix;
  bool enabled = false;
  bool disabled = false;
  std::optional<std::string> status;
  std::optional<std::string> due_until;
  Paging paging;
};

// Its body, or what makes one.
struct SubjectWrite {
  SubjectName name;
  std::optional<std::string> body;
  std::optional<std::string> due;
  std::optional<std::string> timezone;
  std::optional<std::string> interval;
  std::optional<std::string> mode;
  std::optional<int> priority;
  std::optional<std::string> payload;
  std::vector<std::string> limits;
  std::optional<std::string> expected_at;
  std::optional<std::string> cursor_end;
  bool enabled = false;
  bool disabled = false;
  std::optional<std::string> if_match;
};

CliResult<Printout> list_subjects(Session& session, const SubjectsListRequest& request);
CliResult<Printout> show_subject(Session& session, const SubjectName& name);
CliResult<Printout> put_subject(Session& session, const SubjectWrite& request);
CliResult<Printout> patch_subject(Session& session, const SubjectWrite& request);
// No occurrences for it until it is resumed.
CliResult<Printout> pause_subject(Session& session, const SubjectName& name);
CliResult<Printout> resume_subject(Session& session, const SubjectName& name);
CliResult<Printout> delete_subject(Session& session, const SubjectName& name);
CliResult<Printout> explain_subject(Session& session, const SubjectName& name);
CliResult<Printout> preview_subject(Session& session, const SubjectName& name, const std::string& count);

}  // namespace carillon
