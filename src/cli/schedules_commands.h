// `carillon schedules`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/outcome.h"
#include "cli/session.h"

namespace carillon {

struct SchedulePutRequest {
  std::string file;                     // or - for standard input
  std::optional<std::string> name;      // default: the one in the file
  std::optional<std::string> if_match;  // the revision that is replaced
};

struct ScheduleTriggerRequest {
  std::string name;
  std::optional<std::string> subject;
  std::optional<std::string> payload;
  std::optional<int> priority;
};

CliResult<Printout> list_schedules(Session& session, const Paging& paging);
CliResult<Printout> put_schedule(Session& session, const SchedulePutRequest& request);
CliResult<Printout> show_schedule(Session& session, const std::string& name);
CliResult<Printout> pause_schedule(Session& session, const std::string& name, const std::optional<std::string>& until);
CliResult<Printout> resume_schedule(Session& session, const std::string& name);
CliResult<Printout> trigger_schedule(Session& session, const ScheduleTriggerRequest& request);
CliResult<Printout> delete_schedule(Session& session, const std::string& name);
CliResult<Printout> preview_schedule(Session& session, const std::string& name, const std::string& count);

}  // namespace carillon
